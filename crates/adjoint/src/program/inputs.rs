//! What a run is given.

use crate::backend::Arranged;
use crate::plan::{Placed, Plan};
use crate::trace::{Input, InputKind, Term};

/// What a run starts from: parameters, inputs, and how much every term of the objective counts. Arrays are
/// sample by sample.
#[derive(Clone)]
pub struct Inputs<'a, T> {
    samples: usize,
    of: usize,
    steps: usize,
    params: &'a [T],
    values: Vec<(Input, &'a [T])>,
    weights: Vec<(Term, Vec<f64>)>,
    carry_limit: Option<f64>,
}

impl<'a, T> Inputs<'a, T> {
    /// Inputs of `steps` steps of independent `samples`. Parameters stand one after the other, in the order
    /// they were declared.
    pub fn new(samples: usize, steps: usize, params: &'a [T]) -> Inputs<'a, T> {
        Inputs {
            samples,
            of: samples,
            steps,
            params,
            values: Vec::new(),
            weights: Vec::new(),
            carry_limit: None,
        }
    }

    /// Says that the samples are a part of `samples`, which the objective is the mean of; others run
    /// elsewhere.
    pub fn part_of(mut self, samples: usize) -> Inputs<'a, T> {
        self.of = samples;
        self
    }

    /// Gives the numbers of an input: `[samples][size]`, of a sequence `[samples][steps][size]`.
    pub fn with(mut self, input: Input, values: &'a [T]) -> Inputs<'a, T> {
        self.values.push((input, values));
        self
    }

    /// Gives a term its weight in every step.
    pub fn weighted(mut self, term: Term, over_steps: Vec<f64>) -> Inputs<'a, T> {
        self.weights.push((term, over_steps));
        self
    }

    /// Bounds every derivative that is carried from a step to the one before. Derivatives of an unstable
    /// rollout grow by a factor per step; a bound keeps them finite, but they are no longer exact.
    pub fn carry_limit(mut self, limit: Option<f64>) -> Inputs<'a, T> {
        self.carry_limit = limit;
        self
    }

    /// Everything that the plan asks for, in its order.
    ///
    /// # Panics
    /// If an input or a weight is missing or has another length than the plan says. A run without steps needs
    /// neither sequences nor weights.
    pub(crate) fn arranged(&self, plan: &Plan) -> Arranged<'_, T> {
        assert_eq!(self.params.len(), plan.param_len(), "numbers in the parameters");
        self.arranged_but_params(plan)
    }

    /// The same where the parameters are kept elsewhere: those given are not looked at.
    pub(crate) fn arranged_but_params(&self, plan: &Plan) -> Arranged<'_, T> {
        assert!(self.samples > 0, "a run has at least one sample");
        let inputs = |kind: InputKind, places: &[Placed], per: usize| -> Vec<&'a [T]> {
            let given = |(index, place): (usize, &Placed)| {
                let mine = |(input, _): &&(Input, _)| (input.kind, input.index) == (kind, index);
                let values = self.values.iter().find(mine).map(|(_, values)| *values);
                let name = &plan.trace.declared(kind)[index].name;
                let values = values.or((per == 0).then_some(&[]));
                let values = values.unwrap_or_else(|| panic!("input {name} is not given"));
                assert_eq!(values.len(), place.shape.size() * per, "numbers in input {name}");
                values
            };
            places.iter().enumerate().map(given).collect()
        };
        let weights = |(index, (name, _)): (usize, &(String, usize))| -> &[f64] {
            let given = self.weights.iter().find(|(term, _)| term.0 == index);
            let weights = given.map_or(&[][..], |(_, weights)| weights);
            assert_eq!(weights.len(), self.steps, "weights of term {name}, one per step");
            weights
        };
        Arranged {
            samples: self.samples,
            of: self.of,
            steps: self.steps,
            params: self.params,
            fixed: inputs(InputKind::Fixed, &plan.fixed, self.samples),
            states: inputs(InputKind::State, &plan.states, self.samples),
            sequences: inputs(InputKind::Sequence, &plan.sequences, self.samples * self.steps),
            weights: plan.trace.terms.iter().enumerate().map(weights).collect(),
            carry_limit: self.carry_limit,
        }
    }
}
