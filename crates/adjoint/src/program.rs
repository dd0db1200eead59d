//! A trace made ready to run: rollouts and their gradients, for any number of samples, on any number of
//! threads.

mod descending;
mod inputs;
mod launched;
mod outcome;
mod session;

pub use descending::{Descended, Descending};
pub use inputs::Inputs;
pub(crate) use outcome::join;
pub use outcome::{Gradient, Outcome};
pub use session::Session;

use crate::backend::{self, Executable, Stepwise};
use crate::cpu::{self, Isa, Real};
use crate::listing::Listing;
use crate::optimiser::Adam;
use crate::plan::{Op, Plan, Strategy};
use crate::threads::Threads;
use crate::trace::Trace;
use std::sync::{Arc, OnceLock};

/// A trace compiled for a chunk size and a precision. Copies share everything.
#[derive(Clone)]
pub struct Program<T: Real> {
    cpu: Arc<dyn Stepwise<T>>,
    /// On the other backend that it ran on first, if there was one.
    elsewhere: Arc<OnceLock<Arc<dyn Executable<T>>>>,
}

impl<T: Real> Program<T> {
    /// Compiles a trace for chunks of `chunk` samples and this machine's best instruction set.
    pub fn new(trace: &Trace, chunk: usize) -> Program<T> {
        Program::with_isa(trace, chunk, Isa::best())
    }

    /// Compiles a trace for a given instruction set.
    pub fn with_isa(trace: &Trace, chunk: usize, isa: Isa) -> Program<T> {
        assert!(chunk > 0, "a chunk holds at least one sample");
        Program { cpu: cpu::compile(Plan::new(trace, chunk), isa), elsewhere: Default::default() }
    }

    fn plan(&self) -> &Plan {
        self.cpu.plan()
    }

    /// Made ready for where these threads run programs.
    fn executable(&self, threads: &Threads) -> &dyn Executable<T> {
        let Some(backend) = threads.backend() else { return self.cpu.as_ref() };
        let compile =
            || backend::compile(backend, Plan::new(&self.plan().trace, backend.chunk(self.chunk())));
        self.elsewhere.get_or_init(compile).as_ref()
    }

    /// All values of the step: what makes them, what they cost, and what becomes of them.
    pub fn listing(&self) -> Listing {
        Listing::new(self.plan(), size_of::<T>())
    }

    /// What it was made from.
    pub fn trace(&self) -> &Trace {
        &self.plan().trace
    }

    /// Numbers that tell how it runs where these threads run programs; empty on a CPU.
    pub fn details(&self, threads: &Threads) -> Vec<(&'static str, usize)> {
        self.executable(threads).details()
    }

    /// Samples per chunk.
    pub fn chunk(&self) -> usize {
        self.plan().samples
    }

    /// Bytes that [`Strategy::Store`] keeps per chunk for `steps` steps.
    pub fn store_bytes(&self, steps: usize) -> usize {
        let numbers: usize = self.plan().stored.iter().map(|&s| self.plan().value_len[s]).sum();
        numbers * size_of::<T>() * steps
    }

    /// Multiplications and additions of the forward run of one chunk.
    pub fn flops(&self, steps: usize) -> f64 {
        let setup: f64 = self.plan().setup.iter().map(Op::flops).sum();
        setup + self.step_flops(steps, |_| true)
    }

    /// The same for a gradient: the forward run, what is computed again, and twice the forward run for the
    /// reverse rules, which are about two products each where the forward kernel is one.
    pub fn gradient_flops(&self, steps: usize, strategy: Strategy) -> f64 {
        let again = match strategy {
            Strategy::Recompute => self.step_flops(steps, |op| op.recompute),
            Strategy::Store => self.step_flops(steps, |op| op.recompute_beside_stored),
        };
        3.0 * self.flops(steps) + again
    }

    fn step_flops(&self, steps: usize, counts: impl Fn(&Op) -> bool) -> f64 {
        let ops = self.plan().step.iter().filter(|op| counts(op));
        steps as f64 * ops.map(Op::flops).sum::<f64>()
    }

    /// Parameters in training that stay where these threads run programs. `None` if that is the CPU, where
    /// the caller updates them with the gradient.
    pub fn descending(&self, params: &[T], adam: &Adam, threads: &Threads) -> Option<Descending<T>> {
        assert_eq!(params.len(), self.plan().param_len(), "numbers in the parameters");
        let means =
            [&adam.m, &adam.v].map(|means| means.iter().map(|&x| T::of(f64::from(x))).collect::<Vec<T>>());
        let there = self.executable(threads).descent(params, [&means[0], &means[1]])?;
        Some(Descending::new(self, there, adam.step))
    }

    /// Runs all samples forward.
    ///
    /// # Panics
    /// If an input or a weight is missing or has a wrong length.
    pub fn forward(&self, inputs: &Inputs<'_, T>, threads: &Threads) -> Outcome<T> {
        self.executable(threads).forward(&inputs.arranged(self.plan()), threads)
    }

    /// Runs all samples forward and in reverse.
    ///
    /// # Panics
    /// If an input or a weight is missing or has a wrong length.
    pub fn gradient(&self, inputs: &Inputs<'_, T>, threads: &Threads, strategy: Strategy) -> Gradient<T> {
        Gradient::sum(self.gradients(inputs, threads, strategy))
    }

    /// The same in parts: what every chunk of samples contributes, in order. [`Gradient::sum`] adds them.
    ///
    /// # Panics
    /// If an input or a weight is missing or has a wrong length.
    pub fn gradients(
        &self,
        inputs: &Inputs<'_, T>,
        threads: &Threads,
        strategy: Strategy,
    ) -> Vec<Gradient<T>> {
        self.executable(threads).gradients(&inputs.arranged(self.plan()), threads, strategy)
    }
}
