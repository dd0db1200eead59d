//! What rollouts leave behind: fields, actions and losses of every case and step.

use crate::closed_loop::StepRecords;
use crate::rollout::WeightedTerm;
use cinoc_adjoint::{Outcome, Real};

/// What happened in a rollout of some cases.
pub struct Trajectories<T> {
    /// Cases.
    pub samples: usize,
    /// Control steps.
    pub steps: usize,
    pub(crate) outcome: Outcome<T>,
    pub(crate) records: StepRecords,
    pub(crate) terms: Vec<WeightedTerm>,
}

impl<T: Real> Trajectories<T> {
    /// The field after every step, `[samples][steps][size]`; the other records have the same order.
    pub fn z(&self) -> &[T] {
        self.outcome.record(self.records.z)
    }

    /// Where the agents are; none in a loop without agents.
    pub fn xi(&self) -> Option<&[T]> {
        self.records.xi.map(|record| self.outcome.record(record))
    }

    /// Intensities, where agents have any.
    pub fn u(&self) -> Option<&[T]> {
        self.records.u.map(|record| self.outcome.record(record))
    }

    /// Velocities, where agents move.
    pub fn v(&self) -> Option<&[T]> {
        self.records.v.map(|record| self.outcome.record(record))
    }

    /// Of a density, how far centroid and spread are from those of the target, `[samples][steps]`.
    pub fn moment(&self) -> Option<&[T]> {
        self.records.moment.map(|record| self.outcome.record(record))
    }

    /// Mean of `(z - z*)^2` after every control step of all cases, `[samples][steps]`.
    pub fn errors(&self) -> &[T] {
        self.outcome.record(self.records.error)
    }

    /// Mean of `(z - z*)^2` after every control step of a case.
    pub fn error(&self, sample: usize) -> Vec<f64> {
        let error = self.errors();
        error[sample * self.steps..(sample + 1) * self.steps].iter().map(|value| value.f64()).collect()
    }

    /// Everything that was recorded, without a copy.
    pub fn into_recorded(mut self) -> Recorded<T> {
        let mut take = |record| self.outcome.take_record(record);
        let StepRecords { z, xi, u, v, error, .. } = self.records;
        Recorded {
            z: take(z),
            xi: xi.map(&mut take),
            u: u.map(&mut take),
            v: v.map(&mut take),
            error: take(error),
        }
    }

    /// The first sign that the field left the finite numbers, if it did.
    pub fn blow_up(&self) -> Option<BlowUp> {
        let z = self.z();
        let size = z.len() / (self.samples * self.steps);
        for (case, rollout) in z.chunks_exact(self.steps * size).enumerate() {
            let finite = rollout.iter().position(|z| !z.is_finite());
            if let Some(at) = finite {
                let largest = rollout[..at].iter().map(|z| z.f64().abs()).fold(0.0, f64::max);
                return Some(BlowUp { case, step: at / size + 1, largest });
            }
        }
        None
    }

    /// Largest finite value of the field, and where it was reached.
    pub fn largest(&self) -> BlowUp {
        let z = self.z();
        let size = z.len() / (self.samples * self.steps);
        let mut found = BlowUp { case: 0, step: 1, largest: 0.0 };
        for (i, z) in z.iter().enumerate().filter(|(_, z)| z.is_finite()) {
            if z.f64().abs() > found.largest {
                let step = i / size;
                found =
                    BlowUp { case: step / self.steps, step: step % self.steps + 1, largest: z.f64().abs() };
            }
        }
        found
    }

    /// What the program gave: terms and records by their handles.
    pub fn outcome(&self) -> &Outcome<T> {
        &self.outcome
    }

    /// A loss term, without its weight, per case.
    pub fn term(&self, name: &str) -> Option<&[f64]> {
        let term = self.terms.iter().find(|term| term.name == name)?;
        Some(self.outcome.term(term.term))
    }

    /// The loss of a case.
    pub fn loss(&self, sample: usize) -> f64 {
        self.terms.iter().map(|term| term.weight * self.outcome.term(term.term)[sample]).sum()
    }
}

/// What was recorded in every control step of some cases, `[samples][steps][size]` each.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded<T> {
    /// The field after every step.
    pub z: Vec<T>,
    /// Where the agents are, `[dims][agents]` in every step; none in a loop without agents.
    pub xi: Option<Vec<T>>,
    /// Intensities, where agents have any.
    pub u: Option<Vec<T>>,
    /// Velocities, where agents move, `[dims][agents]` in every step.
    pub v: Option<Vec<T>>,
    /// Mean of `(z - z*)^2`.
    pub error: Vec<T>,
}

impl<T> Recorded<T> {
    /// Adds the cases that come next.
    pub fn append(&mut self, next: Recorded<T>) {
        let some = |all: &mut Option<Vec<T>>, next: Option<Vec<T>>| {
            all.iter_mut().zip(next).for_each(|(all, next)| all.extend(next));
        };
        self.z.extend(next.z);
        some(&mut self.xi, next.xi);
        some(&mut self.u, next.u);
        some(&mut self.v, next.v);
        self.error.extend(next.error);
    }
}

/// Where a field left the finite numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlowUp {
    /// The case.
    pub case: usize,
    /// Control step, from 1.
    pub step: usize,
    /// Largest value before.
    pub largest: f64,
}

impl std::fmt::Display for BlowUp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let BlowUp { case, step, largest } = self;
        write!(f, "was no longer finite at step {step} of case {case} (largest value before: {largest:.3e})")
    }
}
