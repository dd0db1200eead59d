//! One control step, written down once: observe, decide, push, step the physics, move.
//!
//! 1. The policy sees `(z_t + noise, z*, xi_t)` and returns `u_t`, `v_t`; an agent that has failed returns 0.
//! 2. The forcing of `(xi_t, u_t + noise)` is held for `substeps` solver steps, which lead to `z_{t+1}`.
//! 3. `xi_{t+1} = clip(xi_t + dt_c v_t)` with `dt_c` the control interval (or `actuation.speed`), kept out of
//!    discs if asked for.
//!
//! | input | kind | there if |
//! |---|---|---|
//! | `z` | state | always |
//! | `xi` | state if agents move, else fixed | always |
//! | `previous_v` | state | the objective has `accel` or `smooth` |
//! | `start`, the first field again | fixed | the objective has `mass` |
//! | `target` | fixed, or a sequence if targets move | always |
//! | `sensor_noise` per point, `actuator_noise` per agent: N(0, 1) | sequence | their deviation is above 0 |
//! | `alive`, 1 or 0 per agent | sequence | `failure.share`, or in training `train.failure` or `train.more` |
//! | the same | fixed | in training, if agents fail from the start |
//! | `importance`, a factor on the errors of a case | fixed | `train.hold` is above 0, with an objective |
//!
//! An agent may stand for any number of agents, its weight: what it does to the field and how much it counts
//! in means over agents are multiplied by it, what it does itself is not.
//!
//! Recorded in every step: `z` and `xi` after it, the actions `u` (without actuator noise) and `v` that led
//! there, `error`, the mean of `(z - z*)^2` after it, and of a density `moment`, how far centroid and spread
//! are from the target's. Where targets move, they and the loss are about the target that the policy saw in
//! this step. Everything but the noise and the cell of a window is differentiated.

use crate::actuation::Actuation;
use crate::config::{Config, FailureFrom};
use crate::data::Targets;
use crate::disturbance::RandomInput;
use crate::moments::{Coordinates, Moments};
use crate::objective::{self, LossTerm, Step, Weights};
use crate::observation::tracked;
use crate::obstacles::Discs;
use crate::policy::{self, Action, Policy, Sight};
use cinoc_adjoint::{Input, Record, Term, Trace, Tracer, Var};

