//! `table`: both presets of every task, compared with no control and with the published numbers.

use cinoc_control::config::Preset;
use cinoc_control::{Config, Tasks};

use super::over_seeds::ENOUGH;
use super::{Found, loss_cases, loss_name, mean_loss, set};
use crate::intervals::{Estimate, estimate, mean};
use crate::numbers::{number, two_std};
use crate::published::{leading, published};
use crate::results::{Cell, Table};
use crate::workshop::{LabError, Measured, PerCase, Point, Sample, Workshop};
use cinoc_learn::evaluate::Spread;

/// Rows of a task: both presets, and the strongest baseline.
pub const ROWS: [&str; 3] = ["default", "paper", "dpc"];

fn config(workshop: &Workshop<'_>, row: &str, task: &str, seed: u64) -> Result<Config, LabError> {
    match row {
        "default" => workshop.preset_of(Preset::Default, task, seed),
        "paper" => workshop.preset_of(Preset::Paper, task, seed),
        method => workshop.baseline(task, method, &[set("train.seed", seed)]),
    }
}

/// Cases of a task: the published ones, or enough test cases that the mean is known to about 1 %.
pub(super) fn cases(task: &str) -> Sample {
    match task {
        "fkpp1d" | "heat1d" => Sample::Paper,
        "ks1d" => Sample::Test(1000),
        "ks2d" | "turb2d" => Sample::Test(100),
        _ => Sample::Test(200),
    }
}

/// Training seeds: fewer in 2D, where a training takes much longer.
fn seeds(workshop: &Workshop<'_>, config: &Config) -> std::ops::Range<u64> {
    workshop.seeds(if config.task.dims == 1 { 5 } else { 3 })
}

/// Measurements of a preset of a task with every seed.
struct Entry {
    preset: &'static str,
    config: Config,
    measured: Vec<Measured>,
}

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    let mut plans = Vec::new();
    for task in Tasks::built_in().iter().filter(|task| workshop.has_task(&task.name)) {
        // baselines in 2D are large networks: a quick run has one in 1D
        let all = workshop.size.pick(true, task.name == "heat1d");
        for row in ROWS.into_iter().filter(|row| workshop.has_row(row) && (all || *row != "dpc")) {
            let sample = workshop.size.pick(cases(&task.name), Sample::Test(2));
            let mut points = Vec::new();
            for seed in seeds(workshop, &Config::preset(&task.name)?) {
                let config = config(workshop, row, &task.name, seed)?;
                points.push(Point { cases: sample, ..Point::new(&config, 0).beside_uncontrolled() });
            }
            plans.push((row, points));
        }
    }
    let points: Vec<Point> = plans.iter().flat_map(|(_, points)| points.clone()).collect();
    let mut measured = workshop.measure("table", &points)?.into_iter();
    let entries: Vec<Entry> = plans
        .into_iter()
        .map(|(preset, points)| Entry {
            preset,
            config: points[0].trained.clone(),
            measured: measured.by_ref().take(points.len()).collect(),
        })
        .collect();
    let (mut main, mut more) = (main_table(), more_table());
    for entry in &entries {
        main.row(entry.main());
        more.row(entry.more());
    }
    Ok(Found {
        protocol: "both presets of every task: default (recommended) and paper (published form and recipe), \
                   compared with differentiable predictive control (dpc: one network that sees the whole \
                   field, for one number of agents). 5 training seeds in 1D and 3 in 2D unless stated \
                   otherwise; cases of the test pool (fkpp1d and heat1d: the paper's 50). In brackets 95 % \
                   bootstrap intervals: seeds are resampled, then cases within each seed."
            .to_string(),
        findings: entries.iter().filter_map(Entry::finding).collect(),
        tables: vec![main, more],
        charts: Vec::new(),
    })
}

fn main_table() -> Table {
    Table::new(
        "main",
        "Mean (z − z*)² over space, cases and seeds, with 95 % intervals; the paper's form is the mean of \
         the first seed ± two standard deviations over cases.",
        &[
            "task",
            "preset",
            "when",
            "cases",
            "seeds",
            "uncontrolled",
            "published",
            "ours",
            "every seed",
            "ours, paper's form",
            "published / ours",
            "updates",
            "training (s)",
        ],
    )
}

