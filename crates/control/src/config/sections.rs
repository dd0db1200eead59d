//! The sections of a [`Config`](super::Config), one per table of a settings file.

use super::{
    Decay, FailureFrom, Filter, Fusion, Layout, Normalization, Padding, Sampling, Share, Starts, TrunkBase,
    Values, View,
};
use serde::{Deserialize, Serialize};

/// Space: a line, or a rectangle. A 2D task without values for the second axis lives on a square.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GridSection {
    /// Grid points along an axis, N; both ends included unless the domain is periodic.
    pub n: usize,
    /// Grid points of the second axis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_y: Option<usize>,
    /// Length of the domain, L.
    pub length: f64,
    /// Length of the second axis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length_y: Option<f64>,
}

/// Time: solver steps and control steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Time {
    /// Solver step.
    pub dt: f64,
    /// Control steps of one rollout, T.
    pub steps: usize,
    /// Solver steps per control step.
    pub substeps: usize,
}

/// What an agent does to the field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActuationSection {
    /// Width of the Gaussian kernel.
    pub sigma: f64,
    /// Scale of the kernel.
    pub normalization: Normalization,
    /// Bound of the intensity u; `None` where agents act by moving alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub u_max: Option<f64>,
    /// Bound of the velocity v, per component; `None` for static agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub v_max: Option<f64>,
    /// Velocity of the field per velocity of an agent, where agents stir.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<f64>,
    /// Way of an agent in one control step per unit of v; the control interval where there is no such key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<f64>,
    /// How the places where agents start cover the domain; equal spacings where there is no such key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts: Option<Starts>,
}

/// What an agent sees of the field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observe {
    /// The part of the field around it.
    #[serde(flatten)]
    pub around: Around,
    /// How that part is placed.
    pub sampling: Sampling,
    /// Points of the reference lattice, on which a policy sees the same numbers whatever the grid.
    pub n_ref: usize,
    /// Points of its second axis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_ref_y: Option<usize>,
    /// Whether an agent sees the gradient of the error beside the error, as published.
    pub gradient: bool,
    /// Tracking tasks: whether an agent sees the target beside the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<bool>,
    /// Whether an agent knows how many others are near, and where.
    pub crowd: bool,
    /// Density of agents, in units of the actuation kernel, that counts as one.
    pub crowd_ref: f64,
    /// Density beyond which agents see no difference, only share more; 0 for none.
    pub crowd_limit: f64,
}

/// The part of the field that an agent sees, in points of the reference lattice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Around {
    /// In 1D.
    Window {
        /// Points in the window, W.
        window: usize,
        /// Points each channel is resampled to, P.
        points: usize,
    },
    /// In 2D.
    Patch {
        /// Points along a side of the patch, p.
        patch: usize,
        /// What of the field is seen.
        view: View,
    },
}

/// The policy network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicySection {
    /// How branch and trunk meet.
    pub fusion: Fusion,
    /// Whether the branch layers divide by their norm + 1.
    pub softnorm: bool,
    /// Factor of the head's first weights: a small one lets a policy begin gently.
    pub head_scale: f64,
    /// Base frequency of the trunk's Fourier features.
    pub trunk_base: TrunkBase,
    /// How agents that reach the same point share the work.
    pub share: Share,
    /// Whether agents do nothing where the field is as it should be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rest: bool,
    /// 2D: channels of the convolutions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conv: Vec<usize>,
    /// 2D: what the convolutions see beyond the rim of a patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub padding: Option<Padding>,
}

/// Standard deviations of the noise, fresh in every control step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// Added to every grid value the policy sees.
    pub sensor: f64,
    /// Added to every intensity the physics gets.
    pub actuator: f64,
}

/// Agents that output zero from some control step on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// Share of the agents that fail.
    pub share: f64,
    /// First control step without them.
    pub step: usize,
    /// Whether the others notice that an agent has failed.
    pub seen: bool,
}

/// Initial states and targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Data {
    /// Cases in the training pool.
    pub pool: usize,
    /// What the task's own way to draw cases needs.
    #[serde(flatten)]
    pub values: Values,
}

