//! `guideline`: how few agents are enough? The smallest stable swarm as a function of the kernel width.
//!
//! A swarm covers its domain if the kernels overlap. If this is the criterion, the smallest stable
//! `M sigma / L` is the same for every width, and a user can choose the number of agents from it.

use cinoc_control::Config;

use super::cardinality::{STABLE, ladder, stable};
use super::{Found, loss_cases, set};
use crate::intervals::{estimate, mean, ratio};
use crate::numbers::number;
use crate::results::{Chart, Curve, Table};
use crate::workshop::{LabError, Measured, Point, Workshop};

const TASKS: [&str; 2] = ["fkpp1d", "heat1d"];
/// Kernel widths, in multiples of the preset's.
const WIDTHS: [f64; 5] = [0.5, 0.75, 1.0, 1.5, 2.0];
/// The smallest swarm that is measured.
const FEWEST: usize = 2;

/// The smallest stable swarm of a kernel width.
struct Smallest {
    task: &'static str,
    width: f64,
    agents: usize,
    overlap: f64,
}

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    let widths = workshop.size.pick(WIDTHS.to_vec(), vec![1.0]);
    let mut sweeps = Table::new(
        "sweeps",
        "Loss with M agents of a policy trained with that kernel.",
        &["task", "sigma / preset", "M", "M sigma / L", "loss", "% of trained"],
    );
    let mut smallest = Table::new(
        "smallest",
        "The smallest stable number of agents: this number and all measured numbers up to the trained one \
         have at most 250 % of the loss with the trained number.",
        &[
            "task",
            "sigma / preset",
            "sigma",
            "trained with",
            "smallest stable M",
            "its M sigma / L",
            "loss in training",
        ],
    );
    let mut all = Vec::new();
    for task in TASKS {
        for width in &widths {
            let config = widened(workshop, task, *width)?;
            let trained = config.agents;
            let agents = workshop.size.pick(ladder(FEWEST, trained, 1.25), vec![trained - 1, trained]);
            let point = |m: &usize| Point::new(&config, workshop.size.pick(100, 2)).agents(*m);
            let points = agents.iter().map(point).collect::<Result<Vec<_>, _>>()?;
            let measured = workshop.measure("guideline", &points)?;
            let losses = |measured: &Measured| loss_cases(task, &measured.per_case).to_vec();
            let home = losses(measured.last().expect("the number in training is measured"));
            let overlap = |agents: usize| agents as f64 * config.actuation.sigma / config.grid.length;
            let mut relative = Vec::new();
            for (agents, measured) in agents.iter().zip(&measured) {
                let losses = losses(measured);
                let percent = ratio(&losses, &home).times(100.0);
                relative.push((*agents, percent.value / 100.0));
                sweeps.row([
                    task.into(),
                    (*width).into(),
                    (*agents).into(),
                    overlap(*agents).into(),
                    estimate(&[losses], mean).into(),
                    percent.into(),
                ]);
            }
            let [least, _] = stable(&relative, trained);
            smallest.row([
                task.into(),
                (*width).into(),
                config.actuation.sigma.into(),
                trained.into(),
                least.into(),
                overlap(least).into(),
                estimate(&[home], mean).into(),
            ]);
            all.push(Smallest { task, width: *width, agents: least, overlap: overlap(least) });
        }
    }
    Ok(Found {
        protocol: format!(
            "fkpp1d and heat1d trained for every kernel width (one seed, 300 updates, the preset's number of \
             agents; observe.crowd_ref scales with sigma, like the density of the same swarm in units of \
             its kernel), measured on 100 cases of the test pool with {FEWEST} agents up to the trained \
             number; neighbouring numbers differ by a factor of at most 1.25 or by one agent. Stable is at \
             most {} % of the loss with the trained number. Intervals are 95 % bootstrap over cases.",
            100.0 * STABLE
        ),
        findings: TASKS.iter().map(|task| finding(task, &all)).collect(),
        tables: vec![smallest, sweeps],
        charts: vec![chart(&all)],
    })
}

/// Settings for a kernel `width` times as wide as the preset's.
fn widened(workshop: &Workshop<'_>, task: &str, width: f64) -> Result<Config, LabError> {
    workshop.ablation_of(task, &wider(&Config::preset(task)?, width))
}

/// In 1D the density of agents in units of the kernel is proportional to its width.
fn wider(preset: &Config, width: f64) -> Vec<String> {
    vec![
        set("actuation.sigma", width * preset.actuation.sigma),
        set("observe.crowd_ref", width * preset.observe.crowd_ref),
    ]
}

fn of<'a>(task: &'a str, all: &'a [Smallest]) -> impl Iterator<Item = &'a Smallest> {
    all.iter().filter(move |found| found.task == task)
}

fn finding(task: &str, all: &[Smallest]) -> String {
    let swarms: Vec<String> = of(task, all).map(|found| found.agents.to_string()).collect();
    let overlaps = || of(task, all).map(|found| found.overlap);
    format!(
        "{task}: smallest stable swarms, from the narrowest kernel to the widest: {}. Their overlap M sigma \
         / L lies between {} and {} (one seed per width: no verdict on its trend).",
        swarms.join(", "),
        number(overlaps().fold(f64::INFINITY, f64::min)),
        number(overlaps().fold(0.0, f64::max))
    )
}

fn chart(all: &[Smallest]) -> Chart {
    let axis = ("sigma / preset", "smallest stable M sigma / L");
    let mut chart = Chart::new("overlap", "smallest stable swarm", axis.0, axis.1).log_x();
    for task in TASKS {
        let (x, y): (Vec<f64>, Vec<f64>) = of(task, all).map(|found| (found.width, found.overlap)).unzip();
        chart = chart.curve(Curve::new(task, &x, &y));
    }
    chart
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_density_scales_with_the_kernel() {
        let preset = Config::preset("heat1d").unwrap();
        let wide = preset.with_sets(&wider(&preset, 2.0)).unwrap();
        assert!((wide.actuation.sigma / preset.actuation.sigma - 2.0).abs() < 1e-12);
        assert!((wide.observe.crowd_ref / preset.observe.crowd_ref - 2.0).abs() < 1e-12);
    }
}
