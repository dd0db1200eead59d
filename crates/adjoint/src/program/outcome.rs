//! What a run gives.

use crate::cpu::Real;
use crate::trace::{Input, InputKind, Record, Term};

/// What rollouts gave. Arrays are sample by sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome<T> {
    /// Of every term the sum over the steps, one number per sample.
    pub terms: Vec<Vec<f64>>,
    /// Of every record `[samples][steps][size]`.
    pub records: Vec<Vec<T>>,
    /// Of every state `[samples][size]` after the last step.
    pub states: Vec<Vec<T>>,
}

impl<T> Outcome<T> {
    /// Sum over the steps of weight times value, one number per sample.
    pub fn term(&self, term: Term) -> &[f64] {
        &self.terms[term.0]
    }
    /// A record in every step, `[samples][steps][size]`.
    pub fn record(&self, record: Record) -> &[T] {
        &self.records[record.index]
    }
    /// The same, taken out: afterwards it is empty here.
    pub fn take_record(&mut self, record: Record) -> Vec<T> {
        std::mem::take(&mut self.records[record.index])
    }
    /// A state after the last step, `[samples][size]`.
    ///
    /// # Panics
    /// If the input is not a state.
    pub fn end(&self, state: Input) -> &[T] {
        &self.states[state.state_index()]
    }
}

/// The objective, `mean over samples of sum over terms and steps of weight * value`, and its derivatives.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient<T> {
    /// Value of the objective.
    pub loss: f64,
    /// Derivative with respect to the parameters.
    pub params: Vec<T>,
    /// What every term contributes.
    pub terms: Vec<f64>,
    /// Derivatives with respect to the fixed inputs, each `[samples][size]`.
    pub fixed: Vec<Vec<T>>,
    /// Derivatives with respect to the first states, each `[samples][size]`.
    pub states: Vec<Vec<T>>,
    /// Derivatives with respect to the sequences, each `[samples][steps][size]`.
    pub sequences: Vec<Vec<T>>,
    /// States after the last step, each `[samples][size]`.
    pub ends: Vec<Vec<T>>,
}

impl<T: Real> Gradient<T> {
    /// A gradient with respect to parameters only: no derivatives of inputs, no ends.
    pub fn of_parameters(params: Vec<T>, terms: Vec<f64>) -> Gradient<T> {
        Gradient {
            loss: terms.iter().sum(),
            params,
            terms,
            fixed: Vec::new(),
            states: Vec::new(),
            sequences: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// The gradient of all samples from what groups of them contribute. Sums of rounded numbers depend on
    /// their order: this one is part of the result.
    ///
    /// # Panics
    /// If there are no parts.
    pub fn sum(parts: Vec<Gradient<T>>) -> Gradient<T> {
        let first = parts.first().expect("a run has at least one sample");
        let (mut params, mut terms) = (vec![T::default(); first.params.len()], vec![0.0; first.terms.len()]);
        let room = |like: &[Vec<T>]| vec![Vec::new(); like.len()];
        let (mut fixed, mut states) = (room(&first.fixed), room(&first.states));
        let (mut sequences, mut ends) = (room(&first.sequences), room(&first.ends));
        for part in parts {
            terms.iter_mut().zip(&part.terms).for_each(|(sum, x)| *sum += x);
            params.iter_mut().zip(&part.params).for_each(|(sum, x)| *sum += *x);
            join(&mut fixed, part.fixed);
            join(&mut states, part.states);
            join(&mut sequences, part.sequences);
            join(&mut ends, part.ends);
        }
        Gradient { fixed, states, sequences, ends, ..Gradient::of_parameters(params, terms) }
    }
}

impl<T> Gradient<T> {
    /// What every term contributes to the objective, in the order they were declared.
    pub fn terms(&self) -> &[f64] {
        &self.terms
    }
    /// What a term contributes to the objective.
    pub fn term(&self, term: Term) -> f64 {
        self.terms[term.0]
    }
    /// Derivative with respect to an input, of a state to its first value: `[samples][size]`, of a sequence
    /// `[samples][steps][size]`.
    pub fn input(&self, input: Input) -> &[T] {
        let all = match input.kind {
            InputKind::Fixed => &self.fixed,
            InputKind::State => &self.states,
            InputKind::Sequence => &self.sequences,
        };
        &all[input.index]
    }
    /// A state after the last step, `[samples][size]`.
    ///
    /// # Panics
    /// If the input is not a state.
    pub fn end(&self, state: Input) -> &[T] {
        &self.ends[state.state_index()]
    }
}

/// Puts the numbers of further samples behind those of the samples before.
pub(crate) fn join<X>(all: &mut [Vec<X>], parts: Vec<Vec<X>>) {
    for (all, part) in all.iter_mut().zip(parts) {
        all.extend(part);
    }
}
