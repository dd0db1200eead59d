//! Going on with a policy, validation during a training, own cases, and warnings.

mod common;

use cinoc_control::Tasks;
use cinoc_learn::files::Tensors;
use cinoc_learn::policy_file::PolicyFile;
use common::{TINY, cinoc, text, train};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Runs a command that must succeed; returns standard output and standard error.
fn done(folder: &Path, arguments: &[&str]) -> [String; 2] {
    let output = cinoc(folder, arguments);
    let texts = [text(&output.stdout), text(&output.stderr)];
    assert!(output.status.success(), "{arguments:?}: {}", texts[1]);
    texts
}

fn refused(folder: &Path, arguments: &[&str], parts: &[&str]) {
    let output = cinoc(folder, arguments);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert_eq!(message.trim_end().lines().count(), 1, "{arguments:?}: {message}");
    parts.iter().for_each(|part| assert!(message.contains(part), "no {part:?} in {message}"));
}

fn params(folder: &Path, file: &str) -> Vec<f32> {
    PolicyFile::read(&folder.join(file), Tasks::built_in()).expect("a policy").params
}

fn metrics(folder: &Path, run: &str) -> Vec<Value> {
    let lines = fs::read_to_string(folder.join(run).join("metrics.jsonl")).expect("metrics");
    lines.lines().map(|line| serde_json::from_str(line).expect("an object per line")).collect()
}

/// Cases of heat1d with bumps of random heights as targets, changed by the caller.
fn write_cases(path: &Path, count: usize, change: impl Fn(&mut Vec<f32>)) {
    let point = |i: usize| (std::f32::consts::PI * (i % 100) as f32 / 99.0).sin();
    let scaled = |scale: f32| -> Vec<f32> {
        (0..100 * count).map(|i| point(i) * (scale + (i / 100) as f32 / count as f32)).collect()
    };
    let (z0, mut zt) = (scaled(-0.5), scaled(0.5));
    // sin(pi) is not quite 0
    zt.iter_mut().skip(99).step_by(100).for_each(|z| *z = 0.0);
    change(&mut zt);
    let mut file = Tensors::default();
    file.insert("z0", &[count, 100], z0);
    file.insert("zt", &[count, 100], zt);
    file.write(path).expect("a writable folder");
}

#[test]
fn a_training_starts_from_a_policy_with_other_physics_and_agents() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert!(train(at, "heat1d", &[]).status.success());
    let other = ["--set", "physics.nu=0.4", "--set", "agents=5", "--updates", "2"];
    // steps so small that the parameters stay where they were
    let still = ["--set", "train.lr=1e-9", "--set", "train.lr_start=1e-9", "--set", "train.lr_end=1e-9"];
    let tune = [&["train", "heat1d", "--init", "run", "--out", "tuned"], &TINY[..], &other, &still].concat();
    done(at, &tune);
    let (first, tuned) = (params(at, "run/policy.safetensors"), params(at, "tuned/policy.safetensors"));
    let farthest = first.iter().zip(&tuned).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(farthest > 0.0 && farthest < 1e-6, "{farthest}");
    assert_eq!(metrics(at, "tuned")[0]["update"], 1, "the optimiser starts afresh");
    let report = fs::read_to_string(at.join("tuned/report.md")).unwrap();
    assert!(report.contains("| --init | `run/policy.safetensors` (hash "), "{report}");
    // the run holds what it needs: the first policy may go
    fs::rename(at.join("run"), at.join("elsewhere")).unwrap();
    done(at, &["train", "--resume", "tuned", "--updates", "3"]);

    let init = ["--init", "elsewhere/policy.safetensors", "--out", "other"];
    refused(
        at,
        &[&["train", "heat1d", "--preset", "paper"], &init[..]].concat(),
        &["does not fit", "observe.crowd is true there, false here", "observe.gradient is false there"],
    );
    refused(at, &[&["train", "heat2d"], &init[..]].concat(), &["the number of axes is 1 there, 2 here"]);
    refused(at, &[&["train", "heat1d", "--method", "ppo"], &init[..]].concat(), &["cinoc and dpc"]);
    assert!(!at.join("other").exists(), "a refused request leaves nothing behind");
}

