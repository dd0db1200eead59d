//! What can be wrong with a config, each in one line.

use thiserror::Error;

/// Why a config was refused.
///
/// ```
/// use cinoc_control::Config;
///
/// let error = Config::preset("heat").unwrap_err();
/// assert!(error.to_string().contains("did you mean \"heat1d\"?"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// No task of that name.
    #[error("unknown task {task:?}; did you mean {nearest:?}? tasks: {known}")]
    UnknownTask {
        /// What was asked for.
        task: String,
        /// The task with the most similar name.
        nearest: String,
        /// All names, separated by commas.
        known: String,
    },
    /// No method of that name.
    #[error("unknown method {method:?}; methods: {known}")]
    UnknownMethod {
        /// What was asked for.
        method: String,
        /// All names, separated by commas.
        known: String,
    },
    /// The task was never published.
    #[error("{0} has no published form; leave --preset paper out")]
    NoPaperPreset(String),
    /// The preset of a task cannot be used.
    #[error("the preset of {task} is wrong: {message}")]
    Preset {
        /// The task.
        task: String,
        /// What is wrong.
        message: String,
    },
    /// A task that nothing can be run with.
    #[error("the task {task} is wrong: {message}")]
    Task {
        /// The task.
        task: String,
        /// What is wrong, and what it must be.
        message: String,
    },
    /// A whole number that cannot be written to a file.
    #[error("a whole number of the config is too large, the largest is {largest}: {0}", largest = i64::MAX)]
    Integer(String),
    /// The equation of a task cannot be made with these settings.
    #[error("the equation of {task} failed: {message}")]
    Equation {
        /// The task.
        task: String,
        /// What went wrong, and where.
        message: String,
    },
    /// The text is not TOML.
    #[error("line {line}, column {column}: not valid TOML: {message}")]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What the parser said.
        message: String,
    },
    /// A setting that is not of the form `key=value`.
    #[error("setting {0:?}: must be key=value, such as train.lr=0.001")]
    NotASetting(String),
    /// The task has no such key.
    #[error("unknown key {key:?} for {task}{elsewhere}; nearest valid key: {nearest}")]
    UnknownKey {
        /// What was given.
        key: String,
        /// The task.
        task: String,
        /// The most similar key of the task.
        nearest: String,
        /// Other tasks that have the key, as the end of a phrase; empty if there are none.
        elsewhere: String,
    },
    /// A complete config lacks a key.
    #[error("missing key {key}: a complete config of {task} needs it (default {default})")]
    MissingKey {
        /// The key.
        key: String,
        /// The task.
        task: String,
        /// Its value in the preset.
        default: String,
    },
    /// A complete config without a task.
    #[error("missing key task: a complete config names one of {0}")]
    MissingTask(String),
    /// The settings belong to another task.
    #[error(
        "task = {found:?}: these settings are for another task than the {asked:?} asked for; use one task \
         in both"
    )]
    OtherTask {
        /// The task of the settings.
        found: String,
        /// The task asked for.
        asked: String,
    },
    /// A section where a value was given.
    #[error("{section} = {value}: {section} is a section; set its keys, such as {section}.{example}")]
    Section {
        /// The section.
        section: String,
        /// What was given.
        value: String,
        /// One of its keys.
        example: String,
    },
    /// A value of the wrong type.
    #[error("{key} = {value}: must be {wanted}, such as {example}")]
    Type {
        /// The key.
        key: String,
        /// What was given.
        value: String,
        /// The type, in words.
        wanted: &'static str,
        /// A value that is right.
        example: String,
    },
    /// A word that is not one of the choices.
    #[error("{key} = {value:?}: must be one of {allowed}")]
    Choice {
        /// The key.
        key: String,
        /// What was given.
        value: String,
        /// The choices, separated by commas.
        allowed: String,
    },
    /// A number outside its range.
    #[error("{key} = {value}: must be {allowed}")]
    Range {
        /// The key.
        key: String,
        /// What was given.
        value: String,
        /// The range, and the remedy where it is not obvious.
        allowed: String,
    },
}

impl ConfigError {
    /// Refuses the value of a key unless something holds; `allowed` says what must.
    pub fn unless(
        holds: bool,
        key: &str,
        value: impl std::fmt::Debug,
        allowed: impl FnOnce() -> String,
    ) -> Result<(), ConfigError> {
        if holds {
            return Ok(());
        }
        Err(ConfigError::Range { key: key.to_string(), value: format!("{value:?}"), allowed: allowed() })
    }
}
