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
    let files = report.inputs.options().map(|(option, file)| match file {
        Some(file) => format!(" {option} {}", file.file.display()),
        None => String::new(),
    });
    let training = sets(&changed_settings(&preset, trained)) + &files.concat();
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
    // lists have brackets and blanks, which shells take for their own
    let quoted = |setting: &String| match setting.contains('[') {
        true => format!(" --set '{setting}'"),
        false => format!(" --set {setting}"),
    };
    settings.iter().map(quoted).collect()
}

fn cases(report: &Report) -> String {
    let file = report.inputs.validation.as_ref().map(|input| &input.file);
    if let Some(file) = file.filter(|file| {
        file.file_name().is_some_and(|name| {
            report.cases_label.ends_with(&format!(" cases of {}", name.to_string_lossy()))
        })
    }) {
        return file.display().to_string();
    }
    match Cases::paper(report.config) {
        Ok(paper) if paper == *report.cases => "paper".to_string(),
        _ => report.cases.count.to_string(),
    }
}
