//! A policy in circumstances: what is measured once.

use cinoc_control::Config;
use cinoc_control::config::ConfigError;

/// A policy, as it is trained, and the circumstances it is measured in.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The training.
    pub trained: Config,
    /// What is other than in training.
    pub circumstances: Config,
    /// Test cases.
    pub cases: Sample,
    /// Whether the same cases are also run without control.
    pub uncontrolled: bool,
}

/// Which cases a point is measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// So many of the test pool.
    Test(usize),
    /// Those of the paper.
    Paper,
}

impl Point {
    /// A policy of a config in the circumstances it is trained in.
    pub fn new(trained: &Config, cases: usize) -> Point {
        Point {
            trained: trained.clone(),
            circumstances: trained.clone(),
            cases: Sample::Test(cases),
            uncontrolled: false,
        }
    }

    /// In other circumstances.
    pub fn with(mut self, sets: &[String]) -> Result<Point, ConfigError> {
        self.circumstances = self.circumstances.with_sets(sets)?;
        Ok(self)
    }

    /// Of so many agents.
    pub fn agents(self, agents: usize) -> Result<Point, ConfigError> {
        self.with(&[format!("agents={agents}")])
    }

    /// Beside the same cases without control.
    pub fn beside_uncontrolled(self) -> Point {
        Point { uncontrolled: true, ..self }
    }
}

/// The policy sees sensors and actuators with these standard deviations of noise.
pub fn noise(actuator: f64, sensor: f64) -> Vec<String> {
    vec![format!("noise.actuator={actuator:?}"), format!("noise.sensor={sensor:?}")]
}

/// A share of the agents fails when a share of the horizon is over.
pub fn failure(config: &Config, share: f64, when: f64) -> Vec<String> {
    let step = (when * config.time.steps as f64).round() as usize;
    vec![format!("failure.share={share:?}"), format!("failure.step={step}")]
}

/// The grid is so many times finer, with the solver step of a spectral scheme as many times smaller and the control interval kept.
pub fn refined(config: &Config, factor: usize) -> Vec<String> {
    let mut sets: Vec<String> = ["grid.n", "grid.n_y"]
        .into_iter()
        .zip(config.axes())
        .filter(|(key, _)| *key == "grid.n" || config.grid.n_y.is_some())
        .map(|(key, axis)| {
            let ends = usize::from(!axis.periodic());
            format!("{key}={}", (axis.n - ends) * factor + ends)
        })
        .collect();
    if config.periodic() && factor > 1 {
        sets.push(format!("time.dt={:?}", config.time.dt / factor as f64));
        sets.push(format!("time.substeps={}", config.time.substeps * factor));
    }
    sets
}
