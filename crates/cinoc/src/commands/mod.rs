//! The commands, one file each, and what several of them share.

pub mod act;
pub mod bench;
pub mod check_gradients;
pub mod eval;
pub mod plot;
pub mod reproduce;
pub mod subject;
pub mod sweep;
pub mod tasks;
pub mod trace;
pub mod train;
pub mod verify;

use crate::failure::Failure;
use serde_json::Value;
use std::io::Write;

/// Threads to use: what was asked for, or all there are.
fn threads(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Prints one JSON object.
fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let value: Value = serde_json::to_value(value).map_err(|error| Failure::Run(error.to_string()))?;
    // a pager that is closed early is no failure
    let _ = writeln!(std::io::stdout(), "{value}");
    Ok(())
}
