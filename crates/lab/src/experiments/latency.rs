//! `latency`: how long one decision of all agents takes, up to a hundred thousand of them, on one thread.

use cinoc_control::Config;
use cinoc_learn::bench::decision_microseconds;

use super::{Found, set};
use crate::numbers::number;
use crate::results::{Chart, Curve, Table};
use crate::workshop::{LabError, Workshop};

const TASKS: [&str; 4] = ["fkpp1d", "heat2d", "ks2d", "density2d"];
const AGENTS: [usize; 6] = [10, 100, 1_000, 10_000, 30_000, 100_000];

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    let agents = workshop.size.pick(AGENTS.to_vec(), vec![10, 1000]);
    workshop.watch.begin("latency", (TASKS.len() * agents.len()) as f64);
    let mut table = Table::new(
        "decisions",
        "Microseconds of one decision (observe and decide for all agents) on one thread.",
        &["task", "M", "median (us)", "99 % (us)", "per agent (us)"],
    );
    let mut chart =
        Chart::new("decisions", "one decision on one thread", "agents", "microseconds").log_x().log_y();
    let mut findings = Vec::new();
    for task in TASKS {
        let mut medians = Vec::new();
        for agents in &agents {
            workshop.check()?;
            workshop.watch.now(&format!("{task} with {agents} agents"));
            let config = Config::resolve(task, None, &[set("agents", agents)])?;
            let [median, slowest] = decision_microseconds(&config);
            table.row([
                task.into(),
                (*agents).into(),
                median.into(),
                slowest.into(),
                (median / *agents as f64).into(),
            ]);
            medians.push(median);
            workshop.watch.done(1.0);
        }
        let x: Vec<f64> = agents.iter().map(|&agents| agents as f64).collect();
        chart = chart.curve(Curve::new(task, &x, &medians));
        let (m, median) = (agents[agents.len() - 1], medians[medians.len() - 1]);
        findings.push(format!("{task}: {m} agents decide in {} ms on one thread.", number(median / 1e3)));
    }
    Ok(Found {
        protocol: "decision time of an untrained policy (the weights do not matter) on one thread of this \
                   machine; timings vary by machine."
            .to_string(),
        findings,
        tables: vec![table],
        charts: vec![chart],
    })
}
