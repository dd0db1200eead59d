//! The examples are crates outside the workspace: they build from any folder, and have every command.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Builds a copy of an example in `folder`, which has nothing to do with the repository but a path to it.
fn build(name: &str, folder: &Path) -> PathBuf {
    let (root, here) = (fs::canonicalize(ROOT).unwrap(), folder.join(name));
    let example = root.join("examples").join(name);
    fs::create_dir_all(here.join("src")).unwrap();
    fs::copy(example.join("src/main.rs"), here.join("src/main.rs")).unwrap();
    let manifest = fs::read_to_string(example.join("Cargo.toml")).unwrap();
    let path = format!("path = {:?}", root.join("crates/cinoc"));
    fs::write(here.join("Cargo.toml"), manifest.replace("path = \"../../crates/cinoc\"", &path)).unwrap();
    // the versions and the profile of the workspace, so that nothing is compiled twice
    fs::copy(root.join("Cargo.lock"), here.join("Cargo.lock")).unwrap();
    let target = root.join("target");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--quiet"]).current_dir(&here);
    cargo.arg("--config").arg(root.join(".cargo/config.toml")).arg("--target-dir").arg(&target);
    let built = cargo.output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    target.join("release").join(name)
}

fn run(program: &Path, folder: &Path, arguments: &str) -> Output {
    let mut command = Command::new(program);
    command.args(arguments.split(' ')).current_dir(folder).env("CINOC_CACHE", folder.join("cache"));
    command.output().unwrap()
}

/// Runs every command of an example, with small settings.
fn every_command(name: &str, own_key: &str, small: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (program, at) = (build(name, folder.path()), folder.path());
    let done = |arguments: &str| {
        let output = run(&program, at, arguments);
        let (text, errors) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success(), "{arguments}: {errors}");
        text
    };
    assert!(done("tasks").contains(name));
    assert!(done(&format!("tasks {name}")).contains(own_key));
    done(&format!("check-gradients {name}"));
    done(&format!("train {name} --updates 2 --out run {small}"));
    assert!(fs::read_to_string(at.join("run/report.md")).unwrap().contains("## Figures"));
    let fewer = done("eval run --agents 5 --cases 2 --json");
    assert!(fewer.contains("\"agents\":5"), "{fewer}");
    done("plot run --cases 2 --out again");
    done("sweep physics run --values x1,x1.1 --cases 2");
    done(&format!("bench {name} --repeat 1 {}", small.replace("--set data.pool=8 ", "")));
    done(&format!(
        "train {name} --method ppo --updates 1 --out ppo --set method.on_policy.horizon=4 {small}"
    ));
    // what others train is not theirs, and a wrong setting is refused in one line
    let refused = run(&program, at, "train heat1d");
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8(refused.stderr).unwrap().contains(&format!("did you mean {name:?}?")));
    let refused = run(&program, at, &format!("train {name} --preset paper"));
    assert!(String::from_utf8(refused.stderr).unwrap().contains("has no published form"));
}

#[test]
fn burgers_has_every_command() {
    every_command("burgers", "length = 0.3", "--set data.pool=8 --set time.steps=10 --set train.batch=2");
}

#[test]
fn gray_scott_has_every_command() {
    let small = "--set data.pool=8 --set data.spin_up=5 --set time.steps=4 --set train.batch=2";
    every_command("gray-scott", "spots = 4", small);
}

#[test]
fn examples_are_short() {
    for name in ["burgers", "gray-scott"] {
        let text = fs::read_to_string(format!("{ROOT}/examples/{name}/src/main.rs")).unwrap();
        let lines = text.lines().count();
        assert!(lines <= 150, "{name} has {lines} lines");
    }
}
