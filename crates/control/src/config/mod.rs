//! What a run is: every number of a task, its controller and its training, in one typed [`Config`].
//!
//! A task is a TOML preset compiled into the library ([`crate::Task`]). A user's file and `key=value`
//! settings override it (`merge`), the result is deserialised and checked once (`validate`), and only then
//! used. A preset names every key its task has; a key that is `None` here is one the task does not have.

mod axis;
mod choices;
mod doubts;
mod error;
mod keys;
mod listing;
mod merge;
mod method;
mod range;
mod robust;
mod sections;
mod validate;
mod values;

#[cfg(test)]
mod range_tests;
#[cfg(test)]
mod tests;

pub use axis::ReferenceAxis;
pub use choices::{
    Decay, FailureFrom, Filter, Fusion, Layout, Normalization, Padding, Sampling, Share, Starts, TrunkBase,
    View,
};
pub use error::ConfigError;
pub use keys::{KEYS, Key};
pub(crate) use merge::{overlay, parse};
pub use method::{Algorithm, Critic, Method, MethodInfo, Network, OffPolicy, OnPolicy, methods};
pub use range::Range;
pub use sections::{
    ActuationSection, Around, Data, Failure, GridSection, Loss, Noise, Observe, Obstacles, PolicySection,
    Safety, Time, Train,
};
pub use values::Values;

use std::sync::Arc;

use cinoc_pde::Boundary;
use serde::{Deserialize, Serialize};

use crate::task::{Task, Tasks};

/// Which defaults a config starts from.
///
/// ```
/// use cinoc_control::Tasks;
/// use cinoc_control::config::Preset;
///
/// let heat = Tasks::built_in().find("heat1d").unwrap();
/// let published = heat.resolve(Preset::Paper, "cinoc", None, &[]).unwrap();
/// assert!(!published.observe.crowd && heat.config().unwrap().observe.crowd);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    /// What controls best, with any number of agents.
    #[default]
    Default,
    /// Network, loss and training as published.
    Paper,
}

/// A task with all its settings.
///
/// ```
/// use cinoc_control::Config;
///
/// let config = Config::preset("heat1d").unwrap().with_sets(&["agents=12".to_string()]).unwrap();
/// assert_eq!((config.agents, config.grid.n), (12, 100));
/// assert_eq!(Config::from_toml(&config.to_toml()).unwrap(), config);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The task; its name in files.
    #[serde(serialize_with = "by_name", skip_deserializing, default = "unknown")]
    pub task: Arc<Task>,
    /// Number of agents, M.
    pub agents: usize,
    /// Space.
    pub grid: GridSection,
    /// Time.
    pub time: Time,
    /// Coefficients of the PDE; empty where the task has none.
    #[serde(default, skip_serializing_if = "Values::is_empty")]
    pub physics: Values,
    /// What an agent does to the field.
    pub actuation: ActuationSection,
    /// What an agent sees of the field.
    pub observe: Observe,
    /// The policy network.
    pub policy: PolicySection,
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

fn by_name<S: serde::Serializer>(task: &Arc<Task>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&task.name)
}

/// Stands in for the task while the sections of a config are read.
fn unknown() -> Arc<Task> {
    Tasks::built_in().iter().next().expect("the library has tasks").clone()
}

impl Tasks {
    /// Reads a complete config of one of these tasks, as [`Config::to_toml`] writes it: a key that is missing
    /// is an error, because the run it describes was made with some value of it.
    pub fn read_config(&self, text: &str) -> Result<Config, ConfigError> {
        let mut given = merge::parse(text)?;
        let task = self.find(merge::task_of(&given, self)?)?;
        let mut table = task.table()?;
        if let Some(method) = merge::method_of(&given) {
            method::lay_over(&mut table, method, &task.name)?;
        }
        merge::add_later_keys(&mut given, &table);
        merge::require_all_keys(&table, &given)?;
        merge::overlay(&mut table, given)?;
        Config::finish(task, table, &[])
    }
}

impl Config {
    /// The defaults of a task of this library.
    pub fn preset(task: &str) -> Result<Config, ConfigError> {
        Config::resolve(task, None, &[])
    }