/// A traced control step, and the handles of what a run of it gives and takes.
pub struct TracedStep {
    /// The step.
    pub trace: Trace,
    /// Its inputs.
    pub inputs: StepInputs,
    /// Its terms of the objective.
    pub terms: Vec<(&'static LossTerm, Term)>,
    /// What can be watched.
    pub records: StepRecords,
}

/// Inputs of a control step, as the table above says.
#[derive(Clone, Debug)]
pub struct StepInputs {
    /// The field.
    pub z: Input,
    /// Its target.
    pub target: Input,
    /// Where the agents are; none in a loop without agents.
    pub xi: Option<Input>,
    /// Velocities of the step before.
    pub previous_v: Option<Input>,
    /// The first field again.
    pub start: Option<Input>,
    /// How much the errors of a case count.
    pub importance: Option<Input>,
    /// Who is at work, where that does not change during a rollout.
    pub living: Option<Input>,
    /// Noise and failures.
    pub random: Vec<(RandomInput, Input)>,
}

impl StepInputs {
    /// The inputs that are given before the first step, if the target is fixed.
    pub fn before_first_step(&self) -> impl Iterator<Item = Input> {
        let StepInputs { z, target, xi, previous_v, start, importance, living, random: _ } = *self;
        [Some(z), Some(target), xi, previous_v, start, importance, living].into_iter().flatten()
    }
}

/// What can be watched of a control step.
#[derive(Clone, Copy, Debug)]
pub struct StepRecords {
    /// The field after it.
    pub z: Record,
    /// Mean of `(z - z*)^2` after it.
    pub error: Record,
    /// Of a density, how far centroid and spread are from those of the target.
    pub moment: Option<Record>,
    /// Where the agents are after it; none in a loop without agents.
    pub xi: Option<Record>,
    /// Intensities, where agents have any.
    pub u: Option<Record>,
    /// Velocities, where agents move.
    pub v: Option<Record>,
}

/// Traces one control step with `config.agents` agents, with the terms of the objective or without, the
/// agents with weights or all of weight 1, towards targets that are fixed or move.
///
/// # Panics
/// If the weights are not one per agent, or they come with the term `coll`.
pub fn trace(config: &Config, terms: bool, weights: Option<&[f64]>, targets: Targets) -> TracedStep {
    let tracer = Tracer::new();
    let policy = Box::new(Policy::declare(&tracer, config));
    let (inputs, terms, records) =
        control_step(&tracer, config, terms, weights, targets, Decides::Policy(policy));
    TracedStep { trace: tracer.finish(), inputs, terms, records }
}

/// Traces one control step of a task whose actions are given, `action` (`[actions][agents]`, in units of
/// their bounds), a sequence: the environment of a learner that does not look into the physics, or of a
/// planner that does. The target is fixed. Returns the handle of the actions with it.
pub fn driven_trace(config: &Config) -> (TracedStep, Input) {
    let tracer = Tracer::new();
    let action = tracer.sequence("action", policy::actions(config), config.agents);
    let (inputs, terms, records) =
        control_step(&tracer, config, true, None, Targets::Fixed, Decides::Caller(action));
    let action = action.input();
    (TracedStep { trace: tracer.finish(), inputs, terms, records }, action)
}

/// Who decides what the agents do.
enum Decides<'t> {
    Policy(Box<Policy<'t>>),
    /// The actions in units of their bounds.
    Caller(Var<'t>),
}

/// Traces one control interval without agents: state `z`, input `target`, records `z` and `error`.
pub fn uncontrolled_trace(config: &Config, targets: Targets) -> TracedStep {
    let (tracer, z_rows, (rows, cols)) = (Tracer::new(), config.state_shape().0, config.shape());
    let (z, target) = (tracer.state("z", z_rows, cols), target(&tracer, config, targets));
    let dynamics = config.dynamics();
    let fields = dynamics.forcing_fields();
    let nothing = tracer.constant(fields * rows, cols, vec![0.0; fields * rows * cols]);
    let next = dynamics.interval(z, dynamics.response(nothing), config.time.substeps);
    tracer.advance(z, next);
    let records = record_field(&tracer, next, moments(config, next, target), error(config, next, target));
    let inputs = StepInputs {
        z: z.input(),
        target: target.input(),
        xi: None,
        previous_v: None,
        start: None,
        importance: None,
        living: None,
        random: Vec::new(),
    };
    TracedStep { trace: tracer.finish(), inputs, terms: Vec::new(), records }
}

fn control_step<'t>(
    tracer: &'t Tracer,
    config: &Config,
    terms: bool,
    weights: Option<&[f64]>,
    targets: Targets,
    decides: Decides<'t>,
) -> (StepInputs, Vec<(&'static LossTerm, Term)>, StepRecords) {
    let ((rows, cols), dims, agents) = (config.state_shape(), config.task.dims, config.agents);
    let dynamics = config.dynamics();
    let (z, target) = (tracer.state("z", rows, cols), target(tracer, config, targets));
    let xi =
        if config.mobile() { tracer.state("xi", dims, agents) } else { tracer.fixed("xi", dims, agents) };
    let previous_v = (terms && objective::needs_previous_velocity(config))
        .then(|| tracer.state("previous_v", dims, agents));
    let start = (terms && objective::needs_start(config)).then(|| tracer.fixed("start", rows, cols));
    let weights = weights
        .map(|each| Weights { each: tracer.constant(1, agents, each.to_vec()), total: each.iter().sum() });

    let mut random = Vec::new();
    let trains = terms && matches!(decides, Decides::Policy(_));
    let living = (trains && failing_from_start(config)).then(|| tracer.fixed("alive", 1, agents));
    let alive = living.or_else(|| {
        failing(config, terms).then(|| random_input(tracer, RandomInput::Alive, 1, agents, &mut random))
    });
    let decided = match decides {
        Decides::Policy(policy) => {
            let seen = with_noise(z, RandomInput::SensorNoise, config.noise.sensor, &mut random);
            // an agent that stands for many counts as many
            let noticed = alive.filter(|_| config.failure.seen);
            let counted = match (noticed, weights) {
                (Some(alive), Some(weights)) => Some(weights.each * alive),
                (noticed, weights) => noticed.or(weights.map(|weights| weights.each)),
            };
            policy.act(Sight::new(config, seen, target, xi, counted))
        }
        Decides::Caller(action) => policy::scaled(config, action),
    };
    let (action, applied) = disturbed(config, decided, alive, &mut random);
    let applied = weights.map_or(applied, |weights| applied.map(|value| weights.each * value));

    let response = Actuation::new(config).response(dynamics.as_ref(), xi, applied);
    let next = dynamics.interval(z, response, config.time.substeps);
    tracer.advance(z, next);
    let moved = action.v.map_or(xi, |v| moved(config, xi, v));
    if let Some(v) = action.v {
        tracer.advance(xi, moved);
        previous_v.into_iter().for_each(|previous| tracer.advance(previous, v));
    }

    let error = error(config, next, target);
    let importance = (terms && config.train.hold > 0.0).then(|| tracer.fixed("importance", 1, 1));
    let moments = moments(config, next, target);
    let step = Step {
        z: next,
        target,
        moments,
        start,
        error,
        importance,
        xi: moved,
        u: action.u,
        v: action.v,
        previous_v,
        weights,
    };
    let term = |term: &'static LossTerm| Some((term, tracer.term(term.name, term.value(config, &step)?)));
    let terms = objective::active(config).filter(|_| terms).filter_map(term).collect();
    let field = record_field(tracer, next, moments, error);
    let records = StepRecords {
        xi: Some(tracer.record("xi", moved)),
        u: action.u.map(|u| tracer.record("u", u)),
        v: action.v.map(|v| tracer.record("v", v)),
        ..field
    };
    let inputs = StepInputs {
        z: z.input(),
        target: target.input(),
        xi: Some(xi.input()),
        previous_v: previous_v.map(Var::input),
        start: start.map(Var::input),
        importance: importance.map(Var::input),
        living: living.map(Var::input),
        random,
    };
    (inputs, terms, records)
}

/// Declares what the field should become: once, or for every step.
fn target<'t>(tracer: &'t Tracer, config: &Config, targets: Targets) -> Var<'t> {
    let (rows, cols) = config.state_shape();
    match targets {
        Targets::Fixed => tracer.fixed("target", rows, cols),
        Targets::Moving => tracer.sequence("target", rows, cols),
    }
}

