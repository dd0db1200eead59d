//! `cinoc sweep`: one policy along one axis.

use super::print_json;
use super::reproduce::show;
use super::subject::load_policy;
use crate::arguments::Sweep;
use crate::failure::Failure;
use crate::terminal::say;
use crate::terminal::{Bar, table};
use cinoc_control::Tasks;
use cinoc_lab::results::Results;
use cinoc_lab::sweep::{self, Axis, Value};
use cinoc_lab::workshop::{LabError, Size, Workshop};
use std::path::PathBuf;

pub fn run(request: &Sweep, tasks: &Tasks) -> Result<(), Failure> {
    let results = measure(request, tasks)?;
    if let Some(out) = &request.out {
        results.write(out).map_err(LabError::from)?;
    }
    match (request.json, &request.out) {
        (true, _) => print_json(&results)?,
        (false, Some(out)) => show(&results, out),
        (false, None) => {
            results.tables.iter().for_each(|found| table(&found.shown()));
            let caption = results.tables.first().map_or("", |table| &table.caption);
            say!("{caption} {}", results.protocol);
        }
    }
    Ok(())
}

fn measure(request: &Sweep, tasks: &Tasks) -> Result<Results, Failure> {
    let parsed = |values: &Vec<String>| values.iter().map(|value| value.parse()).collect();
    let values: Option<Result<Vec<Value>, _>> = request.values.as_ref().map(parsed);
    let values = values.transpose().map_err(LabError::Sweep)?;
    let axis: Axis = request.axis.parse().map_err(LabError::Sweep)?;
    let (_, policy, _) = load_policy(&request.policy, false, tasks)?;
    axis.check(&policy.config).map_err(LabError::Sweep)?;
    let (bar, threads) = (Bar::new(), super::threads(request.threads)?);
    // a sweep keeps nothing: it needs no folders
    let workshop = Workshop::new(Size::Full, threads, None, PathBuf::new(), PathBuf::new(), &bar);
    let results = sweep::Sweep { policy, axis, values, cases: request.cases }.run(&workshop);
    bar.clear();
    results.map_err(|error| match error {
        LabError::Stopped => Failure::Interrupted("a sweep keeps nothing; start it again".into()),
        error => error.into(),
    })
}
