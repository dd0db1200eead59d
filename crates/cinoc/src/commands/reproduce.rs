//! `cinoc reproduce`: the experiments of the paper.

use super::print_json;
use crate::arguments::Reproduce;
use crate::failure::Failure;
use crate::ranks::Crew;
use crate::terminal::say;
use crate::terminal::{Bar, paint, table};
use cinoc_control::Tasks;
use cinoc_control::config::methods;
use cinoc_lab::experiments::{Experiment, TABLE_ROWS, experiment, experiments};
use cinoc_lab::results::{Results, State, page};
use cinoc_lab::workshop::{LabError, Size, Workshop};
use cinoc_learn::files::write_atomically;
use std::path::{Path, PathBuf};

const PAGE: &str = "docs/results.md";
const RESULTS: &str = "results";
/// The policies of the project.
const POLICIES: &str = "policies";
/// The state of results that need not be made again.
const CURRENT: &str = "of this code";
/// Experiments whose tasks can be chosen.
const BY_TASK: [&str; 7] =
    ["methods", "table", "cardinality", "cardinality-paper", "failure", "optimum", "regulator"];

pub fn run(request: &Reproduce, crew: &Crew) -> Result<(), Failure> {
    match request.name.as_deref() {
        None => list(request.json),
        Some("page") => write_page(request),
        Some("all") => reproduce(request, experiments().iter().collect(), crew),
        Some("table") if request.methods.is_some() => reproduce(request, vec![experiment("methods")?], crew),
        Some(name) => reproduce(request, vec![experiment(name)?], crew),
    }
}

fn list(json: bool) -> Result<(), Failure> {
    if json {
        let named = experiments().iter().map(|known| (known.name, known.title));
        return print_json(&named.collect::<std::collections::BTreeMap<_, _>>());
    }
    let mut rows = vec![["experiment", "about", "results"].map(String::from).to_vec()];
    for known in experiments() {
        let state = state(known, Path::new(RESULTS))?;
        rows.push(vec![known.name.to_string(), known.title.to_string(), state]);
    }
    table(&rows);
    say!("\ncinoc reproduce NAME runs one experiment, cinoc reproduce all runs all.");
    Ok(())
}

/// Description of the state of an experiment's results.
fn state(experiment: &Experiment, folder: &Path) -> Result<String, Failure> {
    let path = folder.join(format!("{}.json", experiment.name));
    if !path.exists() {
        return Ok("none".to_string());
    }
    let results = Results::read(&path).map_err(LabError::from)?;
    let replaced = results.replaced(Path::new(POLICIES)).join(", ");
    Ok(match results.state() {
        State::Current if replaced.is_empty() => CURRENT.to_string(),
        State::Current => format!("stale: the policy of {replaced} is another one now"),
        State::Stale => "stale: made by other code".to_string(),
        State::Unrecorded => "made before versions were recorded".to_string(),
    })
}

fn reproduce(request: &Reproduce, chosen: Vec<&Experiment>, crew: &Crew) -> Result<(), Failure> {
    let size = if request.quick { Size::Quick } else { Size::Full };
    let or = |given: &Option<PathBuf>, full: &str, quick: &str| {
        given.clone().unwrap_or_else(|| PathBuf::from(size.pick(full, quick)))
    };
    let out = or(&request.out, RESULTS, "runs/quick/results");
    let folder = or(&request.runs, "runs/lab", "runs/quick");
    let (bar, threads) = (Bar::new(), crew.threads(request.on.threads, request.on.device)?);
    crew.warn(request.on.threads);
    let mut workshop = Workshop::new(size, threads, request.seeds, folder, PathBuf::from(POLICIES), &bar);
    workshop.team = crew.team.clone();
    workshop.methods = known(&request.methods, "--methods", methods().iter().map(|method| method.name))?;
    workshop.tasks =
        known(&request.tasks, "--tasks", Tasks::built_in().iter().map(|task| task.name.as_str()))?;
    workshop.rows = known(&request.rows, "--rows", TABLE_ROWS.into_iter())?;
    if let Some(other) = chosen.iter().find(|known| known.name != "table" && workshop.rows.is_some()) {
        return Err(Failure::Request(format!("--rows does not go with {}, only with table", other.name)));
    }
    if let (Some(_), Some(name)) =
        (&workshop.tasks, chosen.iter().map(|known| known.name).find(|name| !BY_TASK.contains(name)))
    {
        return Err(Failure::Request(format!(
            "--tasks does not go with {name}, only with {}",
            BY_TASK.join(", ")
        )));
    }
    for experiment in chosen {
        let results = experiment.run(&workshop);
        bar.clear();
        let mut results = results?;
        if results.tables.iter().all(|table| table.rows.is_empty()) {
            let tasks = workshop.tasks.as_deref().unwrap_or_default().join(", ");
            return Err(Failure::Request(format!("{} has nothing about {tasks}", results.name)));
        }
        let earlier = out.join(format!("{}.json", results.name));
        let rows = if results.name == "methods" { &workshop.methods } else { &workshop.rows };
        if (workshop.tasks.is_some() || rows.is_some()) && earlier.exists() {
            let earlier = Results::read(&earlier).map_err(LabError::from)?;
            let all = || Tasks::built_in().iter().map(|task| task.name.clone()).collect();
            let tasks: Vec<String> = workshop.tasks.clone().unwrap_or_else(all);
            results = results.beside(earlier, &tasks, rows.as_deref()).map_err(LabError::from)?;
        }
        experiment.conclude(&mut results, size);
        results.write(&out).map_err(LabError::from)?;
        if request.json { print_json(&results)? } else { show(&results, &out) }
    }
    Ok(())
}

/// A list of names, each of which must be known; `None` for all.
fn known(
    given: &Option<Vec<String>>,
    key: &str,
    names: impl Iterator<Item = &'static str>,
) -> Result<Option<Vec<String>>, Failure> {
    let Some(given) = given.as_ref().filter(|given| *given != &["all"]) else { return Ok(None) };
    let names: Vec<&str> = names.collect();
    match given.iter().find(|name| !names.contains(&name.as_str())) {
        Some(name) => Err(Failure::Request(format!("{key} {name}: there are {}, and all", names.join(", ")))),
        None => Ok(Some(given.clone())),
    }
}

/// Prints what was found.
pub fn show(results: &Results, out: &Path) {
    say!("{}\n", paint(&results.title, "1"));
    for tables in &results.tables {
        say!("{}\n", tables.caption);
        table(&tables.shown());
        say!();
    }
    results.findings.iter().for_each(|finding| say!("- {finding}"));
    say!("\ntables and figures: {}\n", out.join(format!("{}.md", results.name)).display());
}

fn write_page(request: &Reproduce) -> Result<(), Failure> {
    let out = request.out.clone().unwrap_or_else(|| PathBuf::from(RESULTS));
    let text = page(&out, Path::new(POLICIES), "../results/").map_err(LabError::from)?;
    write_atomically(Path::new(PAGE), |file| file.write_all(text.as_bytes())).map_err(LabError::from)?;
    say!("{PAGE}");
    // of the code the page itself shows versions only: whether they are of this code changes with the code,
    // not with the results
    for known in experiments() {
        let state = state(known, &out)?;
        if state != "none" && state != CURRENT {
            say!("{}: {state}", known.name);
        }
    }
    Ok(())
}
