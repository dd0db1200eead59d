//! What a run is: every number of a task, its controller and its training, in one typed [`Config`].
//!
//! A task is a TOML preset compiled into the library ([`tasks`]). A user's file and `key=value` settings override
//! it (`merge`), the result is deserialised and checked once (`validate`), and only then used. A preset
//! names every key its task has; a key that is `None` here is one the task does not have.

mod axis;
mod choices;
mod equation;
mod error;
mod merge;
mod method;
mod robust;
mod sections;
mod tasks;
mod validate;

#[cfg(test)]
mod range_tests;
#[cfg(test)]
mod tests;

pub use axis::Axis;
pub use choices::{
    Decay, Filter, Fusion, Layout, Normalization, Padding, Pairs, Sampling, Share, Starts, Transport,
    TrunkBase, View,
};
pub use equation::Equation;
pub use error::ConfigError;
pub use method::{Algorithm, Critic, Method, MethodInfo, Network, OffPolicy, OnPolicy, methods};
pub use sections::{
    Actuation, Data, Failure, Grid, Loss, Noise, Observe, Obstacles, Physics, Policy, Safety, Time, Train,
};
pub use tasks::{Preset, TaskInfo, tasks};

use cinoc_pde::Boundary;
use serde::{Deserialize, Serialize};

/// A task with all its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Name of the task, one of [`tasks`].
    pub task: String,
    /// Number of agents, M.
    pub agents: usize,
    /// Space.
    pub grid: Grid,
    /// Time.
    pub time: Time,
    /// Coefficients of the PDE; empty where the task has none.
    #[serde(default, skip_serializing_if = "Physics::is_empty")]
    pub physics: Physics,
    /// What an agent does to the field.
    pub actuation: Actuation,
    /// What an agent sees of the field.
    pub observe: Observe,
    /// The policy network.
    pub policy: Policy,
    /// Sensor and actuator noise.
    pub noise: Noise,
    /// Agents that stop working.
    pub failure: Failure,
    /// Initial states and targets.
    pub data: Data,
    /// Weights of the loss terms.
    pub loss: Loss,
    /// Distances that mobile agents keep; `None` for static agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub safety: Option<Safety>,
    /// Discs that agents may not enter; `None` where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obstacles: Option<Obstacles>,
    /// The optimisation.
    pub train: Train,
    /// The baseline this is; `None` for the operator policy trained through the physics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<Method>,
}

impl Config {
    /// The task's defaults.
    pub fn preset(task: &str) -> Result<Config, ConfigError> {
        Config::resolve(task, None, &[])
    }

    /// The published form of a task: network, loss and training as in the paper.
    pub fn paper(task: &str) -> Result<Config, ConfigError> {
        Config::resolve_method(task, Preset::Paper, "cinoc", None, &[])
    }

    /// The task's defaults, overridden by the text of a TOML file, then by `key=value` settings in their order.
    pub fn resolve(task: &str, file: Option<&str>, sets: &[String]) -> Result<Config, ConfigError> {
        Config::resolve_method(task, Preset::Default, "cinoc", file, sets)
    }

    /// The same for a preset and for a method, one of [`methods`], whose defaults are laid over those of the task.
    pub fn resolve_method(
        task: &str,
        preset: Preset,
        method: &str,
        file: Option<&str>,
        sets: &[String],
    ) -> Result<Config, ConfigError> {
        let mut table = tasks::preset(task)?;
        if preset == Preset::Paper {
            merge::overlay(&mut table, tasks::paper(task)?)?;
        }
        method::lay_over(&mut table, method, task)?;
        if let Some(text) = file {
            merge::overlay(&mut table, merge::parse(text)?)?;
        }
        Config::finish(table, sets)
    }

    /// Reads a complete config, as [`Config::to_toml`] writes it: a key that is missing is an error, because the
    /// run it describes was made with some value of it.
    pub fn from_toml(text: &str) -> Result<Config, ConfigError> {
        let mut given = merge::parse(text)?;
        let task = merge::task_of(&given)?;
        let mut table = tasks::preset(task)?;
        if let Some(method) = merge::method_of(&given) {
            method::lay_over(&mut table, method, task)?;
        }
        merge::add_later_keys(&mut given);
        merge::require_all_keys(&table, &given)?;
        merge::overlay(&mut table, given)?;
        Config::finish(table, &[])
    }

    /// This config with some settings changed.
    pub fn with_sets(&self, sets: &[String]) -> Result<Config, ConfigError> {
        let mut table = merge::parse(&self.to_toml())?;
        merge::add_later_keys(&mut table);
        Config::finish(table, sets)
    }

    /// Without what decides only how fast a training runs: configs that agree in this give the same policy, bit by bit.
    pub fn regardless_of_speed(&self) -> Config {
        let mut config = self.clone();
        config.train.memory_mb = 0;
        config
    }

    /// The complete config as TOML, exact to the last bit.
    ///
    /// # Panics
    /// If an integer was set above `i64::MAX`, the largest of TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("every integer of a config fits in an i64")
    }

    /// Checks every range; done by all functions that build a config, and needed again after fields were changed.
    pub fn validate(&self) -> Result<(), ConfigError> {
        validate::validate(self)
    }

    /// The table must have the keys and types of a preset, which [`merge::overlay`] keeps.
    fn finish(mut table: toml::Table, sets: &[String]) -> Result<Config, ConfigError> {
        for set in sets {
            merge::overlay(&mut table, merge::parse_set(set)?)?;
        }
        let config: Config = table.try_into().expect("presets have the keys and types of Config");
        config.validate()?;
        Ok(config)
    }

    /// The equation of the task.
    pub fn equation(&self) -> Equation {
        Equation::of(&self.task)
    }

    /// Whether the two ends of the domain are the same point.
    pub fn periodic(&self) -> bool {
        self.equation().boundary() == Boundary::Periodic
    }

    /// Whether agents move.
    pub fn mobile(&self) -> bool {
        self.actuation.v_max.is_some()
    }

    /// Duration of a control step.
    pub fn control_dt(&self) -> f64 {
        self.time.dt * self.time.substeps as f64
    }
}
