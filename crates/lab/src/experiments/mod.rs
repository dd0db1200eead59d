//! The experiments, one file each: the points to measure and the conclusions.

mod cardinality;
mod effort;
mod failure;
mod fidelity;
mod field_of_view;
mod guideline;
mod latency;
mod marl;
mod methods;
mod nmpc;
mod noise;
mod noise_effort;
mod optimum;
mod over_seeds;
mod physics;
mod regulator;
mod safety;
mod scale;
mod table;
mod theory;

use cinoc_control::Config;
use cinoc_control::config::Preset;
use cinoc_learn::evaluate::{Metric, Spread};

use crate::published::{Reported, reported};
use crate::results::{Chart, Cost, Results, Table};
pub use table::ROWS as TABLE_ROWS;

use crate::workshop::{LabError, Measured, PerCase, Size, Workshop};

/// Updates of ablations, which are compared only with each other.
const ABLATION_UPDATES: usize = 300;

/// An experiment.
pub struct Experiment {
    /// Name on the command line.
    pub name: &'static str,
    /// Heading of its results.
    pub title: &'static str,
    run: fn(&Workshop<'_>) -> Result<Found, LabError>,
}

/// Findings of an experiment.
struct Found {
    protocol: String,
    findings: Vec<String>,
    tables: Vec<Table>,
    charts: Vec<Chart>,
}

/// All experiments, in the order of the report.
pub fn experiments() -> &'static [Experiment] {
    &[
        Experiment { name: "table", title: "Main table", run: table::run },
        Experiment { name: "methods", title: "All methods", run: methods::run },
        Experiment { name: "marl", title: "Operator policies that learn by trial", run: marl::run },
        Experiment { name: "cardinality", title: "Other numbers of agents", run: cardinality::run },
        Experiment {
            name: "cardinality-paper",
            title: "Other numbers of agents, published form and recipe",
            run: cardinality::run_paper,
        },
        Experiment { name: "failure", title: "Agents that fail", run: failure::run },
        Experiment { name: "safety", title: "Obstacles and conservation of mass", run: safety::run },
        Experiment { name: "guideline", title: "How few agents are enough", run: guideline::run },
        Experiment { name: "effort", title: "Effort against the number of agents", run: effort::run },
        Experiment { name: "noise", title: "Noisy sensors and actuators", run: noise::run },
        Experiment {
            name: "noise-effort",
            title: "Effort of policies trained with noise",
            run: noise_effort::run,
        },
        Experiment { name: "fov", title: "Field of view", run: field_of_view::run },
        Experiment { name: "physics", title: "Other physics than in training", run: physics::run },
        Experiment { name: "fidelity", title: "Finer solvers than in training", run: fidelity::run },
        Experiment { name: "scale", title: "Larger domains", run: scale::run },
        Experiment { name: "theory", title: "The mean-field limit", run: theory::run },
        Experiment { name: "latency", title: "Time of a decision", run: latency::run },
        Experiment { name: "nmpc", title: "Model predictive control", run: nmpc::run },
        Experiment { name: "optimum", title: "How good could any policy be", run: optimum::run },
        Experiment { name: "regulator", title: "Linear feedback that knows everything", run: regulator::run },
    ]
}

/// The experiment of that name.
pub fn experiment(name: &str) -> Result<&'static Experiment, LabError> {
    let names = || experiments().iter().map(|known| known.name).collect::<Vec<_>>().join(", ");
    let found = experiments().iter().find(|known| known.name == name);
    found.ok_or_else(|| LabError::Unknown { name: name.to_string(), known: names() })
}

impl Experiment {
    /// Runs the experiment. A quick one has no findings, and its title says that its numbers mean nothing.
    pub fn run(&self, workshop: &Workshop<'_>) -> Result<Results, LabError> {
        workshop.open_ledger();
        let Found { protocol, findings, tables, charts } = (self.run)(workshop)?;
        let warning = workshop.size.pick("", " (quick test: the numbers mean nothing)");
        let quick = workshop.size.pick("", " --quick");
        let seeds = workshop.seeds.map_or_else(String::new, |seeds| format!(" --seeds {seeds}"));
        let cost: Cost = workshop.close_ledger();
        Ok(Results {
            name: self.name.to_string(),
            title: format!("{}{warning}", self.title),
            command: format!("cinoc reproduce {}{quick}{seeds}", self.name),
            protocol,
            findings: workshop.size.pick(findings, Vec::new()),
            tables,
            charts,
            cost,
            provenance: Some(workshop.provenance()),
        })
    }