fn more_table() -> Table {
    Table::new(
        "more",
        "The same policies by every measure, means over cases and seeds with 95 % intervals.",
        &[
            "task",
            "preset",
            "last step",
            "half-way",
            "mean over time",
            "uncontrolled, last step",
            "mean u²",
            "sum of u²",
        ],
    )
}

impl Entry {
    fn task(&self) -> &str {
        &self.config.task.name
    }

    /// Mean over cases and seeds of a number per case. There is none if the rollouts of a seed became
    /// infinite or NaN.
    fn over_seeds<'a>(&'a self, of: impl Fn(&'a Measured) -> &'a [f64]) -> Estimate {
        let seeds: Vec<Vec<f64>> = self.measured.iter().map(|measured| of(measured).to_vec()).collect();
        estimate(&seeds, mean)
    }

    fn ours(&self) -> Estimate {
        self.over_seeds(|measured| loss_cases(self.task(), &measured.per_case))
    }

    /// Without control: all seeds see the same cases, so one is enough.
    fn uncontrolled(&self, of: impl Fn(&PerCase) -> &[f64]) -> Estimate {
        estimate(&[of(&self.measured[0].uncontrolled_per_case).to_vec()], mean)
    }

    /// The published number divided by ours.
    fn better(&self) -> Option<Estimate> {
        let paper = leading(published(self.task())?.cinoc)?;
        let Estimate { value, low, high } = self.ours();
        Some(Estimate { value: paper / value, low: paper / high, high: paper / low })
    }

    fn main(&self) -> Vec<Cell> {
        let task = self.task();
        let means: Vec<f64> = self.measured.iter().map(|measured| mean_loss(task, measured)).collect();
        let every: Vec<String> = means.iter().map(|mean| number(*mean)).collect();
        let seconds: Vec<f64> = self.measured.iter().filter_map(|m| m.training_seconds).collect();
        let first = loss_cases(task, &self.measured[0].per_case);
        vec![
            task.into(),
            self.preset.into(),
            loss_name(task).into(),
            self.measured[0].cases.into(),
            self.measured.len().into(),
            self.uncontrolled(|per_case| loss_cases(task, per_case)).into(),
            published(task).map_or("", |paper| paper.cinoc).into(),
            self.ours().into(),
            every.join(", ").into(),
            if first.is_empty() { "diverged".into() } else { two_std(Spread::of(first)).into() },
            self.better().map_or(Cell::Nothing, Cell::from),
            self.config.train.updates.into(),
            Some(mean(&seconds)).filter(|_| !seconds.is_empty()).into(),
        ]
    }

    fn more(&self) -> Vec<Cell> {
        let effort = self.over_seeds(|measured| &measured.per_case.u2);
        vec![
            self.task().into(),
            self.preset.into(),
            self.over_seeds(|measured| &measured.per_case.last).into(),
            self.over_seeds(|measured| &measured.per_case.half).into(),
            self.over_seeds(|measured| &measured.per_case.time_mean).into(),
            self.uncontrolled(|per_case| &per_case.last).into(),
            effort.into(),
            effort.times(self.config.agents as f64).into(),
        ]
    }

    fn finding(&self) -> Option<String> {
        let (task, preset, ours) = (self.task(), self.preset, self.ours());
        if ours.value.is_nan() {
            return Some(format!(
                "{task} ({preset}): the rollouts of at least one seed became infinite or NaN."
            ));
        }
        let Estimate { value, low, high } = self.better()?;
        // no verdict if the interval contains 1 or there are too few seeds
        let verdict = match (low > 1.0, high < 1.0) {
            _ if self.measured.len() < ENOUGH => format!("{} seed(s): no verdict", self.measured.len()),
            (true, _) => format!("below the published value by a factor of {}", number(value)),
            (_, true) => format!("above the published value by a factor of {}", number(1.0 / value)),
            _ => format!("not distinguishable from the published value (published / ours {})", number(value)),
        };
        let (low, high) = (number(ours.low), number(ours.high));
        Some(format!("{task} ({preset}): {} [{low}, {high}], {verdict}.", number(ours.value)))
    }
}
