//! `methods`: the operator policy and every baseline on all tasks, with the training budget of each.
//!
//! `cinoc reproduce table --methods LIST` runs it for some of them. The table of budgets is the result: the
//! comparison of the methods and the conclusions follow from it, also when some of its rows are of an earlier
//! run ([`conclude`]).

use cinoc_control::Config;
use cinoc_control::Tasks;
use cinoc_control::config::methods;
use cinoc_learn::evaluate::Spread;

use super::table::cases;
use super::{Found, loss, loss_name, set};
use crate::numbers::number;
use crate::published::{leading, published, published_method};
use crate::results::{Cell, Chart, Curve, METHOD, Results, Table};
use crate::training_log::TrainingLog;
use crate::workshop::{LabError, Measured, Outcome, Point, Sample, Workshop};

/// Points of a learning curve.
const CURVE_POINTS: usize = 60;

const BUDGETS: &str = "budgets";
/// Columns of the table of budgets.
const UNCONTROLLED: &str = "uncontrolled";
const LOSS: &str = "loss, mean over seeds";

/// A method on a task.
struct Entry {
    task: &'static str,
    method: &'static str,
    config: Config,
    /// One per seed; `None` where the training diverged.
    measured: Vec<Option<Measured>>,
    logs: Vec<TrainingLog>,
}

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    let (mut chosen, mut trainings) = (Vec::new(), Vec::new());
    for task in Tasks::built_in()
        .iter()
        .filter(|task| workshop.size.pick(workshop.has_task(&task.name), task.name == "heat1d"))
    {
        for method in methods().iter().filter(|method| workshop.has_method(method.name)) {
            let configs = configs(workshop, &task.name, method.name)?;
            trainings.extend(configs.iter().cloned());
            chosen.push((task.name.as_str(), method.name, configs));
        }
    }
    workshop.prepare("methods", &trainings)?;
    let entry = |(task, method, configs)| entry(workshop, task, method, configs);
    let entries = chosen.into_iter().map(entry).collect::<Result<Vec<_>, _>>()?;
    Ok(Found {
        protocol: "all methods on the same cases with the same bounds; rewards of PPO, TD3, MAPPO and MATD3 \
                   are the negative stage cost of the training loss; three seeds for training through the \
                   physics (cinoc, dpc), two for RL. Steps are control steps simulated in training, all \
                   cases together; seconds are those of the machine that trained. cinoc and dpc: the \
                   trainings of the main table."
            .to_string(),
        findings: Vec::new(),
        tables: vec![budgets(&entries)],
        charts: curves(&entries),
    })
}

/// The trainings of a method on a task, one per seed.
fn configs(workshop: &Workshop<'_>, task: &str, method: &str) -> Result<Vec<Config>, LabError> {
    let seeds = workshop.seeds(seeds_of(method));
    seeds
        .map(|seed| match (method, seed) {
            ("cinoc", 0) => workshop.preset(task),
            (method, seed) => workshop.baseline(task, method, &[set("train.seed", seed)]),
        })
        .collect()
}

fn entry(
    workshop: &Workshop<'_>,
    task: &'static str,
    method: &'static str,
    configs: Vec<Config>,
) -> Result<Entry, LabError> {
    let sample = workshop.size.pick(cases(task), Sample::Test(2));
    let mut entry =
        Entry { task, method, config: configs[0].clone(), measured: Vec::new(), logs: Vec::new() };
    for config in configs {
        match workshop.outcome(&config)? {
            Outcome::Finished(log) => {
                let point = Point { cases: sample, ..Point::new(&config, 0).beside_uncontrolled() };
                entry.measured.extend(workshop.measure("methods", &[point])?.into_iter().map(Some));
                entry.logs.push(*log);
            }
            Outcome::Diverged(_) => entry.measured.push(None),
        }
    }
    Ok(entry)
}

/// Training seeds of a method.
fn seeds_of(method: &str) -> u64 {
    if matches!(method, "cinoc" | "dpc") { 3 } else { 2 }
}

