//! Parameters in training that stay where their program runs: gradients do not travel.

use super::{Gradient, Inputs, Program};
use crate::backend::{Descent, Rule};
use crate::cpu::Real;
use crate::optimiser::{Adam, Factors};

/// Parameters in training on another backend than this machine's CPU, with the state of Adam.
pub struct Descending<T: Real> {
    program: Program<T>,
    there: Box<dyn Descent<T>>,
    step: u64,
}

/// What an update did.
#[derive(Clone, Debug, PartialEq)]
pub struct Descended<T> {
    /// The objective, its terms, and where the samples ended, if that was asked for. There are no
    /// derivatives in it.
    pub gradient: Gradient<T>,
    /// Norm of the gradient before clipping.
    pub gradient_norm: f64,
    /// Norm of the parameters after the update.
    pub parameter_norm: f64,
}

impl<T> Descended<T> {
    /// Whether all numbers were finite. If not, no parameter was changed.
    pub fn is_finite(&self) -> bool {
        self.gradient.loss.is_finite() && self.gradient_norm.is_finite()
    }
}

impl<T: Real> Descending<T> {
    pub(super) fn new(program: &Program<T>, there: Box<dyn Descent<T>>, step: u64) -> Descending<T> {
        Descending { program: program.clone(), there, step }
    }

    /// Updates done.
    pub fn updates(&self) -> u64 {
        self.step
    }

    /// One update by the gradient of a run, whose own parameters are not read: its norm is bounded by `clip`,
    /// then Adam takes a step of rate `rate`. `ends` asks where the samples ended.
    ///
    /// # Panics
    /// If an input or a weight is missing or has a wrong length.
    pub fn update(&mut self, inputs: &Inputs<'_, T>, clip: f64, rate: f64, ends: bool) -> Descended<T> {
        let rule = Rule { clip: clip as f32, factors: Factors::new(self.step + 1, rate), ends };
        let done = self.there.update(&inputs.arranged_but_params(self.program.plan()), &rule);
        self.step += u64::from(done.is_finite());
        done
    }

    /// Parameters and the state of Adam, as they are now.
    pub fn state(&self) -> (Vec<T>, Adam) {
        let [params, m, v] = self.there.read();
        let singles = |numbers: Vec<T>| numbers.into_iter().map(|x| x.f64() as f32).collect();
        (params, Adam { m: singles(m), v: singles(v), step: self.step })
    }
}