/// Mean square of what is left to do: the distance of the tracked fields from their targets.
fn error<'t>(config: &Config, z: Var<'t>, target: Var<'t>) -> Var<'t> {
    tracked(config, z - target).mean_square()
}

/// Moments of a field and its target, if they are densities.
fn moments<'t>(config: &Config, z: Var<'t>, target: Var<'t>) -> Option<[Moments<'t>; 2]> {
    config.task.density.then(|| {
        let coordinates = Coordinates::new(config, z);
        [z, target].map(|density| coordinates.moments(density))
    })
}

fn record_field<'t>(
    tracer: &'t Tracer,
    z: Var<'t>,
    moments: Option<[Moments<'t>; 2]>,
    error: Var<'t>,
) -> StepRecords {
    StepRecords {
        z: tracer.record("z", z),
        error: tracer.record("error", error),
        moment: moments.map(|[now, target]| tracer.record("moment", now.distance(target))),
        xi: None,
        u: None,
        v: None,
    }
}

/// Positions after a control step: kept inside the walls, and out of discs if the task asks for it.
pub(crate) fn moved<'t>(config: &Config, xi: Var<'t>, v: Var<'t>) -> Var<'t> {
    let wall = config.safety.as_ref().and_then(|safety| safety.wall).unwrap_or(0.0);
    let onward = xi + config.actuation.speed.unwrap_or_else(|| config.control_dt()) * v;
    let inside = config
        .axes()
        .into_iter()
        .enumerate()
        .map(|(a, axis)| onward.slice(a..a + 1).clamp(wall, axis.length - wall));
    let inside = inside.reduce(Var::stack).expect("a checked task has 1 or 2 axes");
    Discs::of(config).map_or(inside, |discs| discs.filter(inside))
}

/// Declares a random input and lists it.
fn random_input<'t>(
    tracer: &'t Tracer,
    what: RandomInput,
    rows: usize,
    cols: usize,
    all: &mut Vec<(RandomInput, Input)>,
) -> Var<'t> {
    let drawn = tracer.sequence(what.name(), rows, cols);
    all.push((what, drawn.input()));
    drawn
}

/// `value` plus noise of standard deviation `sigma`, given as a sequence of N(0, 1).
fn with_noise<'t>(
    value: Var<'t>,
    noise: RandomInput,
    sigma: f64,
    all: &mut Vec<(RandomInput, Input)>,
) -> Var<'t> {
    if sigma == 0.0 {
        return value;
    }
    value + sigma * random_input(value.tracer(), noise, value.rows(), value.cols(), all)
}

/// The action with failed agents silenced, and what of it reaches the physics: noisy where agents are alive.
fn disturbed<'t>(
    config: &Config,
    decided: Action<'t>,
    alive: Option<Var<'t>>,
    random: &mut Vec<(RandomInput, Input)>,
) -> (Action<'t>, Action<'t>) {
    let mut noisy = |value| with_noise(value, RandomInput::ActuatorNoise, config.noise.actuator, random);
    // where agents have intensities those are noisy, else the velocities they stir with
    let applied = match decided.u {
        Some(u) => Action { u: Some(noisy(u)), v: decided.v },
        None => Action { u: None, v: decided.v.map(noisy) },
    };
    match alive {
        Some(alive) => (decided.map(|value| alive * value), applied.map(|value| alive * value)),
        None => (decided, applied),
    }
}

/// Whether those that fail or are missing in training do so from the start.
fn failing_from_start(config: &Config) -> bool {
    let from_start = config.train.failure_from == FailureFrom::Start && config.failure.share == 0.0;
    from_start && failing(config, true)
}

/// Whether agents can fail or be missing: in evaluation by `failure.share`, in training by `train.failure`
/// and `train.more` too.
fn failing(config: &Config, terms: bool) -> bool {
    config.failure.share > 0.0 || (terms && (config.train.failure[1] > 0.0 || config.train.more > 0.0))
}
