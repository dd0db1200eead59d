//! A control task as an RL environment: [`Episodes`] that follow each other by themselves.

use cinoc_adjoint::{Threads, Tracer, Var};
use cinoc_control::config::Network;
use cinoc_control::policy::{self, Layer, Policy, Sight};
use cinoc_control::{Cases, Config};

use super::environment::{Environment, Transition};
use super::episodes::Episodes;
use super::views::sight;

/// Copies of a task as an environment.
pub struct FieldEnvironment {
    episodes: Episodes,
    /// Number of episodes begun in every copy.
    begun: Vec<u64>,
    states: Vec<f32>,
}

impl FieldEnvironment {
    /// `copies` copies of a task with cases of a pool. An action is held for `hold` control steps. The first
    /// episodes are cut to different lengths, so that they do not all end together.
    pub fn new(
        config: &Config,
        pool: Cases,
        copies: usize,
        hold: usize,
        chunk: usize,
        threads: &Threads,
    ) -> FieldEnvironment {
        let episodes = Episodes::new(config, pool, copies, hold, chunk, threads);
        let states = vec![0.0; copies * episodes.state_size()];
        let mut environment = FieldEnvironment { episodes, begun: vec![0; copies], states };
        environment.start();
        environment
    }

    /// Measures the unit of cost, then starts every copy.
    fn start(&mut self) {
        let copies = self.copies();
        (0..copies).for_each(|copy| self.begin(copy));
        let unit = self.episodes.first_cost();
        self.episodes.set_cost_unit(unit);
        let (steps, hold) = (self.config().time.steps, self.hold());
        for copy in 0..copies {
            self.begin(copy);
            self.episodes.shorten(copy, steps / hold * copy / copies * hold);
        }
        self.states = self.episodes.states();
    }

    /// The next episode of one copy.
    fn begin(&mut self, copy: usize) {
        let number = self.begun[copy] * self.copies() as u64 + copy as u64;
        self.episodes.begin(copy, self.config().train.seed, number);
        self.begun[copy] += 1;
    }

    fn config(&self) -> &Config {
        self.episodes.config()
    }

    fn critic_energy(&self) -> bool {
        self.config().method.as_ref().is_some_and(|method| method.critic_energy)
    }

    /// The parts of a state, in a trace.
    fn sight<'t>(&self, state: Var<'t>) -> Sight<'t> {
        sight(self.config(), state, None)
    }
}

impl Environment for FieldEnvironment {
    fn copies(&self) -> usize {
        self.episodes.copies()
    }
    fn agents(&self) -> usize {
        self.config().agents
    }
    fn actions(&self) -> usize {
        self.episodes.actions()
    }
    fn state_size(&self) -> usize {
        self.episodes.state_size()
    }
    fn states(&self) -> &[f32] {
        &self.states
    }

    fn step(&mut self, actions: &[f32]) -> Transition {
        let transition = self.episodes.step(actions);
        self.states.copy_from_slice(&transition.next);
        let size = self.state_size();
        for copy in (0..self.copies()).filter(|&copy| transition.ended(copy)) {
            self.begin(copy);
            self.episodes.first_state(copy, &mut self.states[copy * size..(copy + 1) * size]);
        }
        transition
    }

    fn cost_unit(&self) -> f64 {
        self.episodes.cost_unit()
    }
    fn hold(&self) -> usize {
        self.episodes.hold()
    }
    fn actor_layers(&self) -> Vec<Layer> {
        policy::layers(self.config())
    }
    fn head_scale(&self) -> f64 {
        self.config().policy.head_scale
    }
    fn actor<'t>(&self, tracer: &'t Tracer, state: Var<'t>) -> Var<'t> {
        Policy::declare(tracer, self.config()).raw(self.sight(state))
    }
    fn decentralised(&self) -> bool {
        matches!(self.config().network(), Network::Local | Network::Operator)
    }
    fn global_size(&self) -> usize {
        policy::state_size(self.config()) + usize::from(self.critic_energy())
    }
    fn global<'t>(&self, state: Var<'t>) -> Var<'t> {
        let sight = self.sight(state);
        let whole = policy::state(self.config(), sight);
        if self.critic_energy() { whole.stack(policy::energy(self.config(), sight)) } else { whole }
    }
    fn view_size(&self) -> usize {
        policy::view_size(self.config())
    }
    fn view<'t>(&self, state: Var<'t>) -> Var<'t> {
        policy::view(self.config(), self.sight(state))
    }
}
