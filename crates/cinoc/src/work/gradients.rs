//! Gradients of whole rollouts against central differences, recomputing and storing.

use crate::failure::Failure;
use cinoc_adjoint::{Strategy, Threads};
use cinoc_control::{Config, Targets};
use cinoc_learn::gradient_check::{GradientCheck, check_gradients};
use cinoc_learn::memory::Needs;

/// Largest relative error that still counts as agreement.
const TOLERANCE: f64 = 1e-6;

/// What a check found: the directions of the gradient that recomputes, and the largest error of both.
pub fn measure(config: &Config, threads: &Threads) -> Result<GradientCheck, Failure> {
    Needs::training(config, 1).check()?;
    let recomputed = check_gradients(config, Targets::Fixed, Strategy::Recompute, threads)?;
    let stored = check_gradients(config, Targets::Fixed, Strategy::Store, threads)?;
    let derivatives =
        |check: &GradientCheck| check.directions.iter().map(|d| d.derivative).collect::<Vec<_>>();
    if derivatives(&recomputed) != derivatives(&stored) {
        return Err(Failure::Run("recomputing and storing give different gradients".to_string()));
    }
    Ok(GradientCheck { max_rel_error: recomputed.max_rel_error.max(stored.max_rel_error), ..recomputed })
}

/// An error if the gradients do not agree with the differences.
pub fn check(found: &GradientCheck) -> Result<(), Failure> {
    let error = found.max_rel_error;
    if error > TOLERANCE {
        return Err(Failure::Run(format!("relative error {error:.1e}, must be at most {TOLERANCE:e}")));
    }
    Ok(())
}
