//! Reinforcement learning: baselines that do not differentiate the physics.
//!
//! | file | contents |
//! |---|---|
//! | [`environment`] | interface of a problem: states, actions, rewards; [`field`] implements it for a task |
//! | [`episodes`] | copies of a task in episodes that a caller begins |
//! | [`views`] | observations of each agent, as numbers |
//! | [`ppo`] | PPO, and MAPPO if agents decide separately |
//! | [`td3`] | TD3, and MATD3 |
//! | [`advantage`], [`replay`] | advantage estimation, replay memory |
//!
//! Actor and critics are traces like everything else. A gradient step is the gradient of a "rollout" of one
//! step; its samples are the transitions of a minibatch.

pub mod advantage;
mod baseline;
pub mod environment;
pub mod episodes;
pub mod field;
pub mod ppo;
pub mod replay;
pub mod td3;
pub mod views;

pub use baseline::Baseline;

use cinoc_adjoint::{Input, Inputs, Real, Term, Threads};

/// Summary of an update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Learned {
    /// Mean reward of a step.
    pub reward: f64,
    /// Mean square error of the critic.
    pub critic: f64,
    /// Mean standard deviation of actions.
    pub std: f64,
    /// Norm of the last gradient before clipping.
    pub gradient_norm: f64,
    /// Control steps simulated, all copies together.
    pub steps: usize,
}

/// Inputs of one step on a minibatch; every term counts with its weight.
fn minibatch<'a>(
    samples: usize,
    params: &'a [f32],
    given: &[(Input, &'a [f32])],
    weights: &[(Term, f64)],
) -> Inputs<'a, f32> {
    let inputs = Inputs::new(samples, 1, params);
    let inputs = given.iter().fold(inputs, |inputs, (input, values)| inputs.with(*input, values));
    weights.iter().fold(inputs, |inputs, (term, weight)| inputs.weighted(*term, vec![*weight]))
}

/// Rows of a table, one after the other.
fn rows<T: Real>(table: &[T], size: usize, picked: &[usize]) -> Vec<T> {
    let mut all = Vec::with_capacity(picked.len() * size);
    picked.iter().for_each(|&row| all.extend_from_slice(&table[row * size..(row + 1) * size]));
    all
}

/// Settings of gradient descent, common to all RL algorithms.
pub struct Descent {
    /// Transitions in a minibatch.
    pub batch: usize,
    /// Bound of the gradient's norm.
    pub clip: f64,
    /// Seed of every random number.
    pub seed: u64,
    /// Threads.
    pub threads: Threads,
    /// Samples per chunk.
    pub chunk: usize,
    /// Samples per chunk if only critics are evaluated.
    pub critic_chunk: usize,
}