#[test]
fn an_extended_run_has_the_bits_of_one_with_the_same_parts() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert!(train(at, "heat1d", &[]).status.success());
    let short = fs::read(at.join("run/policy.safetensors")).unwrap();
    refused(at, &["train", "--resume", "run", "--updates", "4"], &["6 updates", "new total"]);
    refused(at, &["train", "--resume", "run", "--seed", "4"], &["leave out --seed"]);
    refused(at, &["train", "--resume", "run", "--set", "train.lr=0.5"], &["lr = 0.003 there, lr = 0.5 here"]);
    refused(at, &["train", "fkpp1d", "--resume", "run"], &["a run of heat1d, not of fkpp1d"]);
    refused(at, &["train", "--resume", "absent"], &["holds no run"]);
    refused(at, &["train"], &["name a task", "fkpp1d"]);
    done(at, &["train", "--resume", "run", "--updates", "10"]);
    assert_eq!(fs::read(at.join("run/policy-6.safetensors")).unwrap(), short, "the earlier policy is kept");
    let rates: Vec<f64> = metrics(at, "run").iter().map(|line| line["lr"].as_f64().unwrap()).collect();
    assert!(rates.len() == 10 && rates[5] == 1e-5 && rates[6] == 1e-5 && rates[8] == 3e-3, "{rates:?}");

    let once = [&["train", "heat1d", "--out", "once", "--updates", "10"], &TINY[..]].concat();
    done(at, &[&once[..], &["--set", "train.extended_at=[6]"]].concat());
    let policy = |run: &str| fs::read(at.join(run).join("policy.safetensors")).unwrap();
    assert!(policy("run") == policy("once"));
    // the command that began the run goes on with it as well
    let begun = [&["train", "heat1d", "--out", "run", "--resume", "--updates", "10"], &TINY[..]].concat();
    done(at, &begun);
    assert!(policy("run") == policy("once"));
}

#[test]
fn a_baseline_that_is_not_finished_is_used_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let options =
        [&["train", "heat1d", "--method", "ppo", "--updates", "2", "--out", "run"], &TINY[..]].concat();
    assert!(cinoc(folder.path(), &options).status.success());
    let run = folder.path().join("run");
    // what a killed training leaves behind
    std::fs::remove_file(run.join("policy.safetensors")).unwrap();
    let output = cinoc(folder.path(), &["eval", "run", "--cases", "2"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("latest.safetensors"), "{}", text(&output.stderr));
}

#[test]
fn a_run_that_is_not_finished_is_used_from_its_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert!(train(at, "heat1d", &[]).status.success());
    let finished = done(at, &["eval", "run", "--cases", "2", "--json"])[0].clone();
    fs::remove_file(at.join("run/policy.safetensors")).unwrap();
    let [result, note] = done(at, &["eval", "run", "--cases", "2", "--json"]);
    let per_case = |text: &str| serde_json::from_str::<Value>(text).unwrap()["per_case"].clone();
    assert_eq!(per_case(&result), per_case(&finished));
    assert!(note.contains("not finished") && note.contains("after 6 of 6 updates"), "{note}");
    done(at, &["plot", "run", "--cases", "2", "--out", "pictures"]);
    let report = fs::read_to_string(at.join("pictures/report.md")).unwrap();
    assert!(report.contains("the checkpoint after 6 of 6 updates: the run is not finished"), "{report}");
    fs::write(at.join("z.csv"), "0.1\n".repeat(100)).unwrap();
    let sweep = ["sweep", "agents", "run", "--values", "x2", "--cases", "2"];
    let act = ["act", "run", "--field", "z.csv", "--target", "z.csv"];
    for command in [&sweep[..], &act] {
        let [_, note] = done(at, command);
        assert!(note.contains("after 6 of 6 updates"), "{command:?}: {note}");
    }
    fs::remove_file(at.join("run/checkpoint.safetensors")).unwrap();
    for command in [&["eval", "run"][..], &sweep, &act] {
        refused(at, command, &["not finished"]);
    }
}

#[test]
fn validation_keeps_the_best_parameters_and_changes_no_bit() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let validated = ["--set", "train.validate_every=2", "--set", "train.validation_cases=3"];
    // a rate that makes some updates worse than those before
    let rough = ["--set", "train.lr=0.05", "--set", "train.lr_start=0.05"];
    let output = train(at, "heat1d", &[&validated[..], &rough].concat());
    let told = text(&output.stdout);
    assert!(
        told.contains("training: 6 updates in ") && told.contains("best: run/best.safetensors"),
        "{told}"
    );
    let lines = metrics(at, "run");
    let losses: Vec<Option<f64>> = lines.iter().map(|line| line["validation"]["loss"].as_f64()).collect();
    let at_updates: Vec<usize> = (1..=6).filter(|update| losses[update - 1].is_some()).collect();
    assert_eq!(at_updates, [2, 4, 6]);
    let events = fs::read(at.join("run/events.out.tfevents.cinoc")).unwrap();
    assert!(events.windows(15).any(|tag| tag == b"validation/loss"));

    let best = losses.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    let last_is_best = losses[5] == Some(best);
    assert!(!last_is_best, "this training shows nothing: {losses:?}");
    let same = params(at, "run/best.safetensors") == params(at, "run/policy.safetensors");
    assert_eq!(same, last_is_best, "{losses:?}");
    let report = fs::read_to_string(at.join("run/report.md")).unwrap();
    assert!(report.contains("lowest validation loss") && report.contains("learning_curve"), "{report}");
    // the same cases from the command line have the error that the log has
    let final_error = |run: &[&str]| {
        let result: Value = serde_json::from_str(&done(at, run)[0]).unwrap();
        result["controlled"]["final"]["mean"].as_f64().unwrap()
    };
    let eval = ["eval", "run", "--cases", "3", "--json"];
    let logged = lines[5]["validation"]["final"].as_f64().unwrap();
    assert!((final_error(&eval) / logged - 1.0).abs() < 1e-6);
    let best_line = losses.iter().position(|loss| *loss == Some(best)).unwrap();
    let logged = lines[best_line]["validation"]["final"].as_f64().unwrap();
    assert!((final_error(&[&eval[..], &["--best"]].concat()) / logged - 1.0).abs() < 1e-6);

    let unwatched = [
        &["train", "heat1d", "--out", "unwatched", "--updates", "6", "--set", "train.validate_every=0"],
        &TINY[..],
        &rough,
    ]
    .concat();
    done(at, &unwatched);
    assert_eq!(params(at, "unwatched/policy.safetensors"), params(at, "run/policy.safetensors"));
    assert!(metrics(at, "unwatched").iter().all(|line| line.get("validation").is_none()));
    refused(at, &["eval", "unwatched", "--best"], &["best.safetensors", "train.validate_every"]);
}

