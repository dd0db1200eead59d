//! Bad input gets one clear line on standard error and the right exit code, and nothing is overwritten.

mod common;

use common::{refused, text, train};
use std::fs;

#[test]
fn settings() {
    let folder = tempfile::tempdir().unwrap();
    let train =
        |set: &str, parts: &[&str]| refused(folder.path(), &["train", "fkpp1d", "--set", set], 2, parts);
    train("actuation.sgima=0.1", &["unknown key", "actuation.sigma"]);
    train("loss.trakc=1", &["unknown key", "loss.track"]);
    train("agents=many", &["agents", "whole number"]);
    train("time.steps=1.5", &["time.steps", "1.5"]);
    train("actuation.sigma=-0.1", &["actuation.sigma = -0.1", "must be"]);
    train("observe.window=200", &["observe.window = 200", "100"]);
    train("agents=0", &["agents = 0", "must be"]);
    train("nonsense", &["nonsense", "key=value"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was made");
}

#[test]
fn tasks_and_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    refused(at, &["train", "fkpp"], 2, &["unknown task", "fkpp1d"]);
    refused(at, &["train", "fkpp1d", "-c", "absent.toml"], 2, &["absent.toml"]);
    fs::write(at.join("bad.toml"), "agents = = 3").unwrap();
    refused(at, &["train", "fkpp1d", "-c", "bad.toml"], 2, &["bad.toml", "line 1"]);
    fs::write(at.join("heat.toml"), "task = \"heat1d\"\nagents = 3").unwrap();
    refused(at, &["train", "fkpp1d", "-c", "heat.toml"], 2, &["heat1d", "fkpp1d"]);
    refused(at, &["eval", "absent.safetensors"], 2, &["absent.safetensors", "not found"]);
    refused(at, &["verify", "absent.safetensors"], 2, &["absent.safetensors"]);
    fs::create_dir(at.join("empty")).unwrap();
    refused(at, &["eval", "empty"], 2, &["holds no run"]);
}

#[test]
fn more_threads_than_the_system_can_start() {
    let folder = tempfile::tempdir().unwrap();
    for command in [&["train", "heat1d"][..], &["bench", "heat1d"], &["reproduce", "theory", "--quick"]] {
        let arguments = [command, &["--threads", "1000000"]].concat();
        refused(folder.path(), &arguments, 2, &["1000000 threads", "ask for fewer"]);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was made");
}

#[test]
fn an_out_folder_that_cannot_be_made() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "precious").unwrap();
    refused(folder.path(), &["train", "heat1d", "--out", "file/run"], 2, &["file/run"]);
    assert_eq!(fs::read_to_string(folder.path().join("file")).unwrap(), "precious");
}

#[test]
fn damaged_policies_and_cases() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert!(train(at, "heat1d", &[]).status.success());
    let policy = fs::read(at.join("run/policy.safetensors")).unwrap();
    fs::write(at.join("short"), &policy[..policy.len() / 2]).unwrap();
    refused(at, &["eval", "short"], 2, &["short", "cut short"]);
    let mut flipped = policy.clone();
    let middle = flipped.len() - 1000;
    flipped[middle] ^= 0x10;
    fs::write(at.join("flipped"), &flipped).unwrap();
    refused(at, &["eval", "flipped"], 2, &["flipped", "checksum"]);
    fs::write(at.join("text"), "hello").unwrap();
    refused(at, &["eval", "text"], 2, &["text"]);
    // a checkpoint is not a policy
    refused(at, &["eval", "run/checkpoint.safetensors"], 2, &["checkpoint", "must be cinoc policy"]);

    let mut cases = cinoc_learn::files::Tensors::default();
    let mut z0 = vec![0.0f32; 200];
    cases.insert("zt", &[2, 100], z0.clone());
    z0[150] = f32::NAN;
    cases.insert("z0", &[2, 100], z0);
    cases.write(&at.join("nan")).unwrap();
    refused(at, &["eval", "run", "--cases", "nan"], 2, &["\"z0\"", "index 150"]);
    cases.insert("z0", &[2, 50], vec![0.0f32; 100]);
    cases.write(&at.join("small")).unwrap();
    refused(at, &["eval", "run", "--cases", "small"], 2, &["[2, 50]", "100 grid points"]);
    refused(at, &["eval", "run", "--cases", "absent"], 2, &["absent"]);
    refused(at, &["eval", "run", "--cases", "0"], 2, &["at least 1"]);
    refused(at, &["eval", "run", "--fail", "half"], 2, &["SHARE@STEP"]);
    refused(at, &["eval", "run", "--fail", "1.5@0"], 2, &["failure.share"]);
    refused(at, &["eval", "run", "--agents", "0"], 2, &["agents = 0"]);
    refused(at, &["eval", "run", "--set", "policy.fusion=product"], 2, &["network"]);
    refused(at, &["eval", "run", "--set", "task=fkpp1d"], 2, &["task"]);
}

#[test]
fn a_damaged_checkpoint_is_not_resumed_and_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert!(train(at, "heat1d", &[]).status.success());
    let path = at.join("run/checkpoint.safetensors");
    let damaged = fs::read(&path).unwrap()[..5000].to_vec();
    fs::write(&path, &damaged).unwrap();
    let output = train(at, "heat1d", &["--resume"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("cut short"), "{}", text(&output.stderr));
    assert_eq!(fs::read(&path).unwrap(), damaged);
}

#[test]
fn divergence_stops_with_the_step_and_keeps_the_last_good_state() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // actuation far beyond what single precision can square
    let output = train(
        at,
        "heat1d",
        &["--set", "actuation.u_max=1e12", "--set", "loss.track=1e12", "--set", "loss.effort_u=1e12"],
    );
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("heat1d diverged in update 1") && message.contains("step"), "{message}");
    assert!(at.join("run/checkpoint.safetensors").exists());
    assert!(!at.join("run/policy.safetensors").exists());
}

/// They would fight for one run directory.
#[cfg(not(feature = "mpi"))]
#[test]
fn several_processes_of_a_program_without_mpi_are_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let launched = |rank: &str, more: &[(&str, &str)]| {
        let mut command = common::command(folder.path(), &["tasks"]);
        let launcher = [("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", rank)];
        command.envs(launcher).envs(more.iter().copied()).output().unwrap()
    };
    let first = launched("0", &[]);
    let message = common::text(&first.stderr);
    assert_eq!((first.status.code(), message.lines().count()), (Some(2), 1), "{message}");
    assert!(message.contains("mpirun starts 4 processes") && message.contains("--features mpi"), "{message}");
    let second = launched("1", &[]);
    assert_eq!((second.status.code(), second.stderr.len()), (Some(2), 0), "one of them speaks");
    assert!(launched("1", &[("CINOC_MPI", "off")]).status.success(), "each has work of its own");
}
