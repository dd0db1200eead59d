//! Observations of each agent of an environment, as numbers: for RL algorithms outside this crate, which
//! cannot use traces.

use cinoc_adjoint::{Program, Threads, Tracer};

use super::environment::Environment;
use super::minibatch;

/// Computes the views of agents from states.
pub struct Views {
    program: Program<f32>,
    state_size: usize,
}

impl Views {
    /// Views of the agents of an environment.
    pub fn new(environment: &impl Environment) -> Views {
        let (tracer, state_size) = (Tracer::new(), environment.state_size());
        let state = tracer.sequence("state", state_size, 1);
        tracer.record("view", environment.view(state));
        Views { program: Program::new(&tracer.finish(), environment.copies()), state_size }
    }

    /// The observations of every agent in `states` (`[states][state_size]`): `[states][view_size][agents]`.
    ///
    /// # Panics
    /// If the length of `states` is not a multiple of the state size.
    pub fn of(&self, states: &[f32], threads: &Threads) -> Vec<f32> {
        assert!(states.len().is_multiple_of(self.state_size), "states of {} numbers", self.state_size);
        let run = minibatch(states.len() / self.state_size, &[], &[states], &[]);
        self.program.forward(&run, threads).records.swap_remove(0)
    }
}