impl Data {
    /// Shortens the time that cases run uncontrolled before they are used, where they do: enough for checks
    /// and timings.
    pub fn limit_spin_up(&mut self, longest: f64) {
        if let Some(time) = self.values.get("spin_up") {
            self.values.set("spin_up", time.min(longest));
        }
    }
}

/// Weights of the loss terms; a term whose weight is `None` does not exist for the task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loss {
    /// Mean (z_t - z*)^2 over all control steps.
    pub track: f64,
    /// Mean u^2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort_u: Option<f64>,
    /// Mean v^2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort_v: Option<f64>,
    /// Agents within [`Safety::margin`] of an end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// Pairs of agents closer than [`Safety::radius`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coll: Option<f64>,
    /// Mean (v_{t+1} - v_t)^2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accel: Option<f64>,
    /// Mean (z_T - z*)^2 at the last control step.
    pub terminal: f64,
    /// Squared total forcing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_forcing: Option<f64>,
    /// Agents within [`Obstacles::margin`] of a disc.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<f64>,
    /// Distance of centroids and spreads, mean over all control steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moment: Option<f64>,
    /// The same at the last control step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moment_end: Option<f64>,
    /// Squared relative change of the mass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mass: Option<f64>,
    /// Mean |v_{t+1} - v_t|^2, of densities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smooth: Option<f64>,
}

/// Distances that mobile agents keep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Safety {
    /// To the ends of the domain.
    pub margin: f64,
    /// To each other.
    pub radius: f64,
    /// How near the ends they are let at all; 0 where there is no such key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall: Option<f64>,
}

/// Discs that agents may not enter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Obstacles {
    /// Where they stand.
    pub layout: Layout,
    /// What keeps agents out, beside the loss.
    pub filter: Filter,
    /// Distance agents should keep from a rim.
    pub margin: f64,
}

/// The optimisation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Train {
    /// Cases per update.
    pub batch: usize,
    /// Updates of the parameters.
    pub updates: usize,
    /// Learning rate: first of the exponential, highest of the cosine schedule.
    pub lr: f64,
    /// Shape of the learning rate over the updates.
    pub schedule: Decay,
    /// Exponential: updates until the rate has halved.
    pub half_life: f64,
    /// Cosine: updates of the linear warm-up from `lr_start` to `lr`.
    pub warmup: usize,
    /// Cosine: rate at the start of the warm-up.
    pub lr_start: f64,
    /// Cosine: rate of the last update.
    pub lr_end: f64,
    /// Bound of the gradient's global norm.
    pub clip: f64,
    /// Bound of every derivative that goes from one control step back to the one before, per case; 0 for
    /// none. It keeps gradients finite where a case is unstable.
    pub step_clip: f64,
    /// Share of training cases whose agents start elsewhere: those that move anywhere, static ones on a
    /// lattice that is moved as a whole.
    pub scatter: f64,
    /// Range of the share of agents that fail in a training case. [`Failure::share`] comes first.
    pub failure: [f64; 2],
    /// When they fail.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub failure_from: FailureFrom,
    /// Share of training cases that have fewer agents from the start, evenly placed, instead of some that
    /// fail: as many as [`Train::failure`] leaves.
    pub fewer: f64,
    /// How many more agents than the task a training case has at most, as a share of those of the task: their
    /// number is drawn for every case, and they are evenly placed. In training all failures are noticed then,
    /// because nobody may count agents that a case does not have.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub more: f64,
    /// Share of the cases of a batch that go on where the rollout before ended, up to three times, instead of
    /// starting anew: what was reached is to be held.
    pub hold: f64,
    /// How much the distance to the target counts in rollouts that go on: errors are small there.
    pub hold_weight: f64,
    /// Seed of every random stream of the run.
    pub seed: u64,
    /// Memory, in MB, for storing step values instead of recomputing them.
    pub memory_mb: usize,
    /// Updates between two checkpoints.
    pub checkpoint_every: usize,
    /// Updates between two validations; 0 for none.
    #[serde(skip_serializing_if = "super::is_default")]
    pub validate_every: usize,
    /// Validation cases that they use; 0 for no validation.
    #[serde(skip_serializing_if = "super::is_default")]
    pub validation_cases: usize,
    /// Totals of updates at which the training was extended. Each part has a learning-rate schedule of its
    /// own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extended_at: Vec<usize>,
}