impl Entry {
    /// The paper's metric of every seed; infinite if a rollout or the training became infinite or NaN.
    fn losses(&self) -> Vec<f64> {
        let one = |measured: &Option<Measured>| {
            let metric = measured.as_ref().and_then(|measured| measured.metric.as_ref());
            metric.map_or(f64::INFINITY, |metric| loss(self.task, metric).mean)
        };
        self.measured.iter().map(one).collect()
    }

    fn uncontrolled(&self) -> Option<f64> {
        let measured = self.measured.iter().flatten().next()?;
        measured.uncontrolled.as_ref().map(|metric| loss(self.task, metric).mean)
    }
}

fn of_task<'a>(entries: &'a [Entry], task: &str) -> Vec<&'a Entry> {
    entries.iter().filter(|entry| entry.task == task).collect()
}

fn tasks_of(entries: &[Entry]) -> Vec<&'static str> {
    let mut found: Vec<&'static str> = entries.iter().map(|entry| entry.task).collect();
    found.dedup();
    found
}

fn budgets(entries: &[Entry]) -> Table {
    let mut table = Table::new(
        BUDGETS,
        "Training budget and result of every method; inf: the training or a rollout diverged. Converging: \
         how much lower the mean cost of the last tenth of the updates is than that of the tenth before.",
        &[
            "task",
            METHOD,
            "network",
            UNCONTROLLED,
            LOSS,
            "± over seeds",
            "every seed",
            "published",
            "updates",
            "steps (1000)",
            "training (s)",
            "converging (%)",
        ],
    );
    for entry in entries {
        let losses = entry.losses();
        let spread = Spread::of(&losses);
        let network = format!("{:?}", entry.config.network()).to_lowercase();
        let seconds: Vec<f64> =
            entry.logs.iter().filter(|log| !log.is_empty()).map(TrainingLog::total_seconds).collect();
        // training through the physics simulates all steps of a batch in every update
        let train = &entry.config.train;
        let whole = (train.updates * train.batch * entry.config.time.steps) as f64;
        let by_trial = !matches!(entry.method, "cinoc" | "dpc");
        let told =
            entry.logs.iter().filter_map(|log| log.steps.last().copied()).find(|steps| steps.is_finite());
        let steps = told.or(Some(whole).filter(|_| !by_trial));
        table.row([
            entry.task.into(),
            entry.method.into(),
            network.into(),
            entry.uncontrolled().into(),
            Some(spread.mean).filter(|mean| mean.is_finite()).map_or("diverged".into(), Into::into),
            Some(spread.std).filter(|std| losses.len() > 1 && std.is_finite()).into(),
            losses.iter().map(|loss| number(*loss)).collect::<Vec<_>>().join(", ").into(),
            published_method(entry.task, entry.method).unwrap_or_default().into(),
            entry.config.train.updates.into(),
            steps.map(|steps| steps / 1000.0).into(),
            Some(Spread::of(&seconds).mean).filter(|_| !seconds.is_empty()).into(),
            entry.logs.first().and_then(converging).into(),
        ]);
    }
    table
}

/// Decrease of the mean loss from the second last to the last tenth of a training, in per cent.
fn converging(log: &TrainingLog) -> Option<f64> {
    let tenth = log.loss.len() / 10;
    let mean = |from: usize, to: usize| log.loss[from..to].iter().sum::<f64>() / (to - from) as f64;
    let end = log.loss.len();
    (tenth > 0).then(|| 100.0 * (1.0 - mean(end - tenth, end) / mean(end - 2 * tenth, end - tenth)))
}

