//! `noise-effort`: effort of swarms up to ten times as large as in training, for policies trained without and
//! with noise.

use cinoc_control::Config;

use super::noise::trained_with;
use super::over_seeds::{SEEDS, by_item, carried, median_loss, median_of, told};
use super::{Found, set};
use crate::intervals::Estimate;
use crate::results::{Chart, Curve, Table};
use crate::workshop::{LabError, Point, Workshop, noise};

const LEVELS: [(f64, f64); 2] = [(0.0, 0.0), (0.02, 0.01)];
const AGENTS: [usize; 10] = [15, 20, 30, 40, 50, 60, 80, 110, 150, 200];
/// The effort has blown up if it is this many times that with the trained number of agents.
const BLOWN_UP: f64 = 10.0;

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    let agents = workshop.size.pick(AGENTS.to_vec(), vec![20, 40]);
    let seeds: Vec<u64> = workshop.seeds(SEEDS).collect();
    let mut points = Vec::new();
    for level in LEVELS {
        for seed in &seeds {
            let config = trained_with(workshop, level, *seed)?;
            for agents in &agents {
                points.push(calm(&config, *agents, workshop.size.pick(100, 2))?);
            }
        }
    }
    let measured = workshop.measure("noise-effort", &points)?;

    let mut table = Table::new(
        "efforts",
        "Sum over agents of u², mean over the last 70 % of the horizon, without noise in the test.",
        &["trained with noise (u, z)", "M", "sum of u²", "loss at the last step"],
    );
    let mut chart =
        Chart::new("efforts", "effort of a swarm", "agents", "sum of u² over the last 70 %").log_x().log_y();
    let x: Vec<f64> = agents.iter().map(|&agents| agents as f64).collect();
    let mut findings = Vec::new();
    for (level, measured) in LEVELS.iter().zip(measured.chunks(seeds.len() * agents.len())) {
        let name = format!("({}, {})", level.0, level.1);
        let by_agents = by_item(measured, agents.len());
        let efforts: Vec<Estimate> = by_agents
            .iter()
            .map(|seeds| {
                let settled = seeds.iter().map(|m| m.settled_effort.unwrap_or(f64::NAN));
                median_of(&settled.collect::<Vec<_>>())
            })
            .collect();
        for ((agents, effort), seeds) in agents.iter().zip(&efforts).zip(&by_agents) {
            let loss = median_loss("fkpp1d", seeds);
            table.row([name.clone().into(), (*agents).into(), (*effort).into(), loss.into()]);
        }
        let column = |of: fn(&Estimate) -> f64| efforts.iter().map(of).collect::<Vec<f64>>();
        let effort = column(|effort| effort.value);
        let curve = Curve::new(&format!("trained with {name}"), &x, &effort);
        chart = chart.curve(curve.band(column(|effort| effort.low), column(|effort| effort.high)));
        let at_home = agents.iter().position(|m| *m == 20).map_or(f64::NAN, |i| effort[i]);
        let blown = agents.iter().zip(&effort).find(|(_, effort)| **effort > BLOWN_UP * at_home);
        findings.push(match blown {
            Some((agents, _)) => {
                format!("Trained with {name}: the effort blows up (tenfold) at {agents} agents.")
            }
            None => format!("Trained with {name}: the effort does not blow up within the range."),
        });
    }
    findings.push(
        "Published: blow-up at 50 agents without noise in training, at 110 with (0.02, 0.01).".to_string(),
    );
    Ok(Found {
        protocol: format!(
            "fkpp1d policies of the experiment noise, measured without noise, 15 to 200 agents, 100 cases of \
             the test pool; {} (of the effort over seeds alone).",
            told(seeds.len())
        ),
        findings: carried(seeds.len(), findings),
        tables: vec![table],
        charts: vec![chart],
    })
}

/// A policy trained with any noise, measured without noise.
fn calm(config: &Config, agents: usize, cases: usize) -> Result<Point, LabError> {
    let sets = [noise(0.0, 0.0), vec![set("agents", agents)]].concat();
    Ok(Point::new(config, cases).with(&sets)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_trained_with_noise_are_measured_without() {
        let config = Config::preset("fkpp1d").unwrap().with_sets(&noise(0.02, 0.01)).unwrap();
        let point = calm(&config, 40, 1).unwrap();
        let level = |config: &Config| (config.noise.actuator, config.noise.sensor, config.agents);
        assert_eq!(level(&point.trained), (0.02, 0.01, 20));
        assert_eq!(level(&point.circumstances), (0.0, 0.0, 40));
    }
}
