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

    let mut columns = vec!["task".to_string(), "when measured".to_string(), "they fail at".to_string()];
    columns.push("none fails".to_string());
    columns.extend(shares.iter().map(|share| format!("{:.0} % fail", 100.0 * share)));
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut losses = Table::new("loss", "Loss when a share of the agents fails.", &columns);
    let mut ratios = Table::new("ratio", "The same, relative to the whole swarm.", &columns);
    let mut chart =
        Chart::new("ratio", "agents that fail at the start", "share of agents", "loss / loss of all agents")
            .log_y();
    let mut findings = Vec::new();
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
    Ok(Found {
        protocol: "the policies of the main table (seed 0), trained without failures; agents drawn at random per case output nothing \
                   from a moment on; 50 held-out cases."
            .to_string(),
        findings,
        tables: vec![ratios, losses],
        charts: vec![chart],
    })
}
