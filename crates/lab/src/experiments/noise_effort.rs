//! `noise-effort`: what swarms spend, up to ten times as large as in training, by policies trained without and with noise.

use super::noise::trained_with;
use super::{Found, mean_loss};
use crate::results::{Chart, Curve, Table};
use crate::workshop::{LabError, Point, Workshop};

const LEVELS: [(f64, f64); 2] = [(0.0, 0.0), (0.02, 0.01)];
const AGENTS: [usize; 10] = [15, 20, 30, 40, 50, 60, 80, 110, 150, 200];
/// A swarm that spends so many times what it spends in training has blown up.
const BLOWN_UP: f64 = 10.0;

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    let agents = workshop.size.pick(AGENTS.to_vec(), vec![20, 40]);
    let mut points = Vec::new();
    for level in LEVELS {
        let config = trained_with(workshop, level)?;
        for agents in &agents {
            points.push(Point::new(&config, workshop.size.pick(100, 2)).agents(*agents)?);
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
    for (level, measured) in LEVELS.iter().zip(measured.chunks(agents.len())) {
        let name = format!("({}, {})", level.0, level.1);
        let effort: Vec<f64> = measured.iter().map(|m| m.settled_effort.unwrap_or(f64::NAN)).collect();
        for ((agents, effort), m) in agents.iter().zip(&effort).zip(measured) {
            table.row([
                name.clone().into(),
                (*agents).into(),
                (*effort).into(),
                mean_loss("fkpp1d", m).into(),
            ]);
        }
        chart = chart.curve(Curve::new(&format!("trained with {name}"), &x, &effort));
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
        protocol: "fkpp1d policies of the experiment noise, 15 to 200 agents, 100 held-out cases."
            .to_string(),
        findings,
        tables: vec![table],
        charts: vec![chart],
    })
}
