//! One control step, written down once: observe, decide, push, step the physics, move.
//!
//! 1. The policy sees `(z_t + noise, z*, xi_t)` and returns `u_t`, `v_t`; an agent that has failed returns 0.
//! 2. The forcing of `(xi_t, u_t + noise)` is held for `substeps` solver steps, which lead to `z_{t+1}`.
//! 3. `xi_{t+1} = clip(xi_t + dt_c v_t)` with `dt_c` the control interval.
//!
//! | input | kind | there if |
//! |---|---|---|
//! | `z` | state | always |
//! | `xi` | state if agents move, else fixed | always |
//! | `previous_v` | state | the objective has `accel` |
//! | `target` | fixed | always |
//! | `sensor_noise` (per grid point), `actuator_noise` (per agent): N(0, 1) | sequence | their standard deviation is above 0 |
//! | `alive`, 1 or 0 per agent | sequence | `failure.share` is above 0 |
//!
//! Recorded in every step: `z` and `xi` after it, the actions `u` (without actuator noise) and `v` that led there, and
//! `error`, the mean of `(z - z*)^2` after it. Everything but the noise and the cell of a window is differentiated.

use crate::actuation::Actuation;
use crate::config::Config;
use crate::objective::{self, Step};
use crate::observation::Observation;
use crate::physics;
use crate::policy::{Action, Policy};
use adjoint::{Trace, Tracer, Var};
use pde::Dynamics;

/// Traces one control step of an equation with `config.agents` agents.
///
/// # Panics
/// If the equation has another grid or time step than the config.
pub fn trace(config: &Config, dynamics: &dyn Dynamics) -> Trace {
    assert_eq!(dynamics.grid(), physics::grid(config), "the equation's grid and the config's");
    assert_eq!(dynamics.dt(), config.time.dt, "the equation's time step and time.dt");
    let tracer = Tracer::new();
    control_step(&tracer, config, dynamics);
    tracer.finish()
}

/// Traces one control interval without agents: state `z`, fixed `target`, records `z` and `error`.
pub fn uncontrolled_trace(config: &Config) -> Trace {
    let (tracer, n) = (Tracer::new(), config.grid.n);
    let (z, target) = (tracer.state("z", n, 1), tracer.fixed("target", n, 1));
    let dynamics = physics::dynamics(config);
    let nothing = dynamics.response(tracer.constant(n, 1, vec![0.0; n]));
    let next = dynamics.interval(z, nothing, config.time.substeps);
    tracer.advance(z, next);
    tracer.record("z", next);
    tracer.record("error", (next - target).mean_square());
    tracer.finish()
}

fn control_step(tracer: &Tracer, config: &Config, dynamics: &dyn Dynamics) {
    let (n, agents) = (config.grid.n, config.agents);
    let (observation, actuation) = (Observation::new(config), Actuation::new(config));
    let policy = Policy::declare(tracer, config, &observation);

    let (z, target) = (tracer.state("z", n, 1), tracer.fixed("target", n, 1));
    let xi = if config.mobile() { tracer.state("xi", 1, agents) } else { tracer.fixed("xi", 1, agents) };
    let previous_v =
        objective::needs_previous_velocity(config).then(|| tracer.state("previous_v", 1, agents));

    let seen = with_noise(z, "sensor_noise", config.noise.sensor);
    let decided = policy.act(observation.windows(seen - target, xi), xi);
    let (action, applied) = disturbed(tracer, config, decided);

    let response = actuation.response(dynamics, xi, applied);
    let next = dynamics.interval(z, response, config.time.substeps);
    tracer.advance(z, next);
    let moved = action.v.map_or(xi, |v| (xi + config.control_dt() * v).clamp(0.0, config.grid.length));
    if let Some(v) = action.v {
        tracer.advance(xi, moved);
        previous_v.into_iter().for_each(|previous| tracer.advance(previous, v));
    }

    let step = Step { error: (next - target).mean_square(), xi: moved, u: action.u, v: action.v, previous_v };
    for term in objective::active(config) {
        tracer.term(term.name, term.value(config, &step));
    }
    tracer.record("z", next);
    tracer.record("xi", moved);
    tracer.record("u", action.u);
    action.v.into_iter().for_each(|v| tracer.record("v", v));
    tracer.record("error", step.error);
}

/// `value` plus noise of standard deviation `sigma`, given as a sequence of N(0, 1).
fn with_noise<'t>(value: Var<'t>, name: &str, sigma: f64) -> Var<'t> {
    if sigma == 0.0 {
        return value;
    }
    value + sigma * value.tracer().sequence(name, value.rows(), value.cols())
}

/// The action with failed agents silenced, and the intensities that reach the physics: noisy where agents are alive.
fn disturbed<'t>(tracer: &'t Tracer, config: &Config, decided: Action<'t>) -> (Action<'t>, Var<'t>) {
    let noisy = with_noise(decided.u, "actuator_noise", config.noise.actuator);
    if config.failure.share == 0.0 {
        return (decided, noisy);
    }
    let alive = tracer.sequence("alive", 1, config.agents);
    (Action { u: alive * decided.u, v: decided.v.map(|v| alive * v) }, alive * noisy)
}
