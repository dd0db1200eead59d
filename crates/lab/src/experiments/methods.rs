//! `methods`: the operator policy and every baseline on all tasks, with the training budget of each.
//!
//! `cinoc reproduce table --methods LIST` runs it for some of them.

use cinoc_control::Config;
use cinoc_control::Tasks;
use cinoc_control::config::methods;
use cinoc_learn::evaluate::Spread;

use super::table::cases;
use super::{Found, loss, loss_name, set};
use crate::numbers::number;
use crate::published::{leading, published, published_method};
use crate::results::{Cell, Chart, Curve, Table};
use crate::training_log::TrainingLog;
use crate::workshop::{LabError, Measured, Outcome, Point, Sample, Workshop};

/// Points of a learning curve.
const CURVE_POINTS: usize = 60;

/// A method on a task.
struct Entry {
    task: &'static str,
    method: &'static str,
    config: Config,
    /// One per seed; `None` where the training diverged.
    measured: Vec<Option<Measured>>,
    logs: Vec<TrainingLog>,
    diverged: Vec<String>,
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
                   cases together; seconds are on this machine's threads. cinoc: trained for the main table, \
                   or shipped."
            .to_string(),
        findings: findings(&entries),
        tables: vec![matrix(&entries), budgets(&entries)],
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
    let mut entry = Entry {
        task,
        method,
        config: configs[0].clone(),
        measured: Vec::new(),
        logs: Vec::new(),
        diverged: Vec::new(),
    };
    for config in configs {
        match workshop.outcome(&config)? {
            Outcome::Finished(log) => {
                let point = Point { cases: sample, ..Point::new(&config, 0).beside_uncontrolled() };
                entry.measured.extend(workshop.measure("methods", &[point])?.into_iter().map(Some));
                entry.logs.push(*log);
            }
            Outcome::Diverged(what) => {
                entry.measured.push(None);
                entry.diverged.push(what);
            }
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

/// A row per task, a column per method, the published number in brackets.
fn matrix(entries: &[Entry]) -> Table {
    let mut columns = vec!["task", "when", "uncontrolled"];
    let chosen: Vec<&str> = of_task(entries, tasks_of(entries)[0]).iter().map(|entry| entry.method).collect();
    columns.extend(&chosen);
    let caption = "Mean (z − z*)² over space, cases and seeds; in brackets the published number.";
    let mut table = Table::new("matrix", caption, &columns);
    for task in tasks_of(entries) {
        let row = of_task(entries, task);
        let free = row.iter().find_map(|entry| entry.uncontrolled());
        let mut cells: Vec<Cell> = vec![task.into(), loss_name(task).into(), free.into()];
        for entry in row {
            let mean = Spread::of(&entry.losses()).mean;
            let ours = if mean.is_finite() { number(mean) } else { "diverged".to_string() };
            let paper = published_method(task, entry.method).unwrap_or_default();
            let paper = paper.split(' ').next().unwrap_or_default();
            cells.push(format!("{ours} ({paper})").into());
        }
        table.row(cells);
    }
    table
}

fn budgets(entries: &[Entry]) -> Table {
    let mut table = Table::new(
        "budgets",
        "Training budget and result of every method. Converging: how much lower the mean cost of the last \
         tenth of the updates is than that of the tenth before.",
        &[
            "task",
            "method",
            "network",
            "loss, mean over seeds",
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

fn findings(entries: &[Entry]) -> Vec<String> {
    let mut findings = Vec::new();
    for task in tasks_of(entries) {
        let row = of_task(entries, task);
        let mean = |entry: &Entry| Spread::of(&entry.losses()).mean;
        let ours = row.iter().find(|entry| entry.method == "cinoc").map(|entry| mean(entry));
        let best = row
            .iter()
            .filter(|entry| entry.method != "cinoc")
            .map(|entry| (entry.method, mean(entry)))
            .min_by(|a, b| a.1.total_cmp(&b.1));
        if let (Some(ours), Some((method, best))) = (ours, best) {
            let factor = number((best / ours).max(ours / best));
            let verdict = if ours <= best { "below" } else { "ABOVE" };
            findings.push(format!(
                "{task}: cinoc {}, {verdict} the best baseline ({method}, {}) by a factor of {factor}.",
                number(ours),
                number(best)
            ));
        }
        for entry in &row {
            let paper = published_method(task, entry.method).and_then(leading);
            let free = published(task).and_then(|paper| leading(paper.uncontrolled));
            if entry.method != "cinoc"
                && let Some(printed) = paper
                && mean(entry) > 1.1 * printed
            {
                let lost = if free.is_some_and(|free| mean(entry) >= free) {
                    ", no better than no control"
                } else {
                    ""
                };
                let loss = Some(mean(entry)).filter(|mean| mean.is_finite());
                let loss = loss.map_or("an infinite or NaN error".to_string(), number);
                findings.push(format!(
                    "{task}, {}: {loss} is WORSE than the published {}{lost}.",
                    entry.method,
                    number(printed)
                ));
            }
            findings.extend(entry.diverged.iter().map(|what| format!("{task}, {}: {what}", entry.method)));
        }
    }
    if findings.is_empty() {
        findings.push("Nothing to compare with.".to_string());
    }
    findings
}
