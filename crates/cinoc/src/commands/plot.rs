//! `cinoc plot`: report and figures of a policy.

use super::subject::resolve;
use crate::arguments::Plot;
use crate::failure::Failure;
use lab::report::Report;
use learn::evaluate::{evaluate, roll_out};
use learn::run::METRICS;
use std::path::PathBuf;

pub fn run(request: &Plot) -> Result<(), Failure> {
    let subject = resolve(&request.subject)?;
    let rollouts = roll_out(&subject.config, &subject.policy.params, &subject.cases, subject.threads)?;
    let evaluation = evaluate(&subject.config, &rollouts);
    let folder = request.out.clone().unwrap_or_else(|| default_folder(&request.subject.policy));
    std::fs::create_dir_all(&folder).map_err(|error| {
        Failure::Request(format!("cannot create {}: {error}; choose another --out", folder.display()))
    })?;
    let metrics = subject.path.with_file_name(METRICS);
    let metrics = metrics.exists().then_some(metrics);
    let report = Report {
        policy: &subject.policy,
        config: &subject.config,
        evaluation: &evaluation,
        rollouts: &rollouts,
        cases: &subject.cases,
        cases_label: &subject.cases_label,
        metrics: metrics.as_deref(),
    };
    let report = report.write(&folder).map_err(|error| Failure::Run(error.to_string()))?;
    println!("{}", report.display());
    Ok(())
}

/// The run directory, or a folder named after the policy file.
fn default_folder(policy: &std::path::Path) -> PathBuf {
    if policy.is_dir() { policy.to_path_buf() } else { policy.with_extension("report") }
}
