//! Settings that are one of a few words.

use serde::{Deserialize, Serialize};

/// `actuation.normalization`: scale of the Gaussian kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Normalization {
    /// Height 1.
    Peak,
    /// Unit integral.
    Mass,
}

/// `observe.sampling`: how an agent's window is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sampling {
    /// On the lattice cell of the agent: no gradient flows through the position.
    Cell,
    /// At the exact position, interpolated: differentiable in the position.
    Linear,
}

/// `policy.fusion`: how branch and trunk meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fusion {
    /// Side by side.
    Concat,
    /// Multiplied element by element.
    Product,
}

/// `policy.trunk_base`: base frequency of the trunk's Fourier features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TrunkBase {
    /// `sin(pi k s)`, `cos(pi k s)`.
    #[serde(rename = "pi")]
    Pi,
    /// `sin(2 pi k s)`, `cos(2 pi k s)`.
    #[serde(rename = "2pi")]
    TwoPi,
    /// None: an agent does not know where it stands, only what it sees.
    #[serde(rename = "none")]
    None,
}

/// `train.schedule`: shape of the learning rate over the updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decay {
    /// Halved every `train.half_life` updates.
    Exponential,
    /// Linear warm-up, then half a cosine.
    Cosine,
}

/// `observe.view`: what of the field an agent sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum View {
    /// The patch around it.
    Patch,
    /// The whole field, the same for all agents.
    Field,
}

/// `policy.padding`: what the convolutions see beyond the rim of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Padding {
    /// Zeros: every agent convolves its own patch.
    Zero,
    /// The field that is there: the field is convolved once, and agents read their patches of the result.
    Field,
}

/// `obstacles.layout`: where the discs stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// At both sides and at the bottom.
    Sides,
    /// On the diagonal.
    Diagonal,
}

/// `obstacles.filter`: what keeps agents out of the discs, beside the loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Filter {
    /// Nothing.
    None,
    /// A position inside is moved to the rim.
    Project,
}

/// `actuation.starts`: how the places where agents start cover the domain. On a line all but `staggered` mean
/// equal spacings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Starts {
    /// In columns that hold the same number of agents, or one more: any number covers the domain evenly.
    Rows,
    /// The same, every other column (on a line, agent) moved by half a spacing: no wave has its zeros at all
    /// agents.
    Staggered,
    /// The first places of a square lattice, as published: a number that is no square leaves a part of the
    /// domain empty.
    Square,
}

/// `train.failure_from`: when agents of a training case fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailureFrom {
    /// From a random step on: half of the cases lose them at the start, the others during the first half of
    /// the rollout.
    #[default]
    Random,
    /// From the start. What static agents know of each other then does not change during a rollout, and is
    /// computed once.
    Start,
}

/// `policy.share`: how agents that reach the same point share the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Share {
    /// Not at all: each does what its network says.
    None,
    /// Each does its part: what its network says, divided by the density of agents where it stands.
    Crowd,
}
