//! `cinoc check-gradients`: the gradient of a whole rollout against central differences.

use crate::arguments::CheckGradients;
use crate::failure::Failure;
use crate::terminal::say;
use crate::terminal::table;
use cinoc_adjoint::Strategy;
use cinoc_control::{Targets, Tasks};
use cinoc_learn::gradient_check::check_gradients;
use cinoc_learn::memory::Needs;
use serde_json::json;

/// Largest relative error that still counts as agreement.
const TOLERANCE: f64 = 1e-6;

pub fn run(request: &CheckGradients, tasks: &Tasks) -> Result<(), Failure> {
    let task = tasks.find(&request.task)?;
    let config = task.resolve(request.preset.into(), "cinoc", None, &request.sets)?;
    Needs::training(&config, 1).check()?;
    let checks = [
        check_gradients(&config, Targets::Fixed, Strategy::Recompute)?, //
        check_gradients(&config, Targets::Fixed, Strategy::Store)?,
    ];
    let max_rel_error = checks.iter().map(|check| check.max_rel_error).fold(0.0, f64::max);
    let derivatives =
        checks.each_ref().map(|check| check.directions.iter().map(|d| d.derivative).collect::<Vec<_>>());
    if request.json {
        super::print_json(&json!({"task": request.task, "max_rel_error": max_rel_error}))?;
    } else {
        let heading =
            ["moves", "derivative", "central difference", "relative error"].map(String::from).to_vec();
        let rows = checks[0].directions.iter().map(|d| {
            let numbers = [
                format!("{:+.9e}", d.derivative),
                format!("{:+.9e}", d.difference),
                format!("{:.1e}", d.rel_error),
            ];
            [vec![d.moves.to_string()], numbers.to_vec()].concat()
        });
        table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>());
        say!("largest relative error {max_rel_error:.1e}, recomputing and storing alike");
    }
    if derivatives[0] != derivatives[1] {
        return Err(Failure::Run("recomputing and storing give different gradients".to_string()));
    }
    if max_rel_error > TOLERANCE {
        return Err(Failure::Run(format!(
            "relative error {max_rel_error:.1e}, must be at most {TOLERANCE:e}"
        )));
    }
    Ok(())
}
