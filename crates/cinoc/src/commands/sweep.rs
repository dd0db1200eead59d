//! `cinoc sweep`: one policy along one axis.

use super::print_json;
use super::reproduce::show;
use super::subject::policy_path;
use crate::arguments::Sweep;
use crate::failure::Failure;
use crate::terminal::{Bar, table};
use cinoc_control::Tasks;
use cinoc_lab::sweep::{Quantity, sweep};
use cinoc_lab::workshop::{LabError, Size, Workshop};
use cinoc_learn::policy_file::PolicyFile;
use std::path::PathBuf;

pub fn run(request: &Sweep, tasks: &Tasks) -> Result<(), Failure> {
    let axis = Quantity::from(request.axis);
    let values = request.values.clone().unwrap_or_else(|| axis.usual().to_vec());
    if let Some(wrong) = values.iter().find(|value| !(value.is_finite() && **value >= 0.0)) {
        return Err(Failure::Request(format!("--values {wrong}: must be 0 or more, and finite")));
    }
    let policy = PolicyFile::read(&policy_path(&request.policy)?, tasks)?;
    let (bar, threads) = (Bar::new(), super::threads(request.threads));
    let workshop =
        Workshop::new(Size::Full, threads, None, PathBuf::from("runs/lab"), PathBuf::from("policies"), &bar);
    let results = sweep(&workshop, policy, axis, &values, request.cases);
    bar.clear();
    let results = results?;
    if let Some(out) = &request.out {
        results.write(out).map_err(LabError::from)?;
    }
    match (request.json, &request.out) {
        (true, _) => print_json(&results)?,
        (false, Some(out)) => show(&results, out),
        (false, None) => results.tables.iter().for_each(|found| table(&found.shown())),
    }
    Ok(())
}
