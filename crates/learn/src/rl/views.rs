//! Observations of each agent of an environment, as numbers: for RL algorithms outside this crate, which
//! cannot use traces.

use cinoc_adjoint::{Input, Program, Record, Shape, Threads, Tracer, Var};
use cinoc_control::Config;
use cinoc_control::agents::start_positions;
use cinoc_control::policy::{self, Sight};

use super::environment::Environment;
use super::minibatch;

/// Computes the views of agents from states.
pub struct Views {
    program: Program<f32>,
    state: Input,
    /// Which agents are at work, where the others notice it.
    alive: Option<Input>,
    view: Record,
}

impl Views {
    /// Views of the agents of an environment.
    pub fn new(environment: &impl Environment) -> Views {
        let (size, copies) = (environment.state_size(), environment.copies());
        Views::traced(size, copies, None, |state, _| environment.view(state))
    }

    /// Views of the agents of a task whose agents may fail, computed for `together` states at a time.
    pub fn of_task(config: &Config, together: usize) -> Views {
        let config = config.plain();
        let failing = config.failure.seen && config.failure.share > 0.0;
        let size = policy::state_size(&config);
        Views::traced(size, together, failing.then_some(config.agents), |state, alive| {
            policy::view(&config, sight(&config, state, alive))
        })
    }

    fn traced(
        size: usize,
        together: usize,
        failing: Option<usize>,
        view: impl for<'t> FnOnce(Var<'t>, Option<Var<'t>>) -> Var<'t>,
    ) -> Views {
        let tracer = Tracer::new();
        let state = tracer.sequence("state", size, 1);
        let alive = failing.map(|agents| tracer.sequence("alive", 1, agents));
        let (state, alive, view) =
            (state.input(), alive.map(Var::input), tracer.record("view", view(state, alive)));
        Views { program: Program::new(&tracer.finish(), together), state, alive, view }
    }

    /// The observations of every agent in `states` (`[states][state_size]`): `[states][view_size][agents]`.
    ///
    /// # Panics
    /// If the length of `states` is not a multiple of the state size.
    pub fn of(&self, states: &[f32], threads: &Threads) -> Vec<f32> {
        let all = vec![1.0; self.alive.map_or(0, Input::size) * (states.len() / self.state.size())];
        self.of_working(states, &all, threads)
    }

    /// The same where some agents have failed: `alive` is `[states][agents]`, 1 or 0. It is not read if
    /// agents do not notice failures.
    ///
    /// # Panics
    /// If a length is wrong.
    pub fn of_working(&self, states: &[f32], alive: &[f32], threads: &Threads) -> Vec<f32> {
        let size = self.state.size();
        assert!(states.len().is_multiple_of(size), "states of {size} numbers");
        let mut given = vec![(self.state, states)];
        given.extend(self.alive.map(|input| (input, alive)));
        let inputs = minibatch(states.len() / size, &[], &given, &[]);
        self.program.forward(&inputs, threads).record(self.view).to_vec()
    }
}

/// The parts of a state in a trace; of the agents, those with `alive` 1 are noticed by the others, or all.
pub(super) fn sight<'t>(config: &Config, state: Var<'t>, alive: Option<Var<'t>>) -> Sight<'t> {
    let tracer = state.tracer();
    let ((rows, cols), points) = (config.state_shape(), config.state_size());
    let (dims, agents) = (config.task.dims, config.agents);
    let z = state.slice(0..points).reshape(rows, cols);
    let (target, after) = if config.task.tracks {
        (state.slice(points..2 * points).reshape(rows, cols), 2 * points)
    } else {
        (tracer.constant(rows, cols, vec![0.0; points]), points)
    };
    let xi = if config.mobile() {
        state.slice(after..after + dims * agents).reshape(dims, agents)
    } else {
        tracer.constant(dims, agents, start_positions(config)).broadcast(Shape::per_sample(dims, agents))
    };
    Sight::new(config, z, target, xi, alive)
}
