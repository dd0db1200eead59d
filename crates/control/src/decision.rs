//! The policy alone, without physics: what agents at given places do about a given field.
//!
//! For deployment (fields come from a sensor, not from a solver) and to measure how long a decision takes. Field and positions
//! may change from step to step; the target is fixed. An agent that is known to have failed is left out of the positions, or
//! marked as failed where the number of agents cannot change ([`Decision::with_failures`]).

use crate::actuation::Actuation;
use crate::config::Config;
use crate::policy::{self, Policy, Sight};
use cinoc_adjoint::{Input, Inputs, Program, Real, Record, Session, Threads, Trace, Tracer, Var};

/// Inputs of a decision: the field and the positions of every step, the target.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The field.
    pub z: Input,
    /// Positions.
    pub xi: Input,
    /// Target of the whole run.
    pub target: Input,
    /// 1 for every agent at work, 0 for every failed one, where agents may fail.
    pub alive: Option<Input>,
}

/// What lies between field and action, traced.
pub struct Inspection {
    /// The step.
    pub trace: Trace,
    /// Its inputs.
    pub seen: Seen,
    /// What every agent observes, `[numbers][agents]`.
    pub observation: Record,
    /// Features of the trunk, `[features][agents]`.
    pub features: Record,
    /// Outputs of the network, `[outputs][agents]`.
    pub raw: Record,
    /// The forcing: a field or, of a flow, its two components with the drift.
    pub forcing: Record,
}

/// Traces what lies between field and action, for checks.
pub fn inspection(config: &Config) -> Inspection {
    let tracer = Tracer::new();
    let (sight, seen) = sight(&tracer, config, None);
    let (raw, action) = {
        let policy = Policy::declare(&tracer, config);
        (policy.raw(sight), policy.act(sight))
    };
    let observation = tracer.record("observation", policy::observation(config, sight));
    let features = tracer.record("features", policy::features(config, sight));
    let raw = tracer.record("raw", raw);
    let forcing = Actuation::new(config).forcing(sight.xi, action);
    let forcing = match config.physics.get("drift") {
        Some(drift) => {
            let rows = forcing.rows() / 2;
            forcing.slice(0..rows).stack(forcing.slice(rows..2 * rows) + drift)
        }
        None => forcing,
    };
    let forcing = tracer.record("forcing", forcing);
    Inspection { trace: tracer.finish(), seen, observation, features, raw, forcing }
}

fn sight<'t>(tracer: &'t Tracer, config: &Config, alive: Option<Var<'t>>) -> (Sight<'t>, Seen) {
    let (rows, cols) = config.state_shape();
    let (z, target) = (tracer.sequence("z", rows, cols), tracer.fixed("target", rows, cols));
    let xi = tracer.sequence("xi", config.task.dims, config.agents);
    let seen = Seen { z: z.input(), xi: xi.input(), target: target.input(), alive: alive.map(Var::input) };
    (Sight::new(config, z, target, xi, alive), seen)
}

/// A policy ready to be given parameters.
///
/// ```
/// use cinoc_control::policy::param_count;
/// use cinoc_control::{Config, Decision};
///
/// let config = Config::preset("ks1d").unwrap();
/// let decision = Decision::<f32>::new(&config);
/// // one decision serves many policies and targets
/// let target = vec![0.0; config.state_size()];
/// let _controller = decision.controller(&vec![0.0; param_count(&config)], &target);
/// ```
pub struct Decision<T: Real> {
    program: Program<T>,
    seen: Seen,
    /// Intensities, where agents have any.
    u: Option<Record>,
    /// Velocities, where agents move.
    v: Option<Record>,
}

impl<T: Real> Decision<T> {
    /// For `config.agents` agents.
    pub fn new(config: &Config) -> Decision<T> {
        Decision::traced(config, false)
    }

