//! Samples in progress on a backend that only runs whole rollouts: every step is a rollout of one step.

use super::{Outcome, Program};
use crate::backend::{Arranged, Steps, Told};
use crate::cpu::Real;
use crate::threads::Threads;
use crate::trace::{Input, InputKind};

pub(super) struct Launched<T: Real> {
    program: Program<T>,
    samples: usize,
    params: Vec<T>,
    /// Fixed inputs, each `[samples][size]`.
    fixed: Vec<Vec<T>>,
    /// States after the last step, each `[samples][size]`.
    states: Vec<Vec<T>>,
    /// What the last step gave.
    last: Option<Outcome<T>>,
}

impl<T: Real> Launched<T> {
    pub fn new(program: &Program<T>, run: &Arranged<'_, T>) -> Launched<T> {
        let copies = |lists: &[&[T]]| lists.iter().map(|list| list.to_vec()).collect();
        Launched {
            program: program.clone(),
            samples: run.samples,
            params: run.params.to_vec(),
            fixed: copies(&run.fixed),
            states: copies(&run.states),
            last: None,
        }
    }
}

fn slices<T>(lists: &[Vec<T>]) -> Vec<&[T]> {
    lists.iter().map(Vec::as_slice).collect()
}

impl<T: Real> Steps<T> for Launched<T> {
    fn set_params(&mut self, params: &[T]) {
        self.params.copy_from_slice(params);
    }

    fn restart(&mut self, sample: usize, given: &[(Input, &[T])]) {
        for (input, values) in given {
            let all = match input.kind {
                InputKind::State => &mut self.states[input.index],
                _ => &mut self.fixed[input.index],
            };
            all[sample * input.size()..(sample + 1) * input.size()].copy_from_slice(values);
        }
    }

    fn step(&mut self, sequences: &[(Input, &[T])], threads: &Threads) {
        let mut in_order = sequences.to_vec();
        in_order.sort_by_key(|(input, _)| input.index);
        let run = Arranged {
            samples: self.samples,
            of: self.samples,
            steps: 1,
            params: &self.params,
            fixed: slices(&self.fixed),
            states: slices(&self.states),
            sequences: in_order.into_iter().map(|(_, values)| values).collect(),
            weights: vec![&[1.0]; self.program.plan().terms.len()],
            carry_limit: None,
        };
        let mut outcome = self.program.executable(threads).forward(&run, threads);
        self.states = std::mem::take(&mut outcome.states);
        self.last = Some(outcome);
    }

    fn read(&self, what: Told, to: &mut [T]) {
        let last = || self.last.as_ref().expect("a step was made");
        match what {
            Told::State(index) => to.copy_from_slice(&self.states[index]),
            Told::Record(index) => to.copy_from_slice(&last().records[index]),
            Told::Term(index) => {
                to.iter_mut().zip(&last().terms[index]).for_each(|(to, &value)| *to = T::of(value));
            }
        }
    }
}
