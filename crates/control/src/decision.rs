//! The policy alone, without physics: what agents at given places do about a given field.
//!
//! For deployment (fields come from a sensor, not from a solver) and to measure how long a decision takes. Field and positions
//! may change from step to step; the target is fixed.

use crate::actuation::Actuation;
use crate::config::Config;
use crate::observation::Observation;
use crate::policy::Policy;
use adjoint::{Program, Real, Session, Trace, Tracer, Var};

/// Traces a decision: sequences `z` and `xi`, fixed `target`, records `u` and, where agents move, `v`.
pub fn trace(config: &Config) -> Trace {
    let tracer = Tracer::new();
    let (observation, inputs) = (Observation::new(config), Inputs::declare(&tracer, config));
    let policy = Policy::declare(&tracer, config, &observation);
    let action = policy.act(observation.windows(inputs.error, inputs.xi), inputs.xi);
    tracer.record("u", action.u);
    action.v.into_iter().for_each(|v| tracer.record("v", v));
    tracer.finish()
}

/// Traces what lies between field and action, for checks: records `observation` (`[2 P][agents]`), `raw` (`[actions][agents]`) and
/// `forcing` (`[n][1]`).
pub fn inspection_trace(config: &Config) -> Trace {
    let tracer = Tracer::new();
    let (observation, inputs) = (Observation::new(config), Inputs::declare(&tracer, config));
    let policy = Policy::declare(&tracer, config, &observation);
    let windows = observation.windows(inputs.error, inputs.xi);
    tracer.record("observation", windows.linear(observation.resampling()));
    tracer.record("raw", policy.raw(windows, inputs.xi));
    let forcing = Actuation::new(config).forcing(inputs.xi, policy.act(windows, inputs.xi).u);
    tracer.record("forcing", forcing);
    tracer.finish()
}

struct Inputs<'t> {
    error: Var<'t>,
    xi: Var<'t>,
}

impl<'t> Inputs<'t> {
    fn declare(tracer: &'t Tracer, config: &Config) -> Inputs<'t> {
        let z = tracer.sequence("z", config.grid.n, 1);
        let xi = tracer.sequence("xi", 1, config.agents);
        Inputs { error: z - tracer.fixed("target", config.grid.n, 1), xi }
    }
}

/// A policy ready to be given parameters.
pub struct Decision<T: Real> {
    program: Program<T>,
    mobile: bool,
}

impl<T: Real> Decision<T> {
    /// For `config.agents` agents.
    pub fn new(config: &Config) -> Decision<T> {
        Decision { program: Program::new(&trace(config), 1), mobile: config.mobile() }
    }

    /// A controller with these parameters, towards this target. What depends on them only is worked out here.
    pub fn controller(&self, params: &[T], target: &[T]) -> Controller<'_, T> {
        Controller { session: Session::new(&self.program, params, &[target], &[]), mobile: self.mobile }
    }
}

/// A policy at work: a field and positions in, actions out.
pub struct Controller<'p, T: Real> {
    session: Session<'p, T>,
    mobile: bool,
}

/// What the agents are told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decided<'a, T> {
    /// Intensities.
    pub u: &'a [T],
    /// Velocities, where agents move.
    pub v: Option<&'a [T]>,
}

impl<T: Real> Controller<'_, T> {
    /// Actions for the field `z` and agents at `xi`.
    pub fn decide(&mut self, z: &[T], xi: &[T]) -> Decided<'_, T> {
        self.session.step(&[z, xi]);
        Decided { u: self.session.record(0), v: self.mobile.then(|| self.session.record(1)) }
    }
}
