//! `noise`: policies trained with noise, tested with noise, on Fisher-KPP.

use control::Config;

use super::{Found, mean_loss, set};
use crate::numbers::number;
use crate::results::{Chart, Curve, Table};
use crate::workshop::{LabError, Point, Workshop, noise};

/// Standard deviations of actuators and sensors.
type Level = (f64, f64);

const COUPLED: [Level; 4] = [(0.0, 0.0), (0.02, 0.01), (0.1, 0.05), (0.5, 0.25)];
const ACTUATORS: [Level; 4] = [(0.0, 0.0), (0.02, 0.0), (0.1, 0.0), (0.5, 0.0)];
const SENSORS: [Level; 4] = [(0.0, 0.0), (0.0, 0.01), (0.0, 0.05), (0.0, 0.25)];
const AGENTS: [usize; 5] = [20, 40, 60, 80, 100];

/// A policy trained with noise.
pub(super) fn trained_with(workshop: &Workshop<'_>, level: Level) -> Result<Config, LabError> {
    workshop.ablation(&noise(level.0, level.1))
}

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    let groups = [("coupled", COUPLED), ("actuators", ACTUATORS), ("sensors", SENSORS)];
    let groups = &groups[..workshop.size.pick(3, 1)];
    let levels = workshop.size.pick(4, 2);
    let agents = workshop.size.pick(AGENTS.to_vec(), vec![20]);
    let cases = workshop.size.pick(100, 2);
    let mut points = Vec::new();
    for (_, group) in groups {
        for trained in &group[..levels] {
            let config = trained_with(workshop, *trained)?;
            for tested in &group[..levels] {
                for agents in &agents {
                    let sets = [noise(tested.0, tested.1), vec![set("agents", agents)]].concat();
                    points.push(Point::new(&config, cases).with(&sets)?);
                }
            }
        }
    }
    let measured = workshop.measure("noise", &points)?;
    let mut measured = measured.iter().map(|m| mean_loss("fkpp1d", m));

    let mut tables = Vec::new();
    let mut findings = Vec::new();
    let mut charts = Vec::new();
    for (name, group) in groups {
        let shown = |level: &Level| format!("({}, {})", level.0, level.1);
        let mut columns = vec!["trained with (u, z)".to_string(), "M".to_string()];
        columns.extend(group[..levels].iter().map(|level| format!("tested with {}", shown(level))));
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let caption =
            format!("Loss at the last step, noise of {name}: standard deviations of actuators and sensors.");
        let mut table = Table::new(name, &caption, &columns);
        let mut chart = Chart::new(
            name,
            &format!("noise: {name}, 20 agents"),
            "noise in the test (index)",
            "loss at the last step",
        )
        .log_y();
        let mut at_twenty: Vec<Vec<f64>> = Vec::new();
        for trained in &group[..levels] {
            // [tested][agents]
            let losses: Vec<Vec<f64>> =
                (0..levels).map(|_| measured.by_ref().take(agents.len()).collect()).collect();
            for (m, agents) in agents.iter().enumerate() {
                let row = losses.iter().map(|of_level| of_level[m].into());
                table.row([shown(trained).into(), (*agents).into()].into_iter().chain(row));
            }
            let row: Vec<f64> = losses.iter().map(|of_level| of_level[0]).collect();
            let x: Vec<f64> = (0..levels).map(|level| level as f64).collect();
            chart = chart.curve(Curve::new(&format!("trained with {}", shown(trained)), &x, &row));
            at_twenty.push(row);
        }
        let (clean, noisy) = (&at_twenty[0], &at_twenty[1]);
        findings.push(format!(
            "{name}, 20 agents: training with the least noise changes the loss without noise from {} to {}, with that noise from {} to {}.",
            number(clean[0]), number(noisy[0]), number(clean[1]), number(noisy[1])
        ));
        tables.push(table);
        charts.push(chart);
    }
    Ok(Found {
        protocol: "fkpp1d trained (one seed per row, 300 updates) and tested with every level of noise; 100 held-out cases per entry, the same noise for every policy."
            .to_string(),
        findings,
        tables,
        charts,
    })
}
