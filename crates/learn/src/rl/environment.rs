//! A problem as learners see it: many copies of it side by side, any number of agents.
//!
//! Actions are in units of their bounds, from -1 to 1. A copy whose episode is over starts the next one by itself; what its last step
//! led to is told all the same, because the value of a state does not end where a time limit cuts it off. Networks are built by the
//! problem, since it knows what its states mean: an actor, the state as a critic wants it, and what each agent knows of it.

use cinoc_adjoint::{Tracer, Var};
use cinoc_control::policy::Layer;

/// What one step of all copies led to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transition {
    /// Reward of every copy.
    pub rewards: Vec<f32>,
    /// States after the step, `[copies][state_size]`, before any new episode.
    pub next: Vec<f32>,
    /// Whether the episode ended because nothing can follow: no value is added beyond it.
    pub terminated: Vec<bool>,
    /// Whether it ended because its time was up: the value of the state after it still counts.
    pub truncated: Vec<bool>,
}

impl Transition {
    /// Whether an episode ended, for whatever reason.
    pub fn ended(&self, copy: usize) -> bool {
        self.terminated[copy] || self.truncated[copy]
    }
}

/// Copies of a problem.
pub trait Environment {
    /// Copies side by side.
    fn copies(&self) -> usize;
    /// Agents in each.
    fn agents(&self) -> usize;
    /// Actions of an agent.
    fn actions(&self) -> usize;
    /// Numbers in a state.
    fn state_size(&self) -> usize;

    /// The states now, `[copies][state_size]`.
    fn states(&self) -> &[f32];
    /// One step with the actions `[copies][actions][agents]`; what lies outside of -1 to 1 is brought to the bound.
    fn step(&mut self, actions: &[f32]) -> Transition;

    /// Control steps that one step of this is.
    fn hold(&self) -> usize {
        1
    }
    /// What a reward of -1 is in the units of the training loss.
    fn cost_unit(&self) -> f64;

    /// Layers of the actor.
    fn actor_layers(&self) -> Vec<Layer>;
    /// Factor on the first weights of the actor's head.
    fn head_scale(&self) -> f64;
    /// The actor on states `[state_size][1]`: numbers `[actions][agents]` whose tanh are the actions. Declares its parameters.
    fn actor<'t>(&self, tracer: &'t Tracer, state: Var<'t>) -> Var<'t>;
    /// Whether agents decide one by one, so that what each did has a probability of its own.
    fn decentralised(&self) -> bool;

    /// Numbers in [`Environment::global`].
    fn global_size(&self) -> usize;
    /// The whole state as a critic is given it: a column of numbers of about one.
    fn global<'t>(&self, state: Var<'t>) -> Var<'t>;
    /// Numbers in [`Environment::view`], per agent.
    fn view_size(&self) -> usize;
    /// What each agent knows, `[view_size][agents]`.
    fn view<'t>(&self, state: Var<'t>) -> Var<'t>;
}
