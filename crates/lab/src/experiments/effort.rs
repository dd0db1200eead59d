//! `effort`: is the total effort of M agents proportional to 1/M? Fisher-KPP, policies trained with seven
//! effort weights.

use cinoc_learn::slope::log_log;

use super::over_seeds::{SEEDS, by_item, carried, median_loss, median_of, told};
use super::{Found, set};
use crate::intervals::Estimate;
use crate::numbers::number;
use crate::results::{Cell, Chart, Curve, Table};
use crate::workshop::{LabError, Point, Workshop};

/// Effort weight, and the slope of the paper's own data.
const WEIGHTS: [(f64, f64); 7] =
    [(0.001, 0.50), (0.005, -0.63), (0.01, -0.24), (0.05, -0.49), (0.1, -0.59), (0.5, -0.69), (1.0, -0.71)];
const AGENTS: [usize; 7] = [15, 20, 25, 30, 40, 50, 60];

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    let weights = workshop.size.pick(WEIGHTS.to_vec(), WEIGHTS[..1].to_vec());
    let agents = workshop.size.pick(AGENTS.to_vec(), vec![15, 60]);
    let seeds: Vec<u64> = workshop.seeds(SEEDS).collect();
    let mut points = Vec::new();
    for (weight, _) in &weights {
        for seed in &seeds {
            let sets =
                [set("loss.effort_u", weight), set("loss.effort_v", 0.1 * weight), set("train.seed", seed)];
            let config = workshop.ablation(&sets)?;
            for agents in &agents {
                points.push(Point::new(&config, workshop.size.pick(100, 2)).agents(*agents)?);
            }
        }
    }
    let measured = workshop.measure("effort", &points)?;

    let (mut slopes, mut efforts) = tables();
    let mut chart =
        Chart::new("efforts", "effort of a swarm", "agents", "sum of u² over the last 70 %").log_x().log_y();
    let x: Vec<f64> = agents.iter().map(|&agents| agents as f64).collect();
    let mut all = Vec::new();
    for ((weight, paper), measured) in weights.iter().zip(measured.chunks(seeds.len() * agents.len())) {
        let settled: Vec<f64> = measured.iter().map(|m| m.settled_effort.unwrap_or(f64::NAN)).collect();
        let by_agents = by_item(measured, agents.len());
        let losses: Vec<Estimate> = by_agents.iter().map(|seeds| median_loss("fkpp1d", seeds)).collect();
        let spent: Vec<Estimate> = (0..agents.len())
            .map(|m| median_of(&settled.iter().skip(m).step_by(agents.len()).copied().collect::<Vec<_>>()))
            .collect();
        for ((agents, spent), loss) in agents.iter().zip(&spent).zip(&losses) {
            efforts.row([(*weight).into(), (*agents).into(), (*spent).into(), (*loss).into()]);
        }
        let column = |of: fn(&Estimate) -> f64| spent.iter().map(of).collect::<Vec<f64>>();
        let curve = Curve::new(&format!("weight {weight}"), &x, &column(|spent| spent.value));
        chart = chart.curve(curve.band(column(|spent| spent.low), column(|spent| spent.high)));
        if settled.iter().any(|value| value.is_nan()) {
            continue;
        }
        let fits: Vec<f64> = settled.chunks(agents.len()).map(|seed| log_log(&x, seed).slope).collect();
        let slope = median_of(&fits);
        let every: Vec<String> = fits.iter().map(|slope| number(*slope)).collect();
        let at = |wanted: usize| {
            agents.iter().position(|m| *m == wanted).map_or(Cell::Nothing, |i| losses[i].into())
        };
        let (every, paper) = (every.join(", "), *paper);
        slopes.row([(*weight).into(), slope.into(), every.into(), paper.into(), at(20), at(60)]);
        all.push(slope);
    }
    let reach = all.iter().filter(|slope| slope.low <= -1.0).count();
    let end = |pick: fn(f64, f64) -> f64, start: f64| all.iter().map(|slope| slope.value).fold(start, pick);
    let findings = vec![format!(
        "The paper says that effort falls as 1/M (slope -1). Median slopes here lie between {} and {}; \
         {reach} of {} intervals reach -1. The paper's own data give -0.49 to -0.71 for weights from 0.05 \
         on.",
        number(end(f64::min, f64::INFINITY)),
        number(end(f64::max, f64::NEG_INFINITY)),
        all.len()
    )];
    Ok(Found {
        protocol: format!(
            "fkpp1d trained with 20 agents and {} effort weights (the weight of v² is a tenth), 300 updates, \
             otherwise the preset; 100 cases of the test pool per point; {} (of slopes and efforts over \
             seeds alone).",
            weights.len(),
            told(seeds.len())
        ),
        findings: carried(seeds.len(), findings),
        tables: vec![slopes, efforts],
        charts: vec![chart],
    })
}

fn tables() -> (Table, Table) {
    let slopes = Table::new(
        "slopes",
        "Exponent p of sum u² ~ M^p over M = 15 to 60; -1 would be effort ~ 1/M.",
        &["effort weight", "slope", "every seed", "published slope", "loss at M = 20", "loss at M = 60"],
    );
    let efforts = Table::new(
        "efforts",
        "Sum over agents of u², mean over the last 70 % of the horizon.",
        &["effort weight", "M", "sum of u²", "loss"],
    );
    (slopes, efforts)
}
