//! Samples that are driven step by step, in chunks.

use super::chunk::Chunks;
use super::replay::Worker;
use super::simd::Real;
use crate::backend::{Arranged, Steps, Told};
use crate::threads::Threads;
use crate::trace::Input;
use std::sync::Arc;

pub(super) struct ChunksInProgress<T: Real> {
    chunks: Arc<Chunks<T>>,
    samples: usize,
    parts: Vec<Part<T>>,
    /// For every slot whether the set-up reads it.
    in_setup: Vec<bool>,
}

struct Part<T> {
    worker: Worker<T>,
    /// Whether something that the set-up depends on has changed since it ran.
    stale: bool,
}

impl<T: Real> ChunksInProgress<T> {
    pub fn new(chunks: Arc<Chunks<T>>, run: &Arranged<'_, T>) -> ChunksInProgress<T> {
        let start = |c: usize| {
            let mut worker = chunks.worker();
            chunks.begin(&mut worker, run, chunks.members(run.samples, c));
            Part { worker, stale: false }
        };
        let parts = (0..chunks.count(run.samples)).map(start).collect();
        let mut in_setup = vec![false; chunks.plan().value_len.len()];
        chunks.plan().setup.iter().flat_map(|op| &op.inputs).for_each(|&slot| in_setup[slot] = true);
        ChunksInProgress { samples: run.samples, parts, chunks, in_setup }
    }
}

impl<T: Real> Steps<T> for ChunksInProgress<T> {
    fn set_params(&mut self, params: &[T]) {
        for part in &mut self.parts {
            self.chunks.load_params(&mut part.worker, params);
            part.stale = true;
        }
    }

    fn restart(&mut self, sample: usize, given: &[(Input, &[T])]) {
        let lanes = self.chunks.plan().samples;
        let (part, lane) = (&mut self.parts[sample / lanes], sample % lanes);
        for (input, data) in given {
            let slot = self.chunks.plan().place(*input).value;
            let values = &mut part.worker.values[slot];
            match lanes {
                1 => values.copy_from_slice(data),
                _ => values.iter_mut().skip(lane).step_by(lanes).zip(*data).for_each(|(to, x)| *to = *x),
            }
            part.stale |= self.in_setup[slot];
        }
    }

    fn step(&mut self, sequences: &[(Input, &[T])], threads: &Threads) {
        let (chunks, samples) = (&self.chunks, self.samples);
        threads.for_each(&mut self.parts, |c, Part { worker, stale }| {
            chunks.step(worker, chunks.members(samples, c), sequences, std::mem::take(stale));
        });
    }

    fn read(&self, what: Told, to: &mut [T]) {
        let plan = self.chunks.plan();
        let slot = match what {
            Told::Record(index) => plan.records[index].value,
            Told::State(index) => plan.states[index].value,
            Told::Term(index) => plan.terms[index].0,
        };
        let per_chunk = to.chunks_mut(plan.value_len[slot]);
        for (c, (part, to)) in self.parts.iter().zip(per_chunk).enumerate() {
            self.chunks.members(self.samples, c).unpack(&part.worker.values[slot], to, 0, 1);
        }
    }
}

impl<T: Real> Drop for ChunksInProgress<T> {
    fn drop(&mut self) {
        for part in self.parts.drain(..) {
            self.chunks.give_back(part.worker);
        }
    }
}
