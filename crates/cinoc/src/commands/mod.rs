//! The commands, one file each, and what several of them share.

pub mod act;
pub mod bench;
pub mod check_gradients;
pub mod eval;
pub mod export;
pub mod plot;
pub mod record;
pub mod reproduce;
pub mod sweep;
pub mod tasks;
pub mod trace;
pub mod train;
pub mod verify;
pub mod view;

use crate::arguments::Subject;
use crate::failure::Failure;
use crate::terminal::say;
use crate::work::Watcher;
use crate::work::subject::{CasesFrom, Circumstances, Loaded, Resolved, load_policy, resolve};
use cinoc_control::Tasks;
use cinoc_lab::report::shell_word;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The policy of a request, and under which circumstances it is used.
fn resolved(subject: &Subject, tasks: &Tasks, watcher: &dyn Watcher) -> Result<(Loaded, Resolved), Failure> {
    let loaded = load_policy(&subject.policy, subject.best, tasks, watcher)?;
    let circumstances = Circumstances {
        agents: subject.agents,
        sets: subject.sets.clone(),
        fail: subject.fail.clone(),
        cases: CasesFrom::Named(subject.cases.clone()),
        threads: crate::work::threads(subject.on.threads, subject.on.device)?,
    };
    let resolved = resolve(&loaded.policy.config, &circumstances, watcher)?;
    Ok((loaded, resolved))
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
