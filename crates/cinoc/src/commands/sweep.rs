//! `cinoc sweep`: one policy along one axis.

use super::print_json;
use super::reproduce::show;
use crate::arguments::Sweep;
use crate::failure::Failure;
use crate::ranks::Crew;
use crate::terminal::{Bar, Terminal, say, table};
use crate::work::subject::load_policy;
use crate::work::sweep::measure;
use cinoc_control::Tasks;
use cinoc_lab::sweep::Axis;
use cinoc_lab::workshop::LabError;

pub fn run(request: &Sweep, tasks: &Tasks, crew: &Crew) -> Result<(), Failure> {
    // a wrong axis is told before a policy is looked for
    request.axis.parse::<Axis>().map_err(LabError::Sweep)?;
    let policy = load_policy(&request.policy, false, tasks, &Terminal::default())?.policy;
    let (bar, threads) = (Bar::new(), crew.threads(request.on.threads, request.on.device)?);
    crew.warn(request.on.threads);
    let (values, team) = (request.values.as_deref(), &crew.team);
    let results = measure(&policy, &request.axis, values, request.cases, threads, team, &bar);
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
