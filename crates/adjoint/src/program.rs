//! A trace made ready to run: rollouts and their gradients, for any number of samples, on any number of threads.
//!
//! Samples are cut into chunks of fixed size; threads take chunks; what chunks contribute to the parameters' gradient is
//! added in the order of the chunks. Results therefore do not depend on the number of threads, to the last bit.

mod session;

pub use session::Session;

use crate::plan::{Placed, Plan};
use crate::primitive::{Io, Kernel};
use crate::replay::{Kernels, Strategy, Worker};
use crate::simd::{Isa, Real};
use crate::trace::{Shape, Trace};
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Threads that programs run on.
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
    /// Bound of every derivative that is carried from a step to the one before. Where a rollout is unstable derivatives grow by a
    /// factor per step; a bound keeps them finite, at the price of no longer being exact.
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
    plan: Plan,
    kernels: Kernels<T>,
    chunk: usize,
    params: Vec<Shape>,
    fixed: Vec<Shape>,
    sequences: Vec<Shape>,
    states: Vec<Shape>,
    records: Vec<Shape>,
    /// Memory between uses.
    idle: Mutex<Vec<Worker<T>>>,
}

impl<T: Real> Program<T> {
    /// Compiles a trace for chunks of `chunk` samples and this machine's best instruction set.
    pub fn new(trace: &Trace, chunk: usize) -> Program<T> {
        Program::with_isa(trace, chunk, Isa::best())
    }

    /// Compiles a trace for a given instruction set.
    pub fn with_isa(trace: &Trace, chunk: usize, isa: Isa) -> Program<T> {
        assert!(chunk > 0, "a chunk holds at least one sample");
        let plan = Plan::new(trace, chunk);
        // operations that are one primitive on values of one shape share a kernel
        let mut built: HashMap<(*const (), Io), Arc<dyn Kernel<T>>> = HashMap::new();
        let mut build = |ops: &[crate::plan::Op]| {
            let kernel = |op: &crate::plan::Op| {
                let key = (Arc::as_ptr(&op.primitive).cast(), op.io.clone());
                built.entry(key).or_insert_with(|| T::kernel(op.primitive.as_ref(), &op.io).into()).clone()
            };
            ops.iter().map(kernel).collect()
        };
        let kernels = Kernels { setup: build(&plan.setup), step: build(&plan.step), isa };
        let shapes = |inputs: &[crate::trace::Input]| inputs.iter().map(|i| i.shape).collect();
        Program {
            params: shapes(&trace.params),
            fixed: shapes(&trace.fixed),
            sequences: shapes(&trace.sequences),
            states: shapes(&trace.states),
            records: trace.records().map(|r| r.1).collect(),
            plan,
            kernels,
            chunk,
            idle: Mutex::new(Vec::new()),
        }
    }

    /// Samples per chunk.
    pub fn chunk(&self) -> usize {
        self.chunk
    }

    /// Bytes that [`Strategy::Store`] keeps per chunk for `steps` steps.
    pub fn store_bytes(&self, steps: usize) -> usize {
        let numbers: usize = self.plan.stored.iter().map(|&s| self.plan.value_len[s]).sum();
        numbers * size_of::<T>() * steps
    }

    /// Multiplications and additions of the forward run of one chunk.
    pub fn flops(&self, steps: usize) -> f64 {
        let setup: f64 = self.plan.setup.iter().map(|op| op.primitive.flops(&op.io)).sum();
        setup + self.step_flops(steps, |_| true)
    }

    /// The same for a gradient: the forward run, what is computed again, and twice the forward run for the reverse rules, each of
    /// which is about two products where the forward kernel is one.
    pub fn gradient_flops(&self, steps: usize, strategy: Strategy) -> f64 {
        let again = match strategy {
            Strategy::Recompute => self.step_flops(steps, |op| op.recompute),
            Strategy::Store => self.step_flops(steps, |op| op.recompute_beside_stored),
        };
        3.0 * self.flops(steps) + again
    }

    fn step_flops(&self, steps: usize, counts: impl Fn(&crate::plan::Op) -> bool) -> f64 {
        let ops = self.plan.step.iter().filter(|op| counts(op));
        steps as f64 * ops.map(|op| op.primitive.flops(&op.io)).sum::<f64>()
    }

