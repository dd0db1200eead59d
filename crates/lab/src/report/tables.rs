//! The tables of a report.

use cinoc_control::Config;
use cinoc_learn::evaluate::{Evaluation, Metric, Spread};

use crate::numbers::{number, two_std};
use crate::published::{PAPER, Reported, departures, published};

/// Error without and with control, at the end and over time.
pub(super) fn results(evaluation: &Evaluation) -> String {
    let row = |what: &str, spread: Spread| {
        format!("| {what} | {} | {} | {} |\n", number(spread.mean), number(spread.std), two_std(spread))
    };
    let (off, on) = (evaluation.uncontrolled, evaluation.controlled);
    let half = off.half.zip(on.half).map_or_else(String::new, |(off, on)| {
        row("half-way, uncontrolled", off) + &row("half-way, **controlled**", on)
    });
    [
        "| mean (z − z*)² over space | mean over cases | std over cases | mean ± 2 std (the paper's form) |\n"
            .to_string(),
        "|---|---:|---:|---:|\n".to_string(),
        row("final, uncontrolled", off.last),
        row("final, **controlled**", on.last),
        half,
        row("time mean, uncontrolled", off.time_mean),
        row("time mean, **controlled**", on.time_mean),
    ]
    .concat()
}

/// Our result and the paper's, if the paper has the task. Under other settings than those of the task there
/// is nothing to compare with.
pub(super) fn beside_the_paper(evaluation: &Evaluation, config: &Config) -> Option<String> {
    let paper = published(&evaluation.task)?;
    if let [first, ..] = &departures(config)[..] {
        return Some(format!(
            "The published numbers are left out: they are for other settings (here `{first}`).\n"
        ));
    }
    let (what, of): (_, fn(Metric) -> Spread) = match paper.reported {
        Reported::Final => ("final", |metric| metric.last),
        Reported::Half => ("half-way", |metric| metric.half.unwrap_or(metric.last)),
        Reported::TimeMean => ("time mean", |metric| metric.time_mean),
    };
    let ours = |metric: Metric| two_std(of(metric));
    Some(
        [
            format!("| {what} error, mean ± 2 std over cases | uncontrolled | controlled |\n"),
            "|---|---:|---:|\n".to_string(),
            format!(
                "| this policy | {} | {} |\n",
                ours(evaluation.uncontrolled),
                ours(evaluation.controlled)
            ),
            format!("| CINOC, published | {} | {} |\n", paper.uncontrolled, paper.cinoc),
            format!(
                "| best baseline, published ({}) | {} | {} |\n\n",
                paper.best_baseline, paper.uncontrolled, paper.baseline
            ),
            format!("Published: {PAPER}. Numbers are comparable only on the published cases.\n"),
        ]
        .concat(),
    )
}

/// The effort of the agents, and measures of some tasks only.
pub(super) fn effort(evaluation: &Evaluation) -> String {
    let Evaluation { agents, effort, controlled, uncontrolled, violations, .. } = evaluation;
    let mut text = String::new();
    if effort.mean_u2 > 0.0 {
        text += &format!(
            "Effort of {agents} agents: mean u² = {} per agent, Σ u² = {} over all agents (means over time \
             and cases).\n",
            number(effort.mean_u2),
            number(effort.sum_u2)
        );
    }
    if let Some(mean_v2) = effort.mean_v2 {
        text += &format!("Motion: mean |v|² = {}.\n", number(mean_v2));
    }
    if let (Some(on), Some(off)) = (controlled.moment, uncontrolled.moment) {
        text += &format!(
            "Distance of centroid and spread from the target's at the end: {} ({} without control).\n",
            number(on.mean),
            number(off.mean)
        );
    }
    if let (Some(on), Some(off)) = (controlled.mass_change, uncontrolled.mass_change) {
        text += &format!(
            "Relative change of the mass: {} ({} without control).\n",
            number(on.mean),
            number(off.mean)
        );
    }
    if let Some(violations) = violations {
        text += &format!(
            "Share of agent-steps inside a disc: {}, inside a margin: {}.\n",
            number(violations.disc),
            number(violations.margin)
        );
    }
    text
}
