//! What a backend does: everything between a plan and the numbers that a run gives.
//!
//! A [`Plan`] and the primitives in it are data that know no processor. A backend compiles a plan into an
//! [`Executable`], which runs all samples of a run forward or in reverse, or keeps them as [`Steps`] that a
//! caller drives one step at a time. These calls are made once per sweep or once per step of all samples: a
//! backend is free to choose how samples, threads and memory are arranged below them. Results must be the
//! same bits in every run, for any number of threads and for both strategies.
//!
//! The backend for CPUs is `cpu/`.

use crate::cpu::Real;
use crate::plan::{Plan, Strategy};
use crate::program::{Gradient, Outcome};
use crate::threads::Threads;
use crate::trace::Input;
use std::sync::Arc;

/// A kind of processor.
pub(crate) trait Backend {
    fn compile<T: Real>(&self, plan: Plan) -> Arc<dyn Executable<T>>;
}

/// A plan made ready to run in one precision.
pub(crate) trait Executable<T>: Send + Sync {
    /// What it was compiled from.
    fn plan(&self) -> &Plan;
    /// Runs all samples forward.
    fn forward(&self, run: &Arranged<'_, T>, threads: &Threads) -> Outcome<T>;
    /// Runs all samples forward and in reverse: what every group of samples that is worked on together
    /// contributes to the gradient, in order.
    fn gradients(&self, run: &Arranged<'_, T>, threads: &Threads, strategy: Strategy) -> Vec<Gradient<T>>;
    /// Starts samples that are driven step by step; of the run, parameters, fixed inputs and states are read.
    fn start(self: Arc<Self>, run: &Arranged<'_, T>) -> Box<dyn Steps<T>>;
}

/// Samples in progress.
pub(crate) trait Steps<T>: Send {
    /// Goes on with other parameters.
    fn set_params(&mut self, params: &[T]);
    /// Gives one sample other fixed inputs and states.
    fn restart(&mut self, sample: usize, given: &[(Input, &[T])]);
    /// One step of all samples; sequences are `[samples][size]` each.
    fn step(&mut self, sequences: &[(Input, &[T])], threads: &Threads);
    /// Copies the values in a slot of the plan after the last step, `[samples][size]`.
    fn read(&self, slot: usize, to: &mut [T]);
}

/// Inputs of a run, checked, in the order of the plan.
pub(crate) struct Arranged<'a, T> {
    /// Independent samples.
    pub samples: usize,
    /// Samples that the objective is the mean of: these, and those that run elsewhere.
    pub of: usize,
    /// Steps of the rollout.
    pub steps: usize,
    /// All parameters, one after the other.
    pub params: &'a [T],
    /// Fixed inputs, each `[samples][size]`.
    pub fixed: Vec<&'a [T]>,
    /// First states, each `[samples][size]`.
    pub states: Vec<&'a [T]>,
    /// Sequences, each `[samples][steps][size]`.
    pub sequences: Vec<&'a [T]>,
    /// Weight of every term in every step.
    pub weights: Vec<&'a [f64]>,
    /// Bound of every derivative that is carried from a step to the one before.
    pub carry_limit: Option<f64>,
}