/// Learning curves of the RL methods: per task, against steps and against seconds.
fn curves(entries: &[Entry]) -> Vec<Chart> {
    let mut charts = Vec::new();
    for task in tasks_of(entries) {
        let chart = |what: &str, x: &str| {
            let title = format!("{task}: reinforcement learning");
            Chart::new(&format!("{task}-{what}"), &title, x, "mean stage cost").log_y()
        };
        let (mut by_steps, mut by_seconds) = (chart("steps", "control steps"), chart("seconds", "seconds"));
        for entry in of_task(entries, task) {
            if matches!(entry.method, "cinoc" | "dpc") {
                continue;
            }
            let logs: Vec<&TrainingLog> = entry.logs.iter().filter(|log| !log.is_empty()).collect();
            if logs.is_empty() {
                continue;
            }
            let steps = over_seeds(&logs, |log| log.steps.clone());
            let time = over_seeds(&logs, |log| running_sum(&log.seconds));
            let cost = over_seeds(&logs, |log| log.loss.clone());
            let curve = |x: &Range| {
                Curve::new(entry.method, &x.mean, &cost.mean).band(cost.least.clone(), cost.most.clone())
            };
            by_steps = by_steps.curve(curve(&steps));
            by_seconds = by_seconds.curve(curve(&time));
        }
        charts.extend([by_steps, by_seconds].into_iter().filter(|chart| !chart.curves.is_empty()));
    }
    charts
}

/// Mean, smallest and largest value over seeds.
struct Range {
    mean: Vec<f64>,
    least: Vec<f64>,
    most: Vec<f64>,
}

/// Range over the seeds of a training, thinned.
fn over_seeds(logs: &[&TrainingLog], of: impl Fn(&TrainingLog) -> Vec<f64>) -> Range {
    let all: Vec<Vec<f64>> = logs.iter().map(|log| thinned(&of(log))).collect();
    let points = all.iter().map(Vec::len).min().unwrap_or(0);
    let fold = |start: f64, join: fn(f64, f64) -> f64| -> Vec<f64> {
        (0..points).map(|i| all.iter().map(|one| one[i]).fold(start, join)).collect()
    };
    let sum = fold(0.0, |a, b| a + b);
    Range {
        mean: sum.iter().map(|sum| sum / all.len() as f64).collect(),
        least: fold(f64::INFINITY, f64::min),
        most: fold(f64::NEG_INFINITY, f64::max),
    }
}

fn running_sum(values: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let add = |value: &f64| {
        sum += value;
        sum
    };
    values.iter().map(add).collect()
}

/// At most [`CURVE_POINTS`] values, each the mean of neighbours.
fn thinned(values: &[f64]) -> Vec<f64> {
    let group = values.len().div_ceil(CURVE_POINTS).max(1);
    values.chunks(group).map(|group| group.iter().sum::<f64>() / group.len() as f64).collect()
}

/// A row of the table of budgets.
struct Row<'a> {
    task: &'a str,
    method: &'a str,
    uncontrolled: Option<f64>,
    /// Infinite if a training or a rollout diverged.
    loss: f64,
}

fn rows<'a>(budgets: &'a Table) -> Vec<Row<'a>> {
    let at = |name: &str| budgets.columns.iter().position(|column| column == name).expect("a column");
    let (uncontrolled, loss) = (at(UNCONTROLLED), at(LOSS));
    let of = |row: &'a Vec<Cell>| Row {
        task: row[0].text(),
        method: row[1].text(),
        uncontrolled: row[uncontrolled].value(),
        loss: row[loss].value().unwrap_or(f64::INFINITY),
    };
    budgets.rows.iter().map(of).collect()
}

/// Adds what follows from the table of budgets: the comparison of the methods, and the conclusions.
pub(super) fn conclude(results: &mut Results, quick: bool) {
    let budgets = results.tables.iter().find(|table| table.name == BUDGETS).expect("methods has budgets");
    let rows = rows(budgets);
    let (matrix, findings) = (matrix(&rows), if quick { Vec::new() } else { findings(&rows) });
    results.tables.insert(0, matrix);
    results.findings = findings;
}

