//! One policy along one axis of circumstances: agents, noise, failures, physics, grid.

use cinoc_control::Config;
use cinoc_learn::policy_file::PolicyFile;

use crate::results::{Cell, Chart, Curve, Results, Table};
use crate::settings::changed_settings;
use crate::workshop::{LabError, Measured, Point, Trained, Workshop, failure, noise, refined};

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// The number of agents, as multiples of that in training.
    Agents,
    /// Standard deviation of the sensors' noise; that of the actuators is twice as much.
    Noise,
    /// Share of agents that fail from the start.
    Failure,
    /// Every coefficient of the equation in turn, as multiples of that in training.
    Physics,
    /// The grid, as multiples of its resolution in training.
    Grid,
}

impl Quantity {
    /// What the command line calls it.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Agents => "agents",
            Quantity::Noise => "noise",
            Quantity::Failure => "failure",
            Quantity::Physics => "physics",
            Quantity::Grid => "grid",
        }
    }

    /// What the values are.
    pub fn meaning(self) -> &'static str {
        match self {
            Quantity::Agents => "agents / agents in training",
            Quantity::Noise => "noise of sensors",
            Quantity::Failure => "share of failed agents",
            Quantity::Physics => "coefficient / coefficient in training",
            Quantity::Grid => "resolution / resolution in training",
        }
    }

    /// Where it is looked at unless somebody says otherwise.
    pub fn usual(self) -> &'static [f64] {
        match self {
            Quantity::Agents => &[0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0, 8.0],
            Quantity::Noise => &[0.0, 0.01, 0.05, 0.25],
            Quantity::Failure => &[0.0, 0.1, 0.2, 0.3, 0.5, 0.7],
            Quantity::Physics => &[0.5, 0.75, 1.0, 1.5, 2.0],
            Quantity::Grid => &[1.0, 2.0, 4.0],
        }
    }

    /// Settings for a value, by curve: most axes have one, physics one per coefficient.
    fn settings(self, config: &Config, value: f64) -> Vec<(String, Vec<String>)> {
        let one = |sets: Vec<String>| vec![(config.task.to_string(), sets)];
        match self {
            Quantity::Agents => {
                let agents = (value * config.agents as f64).round().max(1.0);
                one(vec![format!("agents={agents}")])
            }
            Quantity::Noise => one(noise(2.0 * value, value)),
            Quantity::Failure => one(failure(config, value, 0.0)),
            Quantity::Grid => one(refined(config, value.round().max(1.0) as usize)),
            Quantity::Physics => {
                let physics = &config.physics;
                // a bound of the scheme is no coefficient of the equation
                let names = physics.names().filter(|name| *name != "limit");
                let coefficients = names.filter_map(|name| Some((name, physics.get(name)?)));
                coefficients
                    .map(|(name, known)| {
                        (name.to_string(), vec![format!("physics.{name}={:?}", value * known)])
                    })
                    .collect()
            }
        }
    }
}

/// Measures a policy along an axis.
pub fn sweep(
    workshop: &Workshop<'_>,
    policy: PolicyFile,
    axis: Quantity,
    values: &[f64],
    cases: usize,
) -> Result<Results, LabError> {
    workshop.open_ledger();
    let config = policy.config.clone();
    let mut points = Vec::new();
    for value in values {
        for (curve, sets) in axis.settings(&config, *value) {
            points.push((curve, *value, Point::new(&config, cases).with(&sets)?));
        }
    }
    let plain: Vec<Point> = points.iter().map(|(_, _, point)| point.clone()).collect();
    let trained = Trained { policy, seconds: None };
    let measured = workshop.measure_policy(axis.name(), &trained, &plain)?;

    let mut table = Table::new(
        axis.name(),
        "Mean (z − z*)² over space.",
        &["setting", "last step", "std over cases", "mean over time", "mean u²", "sum of u²"],
    );
    let mut curves: Vec<Curve> = Vec::new();
    for ((curve, value, point), measured) in points.iter().zip(&measured) {
        table.row(row(&config, point, measured));
        let last = measured.metric.map_or(f64::NAN, |metric| metric.last.mean);
        match curves.iter_mut().find(|known| known.label == *curve) {
            Some(known) => {
                known.x.push(*value);
                known.y.push(Some(last).filter(|last| last.is_finite()));
            }
            None => curves.push(Curve::new(curve, &[*value], &[last])),
        }
    }
    let title = format!("{}: {}", config.task, axis.name());
    let mut chart = Chart::new(axis.name(), &title, axis.meaning(), "error at the last step").log_y();
    chart.log_x = values.iter().all(|value| *value > 0.0);
    chart.curves = curves;
    let list: Vec<String> = values.iter().map(f64::to_string).collect();
    Ok(Results {
        name: format!("sweep-{}", axis.name()),
        title,
        command: format!("cinoc sweep {} POLICY --values {} --cases {cases}", axis.name(), list.join(",")),
        protocol: format!("{cases} held-out cases per setting, the same ones for every setting."),
        findings: Vec::new(),
        tables: vec![table],
        charts: vec![chart],
        cost: workshop.close_ledger(),
        provenance: Some(workshop.provenance()),
    })
}

fn row(trained: &Config, point: &Point, measured: &Measured) -> Vec<Cell> {
    let changed = changed_settings(trained, &point.circumstances);
    let setting = if changed.is_empty() { "as in training".to_string() } else { changed.join(" ") };
    let last = measured.metric.map(|metric| metric.last);
    vec![
        setting.into(),
        last.map_or_else(|| "diverged".into(), |last| last.mean.into()),
        last.map(|last| last.std).into(),
        measured.metric.map(|metric| metric.time_mean.mean).into(),
        measured.effort.map(|effort| effort.mean_u2).into(),
        measured.effort.map(|effort| effort.sum_u2).into(),
    ]
}
