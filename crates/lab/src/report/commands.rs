//! The commands that reproduce a policy and its report.

use cinoc_control::Cases;
use cinoc_control::config::ConfigError;

use super::Report;
use crate::settings::changed_settings;

/// Commands for a shell, one per line.
pub(super) fn commands(report: &Report) -> Result<String, ConfigError> {
    let trained = &report.policy.config;
    let (task, seed) = (&trained.task, trained.train.seed);
    let mut preset = task.config()?;
    preset.train.seed = seed;
    let training = sets(&changed_settings(&preset, trained));
    let circumstances = sets(&changed_settings(trained, report.config));
    // where `cinoc train` puts a run by default
    let folder = format!("runs/{task}-{seed}");
    let cases = cases(report);
    Ok([
        format!("cinoc train {task} --seed {seed}{training}\n"),
        format!("cinoc eval {folder} --cases {cases}{circumstances}\n"),
        format!("cinoc plot {folder} --cases {cases}{circumstances}\n"),
    ]
    .concat())
}

fn sets(settings: &[String]) -> String {
    settings.iter().map(|setting| format!(" --set {setting}")).collect()
}

fn cases(report: &Report) -> String {
    match Cases::paper(report.config) {
        Ok(paper) if paper == *report.cases => "paper".to_string(),
        _ => report.cases.count.to_string(),
    }
}
