//! Figures and reports of runs, and experiments with many of them.
//!
//! The way of the data: rollouts of some cases ([`evaluated`], on a rectangle [`run_2d`]) and the log of a
//! training ([`training_log`]) become [`figures`]; figures, tables and the settings that a run changed
//! ([`settings`]) become a [`report`]. An experiment ([`experiments`]) asks a [`workshop`] for policies and
//! measurements and turns them into [`results`]; so does a [`sweep`] of one policy. [`open_loop`] finds how
//! good any policy could be.

pub mod evaluated;
pub mod experiments;
pub mod figures;
pub mod intervals;
pub mod numbers;
pub mod open_loop;
mod over_cases;
pub mod published;
pub mod report;
pub mod results;
pub mod run_2d;
pub mod settings;
pub mod sweep;
pub mod training_log;
pub mod workshop;

pub use evaluated::Evaluated;
pub use report::{Report, ReportError};
