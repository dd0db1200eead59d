//! The commands of docs/first-day.md, in their order: each succeeds, or fails as the page says.

#![cfg(unix)] // the folder of the commands has links to the repository

mod common;

use common::{cinoc, text};
use std::path::Path;

const PAGE: &str = include_str!("../../../docs/first-day.md");

/// A command of the page, and how it ends.
struct Line<'a> {
    words: Vec<&'a str>,
    code: i32,
    message: &'a str,
}

fn lines() -> Vec<Line<'static>> {
    let commands = PAGE.lines().filter_map(|line| line.strip_prefix("$ cinoc "));
    commands
        .map(|line| {
            let (command, ending) = line.split_once(" # exit ").unwrap_or((line, "0: "));
            let (code, message) = ending.split_once(": ").expect("an exit code and a message");
            Line { words: command.split_whitespace().collect(), code: code.parse().expect("a code"), message }
        })
        .collect()
}

#[test]
fn every_command_of_the_page_ends_as_it_says() {
    let lines = lines();
    assert!(lines.len() >= 30, "{}", lines.len());
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for name in ["policies", "crates"] {
        std::os::unix::fs::symlink(root.join(name), folder.path().join(name)).unwrap();
    }
    for Line { words, code, message } in lines {
        let output = cinoc(folder.path(), &words);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "cinoc {}: {said}", words.join(" "));
        assert!(said.contains(message), "cinoc {}: {said}", words.join(" "));
        assert!(code != 0 || !output.stdout.is_empty(), "cinoc {} says nothing", words.join(" "));
    }
    for file in [
        "rollouts.safetensors",
        "runs/first/report.md",
        "runs/first/plots/agents=16,cases=4/report.md",
        "figures/figures",
        "sweep",
    ] {
        assert!(folder.path().join(file).exists(), "{file}");
    }
}
