//! A program driven step by step, as a controller in the field or an environment does: parameters, fixed
//! inputs and first states once, then sequences in, records out. Every sample may be started again at any
//! time.

use super::launched::Launched;
use super::{Inputs, Program};
use crate::backend::{Steps, Told};
use crate::cpu::Real;
use crate::plan::Plan;
use crate::threads::Threads;
use crate::trace::{Input, InputKind, Record, Term};

/// Samples in progress.
pub struct Session<T: Real> {
    program: Program<T>,
    samples: usize,
    steps: Box<dyn Steps<T>>,
}

impl<T: Real> Session<T> {
    /// Starts the samples of a run without steps on this machine's CPU: parameters, fixed inputs and states
    /// are given.
    ///
    /// # Panics
    /// If an input is missing or has a wrong length.
    pub fn new(program: &Program<T>, inputs: &Inputs<'_, T>) -> Session<T> {
        let run = inputs.arranged(program.plan());
        Session { samples: run.samples, steps: program.cpu.clone().start(&run), program: program.clone() }
    }

    /// The same where these threads run programs. All steps must be made with them.
    ///
    /// # Panics
    /// If an input is missing or has a wrong length.
    pub fn on(threads: &Threads, program: &Program<T>, inputs: &Inputs<'_, T>) -> Session<T> {
        if threads.backend().is_none() {
            return Session::new(program, inputs);
        }
        let run = inputs.arranged(program.plan());
        let steps = Box::new(Launched::new(program, &run));
        Session { samples: run.samples, steps, program: program.clone() }
    }

    fn plan(&self) -> &Plan {
        self.program.plan()
    }

    /// Goes on with other parameters.
    pub fn set_params(&mut self, params: &[T]) {
        assert_eq!(params.len(), self.plan().param_len(), "numbers in the parameters");
        self.steps.set_params(params);
    }

    /// Starts one sample again, from other fixed inputs and states.
    pub fn restart(&mut self, sample: usize, given: &[(Input, &[T])]) {
        for (input, values) in given {
            assert_eq!(values.len(), input.size(), "numbers of a sample");
        }
        self.steps.restart(sample, given);
    }

    /// One step of all samples; sequences are `[samples][size]` each.
    pub fn step(&mut self, sequences: &[(Input, &[T])], threads: &Threads) {
        assert_eq!(self.plan().sequences.len(), sequences.len(), "number of sequences");
        for (input, values) in sequences {
            assert_eq!(input.kind, InputKind::Sequence, "a step is given sequences");
            assert_eq!(values.len(), self.samples * input.size(), "numbers of all samples");
        }
        self.steps.step(sequences, threads);
    }

    /// A record of the last step, `[samples][size]`.
    pub fn record(&self, record: Record) -> Vec<T> {
        self.read(Told::Record(record.index), record.shape.size())
    }

    /// The same, copied to where the caller wants it.
    ///
    /// # Panics
    /// If `to` has another length.
    pub fn copy_record(&self, record: Record, to: &mut [T]) {
        assert_eq!(to.len(), self.samples * record.shape.size(), "numbers of all samples");
        self.steps.read(Told::Record(record.index), to);
    }

    /// A state after the last step, `[samples][size]`.
    pub fn state(&self, state: Input) -> Vec<T> {
        self.read(Told::State(state.state_index()), state.size())
    }

    /// A term in the last step, without a weight: one number per sample.
    pub fn term(&self, term: Term) -> Vec<T> {
        self.read(Told::Term(term.0), 1)
    }

    fn read(&self, what: Told, size: usize) -> Vec<T> {
        let mut all = vec![T::default(); self.samples * size];
        self.steps.read(what, &mut all);
        all
    }
}
