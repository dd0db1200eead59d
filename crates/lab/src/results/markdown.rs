//! Results as text.

use super::Results;
use crate::numbers::duration;

/// The results as Markdown under a heading of the given depth; `folder` is the path from the text to the
/// figures.
pub fn markdown(results: &Results, heading: &str, folder: &str) -> String {
    let Results { name, title, command, protocol, findings, tables, charts, cost, provenance } = results;
    let findings: String = findings.iter().map(|finding| format!("- {finding}\n")).collect();
    let charts: String = charts
        .iter()
        .map(|chart| format!("![{}]({folder}{})\n\n", chart.title, results.file_of(&chart.name) + ".png"))
        .collect();
    let tables: Vec<String> =
        tables.iter().map(|table| format!("{}\n\n{}", table.caption, table.markdown())).collect();
    let trained = match cost.trainings {
        0 => String::new(),
        1 => format!("one policy trained in {}, ", duration(cost.training_seconds)),
        n => format!("{n} policies trained in {}, ", duration(cost.training_seconds)),
    };
    let parts = [
        format!("{heading} {title}\n"),
        format!("`{command}` ({name}): {protocol}\n"),
        findings,
        charts.trim_end().to_string() + "\n",
        tables.join("\n"),
        format!(
            "Cost on {} threads: {trained}measured in {}.\n",
            cost.threads,
            duration(cost.measuring_seconds)
        ),
        match provenance {
            Some(provenance) => provenance.told() + "\n",
            None => {
                "Made before versions were recorded: no record of the code and the policies.\n".to_string()
            }
        },
    ];
    let filled: Vec<String> = parts.into_iter().filter(|part| !part.trim().is_empty()).collect();
    filled.join("\n")
}
