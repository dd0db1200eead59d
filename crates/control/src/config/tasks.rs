//! The tasks and their presets.

use super::error::ConfigError;

/// A task one can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskInfo {
    /// Its name in configs and on the command line.
    pub name: &'static str,
    /// What it is about, in one line.
    pub title: &'static str,
    /// Its defaults, as TOML with a comment for every key.
    pub preset: &'static str,
    /// What is other in the published form.
    pub paper: &'static str,
}

/// Which defaults a config starts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    /// What controls best, with any number of agents.
    #[default]
    Default,
    /// Network, loss and training as published.
    Paper,
}

const TASKS: &[TaskInfo] = &[
    TaskInfo {
        name: "density2d",
        title: "density in a box: mobile agents stir it to a target",
        preset: include_str!("../../presets/density2d.toml"),
        paper: include_str!("../../presets/paper/density2d.toml"),
    },
    TaskInfo {
        name: "fkpp1d",
        title: "Fisher-KPP reaction-diffusion: mobile agents track a target profile",
        preset: include_str!("../../presets/fkpp1d.toml"),
        paper: include_str!("../../presets/paper/fkpp1d.toml"),
    },
    TaskInfo {
        name: "heat1d",
        title: "heat equation: mobile agents track a target profile",
        preset: include_str!("../../presets/heat1d.toml"),
        paper: include_str!("../../presets/paper/heat1d.toml"),
    },
    TaskInfo {
        name: "heat2d",
        title: "heat in a square: mobile agents track a target field",
        preset: include_str!("../../presets/heat2d.toml"),
        paper: include_str!("../../presets/paper/heat2d.toml"),
    },
    TaskInfo {
        name: "heat2d-obstacles",
        title: "heat in a square: the same around discs that agents may not enter",
        preset: include_str!("../../presets/heat2d-obstacles.toml"),
        paper: include_str!("../../presets/paper/heat2d-obstacles.toml"),
    },
    TaskInfo {
        name: "ks1d",
        title: "Kuramoto-Sivashinsky: static agents bring chaos to rest",
        preset: include_str!("../../presets/ks1d.toml"),
        paper: include_str!("../../presets/paper/ks1d.toml"),
    },
    TaskInfo {
        name: "ks2d",
        title: "Kuramoto-Sivashinsky in 2D: static agents bring chaos to rest",
        preset: include_str!("../../presets/ks2d.toml"),
        paper: include_str!("../../presets/paper/ks2d.toml"),
    },
    TaskInfo {
        name: "turb2d",
        title: "decaying turbulence: static agents bring the flow to rest",
        preset: include_str!("../../presets/turb2d.toml"),
        paper: include_str!("../../presets/paper/turb2d.toml"),
    },
];

/// All tasks, in alphabetical order.
pub fn tasks() -> &'static [TaskInfo] {
    TASKS
}

/// The names of all tasks, separated by commas.
pub(super) fn names() -> String {
    TASKS.iter().map(|task| task.name).collect::<Vec<_>>().join(", ")
}

/// The preset of a task as a table.
pub(super) fn preset(name: &str) -> Result<toml::Table, ConfigError> {
    match TASKS.iter().find(|task| task.name == name) {
        Some(task) => Ok(task.preset.parse().expect("presets are valid TOML")),
        None => {
            let nearest = TASKS.iter().min_by_key(|task| strsim::damerau_levenshtein(task.name, name));
            Err(ConfigError::UnknownTask {
                task: name.to_string(),
                nearest: nearest.expect("there are tasks").name,
                known: names(),
            })
        }
    }
}

/// What the published form of a task has otherwise.
pub(super) fn paper(name: &str) -> Result<toml::Table, ConfigError> {
    preset(name)?;
    let task = TASKS.iter().find(|task| task.name == name).expect("it has a preset");
    Ok(task.paper.parse().expect("presets are valid TOML"))
}
