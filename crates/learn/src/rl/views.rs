//! Observations of each agent of an environment, as numbers: for RL algorithms outside this crate, which
//! cannot use traces.

use cinoc_adjoint::{Input, Program, Record, Threads, Tracer};

use super::environment::Environment;
use super::minibatch;

/// Computes the views of agents from states.
pub struct Views {
    program: Program<f32>,
    state: Input,
    view: Record,
}

impl Views {
    /// Views of the agents of an environment.
    pub fn new(environment: &impl Environment) -> Views {
        let tracer = Tracer::new();
        let state = tracer.sequence("state", environment.state_size(), 1);
        let (state, view) = (state.input(), tracer.record("view", environment.view(state)));
        Views { program: Program::new(&tracer.finish(), environment.copies()), state, view }
    }

    /// The observations of every agent in `states` (`[states][state_size]`): `[states][view_size][agents]`.
    ///
    /// # Panics
    /// If the length of `states` is not a multiple of the state size.
    pub fn of(&self, states: &[f32], threads: &Threads) -> Vec<f32> {
        let size = self.state.size();
        assert!(states.len().is_multiple_of(size), "states of {size} numbers");
        let inputs = minibatch(states.len() / size, &[], &[(self.state, states)], &[]);
        self.program.forward(&inputs, threads).record(self.view).to_vec()
    }
}
