//! A point: a policy and the circumstances of one measurement.

use cinoc_control::Config;
use cinoc_control::config::ConfigError;
use serde::{Deserialize, Serialize};

/// A policy, given by its training config, and the circumstances of the measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The config of the training.
    pub trained: Config,
    /// The config of the measurement.
    pub circumstances: Config,
    /// Test cases.
    pub cases: Sample,
    /// Whether the same cases are also run without control.
    pub uncontrolled: bool,
}

/// The cases of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sample {
    /// This many cases of the test pool.
    Test(usize),
    /// The cases of the paper.
    Paper,
}

impl Point {
    /// The policy of a config, measured with the same config.
    pub fn new(trained: &Config, cases: usize) -> Point {
        Point {
            trained: trained.clone(),
            circumstances: trained.clone(),
            cases: Sample::Test(cases),
            uncontrolled: false,
        }
    }

    /// Changes settings of the measurement.
    pub fn with(mut self, sets: &[String]) -> Result<Point, ConfigError> {
        self.circumstances = self.circumstances.with_sets(sets)?;
        Ok(self)
    }

    /// Changes the number of agents.
    pub fn agents(self, agents: usize) -> Result<Point, ConfigError> {
        self.with(&[format!("agents={agents}")])
    }

    /// Also measures the same cases without control.
    pub fn beside_uncontrolled(self) -> Point {
        Point { uncontrolled: true, ..self }
    }
}

/// Settings for actuator and sensor noise with these standard deviations.
pub fn noise(actuator: f64, sensor: f64) -> Vec<String> {
    vec![format!("noise.actuator={actuator:?}"), format!("noise.sensor={sensor:?}")]
}

/// Settings for a failure: the fraction `share` of the agents fails after the fraction `when` of the horizon.
pub fn failure(config: &Config, share: f64, when: f64) -> Vec<String> {
    let step = (when * config.time.steps as f64).round() as usize;
    vec![format!("failure.share={share:?}"), format!("failure.step={step}")]
}

/// Settings for a grid that is `factor` times finer. The solver step of a spectral scheme becomes smaller by
/// the same factor; the control interval is kept.
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
