//! Tasks on a plane from the command line: the same promises as on a line, on small versions of them.

mod common;

use common::{cinoc, command, text};
use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

/// A task made small: a few steps, agents, channels and cases.
const SMALL: [&str; 18] = [
    "--set",
    "time.steps=4",
    "--set",
    "agents=4",
    "--set",
    "policy.conv=[2, 3]",
    "--set",
    "data.pool=6",
    "--set",
    "train.batch=5",
    "--set",
    "train.warmup=1",
    "--set",
    "train.checkpoint_every=2",
    "--set",
    "observe.patch=6",
    "--updates",
    "4",
];

/// What keeps a spun-up state cheap.
fn quick(task: &str) -> &'static [&'static str] {
    match task {
        "ks2d" | "turb2d" => &[
            "--set",
            "data.spin_up=0.2",
            "--set",
            "grid.n=16",
            "--set",
            "observe.n_ref=16",
            "--set",
            "actuation.sigma=2",
        ],
        _ => &[],
    }
}

fn arguments<'a>(task: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["train", task, "--out", "run"], &SMALL[..], quick(task), more].concat()
}

fn trained(folder: &Path, task: &str, more: &[&str]) -> Output {
    let output = cinoc(folder, &arguments(task, more));
    assert!(output.status.success(), "{task}: {}", text(&output.stderr));
    output
}

fn policy(folder: &Path) -> Vec<u8> {
    fs::read(folder.join("run/policy.safetensors")).expect("a finished policy")
}

#[test]
fn every_task_trains_to_a_report_the_same_on_any_number_of_threads() {
    for task in ["density2d", "heat2d", "heat2d-obstacles", "ks2d", "turb2d"] {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        for (folder, threads) in folders.iter().zip(["1", "2"]) {
            trained(folder.path(), task, &["--threads", threads]);
        }
        assert!(policy(folders[0].path()) == policy(folders[1].path()), "{task}");
        let report = fs::read_to_string(folders[0].path().join("run/report.md")).unwrap();
        assert!(report.contains("figures/snapshots.png"), "{task}: {report}");
        for figure in ["snapshots", "time_courses", "learning_curve"] {
            assert!(folders[0].path().join(format!("run/figures/{figure}.png")).exists(), "{task} {figure}");
        }
    }
}

#[test]
fn a_killed_run_resumes_to_the_same_bytes() {
    let reference = tempfile::tempdir().unwrap();
    trained(reference.path(), "heat2d", &["--threads", "1"]);
    let expected = policy(reference.path());
    for lines in [1, 3] {
        let folder = tempfile::tempdir().unwrap();
        let arguments = arguments("heat2d", &["--threads", "1"]);
        let mut child =
            command(folder.path(), &arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let (start, metrics) = (Instant::now(), folder.path().join("run/metrics.jsonl"));
        while fs::read_to_string(&metrics).unwrap_or_default().lines().count() < lines
            && child.try_wait().unwrap().is_none()
            && start.elapsed() < Duration::from_secs(30)
        {
            std::thread::sleep(Duration::from_micros(200));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let output = cinoc(folder.path(), &[&arguments[..], &["--resume"]].concat());
        assert!(output.status.success(), "killed at {lines}: {}", text(&output.stderr));
        assert!(policy(folder.path()) == expected, "killed at {lines}");
    }
}

#[test]
fn a_policy_is_evaluated_with_other_agents_and_animated() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    trained(at, "heat2d-obstacles", &[]);
    let output = cinoc(
        at,
        &["eval", "run", "--agents", "9", "--cases", "3", "--set", "obstacles.filter=project", "--json"],
    );
    let result: serde_json::Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    assert_eq!((result["agents"].as_u64(), result["cases"].as_u64()), (Some(9), Some(3)));
    assert_eq!(result["violations"]["disc"].as_f64(), Some(0.0));
    assert!(result["controlled"]["half"]["mean"].as_f64().unwrap() > 0.0);

    let output = cinoc(at, &["plot", "run", "--cases", "2", "--animate", "--out", "film"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(fs::read(at.join("film/animation.gif")).unwrap().starts_with(b"GIF89a"));
}

#[test]
fn what_does_not_fit_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let refused = |arguments: &[&str], parts: &[&str]| {
        let output = cinoc(at, arguments);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert_eq!(message.trim_end().lines().count(), 1, "{arguments:?}: {message}");
        parts
            .iter()
            .for_each(|part| assert!(message.contains(part), "{arguments:?}: no {part:?} in {message}"));
    };
    for (task, set, parts) in [
        ("heat2d", "observe.patch=40", &["observe.patch = 40", "32"][..]),
        ("heat2d", "observe.patch=7", &["observe.patch = 7", "even"]),
        ("heat2d", "policy.conv=[0]", &["policy.conv", "whole numbers"]),
        ("heat2d", "policy.conv=16", &["policy.conv", "list"]),
        ("heat2d", "grid.n=20", &["grid.n = 20", "at least 32"]),
        ("heat2d", "policy.padding=mirror", &["policy.padding", "zero", "field"]),
        ("heat2d-obstacles", "obstacles.layout=ring", &["obstacles.layout", "diagonal"]),
        ("density2d", "physics.limit=2", &["physics.limit = 2", "to 1"]),
        ("density2d", "grid.n_y=24", &["grid.n_y = 24", "25"]),
        ("density2d", "data.start=[0.5, 0.2]", &["data.start", "smaller one first"]),
        ("density2d", "actuation.u_max=3", &["unknown key", "heat2d"]),
        ("turb2d", "physics.nu=-1", &["physics.nu = -1"]),
    ] {
        refused(&["train", task, "--set", set], parts);
    }
    assert_eq!(fs::read_dir(at).unwrap().count(), 0, "nothing was made");

    trained(at, "heat2d", &[]);
    refused(&["eval", "run", "--set", "observe.patch=8"], &["network", "observe.patch"]);
    refused(&["eval", "run", "--set", "policy.conv=[2, 4]"], &["network"]);
}