    /// Adds what follows from all results together, those measured now and those kept of an earlier run.
    pub fn conclude(&self, results: &mut Results, size: Size) {
        if self.name == "methods" {
            methods::conclude(results, size == Size::Quick);
        }
    }
}

impl Workshop<'_> {
    /// The preset of a task, seed 0.
    fn preset(&self, task: &str) -> Result<Config, LabError> {
        self.preset_of(Preset::Default, task, 0)
    }

    /// A preset of a task with a seed. In a quick run it gets a minimal training, unless it was trained
    /// before.
    fn preset_of(&self, preset: Preset, task: &str, seed: u64) -> Result<Config, LabError> {
        let config = Config::resolve_method(task, preset, "cinoc", None, &[set("train.seed", seed)])?;
        if self.is_trained(&config) { Ok(config) } else { self.affordable(config) }
    }

    /// A 1D task with some settings changed, for ablations: all are trained for the same number of updates,
    /// fewer than the preset.
    fn ablation_of(&self, task: &str, sets: &[String]) -> Result<Config, LabError> {
        self.training(task, &[vec![set("train.updates", ABLATION_UPDATES)], sets.to_vec()].concat())
    }

    /// The same for fkpp1d.
    fn ablation(&self, sets: &[String]) -> Result<Config, LabError> {
        self.ablation_of("fkpp1d", sets)
    }

    /// The preset of a task with some settings changed. In a quick run it gets a minimal training.
    fn training(&self, task: &str, sets: &[String]) -> Result<Config, LabError> {
        self.baseline(task, "cinoc", sets)
    }

    /// The same with another method.
    fn baseline(&self, task: &str, method: &str, sets: &[String]) -> Result<Config, LabError> {
        self.affordable(Config::resolve_method(task, Preset::Default, method, None, sets)?)
    }

    /// The config itself or, in a quick run, a config with a minimal training.
    fn affordable(&self, config: Config) -> Result<Config, LabError> {
        if self.size == Size::Full {
            return Ok(config);
        }
        let mut quick = vec!["train.updates=2", "train.batch=2", "data.pool=4"];
        quick.extend(config.data.values.get("spin_up").map(|_| "data.spin_up=1"));
        let method = config.method.as_ref();
        if method.is_some_and(|method| method.on_policy.is_some()) {
            quick.extend(["method.on_policy.envs=2", "method.on_policy.horizon=3"]);
        }
        if method.is_some_and(|method| method.off_policy.is_some()) {
            quick.extend(["method.off_policy.envs=2", "method.off_policy.interval=2"]);
            quick.extend(["method.off_policy.gradient_steps=1", "method.off_policy.first=4"]);
            quick.extend(["method.off_policy.warmup=1"]);
        }
        Ok(config.with_sets(&quick.into_iter().map(String::from).collect::<Vec<_>>())?)
    }
}

/// The metric of a task in the paper's table.
fn loss(task: &str, metric: &Metric) -> Spread {
    match reported(task) {
        Reported::Half => metric.half.unwrap_or(metric.last),
        Reported::TimeMean => metric.time_mean,
        Reported::Final => metric.last,
    }
}

/// The same for a point; NaN if its rollout became infinite or NaN.
fn mean_loss(task: &str, measured: &Measured) -> f64 {
    measured.metric.as_ref().map_or(f64::NAN, |metric| loss(task, metric).mean)
}

/// The same for every case; empty if the rollout became infinite or NaN.
fn loss_cases<'a>(task: &str, per_case: &'a PerCase) -> &'a [f64] {
    cases_at(reported(task), per_case)
}

/// Losses of every case at the given time.
fn cases_at(when: Reported, per_case: &PerCase) -> &[f64] {
    match when {
        Reported::Half if !per_case.half.is_empty() => &per_case.half,
        Reported::TimeMean => &per_case.time_mean,
        Reported::Half | Reported::Final => &per_case.last,
    }
}

/// Description of [`loss`].
fn loss_name(task: &str) -> &'static str {
    name_of(reported(task))
}

/// Description of the time of a measurement.
fn name_of(when: Reported) -> &'static str {
    match when {
        Reported::Half => "half-way",
        Reported::TimeMean => "mean over time",
        Reported::Final => "at the last step",
    }
}

/// A setting `key=value`.
fn set(key: &str, value: impl std::fmt::Display) -> String {
    format!("{key}={value}")
}