    /// For `config.agents` agents, any of which may have failed: the others do not count them, and their actions are 0.
    /// Their positions must be finite, and have no effect.
    pub fn with_failures(config: &Config) -> Decision<T> {
        Decision::traced(config, true)
    }

    fn traced(config: &Config, failures: bool) -> Decision<T> {
        let tracer = Tracer::new();
        let alive = failures.then(|| tracer.sequence("alive", 1, config.agents));
        let (sight, seen) = sight(&tracer, config, alive);
        let action = Policy::declare(&tracer, config).act(sight);
        let action = alive.map_or(action, |alive| action.map(|value| alive * value));
        let u = action.u.map(|u| tracer.record("u", u));
        let v = action.v.map(|v| tracer.record("v", v));
        Decision { program: Program::new(&tracer.finish(), 1), seen, u, v }
    }

    /// A controller with these parameters, towards this target. What depends on them only is worked out here.
    /// If the target moves, ask for another controller with the target of the moment.
    pub fn controller(&self, params: &[T], target: &[T]) -> Controller<T> {
        let inputs = Inputs::new(1, 0, params).with(self.seen.target, target);
        let room = |record: Record| (record, vec![T::default(); record.shape().size()]);
        Controller {
            session: Session::new(&self.program, &inputs),
            threads: Threads::one(),
            seen: self.seen,
            u: self.u.map(room),
            v: self.v.map(room),
        }
    }
}

/// A policy at work: a field and positions in, actions out.
///
/// ```
/// use cinoc_control::agents::start_positions;
/// use cinoc_control::policy::param_count;
/// use cinoc_control::{Config, Decision};
///
/// // parameters come from a trained policy; those that are 0 do nothing
/// let config = Config::preset("heat1d").unwrap();
/// let (params, target) = (vec![0.0; param_count(&config)], vec![0.5; config.state_size()]);
/// let mut controller = Decision::<f64>::new(&config).controller(&params, &target);
/// let decided = controller.decide(&vec![0.0; config.state_size()], &start_positions(&config));
/// assert_eq!(decided.u, Some(&[0.0; 8][..]));
/// ```
pub struct Controller<T: Real> {
    session: Session<T>,
    threads: Threads,
    seen: Seen,
    /// Records with room for their numbers.
    u: Option<(Record, Vec<T>)>,
    v: Option<(Record, Vec<T>)>,
}

/// What the agents are told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decided<'a, T> {
    /// Intensities, where agents have any.
    pub u: Option<&'a [T]>,
    /// Velocities, where agents move: all first components, then all second ones.
    pub v: Option<&'a [T]>,
}

impl<T: Real> Controller<T> {
    /// Goes on towards another target.
    pub fn aim(&mut self, target: &[T]) {
        self.session.restart(0, &[(self.seen.target, target)]);
    }

    /// Actions for the field `z` and agents at `xi` (all first coordinates, then all second ones).
    ///
    /// # Panics
    /// If agents may fail, and for wrong lengths.
    pub fn decide(&mut self, z: &[T], xi: &[T]) -> Decided<'_, T> {
        self.session.step(&[(self.seen.z, z), (self.seen.xi, xi)], &self.threads);
        self.decided()
    }

    /// The same where agents may fail: `alive` has 1 for every agent at work and 0 for every failed one.
    ///
    /// # Panics
    /// If no agent may fail, and for wrong lengths.
    pub fn decide_with_failures(&mut self, z: &[T], xi: &[T], alive: &[T]) -> Decided<'_, T> {
        let failing = self.seen.alive.expect("a decision with failures");
        self.session.step(&[(self.seen.z, z), (self.seen.xi, xi), (failing, alive)], &self.threads);
        self.decided()
    }

    fn decided(&mut self) -> Decided<'_, T> {
        for (record, values) in self.u.iter_mut().chain(&mut self.v) {
            self.session.copy_record(*record, values);
        }
        let [u, v] = [&self.u, &self.v].map(|record| record.as_ref().map(|(_, values)| &values[..]));
        Decided { u, v }
    }
}