    /// The published form of a task of this library: network, loss and training as in the paper.
    pub fn paper(task: &str) -> Result<Config, ConfigError> {
        Config::resolve_method(task, Preset::Paper, "cinoc", None, &[])
    }

    /// The defaults of a task of this library, overridden by the text of a TOML file, then by `key=value`
    /// settings in their order.
    pub fn resolve(task: &str, file: Option<&str>, sets: &[String]) -> Result<Config, ConfigError> {
        Config::resolve_method(task, Preset::Default, "cinoc", file, sets)
    }

    /// The same for a preset and for a method, one of [`methods`], whose defaults are laid over those of the
    /// task.
    pub fn resolve_method(
        task: &str,
        preset: Preset,
        method: &str,
        file: Option<&str>,
        sets: &[String],
    ) -> Result<Config, ConfigError> {
        Config::of_task(Tasks::built_in().find(task)?, preset, method, file, sets)
    }

    pub(crate) fn of_task(
        task: &Arc<Task>,
        preset: Preset,
        method: &str,
        file: Option<&str>,
        sets: &[String],
    ) -> Result<Config, ConfigError> {
        let mut table = task.table()?;
        if preset == Preset::Paper {
            let paper = task.paper.ok_or_else(|| ConfigError::NoPaperPreset(task.name.clone()))?;
            merge::overlay(&mut table, merge::parse(paper)?)?;
        }
        method::lay_over(&mut table, method, &task.name)?;
        if let Some(text) = file {
            merge::overlay(&mut table, merge::parse(text)?)?;
        }
        Config::finish(task, table, sets)
    }

    /// Reads a complete config of a task of this library; see [`Tasks::read_config`].
    pub fn from_toml(text: &str) -> Result<Config, ConfigError> {
        Tasks::built_in().read_config(text)
    }

    /// This config with some settings changed.
    pub fn with_sets(&self, sets: &[String]) -> Result<Config, ConfigError> {
        Config::finish(&self.task, self.complete_table()?, sets)
    }

    /// Without what decides only how fast a training runs and how it is watched: configs that agree in this
    /// give the same policy, bit by bit.
    pub fn regardless_of_speed(&self) -> Config {
        let mut config = self.clone();
        config.train.memory_mb = 0;
        config.train.validate_every = 0;
        config.train.validation_cases = 0;
        config
    }

    /// The complete config as TOML, exact to the last bit.
    ///
    /// # Panics
    /// If an integer was set above `i64::MAX`, the largest of TOML, which [`Config::validate`] refuses.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("every integer of a checked config fits in an i64")
    }

    fn to_table(&self) -> Result<toml::Table, ConfigError> {
        toml::Table::try_from(self).map_err(|error| ConfigError::Integer(error.to_string()))
    }

    /// The same with the keys that are not written where they say nothing.
    fn complete_table(&self) -> Result<toml::Table, ConfigError> {
        Ok(merge::with_unwritten(self.to_table()?))
    }

    /// Checks every range; done by all functions that build a config, and needed again after fields were
    /// changed.
    pub fn validate(&self) -> Result<(), ConfigError> {
        validate::validate(self)
    }

    /// The table must have the keys and types of a preset, which [`merge::overlay`] keeps.
    fn finish(task: &Arc<Task>, mut table: toml::Table, sets: &[String]) -> Result<Config, ConfigError> {
        for set in sets {
            merge::overlay(&mut table, merge::parse_set(set)?)?;
        }
        table.remove("task");
        validate::ranges(task, &table)?;
        let config: Config = table.try_into().map_err(|error: toml::de::Error| ConfigError::Preset {
            task: task.name.clone(),
            message: error.message().to_string(),
        })?;
        let config = Config { task: task.clone(), ..config };
        config.validate()?;
        if task.is_own() {
            validate::equation(&config)?;
        }
        Ok(config)
    }

    /// Whether the two ends of the domain are the same point.
    pub fn periodic(&self) -> bool {
        self.task.boundary == Boundary::Periodic
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

/// Whether a setting says nothing. It is not written then, so that configs made before it existed read the
/// same.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