    /// Runs all samples forward and returns the records.
    pub fn forward(&self, run: &Run<'_, T>, threads: &Threads) -> Outcome<T> {
        self.check(run);
        let parts = threads.map(run.samples.div_ceil(self.chunk), |c| {
            let mut worker = self.worker();
            let part = self.forward_chunk(&mut worker, run, c);
            self.give_back(worker);
            part
        });
        let mut outcome = Outcome {
            terms: vec![Vec::new(); self.plan.terms.len()],
            records: vec![Vec::new(); self.records.len()],
            states: vec![Vec::new(); self.states.len()],
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
        let parts = threads.map(run.samples.div_ceil(self.chunk), |c| {
            let mut worker = self.worker();
            let part = self.gradient_chunk(&mut worker, run, c, strategy);
            self.give_back(worker);
            part
        });
        let mut gradient = Gradient {
            loss: 0.0,
            terms: vec![0.0; self.plan.terms.len()],
            params: vec![T::default(); run.params.len()],
            fixed: vec![Vec::new(); self.fixed.len()],
            states: vec![Vec::new(); self.states.len()],
            sequences: vec![Vec::new(); self.sequences.len()],
            ends: vec![Vec::new(); self.states.len()],
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
        let sizes = |shapes: &[Shape], given: &[&[T]], per: usize, what: &str| {
            assert_eq!(shapes.len(), given.len(), "number of {what}");
            for (shape, data) in shapes.iter().zip(given) {
                assert_eq!(data.len(), shape.size() * per, "numbers in {what}");
            }
        };
        assert!(run.samples > 0, "a run has at least one sample");
        assert_eq!(
            run.params.len(),
            self.params.iter().map(|s| s.size()).sum::<usize>(),
            "numbers in the parameters"
        );
        sizes(&self.fixed, &run.fixed, run.samples, "fixed inputs");
        sizes(&self.states, &run.states, run.samples, "states");
        sizes(&self.sequences, &run.sequences, run.samples * run.steps, "sequences");
        assert_eq!(run.weights.len(), self.plan.terms.len(), "a list of weights per term");
        assert!(run.weights.iter().all(|w| w.len() == run.steps), "a weight per step");
    }

    fn worker(&self) -> Worker<T> {
        let idle = self.idle.lock().expect("no thread panicked").pop();
        idle.unwrap_or_else(|| Worker::new(&self.plan, &self.kernels))
    }

    fn give_back(&self, worker: Worker<T>) {
        self.idle.lock().expect("no thread panicked").push(worker);
    }

    /// Samples of chunk `c`; lanes beyond the last sample repeat it.
    fn members(&self, samples: usize, c: usize) -> Members {
        let start = c * self.chunk;
        Members { start, real: self.chunk.min(samples - start), chunk: self.chunk }
    }

    fn begin(&self, worker: &mut Worker<T>, run: &Run<'_, T>, members: Members) {
        self.load_params(worker, run.params);
        for (placed, data) in self.plan.fixed.iter().zip(&run.fixed) {
            members.pack(data, &mut worker.values[placed.value], 0, 1);
        }
        for (placed, data) in self.plan.states.iter().zip(&run.states) {
            members.pack(data, &mut worker.values[placed.value], 0, 1);
        }
        worker.setup(&self.plan, &self.kernels);
    }

    fn load_params(&self, worker: &mut Worker<T>, params: &[T]) {
        let mut rest = params;
        for (placed, shape) in self.plan.params.iter().zip(&self.params) {
            let (these, others) = rest.split_at(shape.size());
            worker.values[placed.value].copy_from_slice(these);
            rest = others;
        }
    }

    fn load_sequences(&self, worker: &mut Worker<T>, run: &Run<'_, T>, members: Members, t: usize) {
        for (placed, data) in self.plan.sequences.iter().zip(&run.sequences) {
            members.pack(data, &mut worker.values[placed.value], t, run.steps);
        }
    }

    /// Adds the weighted terms of step t.
    fn add_terms(&self, worker: &Worker<T>, run: &Run<'_, T>, t: usize, sums: &mut [Vec<f64>]) {
        for ((sum, (slot, _)), weights) in sums.iter_mut().zip(&self.plan.terms).zip(&run.weights) {
            for (sum, value) in sum.iter_mut().zip(worker.values[*slot].iter()) {
                *sum += weights[t] * value.f64();
            }
        }
    }

    fn forward_chunk(&self, worker: &mut Worker<T>, run: &Run<'_, T>, c: usize) -> Outcome<T> {
        let members = self.members(run.samples, c);
        let mut terms = vec![vec![0.0; members.real]; self.plan.terms.len()];
        let room = |shape: &Shape, steps: usize| vec![T::default(); members.real * steps * shape.size()];
        let mut records: Vec<_> = self.records.iter().map(|shape| room(shape, run.steps)).collect();
        self.begin(worker, run, members);
        for t in 0..run.steps {
            self.load_sequences(worker, run, members, t);
            worker.step(&self.plan, &self.kernels);
            self.add_terms(worker, run, t, &mut terms);
            for (record, &slot) in records.iter_mut().zip(&self.plan.records) {
                members.unpack(&worker.values[slot], record, t, run.steps);
            }
            worker.carry_on(&self.plan);
        }
        Outcome { terms, records, states: self.states_now(worker, members) }
    }

    /// The states in their slots, `[samples][size]` each.
    fn states_now(&self, worker: &Worker<T>, members: Members) -> Vec<Vec<T>> {
        let state = |(shape, placed): (&Shape, &Placed)| {
            let mut to = vec![T::default(); members.real * shape.size()];
            members.unpack(&worker.values[placed.value], &mut to, 0, 1);
            to
        };
        self.states.iter().zip(&self.plan.states).map(state).collect()
    }

    fn gradient_chunk(
        &self,
        worker: &mut Worker<T>,
        run: &Run<'_, T>,
        c: usize,
        strategy: Strategy,
    ) -> Gradient<T> {
        let (plan, kernels) = (&self.plan, &self.kernels);
        let members = self.members(run.samples, c);
        let stored = strategy == Strategy::Store;
        let mut terms = vec![vec![0.0; members.real]; plan.terms.len()];
        worker.reserve(plan, run.steps, strategy);
        self.begin(worker, run, members);
        for t in 0..run.steps {
            self.load_sequences(worker, run, members, t);
            worker.expect(t, strategy);
            worker.essential_step(plan, kernels);
            self.add_terms(worker, run, t, &mut terms);
            worker.remember_and_carry_on(plan, t);
            if stored {
                worker.exchange_stored(plan, t);
            }
        }
        worker.remember_last(plan, run.steps);
        let ends = self.states_now(worker, members);
        let room = |shape: &Shape, steps: usize| vec![T::default(); members.real * steps * shape.size()];
        let mut sequences: Vec<_> = self.sequences.iter().map(|shape| room(shape, run.steps)).collect();
        let share = 1.0 / run.samples as f64;
        worker.begin_reverse(plan);
        for t in (0..run.steps).rev() {
            worker.exchange_states(plan, t);
            self.load_sequences(worker, run, members, t);
            if stored {
                worker.exchange_stored(plan, t);
            }
            worker.expect(t.saturating_sub(1), strategy);
            worker.step_for_reverse(plan, kernels, strategy);
            worker.reverse_step(plan, kernels, |term, sample| {
                T::of(if sample < members.real { share * run.weights[term][t] } else { 0.0 })
            });
            if let Some(limit) = run.carry_limit {
                worker.limit_carried(T::of(share * limit));
            }
            if stored {
                worker.exchange_stored(plan, t);
            }
            worker.exchange_states(plan, t);
            for (to, placed) in sequences.iter_mut().zip(&plan.sequences) {
                if let Some(slot) = placed.adjoint {
                    members.unpack(&worker.adjoints[slot], to, t, run.steps);
                }
            }
        }
        worker.reverse_setup(plan, kernels);

        let mut params = Vec::with_capacity(run.params.len());
        for (placed, shape) in plan.params.iter().zip(&self.params) {
            match placed.adjoint {
                Some(slot) => params.extend_from_slice(&worker.adjoints[slot]),
                None => params.resize(params.len() + shape.size(), T::default()),
            }
        }
        let collect = |placed: &[Placed], shapes: &[Shape]| -> Vec<Vec<T>> {
            placed
                .iter()
                .zip(shapes)
                .map(|(placed, shape)| {
                    let mut to = room(shape, 1);
                    if let Some(slot) = placed.adjoint {
                        members.unpack(&worker.adjoints[slot], &mut to, 0, 1);
                    }
                    to
                })
                .collect()
        };
        let fixed = collect(&plan.fixed, &self.fixed);
        let mut states: Vec<_> = self.states.iter().map(|shape| room(shape, 1)).collect();
        for (to, from) in states.iter_mut().zip(worker.carried()) {
            members.unpack(from, to, 0, 1);
        }
        let terms = terms.iter().map(|per_sample| per_sample.iter().sum::<f64>() * share).collect();
        Gradient { loss: 0.0, terms, params, fixed, states, sequences, ends }
    }
}

fn join<X>(all: &mut [Vec<X>], parts: Vec<Vec<X>>) {
    for (all, part) in all.iter_mut().zip(parts) {
        all.extend(part);
    }
}

/// The samples of one chunk.
#[derive(Clone, Copy)]
struct Members {
    start: usize,
    real: usize,
    chunk: usize,
}

impl Members {
    /// Rows that are packed together: their lanes stay in cache until all samples have written theirs.
    const ROWS: usize = 16;

    /// From `[samples][steps][size]` at step t to `[size][chunk]`.
    fn pack<T: Copy>(self, from: &[T], to: &mut [T], t: usize, steps: usize) {
        let size = to.len() / self.chunk;
        for (block, to) in to.chunks_mut(Members::ROWS * self.chunk).enumerate() {
            let (first, rows) = (block * Members::ROWS, to.len() / self.chunk);
            for lane in 0..self.chunk {
                let sample = self.start + lane.min(self.real - 1);
                let source = &from[(sample * steps + t) * size + first..][..rows];
                for (i, &x) in source.iter().enumerate() {
                    to[i * self.chunk + lane] = x;
                }
            }
        }
    }
    /// Back, for the real samples of the chunk: to `[real][steps][size]`.
    fn unpack<T: Copy>(self, from: &[T], to: &mut [T], t: usize, steps: usize) {
        let size = from.len() / self.chunk;
        for (block, from) in from.chunks(Members::ROWS * self.chunk).enumerate() {
            let (first, rows) = (block * Members::ROWS, from.len() / self.chunk);
            for lane in 0..self.real {
                let target = &mut to[(lane * steps + t) * size + first..][..rows];
                for (i, x) in target.iter_mut().enumerate() {
                    *x = from[i * self.chunk + lane];
                }
            }
        }
    }
}
