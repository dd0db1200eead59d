//! `table`: the policy of every preset beside no control and beside the published numbers.

use control::config::tasks;
use learn::evaluate::Spread;

use super::{Found, loss, loss_name, set};
use crate::numbers::{number, two_std};
use crate::published::{leading, published};
use crate::results::Table;
use crate::workshop::{LabError, Measured, Point, Sample, Workshop};

/// Enough fresh cases that the mean is known to about 1 %; `None` for the published ones.
pub(super) fn cases(task: &str) -> Sample {
    match task {
        "fkpp1d" | "heat1d" => Sample::Paper,
        "ks1d" => Sample::Test(1000),
        "ks2d" | "turb2d" => Sample::Test(100),
        _ => Sample::Test(200),
    }
}

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    let seeds: Vec<u64> = workshop.seeds(3).collect();
    let mut points = Vec::new();
    for task in tasks() {
        for seed in &seeds {
            let config = match seed {
                0 => workshop.preset(task.name)?,
                seed => workshop.training(task.name, &[set("train.seed", seed)])?,
            };
            let sample = workshop.size.pick(cases(task.name), Sample::Test(2));
            points.push(Point { cases: sample, ..Point::new(&config, 0).beside_uncontrolled() });
        }
    }
    let measured = workshop.measure("table", &points)?;
    Ok(found(&seeds, &points, &measured))
}

fn found(seeds: &[u64], points: &[Point], measured: &[Measured]) -> Found {
    let mut table = Table::new(
        "main",
        "Mean (z − z*)² over space; ± is one standard deviation over training seeds, in the paper's form two over cases.",
        &[
            "task",
            "when",
            "cases",
            "uncontrolled",
            "published",
            "ours, mean over seeds",
            "± over seeds",
            "every seed",
            "ours, paper's form (first seed)",
            "published / ours",
            "updates",
            "training (s)",
        ],
    );
    let mut more = Table::new(
        "more",
        "The same policies (first seed) by every measure.",
        &[
            "task",
            "last step",
            "half-way",
            "mean over time",
            "uncontrolled, last step",
            "mean u²",
            "sum of u²",
        ],
    );
    let mut findings = Vec::new();
    for (points, measured) in points.chunks(seeds.len()).zip(measured.chunks(seeds.len())) {
        let (config, task) = (&points[0].trained, points[0].trained.task.as_str());
        let spreads: Vec<Spread> =
            measured.iter().filter_map(|m| m.metric.as_ref()).map(|metric| loss(task, metric)).collect();
        let Some(first) = spreads.first() else {
            findings.push(format!("{task}: the rollouts left the finite numbers."));
            continue;
        };
        let means: Vec<f64> = spreads.iter().map(|spread| spread.mean).collect();
        let over_seeds = Spread::of(&means);
        let paper = published(task);
        let ratio = paper.and_then(|paper| leading(paper.cinoc)).map(|paper| paper / over_seeds.mean);
        let every: Vec<String> = means.iter().map(|mean| number(*mean)).collect();
        let seconds: Vec<f64> = measured.iter().filter_map(|m| m.training_seconds).collect();
        table.row([
            task.into(),
            loss_name(task).into(),
            measured[0].cases.into(),
            measured[0].uncontrolled.as_ref().map(|metric| loss(task, metric).mean).into(),
            paper.map_or("", |paper| paper.cinoc).into(),
            over_seeds.mean.into(),
            Some(over_seeds.std).filter(|_| means.len() > 1).into(),
            every.join(", ").into(),
            two_std(*first).into(),
            ratio.into(),
            config.train.updates.into(),
            Some(seconds.iter().sum::<f64>() / seconds.len() as f64).filter(|_| !seconds.is_empty()).into(),
        ]);
        let (metric, free) = (measured[0].metric, measured[0].uncontrolled);
        more.row([
            task.into(),
            metric.map(|metric| metric.last.mean).into(),
            metric.and_then(|metric| metric.half).map(|half| half.mean).into(),
            metric.map(|metric| metric.time_mean.mean).into(),
            free.map(|metric| metric.last.mean).into(),
            measured[0].effort.map(|effort| effort.mean_u2).into(),
            measured[0].effort.map(|effort| effort.sum_u2).into(),
        ]);
        if let Some(ratio) = ratio {
            let verdict = if ratio >= 1.0 { "below the published" } else { "ABOVE the published" };
            findings.push(format!(
                "{task}: {}, {verdict} value by a factor of {}.",
                number(over_seeds.mean),
                number(ratio.max(1.0 / ratio))
            ));
        }
    }
    Found {
        protocol: format!(
            "every preset trained with {} seeds, measured on held-out cases (fkpp1d and heat1d: the paper's 50).",
            seeds.len()
        ),
        findings,
        tables: vec![table, more],
        charts: Vec::new(),
    }
}
