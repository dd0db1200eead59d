//! `cinoc export`: files, refusals. What the files compute is compared in other runtimes, by
//! `python/tests/test_onnx.py` and `scripts/test-tract`.

mod common;

use common::{TINY, cinoc, refused, text, train};
use serde_json::{Value, json};
use std::fs;

fn policy(task: &str) -> String {
    format!("{}/../../policies/{task}.safetensors", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_policy_becomes_a_file_that_says_what_it_takes() {
    let folder = tempfile::tempdir().unwrap();
    let command = ["export", &policy("heat2d"), "--onnx", "heat2d.onnx"];
    let told = cinoc(folder.path(), &[&command[..], &["--json"]].concat());
    assert!(told.status.success(), "{}", text(&told.stderr));
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let bytes = fs::read(folder.path().join("heat2d.onnx")).unwrap();
    assert_eq!(told["bytes"], json!(bytes.len()));
    assert_eq!(told["inputs"][2], json!({"name": "xi", "type": "float", "shape": ["batch", "agents", 2]}));
    assert_eq!(told["inputs"][3], json!({"name": "alive", "type": "bool", "shape": ["batch", "agents"]}));
    assert_eq!(told["outputs"][0], json!({"name": "u", "type": "float", "shape": ["batch", "agents"]}));

    // the file that is there is replaced, by the same bytes
    let table = cinoc(folder.path(), &command);
    let table = text(&table.stdout);
    assert!(table.contains("batch x agents x 2") && table.contains("opset 17"), "{table}");
    assert_eq!(fs::read(folder.path().join("heat2d.onnx")).unwrap(), bytes);

    let network = cinoc(folder.path(), &[&command[..], &["--inner"]].concat());
    assert!(text(&network.stdout).contains("batch x agents x 12 x 12 x 2"), "{}", text(&network.stdout));
}

#[test]
fn what_cannot_be_exported_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let (heat, folder) = (policy("heat1d"), folder.path());
    let export = |policy: &'static str| ["export", policy, "--onnx", "policy.onnx"];
    let baseline = train(folder, "heat1d", &["--method", "dpc"]);
    assert!(baseline.status.success(), "{}", text(&baseline.stderr));
    refused(folder, &export("run"), 2, &["method dpc cannot be exported", "cinoc train TASK"]);
    refused(folder, &export("nothing"), 2, &["nothing"]);
    let other_grid = ["export", &heat, "--onnx", "policy.onnx", "--set", "grid.n=30"];
    refused(folder, &other_grid, 2, &["grid.n"]);
    let other_network = ["export", &heat, "--onnx", "policy.onnx", "--set", "observe.gradient=true"];
    refused(folder, &other_network, 2, &["the network of a trained policy is fixed"]);
    refused(
        folder,
        &["export", &heat, "--onnx", "nowhere/policy.onnx"],
        1,
        &["its directory does not exist"],
    );
    assert!(!folder.join("policy.onnx").exists());
    // a request without a format is wrong
    assert_eq!(cinoc(folder, &["export", &heat]).status.code(), Some(2));
}

#[test]
fn a_run_that_is_not_finished_gives_its_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let done =
        cinoc(folder.path(), &[&["train", "heat1d", "--out", "run", "--updates", "4"], &TINY[..]].concat());
    assert!(done.status.success(), "{}", text(&done.stderr));
    fs::remove_file(folder.path().join("run/policy.safetensors")).unwrap();
    let exported = cinoc(folder.path(), &["export", "run", "--onnx", "policy.onnx"]);
    assert!(exported.status.success(), "{}", text(&exported.stderr));
    assert!(text(&exported.stderr).contains("is not finished"), "{}", text(&exported.stderr));
}
