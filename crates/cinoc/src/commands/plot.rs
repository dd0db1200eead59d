//! `cinoc plot`: report and figures of a policy, or an animation of one case.

use super::subject::{Resolved, resolve};
use crate::arguments::Plot;
use crate::failure::Failure;
use cinoc_control::Tasks;
use cinoc_lab::Evaluated;
use cinoc_lab::figures::save_animation;
use cinoc_lab::report::Report;
use cinoc_lab::run_2d::Run2d;
use cinoc_learn::evaluate::{Rollouts, evaluate, roll_out};
use cinoc_learn::inputs::Inputs;
use cinoc_learn::run::METRICS;
use std::path::{Path, PathBuf};

pub fn run(request: &Plot, tasks: &Tasks) -> Result<(), Failure> {
    let subject = resolve(&request.subject, tasks)?;
    let rollouts = roll_out(&subject.config, &subject.policy.params, &subject.cases, subject.threads)?;
    let animated = request.animate.then(|| chosen_case(request, &subject, &rollouts)).transpose()?;
    let folder = request.out.clone().unwrap_or_else(|| default_folder(&request.subject.policy));
    std::fs::create_dir_all(&folder).map_err(|error| {
        Failure::Request(format!("cannot create {}: {error}; choose another --out", folder.display()))
    })?;
    let written = match animated {
        Some(run) => save_animation(&run, &folder, request.format.into())
            .map_err(|error| Failure::Run(error.to_string()))?,
        None => write_report(&subject, &rollouts, &folder)?,
    };
    println!("{}", written.display());
    Ok(())
}

fn write_report(subject: &Resolved, rollouts: &Rollouts, folder: &Path) -> Result<PathBuf, Failure> {
    let evaluation = evaluate(&subject.config, &subject.cases, rollouts);
    let metrics = subject.path.with_file_name(METRICS);
    let metrics = metrics.exists().then_some(metrics);
    let run = subject.path.parent().unwrap_or(Path::new("."));
    let inputs = Inputs::read(run).map_err(|error| Failure::Request(error.to_string()))?;
    let report = Report {
        policy: &subject.policy,
        config: &subject.config,
        evaluation: &evaluation,
        rollouts,
        cases: &subject.cases,
        cases_label: &subject.cases_label,
        metrics: metrics.as_deref(),
        parameters: subject.parameters,
        inputs: &inputs,
    };
    report.write(folder).map_err(|error| Failure::Run(error.to_string()))
}

/// The case to animate.
fn chosen_case(request: &Plot, subject: &Resolved, rollouts: &Rollouts) -> Result<Run2d, Failure> {
    let evaluated = Evaluated { config: &subject.config, cases: &subject.cases, rollouts };
    let (case, count) = (request.case.unwrap_or_else(|| evaluated.median_case()), subject.cases.count);
    if case >= count {
        return Err(Failure::Request(format!("--case {case}: there are {count} cases, counted from 0")));
    }
    Run2d::of_case(&evaluated, case).map_err(|error| Failure::Request(error.to_string()))
}

/// The run directory, or a folder named after the policy file.
fn default_folder(policy: &Path) -> PathBuf {
    if policy.is_dir() { policy.to_path_buf() } else { policy.with_extension("report") }
}
