//! `cinoc check-gradients`: the gradient of a whole rollout against central differences.

use crate::arguments::CheckGradients;
use crate::failure::Failure;
use crate::terminal::{say, table};
use crate::work::gradients;
use cinoc_adjoint::Threads;
use cinoc_control::Tasks;
use serde_json::json;

pub fn run(request: &CheckGradients, tasks: &Tasks) -> Result<(), Failure> {
    let task = tasks.find(&request.task)?;
    let config = task.resolve(request.preset.into(), "cinoc", None, &request.sets)?;
    let found = gradients::measure(&config, &request.device.with(Threads::one())?)?;
    if request.json {
        super::print_json(&json!({"task": request.task, "max_rel_error": found.max_rel_error}))?;
    } else {
        let heading =
            ["moves", "derivative", "central difference", "relative error"].map(String::from).to_vec();
        let rows = found.directions.iter().map(|d| {
            let numbers = [
                format!("{:+.9e}", d.derivative),
                format!("{:+.9e}", d.difference),
                format!("{:.1e}", d.rel_error),
            ];
            [vec![d.moves.to_string()], numbers.to_vec()].concat()
        });
        table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>());
        say!("largest relative error {:.1e}, recomputing and storing alike", found.max_rel_error);
    }
    gradients::check(&found)
}
