//! Every setting in one table: its name, its unit, which values it may have, what it means.
//!
//! The type and the default of a key are those of its value in the preset. Validation, `cinoc tasks`,
//! messages and docs/configuration.md all come from here. Keys that depend on others are checked in
//! `validate` besides.

use std::fmt;

use toml::Value;

use super::error::ConfigError;
use super::range::Range;

/// A setting.
///
/// ```
/// use cinoc_control::config::{Key, Range};
///
/// // a key that a task of one's own has in its preset
/// let key = Key::new("physics.nu", "L²/T", Range::Positive, "diffusivity");
/// assert_eq!(key.range.to_string(), "above 0 and finite");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key {
    /// Its full name, `section.key`.
    pub name: &'static str,
    /// Its unit in symbols, empty if it has none: `L` length, `T` time, `Z` the field.
    pub unit: &'static str,
    /// Which values it may have.
    pub range: Range,
    /// What it means, in one line.
    pub meaning: &'static str,
}

impl Key {
    /// A setting of a task.
    pub const fn new(name: &'static str, unit: &'static str, range: Range, meaning: &'static str) -> Key {
        Key { name, unit, range, meaning }
    }
}

/// The key of a name, of the task itself or one of those that tasks share.
pub fn key<'a>(own: &'a [Key], name: &str) -> Option<&'a Key> {
    own.iter().chain(KEYS).find(|key| key.name == name)
}

/// Larger whole numbers are mistakes: nothing here has so many parts.
const MOST: i64 = 1_000_000_000;
/// Numbers of another size than this are mistakes of units, and their squares soon leave single precision.
const SIZE: std::ops::RangeInclusive<f64> = 1e-12..=1e12;

/// Refuses a value that is not in its range.
pub(super) fn check(own: &[Key], name: &str, value: &Value) -> Result<(), ConfigError> {
    if name != "train.seed" {
        let small = value.as_integer().is_none_or(|whole| whole <= MOST);
        ConfigError::unless(small, name, shown(value), || format!("at most {MOST}"))?;
    }
    let list = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    let sound = |x: f64| !x.is_finite() || x == 0.0 || SIZE.contains(&x.abs());
    let sizes = list.iter().filter_map(Value::as_float).all(sound);
    ConfigError::unless(sizes, name, shown(value), || "0, or from 1e-12 to 1e12 in size".to_string())?;
    let Some(key) = key(own, name) else {
        // a number that a task says nothing about can at least be computed with
        let finite = list.iter().filter_map(Value::as_float).all(f64::is_finite);
        return ConfigError::unless(finite, name, shown(value), || "finite".to_string());
    };
    if let Range::Words(_) = key.range {
        let value = value.as_str().unwrap_or_default().to_string();
        let allowed = key.range.to_string().replace("one of ", "");
        let fits = key.range.holds(&Value::String(value.clone()));
        return if fits {
            Ok(())
        } else {
            Err(ConfigError::Choice { key: name.to_string(), value, allowed })
        };
    }
    ConfigError::unless(key.range.holds(value), name, shown(value), || key.range.to_string())
}

/// A value as one line of text.
pub(super) fn shown(value: &Value) -> Shown {
    Shown(match value {
        Value::String(text) => format!("{text:?}"),
        other => other.to_string().replace('\n', " "),
    })
}

/// Text that is printed as it stands.
pub(super) struct Shown(pub String);

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

use Range::{Any, AtLeast, Counts, Increasing, Interval, NonNegative, Positive, Within, Words};

