//! What a run gives.

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

impl<T> Gradient<T> {
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
