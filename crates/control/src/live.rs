//! A closed loop driven one control step at a time, by someone who watches it and interferes.
//!
//! It runs the trace of a rollout, so it gives the numbers of a rollout. Agents can be silenced at any step,
//! and the loop can go on from any field and places.

use crate::closed_loop::{self, StepInputs, StepRecords, TracedStep};
use crate::config::Config;
use crate::data::Targets;
use crate::disturbance::RandomInput;
use cinoc_adjoint::{Input, Inputs, Program, Record, Session, Threads};

/// What a loop goes on from.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveState {
    /// The field.
    pub z: Vec<f32>,
    /// Places of the agents, `[dims][agents]`; empty in a loop without agents.
    pub xi: Vec<f32>,
}

/// A loop in progress.
///
/// ```
/// use cinoc_control::agents::start_positions;
/// use cinoc_control::live::{LiveLoop, LiveState};
/// use cinoc_control::{Config, policy};
///
/// let config = Config::preset("heat1d").unwrap();
/// let xi = start_positions(&config).iter().map(|&xi| xi as f32).collect();
/// let state = LiveState { z: vec![0.5; config.state_size()], xi };
/// let params = vec![0.0; policy::param_count(&config)];
/// let mut live = LiveLoop::controlled(&config, &params, &state, &vec![0.0; config.state_size()]);
/// live.step(&vec![1.0; config.agents], &|_| Vec::new());
/// assert!(live.error() < 0.25 && live.u().unwrap().len() == config.agents);
/// ```
pub struct LiveLoop {
    session: Session<f32>,
    inputs: StepInputs,
    records: StepRecords,
    threads: Threads,
    mobile: bool,
    target: Vec<f32>,
}

impl LiveLoop {
    /// The loop with a policy in it, for `config.agents` agents.
    ///
    /// # Panics
    /// If numbers are missing: parameters, or those of a field or of places.
    pub fn controlled(config: &Config, params: &[f32], state: &LiveState, target: &[f32]) -> LiveLoop {
        // any agent may be silenced, so the trace has the input that says who is alive
        let mut failing = config.clone();
        failing.failure.share = 1.0;
        LiveLoop::start(
            config,
            closed_loop::trace(&failing, false, None, Targets::Fixed),
            params,
            state,
            target,
        )
    }

    /// The physics alone.
    ///
    /// # Panics
    /// If the numbers are not those of a field.
    pub fn uncontrolled(config: &Config, state: &LiveState, target: &[f32]) -> LiveLoop {
        LiveLoop::start(config, closed_loop::uncontrolled_trace(config, Targets::Fixed), &[], state, target)
    }

    fn start(
        config: &Config,
        step: TracedStep,
        params: &[f32],
        state: &LiveState,
        target: &[f32],
    ) -> LiveLoop {
        let given = Inputs::new(1, 0, params).with(step.inputs.z, &state.z).with(step.inputs.target, target);
        let given = step.inputs.xi.into_iter().fold(given, |given, xi| given.with(xi, &state.xi));
        LiveLoop {
            session: Session::new(&Program::new(&step.trace, 1), &given),
            inputs: step.inputs,
            records: step.records,
            threads: Threads::one(),
            mobile: config.mobile(),
            target: target.to_vec(),
        }
    }

    /// One control step. `alive` has 1 for every agent at work and 0 for every silent one, `noise` gives the
    /// numbers of the noise that the settings have.
    pub fn step(&mut self, alive: &[f32], noise: &dyn Fn(RandomInput) -> Vec<f32>) {
        let drawn: Vec<(Input, Vec<f32>)> = self
            .inputs
            .random
            .iter()
            .map(|&(what, input)| {
                (input, if what == RandomInput::Alive { alive.to_vec() } else { noise(what) })
            })
            .collect();
        let sequences: Vec<(Input, &[f32])> =
            drawn.iter().map(|(input, values)| (*input, &values[..])).collect();
        self.session.step(&sequences, &self.threads);
    }

    /// Goes on from elsewhere.
    pub fn go_on(&mut self, state: &LiveState) {
        let mut given = vec![(self.inputs.z, &state.z[..]), (self.inputs.target, &self.target[..])];
        given.extend(self.inputs.xi.map(|xi| (xi, &state.xi[..])));
        self.session.restart(0, &given);
    }

    /// The field after the last step.
    pub fn z(&self) -> Vec<f32> {
        self.session.state(self.inputs.z)
    }

    /// Places of agents that move after the last step; none of those that do not.
    pub fn xi(&self) -> Option<Vec<f32>> {
        self.inputs.xi.filter(|_| self.mobile).map(|xi| self.session.state(xi))
    }

    /// Intensities of the last step, where agents have any.
    pub fn u(&self) -> Option<Vec<f32>> {
        self.records.u.map(|u: Record| self.session.record(u))
    }

    /// Velocities of the last step, where agents move.
    pub fn v(&self) -> Option<Vec<f32>> {
        self.records.v.map(|v| self.session.record(v))
    }

    /// Mean of `(z - z*)^2` after the last step.
    pub fn error(&self) -> f64 {
        f64::from(self.session.record(self.records.error)[0])
    }
}
