//! What `cinoc eval` gives out: numbers with their settings, rollouts in a file, the same cases on other
//! grids.

mod common;

use cinoc_learn::files::Tensors;
use common::{cinoc, text};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn policy(task: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../policies");
    root.join(format!("{task}.safetensors")).to_str().unwrap().to_string()
}

fn eval(folder: &Path, task: &str, more: &[&str]) -> Value {
    let policy = policy(task);
    let output = cinoc(folder, &[&["eval", &policy, "--json"], more].concat());
    assert!(output.status.success(), "{more:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

fn refusal(folder: &Path, task: &str, more: &[&str]) -> String {
    let policy = policy(task);
    let output = cinoc(folder, &[&["eval", &policy], more].concat());
    assert_eq!(output.status.code(), Some(2), "{more:?}: {}", text(&output.stderr));
    assert_eq!(text(&output.stderr).lines().count(), 1, "{}", text(&output.stderr));
    text(&output.stderr)
}

#[test]
fn the_json_echoes_settings_and_compares_with_the_trained_number_of_agents() {
    let folder = tempfile::tempdir().unwrap();
    let short = ["--cases", "2", "--set", "time.steps=40"];
    let trained = eval(folder.path(), "heat1d", &short);
    assert_eq!(
        (trained["trained_agents"].as_u64(), trained["relative_to_trained"].as_f64()),
        (Some(8), Some(1.0))
    );
    assert_eq!(trained["settings"]["time"]["steps"], 40);
    assert_eq!(trained["settings"]["agents"], 8);
    assert_eq!(trained["cases_from"], "2 validation cases");

    let more = eval(folder.path(), "heat1d", &[&short[..], &["--agents", "13"]].concat());
    let error = |of: &Value| of["controlled"]["final"]["mean"].as_f64().unwrap();
    let ratio = error(&more) / error(&trained);
    assert!((more["relative_to_trained"].as_f64().unwrap() / ratio - 1.0).abs() < 1e-12);
    assert_eq!((more["settings"]["agents"].as_u64(), more["measure"].as_str()), (Some(13), Some("final")));

    let told = cinoc(folder.path(), &[&["eval", &policy("heat1d"), "--agents", "13"], &short[..]].concat());
    let line = format!("{ratio:.3} x the error with the trained number of agents (8)");
    assert!(text(&told.stdout).contains(&line), "{}", text(&told.stdout));
}

#[test]
fn rollouts_are_saved_with_their_settings() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let more = ["--cases", "3", "--set", "time.steps=5", "--save", "a.safetensors"];
    let result = eval(at, "fkpp1d", &more);
    let file = Tensors::read(&at.join("a.safetensors")).unwrap();
    let shape = |name: &str| file.tensor(name).unwrap().shape.clone();
    assert_eq!((shape("z"), shape("error")), (vec![3, 5, 100], vec![3, 5]));
    for name in ["xi", "u", "v"] {
        assert_eq!(shape(name), [3, 5, 20], "{name}");
    }
    let errors = file.values::<f32>("error").unwrap();
    for (case, error) in result["per_case"].as_array().unwrap().iter().enumerate() {
        assert_eq!(f64::from(errors[case * 5 + 4]), error.as_f64().unwrap());
    }
    assert!(file.metadata["settings"].contains("steps = 5"), "{}", file.metadata["settings"]);
    assert_eq!(file.metadata["task"], "fkpp1d");

    eval(at, "heat2d", &["--cases", "1", "--set", "time.steps=2", "--save", "b.safetensors"]);
    let plane = Tensors::read(&at.join("b.safetensors")).unwrap();
    let shapes = ["z", "xi", "u", "v"].map(|name| plane.tensor(name).unwrap().shape.clone());
    assert_eq!(shapes, [vec![1, 2, 32, 32], vec![1, 2, 2, 16], vec![1, 2, 16], vec![1, 2, 2, 16]]);

    // a file of rollouts is a file of cases, too
    let again = eval(at, "fkpp1d", &["--cases", "a.safetensors", "--set", "time.steps=5"]);
    assert_eq!(again["per_case"], result["per_case"]);
    // start positions of its own included
    let mut placed = Tensors::default();
    for name in ["z0", "zt"] {
        placed.insert(name, &[1, 32, 32], plane.values::<f32>(name).unwrap().to_vec());
    }
    let xi0: Vec<f32> = (0..4).flat_map(|agent| [0.1 + 0.2 * agent as f32, 0.7]).collect();
    placed.insert("xi0", &[1, 4, 2], xi0.clone());
    placed.write(&at.join("placed.safetensors")).unwrap();
    let four = ["--cases", "placed.safetensors", "--agents", "4", "--set", "time.steps=2"];
    eval(at, "heat2d", &[&four[..], &["--save", "c.safetensors"]].concat());
    let kept = Tensors::read(&at.join("c.safetensors")).unwrap();
    assert_eq!(kept.values::<f32>("xi0").unwrap(), xi0);
    assert_eq!(kept.tensor("xi0").unwrap().shape, [1, 4, 2]);

    let nowhere = refusal(at, "fkpp1d", &["--cases", "1", "--save", "none/a.safetensors"]);
    assert!(nowhere.contains("its directory does not exist; create it first"), "{nowhere}");
}

#[test]
fn a_seed_changes_noise_and_failures_but_not_the_cases() {
    let folder = tempfile::tempdir().unwrap();
    let with = |more: &[&str]| {
        eval(folder.path(), "heat1d", &[&["--cases", "2", "--set", "time.steps=10"], more].concat())
    };
    let noisy = |seed: &str| with(&["--fail", "0.3@0", "--set", "noise.sensor=0.1", "--seed", seed]);
    let (first, second) = (noisy("0"), noisy("1"));
    assert_eq!(first["uncontrolled"], second["uncontrolled"], "the same cases");
    assert_ne!(first["per_case"], second["per_case"]);
    assert_eq!(
        with(&["--seed", "1"])["per_case"],
        with(&["--seed", "0"])["per_case"],
        "without any disturbance"
    );
}

#[test]
fn settings_that_do_nothing_here_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for setting in ["train.lr=0.1", "loss.terminal=2", "data.pool=7"] {
        let message = refusal(folder.path(), "heat1d", &["--set", setting]);
        let key = setting.split('=').next().unwrap();
        let reason = format!("--set {setting}: {key} matters in training only");
        assert!(message.contains(&reason), "{message}");
    }
}

#[test]
fn other_grids_see_the_same_cases() {
    let folder = tempfile::tempdir().unwrap();
    let on = |sets: &[&str]| {
        let sets: Vec<&str> = sets.iter().flat_map(|set| ["--set", *set]).collect();
        let result = eval(folder.path(), "heat1d", &[&["--cases", "4"], &sets[..]].concat());
        result["uncontrolled"]["final"]["mean"].as_f64().unwrap()
    };
    let (own, finer, coarser) = (on(&[]), on(&["grid.n=199"]), on(&["grid.n=80", "observe.n_ref=80"]));
    // the same smooth fields, diffused on another grid
    assert!(
        (finer / own - 1.0).abs() < 0.02 && (coarser / own - 1.0).abs() < 0.04,
        "{own} {finer} {coarser}"
    );
}
