//! A trace made ready to run: rollouts and their gradients, for any number of samples, on any number of
//! threads.
//!
//! Samples are cut into chunks of fixed size; threads take chunks; what chunks contribute to the parameters'
//! gradient is added in the order of the chunks. Results therefore do not depend on the number of threads, to
//! the last bit.

mod session;

pub use session::Session;

use crate::cpu::{Cpu, Isa, Real};
use crate::listing::Listing;
use crate::plan::{Op, Placed, Plan, Strategy};
use crate::trace::Trace;
use rayon::prelude::*;

/// Threads that programs run on.
///
/// ```
/// use cinoc_adjoint::Threads;
///
/// assert_eq!(Threads::new(2).map(4, |i| i * i), [0, 1, 4, 9]);
/// ```
pub struct Threads {
    pool: Option<rayon::ThreadPool>,
}

impl Threads {
    /// `count` threads; one thread is the caller itself.
    pub fn new(count: usize) -> Threads {
        let pool = (count > 1).then(|| {
            rayon::ThreadPoolBuilder::new()
                .num_threads(count)
                .build()
                .expect("the system has room for threads")
        });
        Threads { pool }
    }

    /// Results of `f(0) .. f(count - 1)`, in order.
    pub fn map<R: Send>(&self, count: usize, f: impl Fn(usize) -> R + Sync + Send) -> Vec<R> {
        match &self.pool {
            Some(pool) if count > 1 => {
                pool.install(|| (0..count).into_par_iter().with_max_len(1).map(f).collect())
            }
            _ => (0..count).map(f).collect(),
        }
    }

    /// Does `f(0, first), f(1, second) ...` to all items.
    pub fn for_each<X: Send>(&self, items: &mut [X], f: impl Fn(usize, &mut X) + Sync + Send) {
        match &self.pool {
            Some(pool) if items.len() > 1 => {
                pool.install(|| items.par_iter_mut().with_max_len(1).enumerate().for_each(|(i, x)| f(i, x)));
            }
            _ => items.iter_mut().enumerate().for_each(|(i, x)| f(i, x)),
        }
    }
}

/// What a rollout starts from. Arrays are sample by sample.
#[derive(Clone)]
pub struct Run<'a, T> {
    /// Independent samples.
    pub samples: usize,
    /// Steps of the rollout.
    pub steps: usize,
    /// All parameters, one after the other as in [`Trace::params`].
    pub params: &'a [T],
    /// Fixed inputs, each `[samples][size]`.
    pub fixed: Vec<&'a [T]>,
    /// Initial states, each `[samples][size]`.
    pub states: Vec<&'a [T]>,
    /// Sequences, each `[samples][steps][size]`.
    pub sequences: Vec<&'a [T]>,
    /// Weight of every term at every step: `weights[term][step]`.
    pub weights: Vec<Vec<f64>>,
    /// Bound of every derivative that is carried from a step to the one before. Derivatives of an unstable
    /// rollout grow by a factor per step; a bound keeps them finite, but they are no longer exact.
    pub carry_limit: Option<f64>,
}

/// What rollouts gave.
pub struct Outcome<T> {
    /// `terms[term][sample]`: sum over the steps of weight times value.
    pub terms: Vec<Vec<f64>>,
    /// Every record, `[samples][steps][size]`.
    pub records: Vec<Vec<T>>,
    /// Final states, `[samples][size]`.
    pub states: Vec<Vec<T>>,
}

/// The objective, `mean over samples of sum over terms and steps of weight * value`, and its derivatives.
pub struct Gradient<T> {
    /// Value of the objective.
    pub loss: f64,
    /// What each term contributes to it.
    pub terms: Vec<f64>,
    /// Derivative with respect to the parameters.
    pub params: Vec<T>,
    /// With respect to the fixed inputs, `[samples][size]` each.
    pub fixed: Vec<Vec<T>>,
    /// With respect to the initial states.
    pub states: Vec<Vec<T>>,
    /// With respect to the sequences, `[samples][steps][size]` each.
    pub sequences: Vec<Vec<T>>,
    /// The states after the last step, `[samples][size]` each.
    pub ends: Vec<Vec<T>>,
}

