//! Figures and reports of runs.
//!
//! The way of the data: rollouts of some cases ([`evaluated`], on a rectangle [`run_2d`]) and the log of a training ([`training_log`]) become [`figures`];
//! figures, tables and the settings that a run changed ([`settings`]) become a [`report`].

pub mod evaluated;
pub mod figures;
mod over_cases;
pub mod published;
pub mod report;
pub mod run_2d;
pub mod settings;
pub mod training_log;

pub use evaluated::Evaluated;
pub use report::{ReportError, write_report};
