//! `scale`: 1D KS on larger domains, with policies trained there and with the policy of the preset on several
//! copies of its domain.

use super::{Found, set};
use crate::numbers::number;
use crate::results::{Chart, Curve, Table};
use crate::workshop::{LabError, Point, Workshop};

/// Length, grid points, agents, size of the training pool, and batch, with as much field as the preset's. The
/// paper's third domain, L = 500 with 200 agents, is left to the policy of the preset: training there took
/// more than four minutes on a GPU.
const SCALES: [(f64, usize, usize, usize, usize); 2] = [(64.0, 256, 30, 512, 11), (200.0, 512, 80, 256, 4)];
/// A third of the preset's.
const UPDATES: usize = 2000;
/// Number of copies of the domain of the preset.
const COPIES: [usize; 4] = [1, 3, 9, 23];
/// Energy below which the field counts as stabilised, and the time it should take.
const BAR: (f64, f64) = (1e-4, 5.0);

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    let cases = workshop.size.pick(20, 1);
    let preset = workshop.preset("ks1d")?;
    // agents see as far as in the preset, as long as the grid has the points
    let spacing = preset.grid.length / preset.observe.n_ref as f64;
    let mut points = Vec::new();
    for (length, n, agents, pool, batch) in &SCALES[..workshop.size.pick(2, 1)] {
        let mut sets = vec![
            set("grid.length", length),
            set("grid.n", n),
            set("observe.n_ref", ((length / spacing).round() as usize).min(*n)),
            set("agents", agents),
            set("data.pool", pool),
            set("data.spin_up", 200),
            set("train.batch", batch),
            set("train.updates", UPDATES),
            set("train.validation_cases", 4),
        ];
        sets.extend(workshop.size.pick(None, Some("time.steps=20".to_string())));
        points.push(Point::new(&workshop.training("ks1d", &sets)?, cases));
    }
    for copies in &COPIES[..workshop.size.pick(4, 2)] {
        let sets = [
            set("grid.length", preset.grid.length * *copies as f64),
            set("grid.n", preset.grid.n * copies),
            set("observe.n_ref", preset.observe.n_ref * copies),
            set("agents", preset.agents * copies),
            set("data.spin_up", workshop.size.pick(200, 1)),
        ];
        points.push(Point::new(&preset, cases).with(&sets)?);
    }
    let measured = workshop.measure("scale", &points)?;

    let mut table = Table::new(
        "domains",
        "Mean z² over space and cases.",
        &[
            "trained on L",
            "tested on L",
            "grid points",
            "agents",
            "at t = 5",
            "at t = 10",
            "below 1e-4 from t =",
        ],
    );
    let mut chart = Chart::new("courses", "larger domains", "time", "mean z²").log_y();
    let mut findings = Vec::new();
    for (point, m) in points.iter().zip(&measured) {
        let config = &point.circumstances;
        let dt = config.control_dt();
        let at = |time: f64| m.course.get((time / dt).round() as usize - 1).copied();
        let above = m.course.iter().rposition(|energy| *energy >= BAR.0);
        let settled = match above {
            Some(step) if step + 1 == m.course.len() => None,
            Some(step) => Some((step + 2) as f64 * dt),
            None => Some(dt),
        };
        let (length, trained) = (config.grid.length, point.trained.grid.length);
        table.row([
            trained.into(),
            length.into(),
            config.grid.n.into(),
            config.agents.into(),
            at(BAR.1).into(),
            at(10.0).into(),
            settled.map_or_else(|| "not within the horizon".into(), Into::into),
        ]);
        let times: Vec<f64> = (1..=m.course.len()).map(|step| step as f64 * dt).collect();
        chart = chart.curve(Curve::new(&format!("L = {length}, trained on {trained}"), &times, &m.course));
        let when = settled
            .map_or("not within the horizon".to_string(), |time| format!("from t = {} on", number(time)));
        findings.push(format!(
            "L = {length} with {} agents, trained on L = {trained}: below 1e-4 {when} (published: within {}; \
             one seed).",
            config.agents, BAR.1
        ));
    }
    Ok(Found {
        protocol: format!(
            "ks1d, horizon 10 time units, {cases} held-out cases run without control for 200 time units \
             before. Policies trained on each domain ({UPDATES} updates, in batches with as much field as \
             those of the preset, otherwise the preset); and the preset's policy on multiples of its own \
             domain, with the same spacing of agents and grid, not retrained."
        ),
        findings,
        tables: vec![table],
        charts: vec![chart],
    })
}
