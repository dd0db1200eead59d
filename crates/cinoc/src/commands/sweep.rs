//! `cinoc sweep`: one policy along one axis.

use super::print_json;
use super::reproduce::show;
use crate::arguments::Sweep;
use crate::failure::Failure;
use crate::terminal::{Bar, say, table};
use crate::work::subject::policy_path;
use crate::work::sweep::measure;
use cinoc_control::Tasks;
use cinoc_lab::workshop::LabError;
use cinoc_learn::policy_file::PolicyFile;

pub fn run(request: &Sweep, tasks: &Tasks) -> Result<(), Failure> {
    let policy = PolicyFile::read(&policy_path(&request.policy)?, tasks)?;
    let (bar, threads) = (Bar::new(), crate::work::threads(request.threads));
    let results = measure(&policy, &request.axis, request.values.as_deref(), request.cases, threads, &bar);
    bar.clear();
    let results = results?;
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
