//! A program driven step by step, as a controller in the field or an environment does: parameters, fixed
//! inputs and first states once, then sequences in, records out. Every sample may be started again at any
//! time.

use super::{Program, Run, Threads};
use crate::cpu::{Real, Worker};
use std::sync::Arc;

/// Samples in progress.
pub struct Session<T: Real> {
    program: Arc<Program<T>>,
    samples: usize,
    chunks: Vec<Chunk<T>>,
}

struct Chunk<T> {
    worker: Worker<T>,
    /// Whether something that the set-up depends on has changed since it ran.
    stale: bool,
}

impl<T: Real> Session<T> {
    /// Starts `samples` samples; fixed inputs and states are `[samples][size]` each.
    ///
    /// # Panics
    /// If the numbers given are not as many as the program needs.
    pub fn new(
        program: Arc<Program<T>>,
        samples: usize,
        params: &[T],
        fixed: &[&[T]],
        states: &[&[T]],
    ) -> Session<T> {
        let run = Run {
            samples,
            steps: 0,
            params,
            fixed: fixed.to_vec(),
            states: states.to_vec(),
            sequences: program.plan().sequences.iter().map(|_| &[][..]).collect(),
            weights: vec![Vec::new(); program.plan().terms.len()],
            carry_limit: None,
        };
        program.check(&run);
        let start = |c: usize| {
            let mut worker = program.cpu.worker();
            program.cpu.begin(&mut worker, &run, program.cpu.members(samples, c));
            Chunk { worker, stale: false }
        };
        let chunks = (0..samples.div_ceil(program.chunk())).map(start).collect();
        Session { samples, chunks, program }
    }

    /// Goes on with other parameters.
    pub fn set_params(&mut self, params: &[T]) {
        assert_eq!(params.len(), self.program.plan().param_len(), "numbers in the parameters");
        for chunk in &mut self.chunks {
            self.program.cpu.load_params(&mut chunk.worker, params);
            chunk.stale = true;
        }
    }

    /// Starts one sample again, from other fixed inputs and states.
    pub fn restart(&mut self, sample: usize, fixed: &[&[T]], states: &[&[T]]) {
        let (plan, lanes) = (self.program.plan(), self.program.chunk());
        let (chunk, lane) = (&mut self.chunks[sample / lanes], sample % lanes);
        for (placed, data) in plan.fixed.iter().zip(fixed).chain(plan.states.iter().zip(states)) {
            let values = &mut chunk.worker.values[placed.value];
            assert_eq!(values.len(), data.len() * lanes, "numbers of a sample");
            values.iter_mut().skip(lane).step_by(lanes).zip(*data).for_each(|(to, x)| *to = *x);
        }
        chunk.stale = true;
    }

    /// One step of all samples; sequences are `[samples][size]` each.
    pub fn step(&mut self, sequences: &[&[T]], threads: &Threads) {
        let (cpu, samples) = (&self.program.cpu, self.samples);
        assert_eq!(cpu.plan().sequences.len(), sequences.len(), "number of sequences");
        threads.for_each(&mut self.chunks, |c, Chunk { worker, stale }| {
            cpu.step(worker, cpu.members(samples, c), sequences, std::mem::take(stale));
        });
    }

    /// A record of the last step, `[samples][size]`.
    pub fn record(&self, index: usize) -> Vec<T> {
        self.gather(self.program.plan().records[index].value)
    }

    /// A record of the last step of a session of one sample in a program for one, without a copy.
    ///
    /// # Panics
    /// If there are more.
    pub fn only_record(&self, index: usize) -> &[T] {
        assert_eq!((self.samples, self.program.chunk()), (1, 1), "a session of one sample");
        &self.chunks[0].worker.values[self.program.plan().records[index].value]
    }

    /// A state after the last step, `[samples][size]`.
    pub fn state(&self, index: usize) -> Vec<T> {
        self.gather(self.program.plan().states[index].value)
    }

    /// A term in the last step, without a weight: one number per sample.
    pub fn term(&self, index: usize) -> Vec<T> {
        self.gather(self.program.plan().terms[index].0)
    }

    fn gather(&self, slot: usize) -> Vec<T> {
        let size = self.program.plan().value_len[slot] / self.program.chunk();
        let mut all = vec![T::default(); self.samples * size];
        let per_chunk = all.chunks_mut(self.program.chunk() * size);
        for (c, (chunk, to)) in self.chunks.iter().zip(per_chunk).enumerate() {
            self.program.cpu.members(self.samples, c).unpack(&chunk.worker.values[slot], to, 0, 1);
        }
        all
    }
}

impl<T: Real> Drop for Session<T> {
    fn drop(&mut self) {
        for chunk in self.chunks.drain(..) {
            self.program.cpu.give_back(chunk.worker);
        }
    }
}
