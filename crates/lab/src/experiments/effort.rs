//! `effort`: does a swarm of M agents together spend as 1/M? Fisher-KPP, policies trained with seven effort weights.

use learn::slope::log_log;

use super::{Found, mean_loss, set};
use crate::numbers::number;
use crate::results::{Chart, Curve, Table};
use crate::workshop::{LabError, Point, Workshop};

/// Effort weight, and the slope the paper's own data have.
const WEIGHTS: [(f64, f64); 7] =
    [(0.001, 0.50), (0.005, -0.63), (0.01, -0.24), (0.05, -0.49), (0.1, -0.59), (0.5, -0.69), (1.0, -0.71)];
const AGENTS: [usize; 7] = [15, 20, 25, 30, 40, 50, 60];

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    let weights = workshop.size.pick(WEIGHTS.to_vec(), WEIGHTS[..1].to_vec());
    let agents = workshop.size.pick(AGENTS.to_vec(), vec![15, 60]);
    let seeds: Vec<u64> = workshop.seeds(1).collect();
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

    let mut slopes = Table::new(
        "slopes",
        "Exponent p of sum u² ~ M^p over M = 15 to 60, with its 95 % confidence interval; -1 would be effort ~ 1/M.",
        &[
            "effort weight",
            "seed",
            "slope",
            "from",
            "to",
            "published slope",
            "loss at M = 20",
            "loss at M = 60",
        ],
    );
    let mut efforts = Table::new(
        "efforts",
        "Sum over agents of u², mean over the last 70 % of the horizon.",
        &["effort weight", "seed", "M", "sum of u²", "loss"],
    );
    let mut chart =
        Chart::new("efforts", "effort of a swarm", "agents", "sum of u² over the last 70 %").log_x().log_y();
    let x: Vec<f64> = agents.iter().map(|&agents| agents as f64).collect();
    let mut all = Vec::new();
    for (index, measured) in measured.chunks(agents.len()).enumerate() {
        let ((weight, paper), seed) = (weights[index / seeds.len()], seeds[index % seeds.len()]);
        let effort: Vec<f64> = measured.iter().map(|m| m.settled_effort.unwrap_or(f64::NAN)).collect();
        for ((agents, effort), m) in agents.iter().zip(&effort).zip(measured) {
            efforts.row([
                weight.into(),
                (seed as usize).into(),
                (*agents).into(),
                (*effort).into(),
                mean_loss("fkpp1d", m).into(),
            ]);
        }
        if effort.iter().any(|value| value.is_nan()) {
            continue;
        }
        let slope = log_log(&x, &effort);
        let at = |wanted: usize| {
            agents.iter().position(|m| *m == wanted).map(|i| mean_loss("fkpp1d", &measured[i]))
        };
        slopes.row([
            weight.into(),
            (seed as usize).into(),
            slope.slope.into(),
            slope.low.into(),
            slope.high.into(),
            paper.into(),
            at(20).into(),
            at(60).into(),
        ]);
        all.push((weight, slope));
        if seed == 0 {
            chart = chart.curve(Curve::new(&format!("weight {weight}"), &x, &effort));
        }
    }
    let reach_minus_one = all.iter().filter(|(_, slope)| slope.low <= -1.0).count();
    let range =
        |pick: fn(f64, f64) -> f64, start: f64| all.iter().map(|(_, slope)| slope.slope).fold(start, pick);
    let findings = vec![format!(
        "The paper says effort falls as 1/M (slope -1). Slopes here lie between {} and {}; {reach_minus_one} of {} intervals reach -1. \
             The paper's own data give -0.49 to -0.71 for weights from 0.05 on.",
        number(range(f64::min, f64::INFINITY)),
        number(range(f64::max, f64::NEG_INFINITY)),
        all.len()
    )];
    Ok(Found {
        protocol: format!(
            "fkpp1d trained with 20 agents and {} effort weights ({} seed(s) each; the weight of v² is a tenth), 300 updates, otherwise the preset; \
             100 held-out cases per point.",
            weights.len(),
            seeds.len()
        ),
        findings,
        tables: vec![slopes, efforts],
        charts: vec![chart],
    })
}