/// A trace compiled for a chunk size and a precision.
pub struct Program<T: Real> {
    cpu: Cpu<T>,
}

impl<T: Real> Program<T> {
    /// Compiles a trace for chunks of `chunk` samples and this machine's best instruction set.
    pub fn new(trace: &Trace, chunk: usize) -> Program<T> {
        Program::with_isa(trace, chunk, Isa::best())
    }

    /// Compiles a trace for a given instruction set.
    pub fn with_isa(trace: &Trace, chunk: usize, isa: Isa) -> Program<T> {
        assert!(chunk > 0, "a chunk holds at least one sample");
        Program { cpu: Cpu::new(Plan::new(trace, chunk), isa) }
    }

    fn plan(&self) -> &Plan {
        self.cpu.plan()
    }

    /// All values of the step: what makes them, what they cost, and what becomes of them.
    pub fn listing(&self) -> Listing {
        Listing::new(self.plan(), size_of::<T>())
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

    /// Runs all samples forward and returns the records.
    pub fn forward(&self, run: &Run<'_, T>, threads: &Threads) -> Outcome<T> {
        self.check(run);
        let parts = threads.map(run.samples.div_ceil(self.chunk()), |c| self.cpu.forward(run, c));
        let plan = self.plan();
        let mut outcome = Outcome {
            terms: vec![Vec::new(); plan.terms.len()],
            records: vec![Vec::new(); plan.records.len()],
            states: vec![Vec::new(); plan.states.len()],
        };
        for part in parts {
            join(&mut outcome.terms, part.terms);
            join(&mut outcome.records, part.records);
            join(&mut outcome.states, part.states);
        }
        outcome
    }

    /// Runs all samples forward and in reverse.
    pub fn gradient(&self, run: &Run<'_, T>, threads: &Threads, strategy: Strategy) -> Gradient<T> {
        self.check(run);
        let parts = threads.map(run.samples.div_ceil(self.chunk()), |c| self.cpu.gradient(run, c, strategy));
        let plan = self.plan();
        let mut gradient = Gradient {
            loss: 0.0,
            terms: vec![0.0; plan.terms.len()],
            params: vec![T::default(); run.params.len()],
            fixed: vec![Vec::new(); plan.fixed.len()],
            states: vec![Vec::new(); plan.states.len()],
            sequences: vec![Vec::new(); plan.sequences.len()],
            ends: vec![Vec::new(); plan.states.len()],
        };
        for part in parts {
            gradient.terms.iter_mut().zip(&part.terms).for_each(|(sum, x)| *sum += x);
            gradient.params.iter_mut().zip(&part.params).for_each(|(sum, x)| *sum += *x);
            join(&mut gradient.fixed, part.fixed);
            join(&mut gradient.states, part.states);
            join(&mut gradient.sequences, part.sequences);
            join(&mut gradient.ends, part.ends);
        }
        gradient.loss = gradient.terms.iter().sum();
        gradient
    }

    fn check(&self, run: &Run<'_, T>) {
        let plan = self.plan();
        let sizes = |places: &[Placed], given: &[&[T]], per: usize, what: &str| {
            assert_eq!(places.len(), given.len(), "number of {what}");
            for (place, data) in places.iter().zip(given) {
                assert_eq!(data.len(), place.shape.size() * per, "numbers in {what}");
            }
        };
        assert!(run.samples > 0, "a run has at least one sample");
        assert_eq!(run.params.len(), plan.param_len(), "numbers in the parameters");
        sizes(&plan.fixed, &run.fixed, run.samples, "fixed inputs");
        sizes(&plan.states, &run.states, run.samples, "states");
        sizes(&plan.sequences, &run.sequences, run.samples * run.steps, "sequences");
        assert_eq!(run.weights.len(), plan.terms.len(), "a list of weights per term");
        assert!(run.weights.iter().all(|w| w.len() == run.steps), "a weight per step");
    }
}

fn join<X>(all: &mut [Vec<X>], parts: Vec<Vec<X>>) {
    for (all, part) in all.iter_mut().zip(parts) {
        all.extend(part);
    }
}
