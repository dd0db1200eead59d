//! `fov`: how much of the domain should an agent see? Fisher-KPP, windows from 4 % to the whole domain.

use super::over_seeds::{SEEDS, by_item, carried, median_loss, told};
use super::{Found, set};
use crate::intervals::Estimate;
use crate::numbers::number;
use crate::published::leading;
use crate::results::{Cell, Chart, Curve, Table};
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
/// Numbers of agents with published losses.
const PUBLISHED_AGENTS: [usize; 2] = [20, 100];

/// Measurements with every window.
struct Windows {
    agents: Vec<usize>,
    /// By window: its size, the published losses, ours by number of agents.
    rows: Vec<(usize, [&'static str; 2], Vec<Estimate>)>,
}

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    let windows = workshop.size.pick(WINDOWS.to_vec(), WINDOWS[..1].to_vec());
    let agents = workshop.size.pick(AGENTS.to_vec(), vec![20]);
    let seeds: Vec<u64> = workshop.seeds(SEEDS).collect();
    let mut points = Vec::new();
    for (window, _) in &windows {
        for seed in &seeds {
            let config = workshop.ablation(&[set("observe.window", window), set("train.seed", seed)])?;
            for agents in &agents {
                points.push(Point::new(&config, workshop.size.pick(100, 2)).agents(*agents)?);
            }
        }
    }
    let measured = workshop.measure("fov", &points)?;
    let rows = windows.into_iter().zip(measured.chunks(seeds.len() * agents.len())).map(
        |((window, published), measured)| {
            let by_agents = by_item(measured, agents.len());
            (window, published, by_agents.iter().map(|seeds| median_loss("fkpp1d", seeds)).collect())
        },
    );
    let found = Windows { rows: rows.collect(), agents: agents.clone() };
    Ok(Found {
        protocol: format!(
            "fkpp1d trained with 20 agents for every window (300 updates), otherwise the preset; 100 cases \
             of the test pool per entry; {}.",
            told(seeds.len())
        ),
        findings: carried(seeds.len(), found.findings()),
        tables: vec![found.table()],
        charts: vec![found.chart()],
    })
}

impl Windows {
    fn table(&self) -> Table {
        let mut columns = vec!["window (% of the domain)".to_string()];
        columns.extend(self.agents.iter().map(|agents| format!("M = {agents}")));
        for agents in PUBLISHED_AGENTS {
            columns.extend([format!("published, M = {agents}"), format!("ours / published, M = {agents}")]);
        }
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let mut table = Table::new("windows", "Loss at the last step.", &columns);
        for (window, published, losses) in &self.rows {
            let beside = PUBLISHED_AGENTS.iter().zip(published).flat_map(|(agents, text)| {
                let ratio = leading(text).zip(self.ours(*window, *agents));
                let ratio = ratio.map_or(Cell::Nothing, |(paper, ours)| ours.times(1.0 / paper).into());
                [(*text).into(), ratio]
            });
            let ours = losses.iter().map(|loss| (*loss).into());
            table.row([(*window).into()].into_iter().chain(ours).chain(beside));
        }
        table
    }

    fn chart(&self) -> Chart {
        let axis = ("window, % of the domain", "loss at the last step");
        let mut chart = Chart::new("windows", "field of view", axis.0, axis.1).log_x().log_y();
        let x: Vec<f64> = self.rows.iter().map(|(window, ..)| *window as f64).collect();
        for (m, agents) in self.agents.iter().enumerate() {
            let column =
                |of: fn(&Estimate) -> f64| self.rows.iter().map(|row| of(&row.2[m])).collect::<Vec<_>>();
            let curve = Curve::new(&format!("{agents} agents"), &x, &column(|loss| loss.value));
            chart = chart.curve(curve.band(column(|loss| loss.low), column(|loss| loss.high)));
        }
        chart
    }

    /// Our loss with a window and a number of agents.
    fn ours(&self, window: usize, agents: usize) -> Option<Estimate> {
        let (_, _, losses) = self.rows.iter().find(|(known, ..)| *known == window)?;
        self.agents.iter().position(|known| *known == agents).map(|m| losses[m])
    }

    fn findings(&self) -> Vec<String> {
        let mut findings = Vec::new();
        if let (Some(local), Some(global)) = (self.ours(8, 20), self.ours(100, 20)) {
            findings.push(format!("20 agents: {}", local_beside_global(local, global)));
        }
        // the widest window and the number of agents of the paper
        let widest =
            self.rows.iter().rev().find_map(|(window, published, _)| Some((window, leading(published[1])?)));
        if let (Some((window, paper)), Some(global)) = (widest, self.ours(100, PUBLISHED_AGENTS[1])) {
            findings.push(global_beside_published(global.value, *window, paper));
        }
        for (m, agents) in self.agents.iter().enumerate() {
            let finite = self.rows.iter().filter(|row| row.2[m].value.is_finite());
            let best = finite.min_by(|a, b| a.2[m].value.total_cmp(&b.2[m].value));
            let best =
                best.map(|(window, ..)| format!("{agents} agents: the lowest median is that of {window} %."));
            findings.extend(best);
        }
        findings
    }
}

/// Whether a wider view is worse, judged by the intervals.
fn local_beside_global(local: Estimate, global: Estimate) -> String {
    let verdict = if global.low > local.high {
        "the global view is worse than the local one, as the paper says"
    } else if global.high < local.low {
        "the global view is better than the local one, which contradicts the paper"
    } else {
        "their intervals overlap, so neither is better"
    };
    let (local, global) = (number(local.value), number(global.value));
    format!("{local} with a window of 8 %, {global} with the whole domain: {verdict}.")
}

/// The paper has no number for the whole domain; ours is compared with its widest window.
fn global_beside_published(global: f64, window: usize, paper: f64) -> String {
    let factor = global / paper;
    let verdict = if factor > 1.0 {
        format!("{} times worse than", number(factor))
    } else {
        format!("{} times better than", number(1.0 / factor))
    };
    format!(
        "100 agents that see the whole domain: {}, {verdict} the published number of the widest published \
         window ({window} %, {paper:e}).",
        number(global)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_global_view_that_is_worse_than_published_is_said_to_be() {
        let told = global_beside_published(2.9e-4, 30, 2.9e-5);
        assert!(told.contains("10.0 times worse than the published number"), "{told}");
        assert!(told.contains("(30 %, 2.9e-5)"), "{told}");
        assert!(global_beside_published(1.45e-5, 30, 2.9e-5).contains("2.00 times better"));
    }

    #[test]
    fn overlapping_intervals_carry_no_verdict() {
        let at = |value: f64| Estimate { value, low: value - 1.0, high: value + 1.0 };
        assert!(local_beside_global(at(2.0), at(3.0)).contains("overlap"));
        assert!(local_beside_global(at(2.0), at(9.0)).contains("worse"));
        assert!(local_beside_global(at(9.0), at(2.0)).contains("contradicts"));
    }
}