/// A row per task, a column per method, the published number in brackets.
fn matrix(rows: &[Row<'_>]) -> Table {
    let mut columns = vec!["task", "when", "uncontrolled"];
    let found = methods().iter().map(|method| method.name);
    let found: Vec<&str> = found.filter(|name| rows.iter().any(|row| row.method == *name)).collect();
    columns.extend(&found);
    let caption = "Mean (z − z*)² over space, cases and seeds; in brackets the published number.";
    let mut table = Table::new("matrix", caption, &columns);
    for of_task in rows.chunk_by(|a, b| a.task == b.task) {
        let task = of_task[0].task;
        let free = of_task.iter().find_map(|row| row.uncontrolled);
        let mut cells: Vec<Cell> = vec![task.into(), loss_name(task).into(), free.into()];
        for method in &found {
            let Some(row) = of_task.iter().find(|row| row.method == *method) else {
                cells.push(None.into());
                continue;
            };
            let ours = if row.loss.is_finite() { number(row.loss) } else { "diverged".to_string() };
            let paper = published_method(task, method).unwrap_or_default();
            let paper = paper.split(' ').next().unwrap_or_default();
            cells.push(format!("{ours} ({paper})").into());
        }
        table.row(cells);
    }
    table
}

fn findings(rows: &[Row<'_>]) -> Vec<String> {
    let mut findings = Vec::new();
    for of_task in rows.chunk_by(|a, b| a.task == b.task) {
        let task = of_task[0].task;
        let ours = of_task.iter().find(|row| row.method == "cinoc").map(|row| row.loss);
        let baselines = of_task.iter().filter(|row| row.method != "cinoc");
        let best = baselines.clone().min_by(|a, b| a.loss.total_cmp(&b.loss));
        if let (Some(ours), Some(best)) = (ours, best) {
            let factor = number((best.loss / ours).max(ours / best.loss));
            let verdict = if ours <= best.loss { "below" } else { "ABOVE" };
            findings.push(format!(
                "{task}: cinoc {}, {verdict} the best baseline ({}, {}) by a factor of {factor}.",
                number(ours),
                best.method,
                number(best.loss)
            ));
        }
        let free = published(task).and_then(|paper| leading(paper.uncontrolled));
        for Row { method, loss, .. } in baselines {
            if let Some(printed) = published_method(task, method).and_then(leading)
                && *loss > 1.1 * printed
            {
                let lost =
                    if free.is_some_and(|free| *loss >= free) { ", no better than no control" } else { "" };
                let loss =
                    if loss.is_finite() { number(*loss) } else { "an infinite or NaN error".to_string() };
                findings.push(format!(
                    "{task}, {method}: {loss} is WORSE than the published {}{lost}.",
                    number(printed)
                ));
            }
        }
    }
    if findings.is_empty() {
        findings.push("Nothing to compare with.".to_string());
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also methods that were not measured for a task, as when some rows are of an earlier run.
    #[test]
    fn the_comparison_follows_from_the_table_of_budgets() {
        let mut budgets = Table::new(BUDGETS, "", &["task", METHOD, UNCONTROLLED, LOSS]);
        let mut row = |task: &str, method: &str, loss: Cell| {
            budgets.row([task.into(), method.into(), 0.4.into(), loss]);
        };
        row("heat1d", "cinoc", 5e-6.into());
        row("heat1d", "dpc", 1e-5.into());
        row("heat1d", "td3", "diverged".into());
        row("ks1d", "cinoc", 0.12.into());
        row("ks1d", "ppo", 0.1.into());
        let rows = rows(&budgets);
        assert_eq!(
            findings(&rows),
            [
                "heat1d: cinoc 5.00e-6, below the best baseline (dpc, 1.00e-5) by a factor of 2.00.",
                "heat1d, td3: an infinite or NaN error is WORSE than the published 6.00e-3, no better than \
                 no control.",
                "ks1d: cinoc 0.120, ABOVE the best baseline (ppo, 0.100) by a factor of 1.20.",
            ]
        );
        let matrix = matrix(&rows);
        assert_eq!(matrix.columns, ["task", "when", "uncontrolled", "cinoc", "dpc", "ppo", "td3"]);
        let heat: Vec<&str> = matrix.rows[0][3..].iter().map(Cell::text).collect();
        assert_eq!(heat, ["5.00e-6 (2.9e-4)", "1.00e-5 (7.9e-5)", "", "diverged (0.006)"]);
    }
}
