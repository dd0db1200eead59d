//! The policy alone, without physics: what agents at given places do about a given field.
//!
//! For deployment (fields come from a sensor, not from a solver) and to measure how long a decision takes. Field and positions
//! may change from step to step; the target is fixed. An agent that is known to have failed is left out of the positions.

use crate::actuation::Actuation;
use crate::config::Config;
use crate::policy::{self, Policy, Sight};
use cinoc_adjoint::{Program, Real, Session, Threads, Trace, Tracer};
use std::sync::Arc;

/// Traces a decision: sequences `z` and `xi`, fixed `target`, records `u`, where agents have intensities, and `v`, where they move.
pub fn trace(config: &Config) -> Trace {
    let tracer = Tracer::new();
    let sight = sight(&tracer, config);
    let action = Policy::declare(&tracer, config).act(sight);
    action.u.into_iter().for_each(|u| tracer.record("u", u));
    action.v.into_iter().for_each(|v| tracer.record("v", v));
    tracer.finish()
}

/// Traces what lies between field and action, for checks: records `observation`, the trunk's `features` and `raw` (`[..][agents]` each)
/// and `forcing`, a field or, of a flow, its two components with the drift.
pub fn inspection_trace(config: &Config) -> Trace {
    let tracer = Tracer::new();
    let sight = sight(&tracer, config);
    let (raw, action) = {
        let policy = Policy::declare(&tracer, config);
        (policy.raw(sight), policy.act(sight))
    };
    tracer.record("observation", policy::observation(config, sight));
    tracer.record("features", policy::features(config, sight));
    tracer.record("raw", raw);
    let forcing = Actuation::new(config).forcing(sight.xi, action);
    tracer.record(
        "forcing",
        match config.physics.get("drift") {
            Some(drift) => {
                let rows = forcing.rows() / 2;
                forcing.slice(0..rows).stack(forcing.slice(rows..2 * rows) + drift)
            }
            None => forcing,
        },
    );
    tracer.finish()
}

fn sight<'t>(tracer: &'t Tracer, config: &Config) -> Sight<'t> {
    let (rows, cols) = config.state_shape();
    let (z, target) = (tracer.sequence("z", rows, cols), tracer.fixed("target", rows, cols));
    Sight::new(config, z, target, tracer.sequence("xi", config.task.dims, config.agents), None)
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
    program: Arc<Program<T>>,
    records: Records,
}

/// Which records hold the intensities and the velocities.
#[derive(Clone, Copy)]
struct Records {
    u: Option<usize>,
    v: Option<usize>,
}

impl<T: Real> Decision<T> {
    /// For `config.agents` agents.
    pub fn new(config: &Config) -> Decision<T> {
        let trace = trace(config);
        let place = |name| trace.records().position(|(known, _)| known == name);
        Decision {
            records: Records { u: place("u"), v: place("v") },
            program: Arc::new(Program::new(&trace, 1)),
        }
    }

    /// A controller with these parameters, towards this target. What depends on them only is worked out here.
    pub fn controller(&self, params: &[T], target: &[T]) -> Controller<T> {
        let session = Session::new(self.program.clone(), 1, params, &[target], &[]);
        Controller { session, threads: Threads::new(1), records: self.records }
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
    records: Records,
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
    /// Actions for the field `z` and agents at `xi` (all first coordinates, then all second ones).
    pub fn decide(&mut self, z: &[T], xi: &[T]) -> Decided<'_, T> {
        self.session.step(&[z, xi], &self.threads);
        let record = |place: Option<usize>| place.map(|place| self.session.only_record(place));
        Decided { u: record(self.records.u), v: record(self.records.v) }
    }
}
