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
pub mod view;

use crate::failure::Failure;
use crate::terminal::say;
use cinoc_adjoint::Threads;
use cinoc_lab::report::shell_word;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The threads of this command: as many as were asked for, or one per core.
fn threads(asked: Option<usize>) -> Result<Threads, Failure> {
    Ok(asked.map_or_else(Threads::all, Threads::new)?)
}

/// The name of this command line.
fn program() -> String {
    let path = std::env::args_os().next().map(PathBuf::from);
    path.as_deref()
        .and_then(Path::file_stem)
        .map_or("cinoc".into(), |name| name.to_string_lossy().into_owned())
}

/// The command as it was given, to be repeated. A training that was resumed is repeated from its start.
fn given_command() -> String {
    let arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    let words = arguments.filter(|argument| argument != "--resume").map(|argument| shell_word(&argument));
    std::iter::once(program()).chain(words).collect::<Vec<_>>().join(" ")
}

/// Prints one JSON object.
fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let value: Value = serde_json::to_value(value).map_err(|error| Failure::Run(error.to_string()))?;
    say!("{value}");
    Ok(())
}
