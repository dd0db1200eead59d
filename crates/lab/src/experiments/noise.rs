//! `noise`: policies trained with noise, tested with noise, on Fisher-KPP.

use cinoc_control::Config;

use super::over_seeds::{SEEDS, by_item, carried, median_loss, told};
use super::{Found, set};
use crate::intervals::Estimate;
use crate::numbers::number;
use crate::results::{Chart, Curve, Table};
use crate::workshop::{LabError, Point, Workshop, noise};

/// Standard deviations of actuators and sensors.
type Level = (f64, f64);

const COUPLED: [Level; 4] = [(0.0, 0.0), (0.02, 0.01), (0.1, 0.05), (0.5, 0.25)];
const ACTUATORS: [Level; 4] = [(0.0, 0.0), (0.02, 0.0), (0.1, 0.0), (0.5, 0.0)];
const SENSORS: [Level; 4] = [(0.0, 0.0), (0.0, 0.01), (0.0, 0.05), (0.0, 0.25)];
const AGENTS: [usize; 5] = [20, 40, 60, 80, 100];

/// A policy trained with noise. Derivatives through hundreds of noisy steps grow without bound for some seeds
/// (1e20 was seen), so they are bounded per step, as `train.step_clip` does.
pub(super) fn trained_with(workshop: &Workshop<'_>, level: Level, seed: u64) -> Result<Config, LabError> {
    let mut sets = [noise(level.0, level.1), vec![set("train.seed", seed)]].concat();
    sets.extend((level != (0.0, 0.0)).then(|| set("train.step_clip", 1.0)));
    workshop.ablation(&sets)
}

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    let groups = [("coupled", COUPLED), ("actuators", ACTUATORS), ("sensors", SENSORS)];
    let groups = &groups[..workshop.size.pick(3, 1)];
    let levels = workshop.size.pick(4, 2);
    let agents = workshop.size.pick(AGENTS.to_vec(), vec![20]);
    let cases = workshop.size.pick(100, 2);
    let seeds: Vec<u64> = workshop.seeds(SEEDS).collect();
    let mut points = Vec::new();
    for (_, group) in groups {
        for trained in &group[..levels] {
            for seed in &seeds {
                let config = trained_with(workshop, *trained, *seed)?;
                for tested in &group[..levels] {
                    for agents in &agents {
                        let sets = [noise(tested.0, tested.1), vec![set("agents", agents)]].concat();
                        points.push(Point::new(&config, cases).with(&sets)?);
                    }
                }
            }
        }
    }
    let measured = workshop.measure("noise", &points)?;
    // [trained][tested][agents]
    let of_training = levels * agents.len();
    let mut losses_of = measured.chunks(seeds.len() * of_training).map(|measured| {
        let losses: Vec<Estimate> =
            by_item(measured, of_training).iter().map(|seeds| median_loss("fkpp1d", seeds)).collect();
        losses.chunks(agents.len()).map(<[Estimate]>::to_vec).collect::<Vec<_>>()
    });

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
        let mut at_twenty: Vec<Vec<Estimate>> = Vec::new();
        for trained in &group[..levels] {
            let losses = losses_of.next().expect("every training is measured");
            for (m, agents) in agents.iter().enumerate() {
                let row = losses.iter().map(|of_level| of_level[m].into());
                table.row([shown(trained).into(), (*agents).into()].into_iter().chain(row));
            }
            let row: Vec<Estimate> = losses.iter().map(|of_level| of_level[0]).collect();
            let x: Vec<f64> = (0..levels).map(|level| level as f64).collect();
            let column = |of: fn(&Estimate) -> f64| row.iter().map(of).collect::<Vec<f64>>();
            let curve =
                Curve::new(&format!("trained with {}", shown(trained)), &x, &column(|loss| loss.value));
            chart = chart.curve(curve.band(column(|loss| loss.low), column(|loss| loss.high)));
            at_twenty.push(row);
        }
        let (clean, noisy) = (&at_twenty[0], &at_twenty[1]);
        let change = |before: Estimate, after: Estimate| {
            let apart = after.low > before.high || after.high < before.low;
            let doubt = if apart { "" } else { " (intervals overlap)" };
            format!("from {} to {}{doubt}", number(before.value), number(after.value))
        };
        findings.push(format!(
            "{name}, 20 agents: training with the smallest noise changes the loss without noise {}, and the \
             loss with that noise {}.",
            change(clean[0], noisy[0]),
            change(clean[1], noisy[1])
        ));
        tables.push(table);
        charts.push(chart);
    }
    Ok(Found {
        protocol: format!(
            "fkpp1d trained (300 updates; with noise, train.step_clip = 1) and tested with every level of \
             noise; 100 cases of the test pool per entry, the same noise for every policy; {}.",
            told(seeds.len())
        ),
        findings: carried(seeds.len(), findings),
        tables,
        charts,
    })
}