/// The keys that tasks share.
pub const KEYS: &[Key] = &[
    Key::new("task", "", Any, "which task"),
    Key::new("agents", "", AtLeast(1), "number of agents, M"),
    Key::new(
        "grid.n",
        "",
        AtLeast(8),
        "grid points along the first axis; both ends are points unless it is periodic",
    ),
    Key::new("grid.n_y", "", AtLeast(8), "grid points along the second axis"),
    Key::new("grid.length", "L", Positive, "length of the first axis; of both, without grid.length_y"),
    Key::new("grid.length_y", "L", Positive, "length of the second axis"),
    Key::new("time.dt", "T", Positive, "solver step"),
    Key::new("time.steps", "", AtLeast(1), "control steps of a rollout, T"),
    Key::new("time.substeps", "", AtLeast(1), "solver steps per control step; the action is held"),
    Key::new("physics.nu", "L²/T", NonNegative, "diffusivity"),
    Key::new("physics.rho", "1/T", NonNegative, "growth rate"),
    Key::new("physics.drift", "L/T", NonNegative, "steady velocity along the second axis"),
    Key::new("physics.limit", "cells", Within(1e-9, 1.0), "largest displacement of the density in one step"),
    Key::new("physics.diffusion", "cells²", Within(0.0, 0.25), "diffusion of the density per step"),
    Key::new(
        "physics.transport",
        "",
        Words(&["advective", "conservative"]),
        "values are traced back along the flow, or mass is moved across cell faces and kept",
    ),
    Key::new(
        "actuation.sigma",
        "L",
        Positive,
        "width of the Gaussian kernel; at least half the grid spacing",
    ),
    Key::new(
        "actuation.normalization",
        "",
        Words(&["peak", "mass"]),
        "kernel of height 1, or of unit integral",
    ),
    Key::new("actuation.u_max", "Z/T", NonNegative, "bound of the intensity"),
    Key::new("actuation.v_max", "L/T", NonNegative, "bound of each component of the velocity"),
    Key::new("actuation.gain", "", NonNegative, "velocity of the field per velocity of an agent that stirs"),
    Key::new("actuation.speed", "T", NonNegative, "way of an agent in one control step per unit of velocity"),
    Key::new(
        "actuation.starts",
        "",
        Words(&["rows", "staggered", "square"]),
        "start places: even for any number, every other column moved by half a spacing, or a square lattice",
    ),
    Key::new("observe.window", "", Any, "1D: points of the reference lattice an agent sees; even"),
    Key::new(
        "observe.patch",
        "",
        Any,
        "2D: points of the reference lattice along a side of what an agent sees; even",
    ),
    Key::new(
        "observe.view",
        "",
        Words(&["patch", "field"]),
        "2D: an agent sees the patch around it, or the whole field",
    ),
    Key::new(
        "observe.sampling",
        "",
        Words(&["cell", "linear"]),
        "what an agent sees is placed on its cell, or interpolated: differentiable in its position",
    ),
    Key::new("observe.points", "", AtLeast(2), "1D: the window is resampled to this many points per channel"),
    Key::new(
        "observe.n_ref",
        "",
        AtLeast(8),
        "points of the reference lattice: a policy sees the same on any finer grid",
    ),
    Key::new("observe.n_ref_y", "", AtLeast(8), "points of the reference lattice along the second axis"),
    Key::new("observe.gradient", "", Any, "an agent sees the gradient of the error beside it"),
    Key::new("observe.target", "", Any, "an agent sees the target beside the error"),
    Key::new("observe.crowd", "", Any, "an agent knows how many others are near, and where"),
    Key::new("observe.crowd_ref", "", Positive, "density of agents at which the share of each is 1"),
    Key::new(
        "observe.crowd_limit",
        "",
        NonNegative,
        "density beyond which agents only share more; 0 for none",
    ),
    Key::new(
        "policy.fusion",
        "",
        Words(&["concat", "product"]),
        "branch and trunk side by side, or multiplied",
    ),
    Key::new("policy.softnorm", "", Any, "branch layers divide by their norm + 1"),
    Key::new(
        "policy.head_scale",
        "",
        Positive,
        "factor of the head's first weights; a small one begins gently",
    ),
    Key::new("policy.rest", "", Any, "agents do nothing where the field is as it should be"),
    Key::new(
        "policy.trunk_base",
        "",
        Words(&["pi", "2pi", "none"]),
        "base frequency of the Fourier features of a position; none: an agent does not know where it stands",
    ),
    Key::new(
        "policy.share",
        "",
        Words(&["none", "crowd"]),
        "crowd: agents divide the work where they are many",
    ),
    Key::new("policy.conv", "", Counts(1024), "2D: channels of the 3 x 3 convolutions"),
    Key::new(
        "policy.padding",
        "",
        Words(&["zero", "field"]),
        "2D: zeros beyond the rim of a patch, or the field, which is then convolved once for all agents",
    ),
    Key::new(
        "noise.sensor",
        "Z",
        NonNegative,
        "standard deviation added to every grid value the policy sees",
    ),
    Key::new(
        "noise.actuator",
        "Z/T",
        NonNegative,
        "standard deviation added to every intensity (velocity, if agents stir)",
    ),
    Key::new("failure.share", "", Within(0.0, 1.0), "share of the agents that output zero"),
    Key::new("failure.step", "", Any, "control step from which they do; at most time.steps"),
    Key::new("failure.seen", "", Any, "the other agents notice it"),
    Key::new("data.pool", "", AtLeast(1), "cases in the training pool"),
    Key::new("data.std", "Z", Positive, "standard deviation of the random field"),
    Key::new("data.length_start", "L", Positive, "correlation length of the initial state"),
    Key::new("data.length_target", "L", Positive, "correlation length of the target"),
    Key::new(
        "data.pairs",
        "",
        Words(&["independent", "shared"]),
        "state and target of a training case from two random vectors, or from one",
    ),
    Key::new("data.spin_up", "T", NonNegative, "time run uncontrolled before a state is used"),
    Key::new("data.spin_up_dt", "T", Positive, "solver step of it"),
    Key::new("data.spin_up_nu", "L²/T", NonNegative, "viscosity during it"),
    Key::new("data.amplitude", "Z", Positive, "standard deviation of the noise it starts from"),
    Key::new("data.waves", "", Positive, "width of the initial spectrum, in waves per domain"),
    Key::new("data.energy", "L²/T²", Positive, "kinetic energy it starts from"),
    Key::new("data.height", "Z", Interval, "range of a blob's height, the same for start and target"),
    Key::new("data.width", "L", Interval, "range of its width"),
    Key::new("data.start", "L", Interval, "range of both coordinates of the start"),
    Key::new("data.target_x", "L", Interval, "range of the target's first coordinate"),
    Key::new("data.target_y", "L", Interval, "range of the target's second coordinate"),
    Key::new("data.distance", "L", NonNegative, "least distance from start to target"),
    Key::new("loss.track", "", NonNegative, "weight of the mean of (z - z*)² over all steps"),
    Key::new("loss.effort_u", "", NonNegative, "weight of the mean of u²"),
    Key::new("loss.effort_v", "", NonNegative, "weight of the mean of |v|²"),
    Key::new("loss.bound", "", NonNegative, "weight of the squared depth inside safety.margin of a wall"),
    Key::new("loss.coll", "", NonNegative, "weight of the nearness of agents (safety.radius)"),
    Key::new("loss.accel", "", NonNegative, "weight of the mean of |v_{t+1} - v_t|²"),
    Key::new("loss.terminal", "", NonNegative, "weight of the mean of (z - z*)² at the last step"),
    Key::new("loss.total_forcing", "", NonNegative, "weight of the squared total forcing"),
    Key::new(
        "loss.obstacle",
        "",
        NonNegative,
        "weight of the squared depth inside obstacles.margin of a disc",
    ),
    Key::new("loss.moment", "", NonNegative, "weight of |mu - mu*| + |s - s*| / 2 of centroid and spread"),
    Key::new("loss.moment_end", "", NonNegative, "weight of the same at the last step"),
    Key::new("loss.mass", "", NonNegative, "weight of the squared relative change of the mass"),
    Key::new("loss.smooth", "", NonNegative, "weight of the mean of |v_{t+1} - v_t|², of densities"),
    Key::new(
        "safety.margin",
        "L",
        NonNegative,
        "distance to the walls that loss.bound asks for; below half of a side",
    ),
    Key::new("safety.radius", "L", NonNegative, "distance to each other that loss.coll asks for"),
    Key::new(
        "safety.wall",
        "L",
        NonNegative,
        "agents are kept this far from the walls; below half of a side",
    ),
    Key::new("obstacles.layout", "", Words(&["sides", "diagonal"]), "where the three discs stand"),
    Key::new(
        "obstacles.filter",
        "",
        Words(&["none", "project"]),
        "project: an agent that would enter a disc is moved to its rim",
    ),
    Key::new("obstacles.margin", "L", NonNegative, "distance to keep from a rim"),
    Key::new("train.batch", "", AtLeast(1), "cases per update (transitions in a minibatch of RL)"),
    Key::new("train.updates", "", AtLeast(1), "updates of the parameters"),
    Key::new(
        "train.lr",
        "",
        Positive,
        "learning rate: highest of the cosine, first of the exponential schedule",
    ),
    Key::new(
        "train.schedule",
        "",
        Words(&["exponential", "cosine"]),
        "shape of the learning rate over the updates",
    ),
    Key::new("train.half_life", "", Positive, "exponential: updates until the rate has halved"),
    Key::new("train.warmup", "", Any, "cosine: updates of the linear warm-up"),
    Key::new("train.lr_start", "", NonNegative, "cosine: rate of the first update"),
    Key::new("train.lr_end", "", NonNegative, "cosine: rate of the last update"),
    Key::new("train.clip", "", Positive, "bound of the gradient's global norm"),
    Key::new(
        "train.step_clip",
        "",
        NonNegative,
        "bound of derivatives from one control step to the one before; 0 for none",
    ),
    Key::new("train.scatter", "", Within(0.0, 1.0), "share of training cases whose agents start elsewhere"),
    Key::new("train.failure", "", Any, "range of the share of agents that fail in a training case; below 1"),
    Key::new(
        "train.failure_from",
        "",
        Words(&["random", "start"]),
        "when they fail: from a random step on, or from the start, which is cheaper with static agents",
    ),
    Key::new(
        "train.fewer",
        "",
        Within(0.0, 1.0),
        "share of training cases with fewer agents, evenly placed, instead",
    ),
    Key::new(
        "train.more",
        "",
        NonNegative,
        "how many more agents training cases have at most, as a share of agents; 1 for up to twice as many",
    ),
    Key::new(
        "train.hold",
        "",
        Within(0.0, 1.0),
        "share of training cases that go on where the rollout before ended",
    ),
    Key::new("train.hold_weight", "", Positive, "how much more their errors count"),
    Key::new("train.seed", "", Any, "seed of every random number of a run"),
    Key::new(
        "train.memory_mb",
        "MB",
        Any,
        "memory for storing values of all steps; decides speed, never a result",
    ),
    Key::new("train.checkpoint_every", "", AtLeast(1), "updates between two checkpoints"),
    Key::new("train.validate_every", "", AtLeast(0), "updates between two validations; 0 for none"),
    Key::new("train.validation_cases", "", AtLeast(0), "cases of a validation; 0 for no validation"),
    Key::new(
        "train.extended_at",
        "",
        Increasing,
        "totals of updates at which the training was extended; each part has its own learning-rate schedule",
    ),
    Key::new("method.name", "", Any, "the baseline"),
    Key::new(
        "method.network",
        "",
        Words(&["central", "convolutional", "local", "operator"]),
        "the network that acts",
    ),
    Key::new("method.hidden", "", Counts(4096), "widths of the hidden layers of plain networks"),
    Key::new(
        "method.critic_energy",
        "",
        Any,
        "critics of the whole state are also told the mean square of its error",
    ),
    Key::new("method.on_policy.envs", "", AtLeast(1), "environments side by side"),
    Key::new("method.on_policy.hold", "", AtLeast(1), "control steps an action is held"),
    Key::new("method.on_policy.horizon", "", AtLeast(1), "decisions collected per update"),
    Key::new("method.on_policy.critic_hidden", "", Counts(4096), "widths of the critic's hidden layers"),
    Key::new("method.on_policy.epochs", "", AtLeast(1), "passes over what was collected"),
    Key::new("method.on_policy.gamma", "", Within(0.0, 1.0), "discount"),
    Key::new("method.on_policy.lambda", "", Within(0.0, 1.0), "decay of generalised advantage estimation"),
    Key::new(
        "method.on_policy.ratio_clip",
        "",
        Positive,
        "how far the probability of an action may move in an update",
    ),
    Key::new("method.on_policy.value_weight", "", NonNegative, "weight of the critic's error in the loss"),
    Key::new("method.on_policy.entropy_weight", "", NonNegative, "weight of the policy's entropy"),
    Key::new(
        "method.on_policy.std",
        "",
        Positive,
        "first standard deviation of actions, in units of their bound",
    ),
    Key::new("method.off_policy.envs", "", AtLeast(1), "environments side by side"),
    Key::new("method.off_policy.hold", "", AtLeast(1), "control steps an action is held"),
    Key::new("method.off_policy.interval", "", AtLeast(1), "decisions between two rounds of gradient steps"),
    Key::new("method.off_policy.gradient_steps", "", AtLeast(1), "gradient steps of the critics in a round"),
    Key::new("method.off_policy.buffer", "", AtLeast(1), "transitions kept; at least train.batch"),
    Key::new("method.off_policy.first", "", Any, "transitions with random actions before learning"),
    Key::new(
        "method.off_policy.warmup",
        "",
        Any,
        "gradient steps of the critics before the first of the actor",
    ),
    Key::new("method.off_policy.gamma", "", Within(0.0, 1.0), "discount"),
    Key::new("method.off_policy.critic_hidden", "", Counts(4096), "widths of the critics' hidden layers"),
    Key::new(
        "method.off_policy.tau",
        "",
        Within(0.0, 1.0),
        "share of the new in the target networks, per gradient step",
    ),
    Key::new(
        "method.off_policy.explore",
        "",
        NonNegative,
        "standard deviation of exploration, in units of the bounds",
    ),
    Key::new(
        "method.off_policy.together",
        "",
        Within(0.0, 1.0),
        "share of exploration that all agents do together",
    ),
    Key::new("method.off_policy.smooth", "", NonNegative, "standard deviation of target smoothing"),
    Key::new("method.off_policy.smooth_clip", "", NonNegative, "bound of that noise"),
    Key::new("method.off_policy.delay", "", AtLeast(1), "gradient steps of the critics per one of the actor"),
    Key::new(
        "method.off_policy.critic",
        "",
        Words(&["joint", "independent"]),
        "what the critics of many agents know",
    ),
];
