//! What a backend does: everything between a plan and the numbers that a run gives.
//!
//! A [`Plan`] and the primitives in it are data that know no processor. A backend compiles a plan into an
//! [`Executable`], which runs all samples of a run forward or in reverse. That for CPUs also keeps samples
//! that a caller drives one step at a time. These calls are made once per sweep or once per step of all
//! samples: a backend is free to choose how samples, threads and memory are arranged below them. Results must
//! be the same bits in every run, for any number of threads and for both strategies.
//!
//! The backend for CPUs is `cpu/`. Others live in crates of their own and reach programs through
//! [`Threads::with_backend`](crate::Threads::with_backend): whoever runs a program with such threads runs it
//! there.

pub use crate::plan::{Op, Placed, Plan, ReverseOp, Seed, Strategy, Target};
pub use crate::primitive::{Formula, Io, Parameters, Value};
pub use crate::program::{Descended, Gradient, Outcome};

use crate::cpu::{self, Real};
use crate::optimiser::Factors;
use crate::threads::Threads;
use crate::trace::Input;
use std::any::{Any, TypeId};
use std::sync::Arc;

/// A kind of processor.
pub trait Backend: Send + Sync {
    /// What it is called, for people.
    fn name(&self) -> String;
    /// Samples that a plan is made for, where a CPU would take chunks of `chunk`.
    fn chunk(&self, chunk: usize) -> usize;
    /// Makes a plan ready to run in single precision.
    fn singles(&self, plan: Plan) -> Arc<dyn Executable<f32>>;
    /// Makes a plan ready to run in double precision.
    fn doubles(&self, plan: Plan) -> Arc<dyn Executable<f64>>;
}

/// A plan made ready for a backend in one precision.
pub(crate) fn compile<T: Real>(backend: &dyn Backend, plan: Plan) -> Arc<dyn Executable<T>> {
    if TypeId::of::<T>() == TypeId::of::<f32>() {
        as_is(backend.singles(plan))
    } else {
        as_is(backend.doubles(plan))
    }
}

/// A plan made ready for this machine's CPU, for another backend that leaves it some of its work.
pub fn on_cpu<T: Real>(plan: Plan) -> Arc<dyn Executable<T>> {
    cpu::compile(plan, cpu::Isa::best())
}

/// A value whose type is known under another name here.
pub(crate) fn as_is<From: 'static, To: 'static>(value: From) -> To {
    let mut value = Some(value);
    let same = (&mut value as &mut dyn Any).downcast_mut::<Option<To>>();
    same.and_then(Option::take).expect("the same type")
}

/// A plan made ready to run in one precision.
pub trait Executable<T>: Send + Sync {
    /// What it was compiled from.
    fn plan(&self) -> &Plan;
    /// Numbers that tell how it runs, such as the blocks that share a sample.
    fn details(&self) -> Vec<(&'static str, usize)> {
        Vec::new()
    }
    /// Runs all samples forward.
    fn forward(&self, run: &Arranged<'_, T>, threads: &Threads) -> Outcome<T>;
    /// Runs all samples forward and in reverse: what every group of samples that is worked on together
    /// contributes to the gradient, in order.
    fn gradients(&self, run: &Arranged<'_, T>, threads: &Threads, strategy: Strategy) -> Vec<Gradient<T>>;
    /// Keeps parameters, and the means of their gradient and of its square, to update them where it runs.
    /// `None` if the caller should do that with the gradient.
    fn descent(&self, _params: &[T], _means: [&[T]; 2]) -> Option<Box<dyn Descent<T>>> {
        None
    }
}

/// Parameters in training that stay where their program runs.
pub trait Descent<T>: Send {
    /// One update by the gradient of a run, whose own parameters are not read. If a number is not finite,
    /// nothing is changed.
    fn update(&mut self, run: &Arranged<'_, T>, rule: &Rule) -> Descended<T>;
    /// Parameters, and the means of their gradient and of its square.
    fn read(&self) -> [Vec<T>; 3];
}

/// How parameters are updated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Bound of the norm of the gradient.
    pub clip: f32,
    /// The numbers in Adam's formula.
    pub factors: Factors,
    /// Whether the states after the last step are asked for.
    pub ends: bool,
}

/// A plan whose samples can also be driven step by step.
pub(crate) trait Stepwise<T>: Executable<T> {
    /// Starts samples; of the run, parameters, fixed inputs and states are read.
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
    /// Copies what the last step left, `[samples][size]`.
    fn read(&self, what: Told, to: &mut [T]);
}

/// What a step leaves, by its number in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// A record.
    Record(usize),
    /// A state.
    State(usize),
    /// A term, without a weight.
    Term(usize),
}

/// Inputs of a run, checked, in the order of the plan.
pub struct Arranged<'a, T> {
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
