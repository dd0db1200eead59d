//! Runs one chunk of samples: inputs are packed into their slots, the steps run forward and in reverse, and
//! results are unpacked.

use super::replay::{Kernels, Worker};
use super::simd::{Isa, Real};
use crate::backend::Arranged;
use crate::plan::{Placed, Plan, Strategy};
use crate::program::{Gradient, Outcome};
use crate::trace::{Input, Shape};
use std::sync::Mutex;

/// A plan with the kernels and the memory to run it on this machine.
pub(super) struct Chunks<T> {
    plan: Plan,
    kernels: Kernels<T>,
    /// Memory between uses.
    idle: Mutex<Vec<Worker<T>>>,
}

impl<T: Real> Chunks<T> {
    pub fn new(plan: Plan, isa: Isa) -> Chunks<T> {
        Chunks { kernels: Kernels::new(&plan, isa), plan, idle: Mutex::new(Vec::new()) }
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// How many chunks hold so many samples.
    pub fn count(&self, samples: usize) -> usize {
        samples.div_ceil(self.plan.samples)
    }

    /// Memory for a chunk.
    pub fn worker(&self) -> Worker<T> {
        let idle = self.idle.lock().expect("no thread panicked").pop();
        idle.unwrap_or_else(|| Worker::new(&self.plan, &self.kernels))
    }

    /// Keeps memory for the next chunk.
    pub fn give_back(&self, worker: Worker<T>) {
        self.idle.lock().expect("no thread panicked").push(worker);
    }

    /// One step of the samples in `worker`, the set-up before it if something it depends on has changed.
    pub fn step(&self, worker: &mut Worker<T>, members: Members, sequences: &[(Input, &[T])], stale: bool) {
        if stale {
            worker.setup(&self.plan, &self.kernels);
        }
        for (input, data) in sequences {
            let placed = self.plan.place(*input);
            members.pack(data, &mut worker.values[placed.value], 0, 1);
        }
        worker.step(&self.plan, &self.kernels);
        if !self.plan.states.is_empty() {
            worker.carry_on(&self.plan);
        }
    }

    /// Samples of chunk `c`; lanes beyond the last sample repeat it.
    pub fn members(&self, samples: usize, c: usize) -> Members {
        let chunk = self.plan.samples;
        let start = c * chunk;
        Members { start, real: chunk.min(samples - start), chunk }
    }

    /// Puts parameters, fixed inputs and states into their places and runs the set-up.
    pub fn begin(&self, worker: &mut Worker<T>, run: &Arranged<'_, T>, members: Members) {
        self.load_params(worker, run.params);
        for (placed, data) in self.plan.fixed.iter().zip(&run.fixed) {
            members.pack(data, &mut worker.values[placed.value], 0, 1);
        }
        for (placed, data) in self.plan.states.iter().zip(&run.states) {
            members.pack(data, &mut worker.values[placed.value], 0, 1);
        }
        worker.setup(&self.plan, &self.kernels);
    }

    /// Puts the parameters into their places.
    pub fn load_params(&self, worker: &mut Worker<T>, params: &[T]) {
        let mut rest = params;
        for placed in &self.plan.params {
            let (these, others) = rest.split_at(placed.shape.size());
            worker.values[placed.value].copy_from_slice(these);
            rest = others;
        }
    }

    fn load_sequences(&self, worker: &mut Worker<T>, run: &Arranged<'_, T>, members: Members, t: usize) {
        for (placed, data) in self.plan.sequences.iter().zip(&run.sequences) {
            members.pack(data, &mut worker.values[placed.value], t, run.steps);
        }
    }

    /// Adds the weighted terms of step t.
    fn add_terms(&self, worker: &Worker<T>, run: &Arranged<'_, T>, t: usize, sums: &mut [Vec<f64>]) {
        for ((sum, (slot, _)), weights) in sums.iter_mut().zip(&self.plan.terms).zip(&run.weights) {
            for (sum, value) in sum.iter_mut().zip(worker.values[*slot].iter()) {
                *sum += weights[t] * value.f64();
            }
        }
    }

    /// Runs chunk `c` forward.
    pub fn forward_chunk(&self, run: &Arranged<'_, T>, c: usize) -> Outcome<T> {
        let mut worker = self.worker();
        let part = self.forward_with(&mut worker, run, c);
        self.give_back(worker);
        part
    }

    fn forward_with(&self, worker: &mut Worker<T>, run: &Arranged<'_, T>, c: usize) -> Outcome<T> {
        let members = self.members(run.samples, c);
        let mut terms = vec![vec![0.0; members.real]; self.plan.terms.len()];
        let room = |shape: &Shape, steps: usize| vec![T::default(); members.real * steps * shape.size()];
        let mut records: Vec<_> =
            self.plan.records.iter().map(|record| room(&record.shape, run.steps)).collect();
        self.begin(worker, run, members);
        for t in 0..run.steps {
            self.load_sequences(worker, run, members, t);
            worker.step(&self.plan, &self.kernels);
            self.add_terms(worker, run, t, &mut terms);
            for (record, placed) in records.iter_mut().zip(&self.plan.records) {
                members.unpack(&worker.values[placed.value], record, t, run.steps);
            }
            worker.carry_on(&self.plan);
        }
        Outcome { terms, records, states: self.states_now(worker, members) }
    }

    /// The states in their slots, `[samples][size]` each.
    fn states_now(&self, worker: &Worker<T>, members: Members) -> Vec<Vec<T>> {
        let state = |placed: &Placed| {
            let mut to = vec![T::default(); members.real * placed.shape.size()];
            members.unpack(&worker.values[placed.value], &mut to, 0, 1);
            to
        };
        self.plan.states.iter().map(state).collect()
    }

    /// Runs chunk `c` forward and in reverse.
    pub fn gradient_chunk(&self, run: &Arranged<'_, T>, c: usize, strategy: Strategy) -> Gradient<T> {
        let mut worker = self.worker();
        let part = self.gradient_with(&mut worker, run, c, strategy);
        self.give_back(worker);
        part
    }

    fn gradient_with(
        &self,
        worker: &mut Worker<T>,
        run: &Arranged<'_, T>,
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
        let mut sequences: Vec<_> =
            plan.sequences.iter().map(|placed| room(&placed.shape, run.steps)).collect();
        let share = 1.0 / run.of as f64;
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
        for placed in &plan.params {
            match placed.adjoint {
                Some(slot) => params.extend_from_slice(&worker.adjoints[slot]),
                None => params.resize(params.len() + placed.shape.size(), T::default()),
            }
        }
        let adjoint = |placed: &Placed| {
            let mut to = room(&placed.shape, 1);
            if let Some(slot) = placed.adjoint {
                members.unpack(&worker.adjoints[slot], &mut to, 0, 1);
            }
            to
        };
        let fixed = plan.fixed.iter().map(adjoint).collect();
        let mut states: Vec<_> = plan.states.iter().map(|placed| room(&placed.shape, 1)).collect();
        for (to, from) in states.iter_mut().zip(worker.carried()) {
            members.unpack(from, to, 0, 1);
        }
        let terms = terms.iter().map(|per_sample| per_sample.iter().sum::<f64>() * share).collect();
        Gradient { fixed, states, sequences, ends, ..Gradient::of_parameters(params, terms) }
    }
}

/// The samples of one chunk.
#[derive(Clone, Copy)]
pub(super) struct Members {
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
        if self.chunk == 1 {
            return to.copy_from_slice(&from[(self.start * steps + t) * size..][..size]);
        }
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
    pub fn unpack<T: Copy>(self, from: &[T], to: &mut [T], t: usize, steps: usize) {
        let size = from.len() / self.chunk;
        if self.chunk == 1 {
            return to[t * size..][..size].copy_from_slice(from);
        }
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
