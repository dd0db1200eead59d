//! Baselines from the command line.

mod common;

use common::{cinoc, text};
use serde_json::Value;
use std::fs;

const METHODS: [&str; 5] = ["dpc", "ppo", "td3", "mappo", "matd3"];
/// Small enough for seconds, with all that a learner does in it.
const SMALL: &[&str] =
    &["--set", "data.pool=4", "--set", "train.batch=8", "--set", "time.steps=20", "--updates", "3"];
const ON: &[&str] = &["--set", "method.on_policy.envs=3", "--set", "method.on_policy.horizon=5"];
const OFF: &[&str] = &[
    "--set",
    "method.off_policy.envs=3",
    "--set",
    "method.off_policy.first=20",
    "--set",
    "method.off_policy.warmup=4",
];

/// Arguments of a short training.
fn arguments<'a>(task: &'a str, method: &'a str, out: &'a str) -> Vec<&'a str> {
    let own = match method {
        "ppo" | "mappo" => ON,
        "td3" | "matd3" => OFF,
        _ => &[],
    };
    [&["train", task, "--method", method, "--out", out, "--json"], SMALL, own].concat()
}

#[test]
fn every_method_trains_and_evaluates_the_same_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    for method in METHODS {
        let [one, two] = ["1", "2"].map(|threads| {
            let out = format!("{method}-{threads}");
            let mut request = arguments("heat1d", method, &out);
            request.extend(["--threads", threads]);
            let done = cinoc(folder.path(), &request);
            assert!(done.status.success(), "{method}: {}", text(&done.stderr));
            let evaluation: Value = serde_json::from_slice(&done.stdout).unwrap();
            assert!(evaluation["controlled"]["final"]["mean"].as_f64().unwrap() > 0.0);
            let metrics = fs::read_to_string(folder.path().join(&out).join("metrics.jsonl")).unwrap();
            assert_eq!(metrics.lines().count(), 3);
            let last: Value = serde_json::from_str(metrics.lines().last().unwrap()).unwrap();
            assert!(last["steps"].as_u64().unwrap() > 0 && last["loss"].as_f64().unwrap() > 0.0, "{last}");
            fs::read(folder.path().join(&out).join("policy.safetensors")).unwrap()
        });
        assert!(one == two, "{method} depends on the number of threads");
    }
}

#[test]
fn a_shared_policy_takes_any_number_of_agents_and_a_centralised_one_says_why_not() {
    let folder = tempfile::tempdir().unwrap();
    for (method, shared) in [("mappo", true), ("ppo", false)] {
        assert!(cinoc(folder.path(), &arguments("heat1d", method, method)).status.success());
        let other = cinoc(folder.path(), &["eval", method, "--agents", "5", "--cases", "2", "--json"]);
        assert_eq!(other.status.success(), shared, "{}", text(&other.stderr));
        if !shared {
            assert_eq!(other.status.code(), Some(2));
            assert!(text(&other.stderr).contains("centralised policy (ppo)"), "{}", text(&other.stderr));
        }
    }
}

#[test]
fn a_run_by_trial_that_was_interrupted_comes_to_the_same_policy() {
    let folder = tempfile::tempdir().unwrap();
    let mut request = arguments("heat1d", "mappo", "run");
    assert!(cinoc(folder.path(), &request).status.success());
    let policy = folder.path().join("run/policy.safetensors");
    let whole = fs::read(&policy).unwrap();
    // as if it had been killed after two updates
    let metrics = folder.path().join("run/metrics.jsonl");
    let lines = fs::read_to_string(&metrics).unwrap();
    fs::write(&metrics, lines.split_inclusive('\n').take(2).collect::<String>()).unwrap();
    fs::remove_file(&policy).unwrap();
    request.push("--resume");
    let done = cinoc(folder.path(), &request);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(fs::read(&policy).unwrap() == whole);
    assert_eq!(fs::read_to_string(&metrics).unwrap().lines().count(), 3);
}

#[test]
fn wrong_settings_of_a_method_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |arguments: &[&str]| {
        let output = cinoc(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stderr)
    };
    assert!(refused(&["train", "heat1d", "--method", "sac"]).contains("methods: cinoc, dpc, ppo"));
    let ppo = |set: &str| refused(&["train", "heat1d", "--method", "ppo", "--set", set]);
    assert!(ppo("method.name=td3").contains("method.name"));
    assert!(ppo("method.network=convolutional").contains("in 1D"));
    assert!(ppo("method.on_policy.gamma=1.5").contains("from 0 to 1"));
    assert!(ppo("method.off_policy.tau=0.1").contains("unknown key"));
    assert!(ppo("method.hidden=[]").contains("one or more whole numbers"));
    // the operator policy has no method to set
    assert!(refused(&["train", "heat1d", "--set", "method.name=ppo"]).contains("unknown key"));
}

#[test]
fn an_operator_network_learns_by_trial_on_a_plane() {
    let folder = tempfile::tempdir().unwrap();
    let mut request = arguments("turb2d", "mappo", "run");
    for set in
        ["method.network=operator", "policy.fusion=product", "data.spin_up=0.01", "time.steps=4", "agents=4"]
    {
        request.extend(["--set", set]);
    }
    let done = cinoc(folder.path(), &request);
    assert!(done.status.success(), "{}", text(&done.stderr));
}