#[test]
fn own_cases_are_trained_on_and_must_stay_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_cases(&at.join("mine.safetensors"), 6, |_| {});
    write_cases(&at.join("others.safetensors"), 4, |_| {});
    let own = ["--cases", "mine.safetensors", "--validation", "others.safetensors"];
    let output = train(at, "heat1d", &own);
    let [told, warned] = [text(&output.stdout), text(&output.stderr)];
    assert!(output.status.success() && warned.is_empty(), "{warned}");
    assert!(told.contains("heat1d with 8 agents, 4 cases of others.safetensors"), "{told}");
    let report = fs::read_to_string(at.join("run/report.md")).unwrap();
    assert!(report.contains("--cases mine.safetensors --validation others.safetensors"), "{report}");
    let drawn = [&["train", "heat1d", "--out", "drawn", "--updates", "6"], &TINY[..]].concat();
    done(at, &drawn);
    assert_ne!(params(at, "drawn/policy.safetensors"), params(at, "run/policy.safetensors"));

    done(at, &["train", "--resume", "run", "--updates", "7"]);
    refused(at, &["train", "--resume", "drawn", "--cases", "mine.safetensors"], &["began without --cases"]);
    write_cases(&at.join("mine.safetensors"), 6, |zt| zt[50] = 0.123);
    refused(at, &["train", "--resume", "run"], &["mine.safetensors", "contents have changed"]);
    fs::remove_file(at.join("mine.safetensors")).unwrap();
    refused(at, &["train", "--resume", "run"], &["mine.safetensors", "not found"]);
    refused(at, &["train", "heat1d", "--cases", "absent", "--out", "none"], &["absent", "not found"]);
    assert!(!at.join("none").exists());
}

#[test]
fn targets_that_the_task_cannot_hold_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_cases(&at.join("mine.safetensors"), 3, |zt| zt[100] = 0.5);
    let output = train(at, "heat1d", &["--cases", "mine.safetensors"]);
    let warned = text(&output.stderr);
    let wall = "mine.safetensors: the target of case 1 is not 0 at the boundary";
    assert!(warned.contains(wall) && warned.contains("give --validation FILE"), "{warned}");
    let [_, warned] = done(at, &["eval", "run", "--cases", "mine.safetensors"]);
    assert!(warned.contains(wall), "{warned}");
}

#[test]
fn contradictory_settings_and_saturated_actions_are_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let warned = |out: &str, sets: &[&str]| {
        let sets: Vec<&str> = sets.iter().flat_map(|set| ["--set", *set]).collect();
        done(at, &[&["train", "heat1d", "--updates", "6", "--out", out], &TINY[..], &sets].concat())[1]
            .clone()
    };
    let warm_up = warned("a", &["train.warmup=6"]);
    assert_eq!(warm_up.matches("warning:").count(), 1, "{warm_up}");
    assert!(warm_up.contains("train.warmup = 6"), "{warm_up}");
    assert!(warned("b", &["train.lr_end=1"]).contains("train.lr_end = 1.0 is above train.lr"));
    assert!(warned("c", &["loss.track=0", "loss.terminal=0"]).contains("asks to reach the target"));
    let saturated = warned("d", &["train.lr=3", "train.lr_start=3", "loss.effort_u=0", "actuation.u_max=1"]);
    assert!(saturated.contains("at their bound most of the time"), "{saturated}");
}

#[test]
fn a_spin_up_that_blows_up_is_told_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let blow_up = ["--set", "time.dt=7", "--set", "data.spin_up=2000"];
    let output = train(folder.path(), "ks1d", &blow_up);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    let told = ["in the spin-up, before any control", "try a smaller time.dt"];
    told.iter().for_each(|part| assert!(message.contains(part), "no {part:?} in {message}"));
    assert!(!message.contains("number of agents"), "{message}");
}
