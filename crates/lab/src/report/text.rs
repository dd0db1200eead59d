//! The text of a report.

use cinoc_control::{Config, Targets};

use super::plates::Plate;
use super::{FIGURES, Parameters, Report, tables};
use crate::numbers::{duration, number, thousands};
use crate::settings::changed_settings;
use crate::training_log::TrainingLog;

impl Report<'_> {
    /// The whole text, with a link to every figure.
    pub(super) fn text(&self, log: &TrainingLog, plates: &[Plate]) -> String {
        let task = &self.policy.config.task;
        let sections = [
            format!("# {task}\n\n{}.\n", capitalised(&task.title)),
            format!("## Training\n\n{}", self.training(log)),
            format!("## Results\n\n{}", self.results()),
            format!("## Figures\n\n{}", plates.iter().map(plate).collect::<Vec<_>>().join("\n")),
            format!("## Make it again\n\n```sh\n{}\n```\n", self.commands.join("\n")),
            folded("Complete config of the training", &self.policy.config.to_toml()),
        ];
        sections.join("\n")
    }

    fn training(&self, log: &TrainingLog) -> String {
        let config = &self.policy.config;
        let mut rows = vec![
            ("agents", agents(config)),
            ("parameters", thousands(self.policy.params.len())),
            ("updates", format!("{} of {} cases each", config.train.updates, config.train.batch)),
            ("seed", config.train.seed.to_string()),
        ];
        match self.parameters {
            Parameters::Last => {}
            Parameters::Best => rows.push(("parameters of", "the lowest validation loss".to_string())),
            Parameters::Latest => rows.push(("parameters of", "a training that is not finished".to_string())),
            Parameters::Checkpoint(done) => rows.push((
                "parameters of",
                format!(
                    "the checkpoint after {done} of {} updates: the run is not finished",
                    config.train.updates
                ),
            )),
        }
        for (option, file) in self.inputs.options() {
            rows.extend(file.map(|file| (option, format!("`{}` (hash {})", file.file.display(), file.hash))));
        }
        if let Some(loss) = log.loss.last() {
            rows.push(("training time", duration(log.total_seconds())));
            rows.push(("loss of the last update", number(*loss)));
        }
        if let Some((update, loss)) = log.validation.best() {
            rows.push(("lowest validation loss", format!("{}, after {update} updates", number(loss))));
        }
        let rows = rows.iter().map(|(name, value)| format!("| {name} | {value} |\n"));
        format!("| | |\n|---|---|\n{}", rows.collect::<String>())
    }

    fn results(&self) -> String {
        let other = changed_settings(&self.policy.config, self.config);
        let circumstances = match other.as_slice() {
            [] => String::new(),
            other => format!(", with settings other than in training: `{}`", other.join("`, `")),
        };
        let mut parts = vec![
            format!("On {}{circumstances}.\n", self.cases_label),
            tables::results(self.evaluation),
            tables::effort(self.evaluation),
        ];
        // the published targets are fixed
        if self.cases.targets() == Targets::Fixed {
            parts.extend(tables::beside_the_paper(self.evaluation, self.config));
        }
        parts.join("\n")
    }
}

fn agents(config: &Config) -> String {
    format!("{} {}", config.agents, if config.mobile() { "mobile" } else { "static" })
}

fn plate(plate: &Plate) -> String {
    let Plate { name, caption, .. } = plate;
    let files = format!("[SVG]({FIGURES}/{name}.svg), [PDF]({FIGURES}/{name}.pdf)");
    format!("![{name}]({FIGURES}/{name}.png)\n\n{caption} ({files})\n")
}

fn folded(summary: &str, toml: &str) -> String {
    format!("<details>\n<summary>{summary}</summary>\n\n```toml\n{}\n```\n\n</details>\n", toml.trim_end())
}

/// A title as the beginning of a sentence.
fn capitalised(title: &str) -> String {
    let mut letters = title.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
