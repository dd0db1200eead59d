//! The interface of an RL problem: many copies side by side, any number of agents.
//!
//! Actions are in units of their bounds, from -1 to 1. A copy whose episode is over starts the next one by
//! itself. The transition still contains the last state of the old episode, because its value is needed after
//! a time limit. The environment builds the networks, since it knows the meaning of its states: the actor,
//! the input of a critic, and the view of each agent.

use cinoc_adjoint::{Tracer, Var};
use cinoc_control::policy::Layer;

/// The result of one step of all copies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transition {
    /// Reward of every copy.
    pub rewards: Vec<f32>,
    /// States after the step, `[copies][state_size]`, before any new episode.
    pub next: Vec<f32>,
    /// Whether the episode ended in a terminal state: the value after it is 0.
    pub terminated: Vec<bool>,
    /// Whether the episode ended by its time limit: the value of the state after it still counts.
    pub truncated: Vec<bool>,
}

impl Transition {
    /// Whether an episode ended, for any reason.
    pub fn ended(&self, copy: usize) -> bool {
        self.terminated[copy] || self.truncated[copy]
    }
}

/// Copies of a problem.
pub trait Environment {
    /// Number of copies.
    fn copies(&self) -> usize;
    /// Number of agents per copy.
    fn agents(&self) -> usize;
    /// Number of actions of an agent.
    fn actions(&self) -> usize;
    /// Size of a state.
    fn state_size(&self) -> usize;

    /// The current states, `[copies][state_size]`.
    fn states(&self) -> &[f32];
    /// One step with the actions `[copies][actions][agents]`, clipped to -1 to 1.
    fn step(&mut self, actions: &[f32]) -> Transition;

    /// Number of control steps per step of the environment.
    fn hold(&self) -> usize {
        1
    }
    /// The cost of a reward of -1, in units of the training loss.
    fn cost_unit(&self) -> f64;

    /// Layers of the actor.
    fn actor_layers(&self) -> Vec<Layer>;
    /// Factor on the initial weights of the actor's head.
    fn head_scale(&self) -> f64;
    /// The actor on states `[state_size][1]`. Its outputs are `[actions][agents]`; their tanh are the
    /// actions. Declares its parameters.
    fn actor<'t>(&self, tracer: &'t Tracer, state: Var<'t>) -> Var<'t>;
    /// Whether agents decide separately, so that the action of each agent has its own probability.
    fn decentralised(&self) -> bool;

    /// Size of [`Environment::global`].
    fn global_size(&self) -> usize;
    /// The whole state as input of a critic: a column of numbers of order one.
    fn global<'t>(&self, state: Var<'t>) -> Var<'t>;
    /// Size of [`Environment::view`] per agent.
    fn view_size(&self) -> usize;
    /// The observation of each agent, `[view_size][agents]`.
    fn view<'t>(&self, state: Var<'t>) -> Var<'t>;
}
