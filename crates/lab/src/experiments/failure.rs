//! `failure`: a share of the agents goes silent, at the start or later.

use control::config::tasks;

use super::{Found, loss_name, mean_loss};
use crate::numbers::number;
use crate::results::{Chart, Curve, Table};
use crate::workshop::{LabError, Point, Workshop, failure};

/// Shares of the agents that fail; the whole swarm is measured too.
const SHARES: [f64; 4] = [0.1, 0.2, 0.3, 0.5];
/// When they fail, as a share of the horizon.
const MOMENTS: [f64; 2] = [0.0, 0.5];
/// Tasks that are also trained with that share failing: on a line, where a training takes minutes.
const TRAINED_WITH_FAILURES: [&str; 2] = ["fkpp1d", "heat1d"];
/// Share and factor of the loss that a tracking task should bear.
const BAR: (f64, f64) = (0.3, 3.0);

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    let shares = workshop.size.pick(SHARES.to_vec(), vec![0.3]);
    let moments = workshop.size.pick(MOMENTS.to_vec(), vec![0.0]);
    let cases = workshop.size.pick(50, 1);
    let mut points = Vec::new();
    for task in tasks() {
        let config = workshop.preset(task.name)?;
        points.push(Point::new(&config, cases));
        for moment in &moments {
            for share in &shares {
                points.push(Point::new(&config, cases).with(&failure(&config, *share, *moment))?);
            }
        }
    }
    let measured = workshop.measure("failure", &points)?;
    let (trained, mut findings) = trained_with_failures(workshop, cases)?;

    let mut columns = vec!["task".to_string(), "when measured".to_string(), "they fail at".to_string()];
    columns.push("none fails".to_string());
    columns.extend(shares.iter().map(|share| format!("{:.0} % fail", 100.0 * share)));
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut losses = Table::new("loss", "Loss when a share of the agents fails.", &columns);
    let mut ratios = Table::new("ratio", "The same, relative to the whole swarm.", &columns);
    let mut chart =
        Chart::new("ratio", "agents that fail at the start", "share of agents", "loss / loss of all agents")
            .log_y();
    let of_task = 1 + shares.len() * moments.len();
    let x: Vec<f64> = std::iter::once(0.0).chain(shares.iter().copied()).collect();
    for (points, measured) in points.chunks(of_task).zip(measured.chunks(of_task)) {
        let config = &points[0].trained;
        let task = config.task.as_str();
        let whole = mean_loss(task, &measured[0]);
        for (moment, measured) in moments.iter().zip(measured[1..].chunks(shares.len())) {
            let failed = measured.iter().map(|m| mean_loss(task, m));
            let loss: Vec<f64> = std::iter::once(whole).chain(failed).collect();
            let ratio: Vec<f64> = loss.iter().map(|value| value / whole).collect();
            let when = format!("{:.0} % of the horizon", 100.0 * moment);
            let head = || [task.into(), loss_name(task).into(), when.clone().into()];
            losses.row(head().into_iter().chain(loss.iter().map(|&value| value.into())));
            ratios.row(head().into_iter().chain(ratio.iter().map(|&value| value.into())));
            if *moment == 0.0 {
                chart = chart.curve(Curve::new(task, &x, &ratio));
                let at = x.iter().position(|share| *share == BAR.0).map_or(f64::NAN, |i| ratio[i]);
                let kind = if config.equation().tracks() { "tracking" } else { "stabilisation" };
                let verdict = if at <= BAR.1 { "within" } else { "BEYOND" };
                findings.push(format!(
                    "{task} ({kind}): with 30 % failed from the start the loss is {} times that of the whole swarm, {verdict} a factor of {}.",
                    number(at),
                    BAR.1
                ));
            }
        }
    }
    findings.push(
        "Why: an agent that fails leaves a gap as wide as its kernel, which its neighbours have not learned to fill; they see \
         only their own windows, and nothing tells them that one is missing."
            .to_string(),
    );
    Ok(Found {
        protocol: "the policies of the main table (seed 0), trained without failures; agents drawn at random per case output nothing \
                   from a moment on; 50 held-out cases. Beside them policies of fkpp1d and heat1d trained with 30 % of the agents failed."
            .to_string(),
        findings,
        tables: vec![ratios, losses, trained],
        charts: vec![chart],
    })
}

/// What training with failures gains.
fn trained_with_failures(workshop: &Workshop<'_>, cases: usize) -> Result<(Table, Vec<String>), LabError> {
    let columns = [
        "task",
        "30 % fail in training",
        "none fails",
        "30 % fail",
        "30 % fail / none fails",
        "30 % fail / none fails, preset",
    ];
    let mut table = Table::new(
        "trained",
        "Policies trained with failures, beside those of the presets; agents fail at the start.",
        &columns,
    );
    let mut findings = Vec::new();
    for task in TRAINED_WITH_FAILURES {
        let preset = workshop.preset(task)?;
        let robust = workshop.training(task, &failure(&preset, BAR.0, 0.0))?;
        let mut points = Vec::new();
        for config in [&preset, &robust] {
            for share in [0.0, BAR.0] {
                points.push(Point::new(config, cases).with(&failure(config, share, 0.0))?);
            }
        }
        let measured = workshop.measure("failure", &points)?;
        let loss: Vec<f64> = measured.iter().map(|m| mean_loss(task, m)).collect();
        for (with, pair) in ["no", "yes"].iter().zip(loss.chunks(2)) {
            table.row([
                task.into(),
                (*with).into(),
                pair[0].into(),
                pair[1].into(),
                (pair[1] / pair[0]).into(),
                (pair[1] / loss[0]).into(),
            ]);
        }
        let verdict = if loss[3] <= BAR.1 * loss[0] { "within" } else { "still BEYOND" };
        findings.push(format!(
            "{task}, trained with 30 % failing: {} when 30 % fail, {} times its own whole swarm and {} times that of the preset ({verdict} a factor of {}).",
            number(loss[3]),
            number(loss[3] / loss[2]),
            number(loss[3] / loss[0]),
            BAR.1
        ));
    }
    Ok((table, findings))
}
