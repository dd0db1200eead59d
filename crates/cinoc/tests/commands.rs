//! The commands' JSON, which other tools rely on, and what a run leaves behind.

mod common;

use common::{cinoc, refused, text, train};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let output = cinoc(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

fn golden(name: &str) -> String {
    format!("{}/../learn/tests/golden/{name}.safetensors", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_run_leaves_its_files_and_can_be_evaluated() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let output = train(at, "fkpp1d", &["--seed", "3"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for file in ["config.toml", "metrics.jsonl", "checkpoint.safetensors", "policy.safetensors", "report.md"]
    {
        assert!(at.join("run").join(file).exists(), "{file}");
    }
    assert!(
        fs::read_dir(at.join("run")).unwrap().any(|f| f
            .unwrap()
            .file_name()
            .to_string_lossy()
            .contains("tfevents"))
    );
    let line = fs::read_to_string(at.join("run/metrics.jsonl")).unwrap();
    let first: Value = serde_json::from_str(line.lines().next().unwrap()).unwrap();
    for key in ["update", "loss", "terms", "gradient_norm", "parameter_norm", "lr", "updates_per_s"] {
        assert!(first.get(key).is_some(), "{key}");
    }

    let result = json(at, &["eval", "run", "--agents", "7", "--cases", "3", "--json"]);
    let mut expected =
        vec!["agents", "cases", "controlled", "effort", "per_case", "seconds", "task", "uncontrolled"];
    expected.extend(["cases_from", "measure", "relative_to_trained", "seed", "settings", "trained_agents"]);
    expected.sort_unstable();
    assert_eq!(keys(&result), expected);
    let per_case: Vec<f64> =
        result["per_case"].as_array().unwrap().iter().map(|error| error.as_f64().unwrap()).collect();
    let mean = result["controlled"]["final"]["mean"].as_f64().unwrap();
    assert_eq!(per_case.len(), 3);
    assert!((per_case.iter().sum::<f64>() / 3.0 - mean).abs() < 1e-12 * mean);
    assert_eq!((result["agents"].as_u64(), result["cases"].as_u64()), (Some(7), Some(3)));
    assert_eq!(keys(&result["controlled"]), ["final", "time_mean"]);
    assert_eq!(keys(&result["controlled"]["final"]), ["mean", "std"]);
    assert_eq!(keys(&result["effort"]), ["mean_u2", "sum_u2"]);

    // the policy file alone does the same as the run
    let again = json(at, &["eval", "run/policy.safetensors", "--agents", "7", "--cases", "3", "--json"]);
    assert_eq!(result["controlled"], again["controlled"]);
    // all agents failed: as if there were none
    let failed = json(at, &["eval", "run", "--fail", "1.0@0", "--cases", "3", "--json"]);
    assert_eq!(failed["controlled"]["final"], failed["uncontrolled"]["final"]);
    assert_eq!(failed["effort"]["mean_u2"].as_f64(), Some(0.0));
    let paper = json(at, &["eval", "run", "--cases", "paper", "--set", "time.steps=5", "--json"]);
    assert_eq!(paper["cases"].as_u64(), Some(50));
    // test cases are others than those of validation
    let test = json(at, &["eval", "run", "--agents", "7", "--cases", "test:3", "--json"]);
    assert_ne!(test["uncontrolled"], result["uncontrolled"]);
    let refused = cinoc(at, &["eval", "run", "--cases", "test:many"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("must be test:N"), "{}", text(&refused.stderr));
    // the others notice a failure, or do not
    let fail = ["eval", "run", "--fail", "0.5@0", "--cases", "3", "--json"];
    let unseen = json(at, &[&fail[..], &["--set", "failure.seen=false"]].concat());
    assert_ne!(json(at, &fail)["per_case"], unseen["per_case"]);

    let plotted = cinoc(at, &["plot", "run", "--cases", "2", "--out", "pictures"]);
    assert!(plotted.status.success(), "{}", text(&plotted.stderr));
    assert!(at.join("pictures/report.md").exists());
    let animated = cinoc(at, &["plot", "run", "--cases", "2", "--animate", "--out", "film"]);
    assert_eq!(animated.status.code(), Some(2));
    let message = text(&animated.stderr);
    assert!(message.contains("animations are for 2D tasks; fkpp1d is on an interval"), "{message}");
    assert!(!at.join("film").exists(), "a refused request leaves nothing behind");
}

#[test]
fn bench_verify_and_check_gradients_print_their_objects() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let bench = json(
        at,
        &[
            "bench",
            "heat1d",
            "--batch",
            "2",
            "--threads",
            "1",
            "--repeat",
            "1",
            "--set",
            "time.steps=3",
            "--json",
        ],
    );
    assert_eq!(
        keys(&bench),
        [
            "agents",
            "batch",
            "decision_us_p50",
            "decision_us_p99",
            "device",
            "dtype",
            "env_steps_per_s",
            "forward_s",
            "gflops",
            "peak_rss_mb",
            "peak_share",
            "steps",
            "task",
            "threads",
            "update_s"
        ]
    );
    let several = ["bench", "heat1d", "--agents", "3,500", "--json"];
    let decisions = json(at, &[&several[..], &["--decision", "--decisions", "4", "--threads", "2"]].concat());
    assert_eq!(keys(&decisions), ["dtype", "rows", "task"]);
    let rows = decisions["rows"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["agents"].as_u64()).collect::<Vec<_>>(), [Some(3), Some(500)]);
    assert_eq!(
        keys(&rows[1]),
        ["agents", "count", "p50_us", "p999_us", "p99_us", "threads", "us_per_agent", "waits", "worst_us"]
    );
    assert_eq!((rows[1]["count"].as_u64(), rows[1]["threads"].as_u64()), (Some(4), Some(2)));
    let refused = cinoc(at, &several);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        text(&refused.stderr).contains("several --agents go with --decision"),
        "{}",
        text(&refused.stderr)
    );
    let verified = json(at, &["verify", &golden("heat1d"), "--json"]);
    assert_eq!(keys(&verified), ["errors", "file", "max_error", "ok", "task"]);
    assert_eq!(verified["ok"], Value::Bool(true));
    for task in ["fkpp1d", "heat1d", "ks1d"] {
        let check = json(at, &["check-gradients", task, "--json"]);
        assert_eq!(keys(&check), ["max_rel_error", "task"]);
        assert!(check["max_rel_error"].as_f64().unwrap() < 1e-6);
    }
    let tasks = json(at, &["tasks", "--json"]);
    assert_eq!(tasks["tasks"].as_array().unwrap().len(), 8);
}

#[test]
fn a_policy_of_an_earlier_version_does_what_it_did() {
    let folder = tempfile::tempdir().unwrap();
    let old = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/fkpp1d-of-version-0.1.safetensors");
    let result = json(folder.path(), &["eval", old, "--cases", "paper", "--json"]);
    // what version 0.1 printed
    let mean = result["controlled"]["final"]["mean"].as_f64().unwrap();
    assert!((mean / 2.0e-5 - 1.0).abs() < 0.03, "{mean}");
}

#[test]
fn the_published_form_is_trained_on_request() {
    let folder = tempfile::tempdir().unwrap();
    assert!(train(folder.path(), "heat1d", &["--preset", "paper"]).status.success());
    let config = fs::read_to_string(folder.path().join("run/config.toml")).unwrap();
    for line in ["crowd = false", "share = \"none\"", "schedule = \"exponential\"", "sampling = \"cell\""] {
        assert!(config.contains(line), "{line} in {config}");
    }
}

#[test]
fn a_wrong_golden_file_fails() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = cinoc_learn::files::Tensors::read(Path::new(&golden("ks1d"))).unwrap();
    if let cinoc_learn::files::Data::F64(values) = &mut file.tensors.get_mut("u_traj").unwrap().data {
        values[3] += 1e-6;
    }
    file.write(&folder.path().join("wrong")).unwrap();
    let output = cinoc(folder.path(), &["verify", "wrong", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["ok"], Value::Bool(false));
    assert!(result["errors"]["u_traj"].as_f64().unwrap() > 1e-9);
}

#[test]
fn help_shows_examples() {
    let folder = tempfile::tempdir().unwrap();
    for command in [vec!["--help"], vec!["train", "--help"], vec!["eval", "--help"], vec!["plot", "--help"]] {
        let help = text(&cinoc(folder.path(), &command).stdout);
        assert!(help.contains("Example"), "{command:?}");
    }
    let tasks = text(&cinoc(folder.path(), &["tasks"]).stdout);
    assert!(tasks.contains("fkpp1d") && tasks.contains("ks1d"));
    let preset = text(&cinoc(folder.path(), &["tasks", "ks1d"]).stdout);
    assert!(preset.contains("spin_up"));
    let [default, paper] = preset.split("# What `--preset paper` changes.").collect::<Vec<_>>()[..] else {
        panic!("two presets: {preset}")
    };
    assert!(default.contains("share = \"crowd\"") && paper.contains("share = \"none\""), "{preset}");
}

#[test]
fn a_trace_lists_what_a_step_computes() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let listing = json(at, &["trace", "heat1d", "--agents", "5", "--json"]);
    assert_eq!(keys(&listing), ["chunk", "entries", "task"]);
    let entries = listing["entries"].as_array().unwrap();
    let with = |key: &str, value: &str| entries.iter().filter(|entry| entry[key] == value).count();
    assert!(with("primitive", "dense") >= 3 && with("primitive", "solve") == 1);
    assert!(
        with("stage", "set-up") > 0 && with("stage", "step") > 0 && with("reverse", "computed again") > 0
    );
    assert!(with("label", "z") == 1 && entries.iter().any(|entry| entry["cols"] == 5));
    for (id, entry) in entries.iter().enumerate() {
        let inputs = entry["inputs"].as_array().unwrap();
        assert!(inputs.iter().all(|input| input.as_u64().unwrap() < id as u64), "inputs come first: {entry}");
    }
    let printed = cinoc(at, &["trace", "heat1d", "--agents", "5"]);
    assert!(printed.status.success());
    // a heading, and a line per value
    assert_eq!(text(&printed.stdout).lines().count(), 1 + entries.len());
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let policy = concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies/heat1d.safetensors");
    let evaluation = ["eval", policy, "--cases", "1", "--set", "time.steps=2"];
    for arguments in [&["tasks"][..], &["tasks", "heat1d"], &["reproduce"], &evaluation] {
        let mut command = common::command(folder.path(), arguments);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    }
}

#[test]
fn a_missing_device_is_told_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = cinoc(folder.path(), &["bench", "ks1d", "--device", "gpu"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("there is no device gpu; take cpu, cuda or cuda:N"));
    // also true where there is a GPU: no machine has this many
    for command in [
        &["bench", "ks1d", "--device", "cuda:4096"][..],
        &["train", "ks1d", "--device", "cuda:4096"],
        &["verify", &golden("ks1d"), "--device", "cuda:4096"],
        &["check-gradients", "ks1d", "--device", "cuda:4096"],
    ] {
        refused(folder.path(), command, 2, &["no CUDA device", "leave out --device cuda"]);
    }
}
