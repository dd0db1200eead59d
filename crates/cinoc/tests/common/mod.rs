//! Running the real binary.
#![allow(dead_code)] // every test file uses some of it

use std::path::Path;
use std::process::{Command, Output};

/// Settings that make a training take a second.
pub const TINY: [&str; 10] = [
    "--set",
    "time.steps=20",
    "--set",
    "train.batch=4",
    "--set",
    "data.pool=16",
    "--set",
    "train.checkpoint_every=2",
    "--set",
    "train.warmup=2",
];

/// `cinoc` with arguments, in a folder.
pub fn cinoc(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().expect("the binary runs")
}

/// The same, not yet started.
pub fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cinoc"));
    command.args(arguments).current_dir(folder).env("CINOC_CACHE", folder.join("cache"));
    command
}

/// Trains a tiny policy into `run` and returns its output.
pub fn train(folder: &Path, task: &str, more: &[&str]) -> Output {
    let arguments = [&["train", task, "--out", "run", "--updates", "6"], &TINY[..], more].concat();
    cinoc(folder, &arguments)
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is text")
}

/// Runs a command that must be refused, with every part of the message given.
pub fn refused(folder: &Path, arguments: &[&str], code: i32, parts: &[&str]) {
    let output = cinoc(folder, arguments);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
    assert_eq!(message.trim_end().lines().count(), 1, "{arguments:?}: {message}");
    assert!(!message.contains("panicked"), "{message}");
    for part in parts {
        assert!(message.contains(part), "{arguments:?}: no {part:?} in {message}");
    }
}
