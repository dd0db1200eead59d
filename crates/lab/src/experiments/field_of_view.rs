//! `fov`: how much of the domain should an agent see? Fisher-KPP, windows from 4 % to all of it.

use control::Config;

use super::{Found, mean_loss, set};
use crate::numbers::number;
use crate::results::{Chart, Curve, Table};
use crate::workshop::{LabError, Point, Workshop};

/// Window in grid points of 100, and the published loss with 20 and with 100 agents.
const WINDOWS: [(usize, [&str; 2]); 7] = [
    (4, ["8.0e-4", "6.9e-5"]),
    (8, ["2.3e-4", "3.0e-5"]),
    (12, ["", ""]),
    (20, ["1.0e-4", "2.5e-5"]),
    (30, ["2.3e-4", "2.9e-5"]),
    (50, ["", ""]),
    (100, ["", ""]),
];
const AGENTS: [usize; 5] = [20, 40, 60, 80, 100];

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    let windows = workshop.size.pick(WINDOWS.to_vec(), WINDOWS[..1].to_vec());
    let agents = workshop.size.pick(AGENTS.to_vec(), vec![20]);
    let mut points = Vec::new();
    for (window, _) in &windows {
        let config: Config = workshop.ablation(&[set("observe.window", window)])?;
        for agents in &agents {
            points.push(Point::new(&config, workshop.size.pick(100, 2)).agents(*agents)?);
        }
    }
    let measured = workshop.measure("fov", &points)?;

    let mut columns = vec!["window (% of the domain)".to_string()];
    columns.extend(agents.iter().map(|agents| format!("M = {agents}")));
    columns.extend(["published, M = 20".to_string(), "published, M = 100".to_string()]);
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Table::new("windows", "Loss at the last step.", &columns);
    let mut by_agents: Vec<Vec<f64>> = vec![Vec::new(); agents.len()];
    for ((window, paper), measured) in windows.iter().zip(measured.chunks(agents.len())) {
        let losses: Vec<f64> = measured.iter().map(|m| mean_loss("fkpp1d", m)).collect();
        by_agents.iter_mut().zip(&losses).for_each(|(column, loss)| column.push(*loss));
        let cells = losses.iter().map(|&loss| loss.into());
        table.row([(*window).into()].into_iter().chain(cells).chain(paper.map(Into::into)));
    }
    let x: Vec<f64> = windows.iter().map(|(window, _)| *window as f64).collect();
    let mut chart =
        Chart::new("windows", "field of view", "window, % of the domain", "loss at the last step")
            .log_x()
            .log_y();
    for (agents, losses) in agents.iter().zip(&by_agents) {
        chart = chart.curve(Curve::new(&format!("{agents} agents"), &x, losses));
    }
    let best = |losses: &[f64]| {
        let ranked =
            losses.iter().enumerate().filter(|(_, loss)| loss.is_finite()).min_by(|a, b| a.1.total_cmp(b.1));
        ranked.map_or(0, |(i, _)| windows[i].0)
    };
    let (first, whole) = (&by_agents[0], by_agents[0].last().copied().unwrap_or(f64::NAN));
    let at = |window: usize| windows.iter().position(|(w, _)| *w == window).map_or(f64::NAN, |i| first[i]);
    let verdict = if whole > at(8) { "as the paper says" } else { "which CONTRADICTS the paper" };
    let mut findings = vec![format!(
        "20 agents: {} with a window of 8 %, {} with the whole domain: the global view is {} than the local one, {verdict}.",
        number(at(8)),
        number(whole),
        if whole > at(8) { "worse" } else { "better" }
    )];
    for (agents, losses) in agents.iter().zip(&by_agents) {
        findings.push(format!("{agents} agents do best with a window of {} %.", best(losses)));
    }
    Ok(Found {
        protocol: "fkpp1d trained with 20 agents for every window (one seed, 300 updates), otherwise the preset; 100 held-out cases per entry.".to_string(),
        findings,
        tables: vec![table],
        charts: vec![chart],
    })
}
