//! Cases of a file whose targets move: training, validation, evaluation, rollouts, figures, refusals.

mod common;

use cinoc_learn::files::Tensors;
use common::{cinoc, refused, text, train};
use serde_json::Value;
use std::fs;
use std::path::Path;

const STEPS: usize = 20;

fn policy(task: &str) -> String {
    format!("{}/../../policies/{task}.safetensors", env!("CARGO_MANIFEST_DIR"))
}

/// Cases on 100 points from 0 to 1, with bumps as targets whose height is given for every case and step.
fn write_cases(path: &Path, count: usize, steps: Option<usize>, height: impl Fn(usize, usize) -> f32) {
    let bump = |i: usize| if i == 99 { 0.0 } else { (std::f32::consts::PI * i as f32 / 99.0).sin() };
    let z0: Vec<f32> = (0..100 * count).map(|k| 0.2 * bump(k % 100)).collect();
    let all = steps.unwrap_or(1);
    let at = |k: usize| height(k / (100 * all), k / 100 % all) * bump(k % 100);
    let shape = [&[count], steps.as_slice(), &[100]].concat();
    let mut file = Tensors::default();
    file.insert("z0", &[count, 100], z0);
    file.insert("zt", &shape, (0..100 * count * all).map(at).collect::<Vec<f32>>());
    file.write(path).expect("a writable folder");
}

/// A height that rises from case to case and from step to step.
fn rising(case: usize, step: usize) -> f32 {
    0.2 + 0.1 * case as f32 + 0.02 * step as f32
}

/// Runs a command that must succeed; returns standard output and standard error.
fn done(folder: &Path, arguments: &[&str]) -> [String; 2] {
    let output = cinoc(folder, arguments);
    let texts = [text(&output.stdout), text(&output.stderr)];
    assert!(output.status.success(), "{arguments:?}: {}", texts[1]);
    texts
}

fn evaluated(folder: &Path, arguments: &[&str]) -> Value {
    let [result, _] = done(folder, &[&["eval"], arguments, &["--json"]].concat());
    serde_json::from_str(&result).expect("an object")
}

#[test]
fn a_policy_is_trained_validated_and_evaluated_on_moving_targets() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_cases(&at.join("mine.safetensors"), 6, Some(STEPS), rising);
    write_cases(&at.join("others.safetensors"), 4, Some(STEPS), rising);
    write_cases(&at.join("fixed.safetensors"), 6, None, rising);
    let held = ["--set", "train.hold=0.5", "--set", "train.validate_every=3"];
    let own = |file| [&["--cases", file, "--validation", "others.safetensors"][..], &held].concat();
    let output = train(at, "heat1d", &own("mine.safetensors"));
    let [told, warned] = [text(&output.stdout), text(&output.stderr)];
    assert!(output.status.success() && warned.is_empty(), "{warned}");
    assert!(told.contains("4 cases of others.safetensors, with moving targets"), "{told}");
    let report = fs::read_to_string(at.join("run/report.md")).unwrap();
    assert!(report.contains("and the target (c), in the same colours"), "{report}");

    // what is told, saved and logged is the distance from the target of the step
    let saved = ["run", "--cases", "others.safetensors", "--save", "rollouts.safetensors"];
    let result = evaluated(at, &saved);
    let [cases, rollouts] = ["others", "rollouts"]
        .map(|name| Tensors::read(&at.join(name).with_extension("safetensors")).unwrap());
    for given in ["z0", "zt"] {
        let [saved, brought] = [&rollouts, &cases].map(|file| file.values::<f32>(given).unwrap());
        assert_eq!(saved, brought, "{given}");
    }
    let (z, zt) = (rollouts.values::<f32>("z").unwrap(), cases.values::<f32>("zt").unwrap());
    let errors = rollouts.values::<f32>("error").unwrap();
    for (k, (z, zt)) in z.chunks(100).zip(zt.chunks(100)).enumerate() {
        let expected = z.iter().zip(zt).map(|(z, zt)| (z - zt).powi(2)).sum::<f32>() / 100.0;
        assert!((errors[k] / expected - 1.0).abs() < 1e-4, "row {k}: {} for {expected}", errors[k]);
    }
    let last = |case: usize| f64::from(errors[(case + 1) * STEPS - 1]);
    let per_case: Vec<f64> = (0..4).map(last).collect();
    assert_eq!(result["per_case"], serde_json::to_value(&per_case).unwrap());
    let metrics = fs::read_to_string(at.join("run/metrics.jsonl")).unwrap();
    let logged: Value = serde_json::from_str(metrics.lines().last().unwrap()).unwrap();
    let (logged, mean) = (&logged["validation"]["final"], per_case.iter().sum::<f64>() / 4.0);
    assert!((logged.as_f64().unwrap() / mean - 1.0).abs() < 1e-6, "{logged} for {mean}");

    // a training on the first target of every case is another one
    let policy = |run: &str| fs::read(at.join(run).join("policy.safetensors")).unwrap();
    let moving = policy("run");
    fs::rename(at.join("run"), at.join("moving")).unwrap();
    assert!(train(at, "heat1d", &own("fixed.safetensors")).status.success());
    assert!(policy("run") != moving);
}

#[test]
fn a_target_repeated_in_every_step_gives_the_errors_of_a_fixed_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_cases(&at.join("fixed.safetensors"), 3, None, rising);
    write_cases(&at.join("repeated.safetensors"), 3, Some(STEPS), |case, _| rising(case, 0));
    for task in ["heat1d", "fkpp1d"] {
        let errors = |file: &str| {
            let result = evaluated(at, &[&policy(task), "--cases", file, "--set", "time.steps=20"]);
            let means =
                ["controlled", "uncontrolled"].map(|which| result[which]["time_mean"]["mean"].clone());
            [vec![result["per_case"].clone()], means.to_vec()].concat()
        };
        assert_eq!(errors("fixed.safetensors"), errors("repeated.safetensors"), "{task}");
    }
}

#[test]
fn figures_and_evaluation_in_2d_follow_the_target() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let bump = |k: usize, n: usize| (std::f32::consts::PI * k as f32 / (n - 1) as f32).sin();
    let field = |n: [usize; 2]| (0..n[0] * n[1]).map(move |k| bump(k / n[1], n[0]) * bump(k % n[1], n[1]));
    for (task, n) in [("heat2d", [32, 32]), ("density2d", [64, 80])] {
        let mut file = Tensors::default();
        let heights = (0..8).map(|k| if task == "heat2d" { 0.1 * k as f32 } else { 1.0 });
        let zt: Vec<f32> = heights.flat_map(|height| field(n).map(move |z| height * z)).collect();
        file.insert("z0", &[2, n[0], n[1]], (0..2).flat_map(|_| field(n)).collect::<Vec<f32>>());
        file.insert("zt", &[2, 4, n[0], n[1]], zt);
        let name = format!("{task}.safetensors");
        file.write(&at.join(&name)).unwrap();
        let subject = [&policy(task), "--cases", &name, "--set", "time.steps=4"];
        let result = evaluated(at, &subject);
        assert_eq!(result["cases_from"], format!("2 cases of {name}, with moving targets"));
        done(at, &[&["plot"], &subject[..], &["--out", task]].concat());
        let report = fs::read_to_string(at.join(task).join("report.md")).unwrap();
        assert!(report.contains("the target moves"), "{report}");
        done(at, &[&["plot"], &subject[..], &["--out", task, "--animate"]].concat());
        assert!(at.join(task).join("animation.gif").exists());
    }
}

#[test]
fn what_does_not_fit_is_refused_and_other_steps_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_cases(&at.join("mine.safetensors"), 2, Some(STEPS), rising);
    let heat = policy("heat1d");
    let told =
        |steps: &str| done(at, &["eval", &heat, "--cases", "mine.safetensors", "--set", steps])[1].clone();
    assert_eq!(told("time.steps=20"), "");
    let longer = told("time.steps=30");
    assert!(longer.contains("zt has 20 control steps and a rollout 30"), "{longer}");
    assert!(longer.contains("then the last one stays"), "{longer}");
    assert!(told("time.steps=5").contains("the first 5 targets move, the others are not used"));

    let ppo = ["train", "heat1d", "--method", "ppo", "--cases", "mine.safetensors", "--out", "none"];
    let steps = ["--set", "time.steps=20"];
    refused(
        at,
        &[&ppo[..], &steps].concat(),
        2,
        &["--cases mine.safetensors: ppo trains on fixed targets", "[cases][grid]", "--method cinoc or dpc"],
    );
    assert!(!at.join("none").exists());
    let mut wrong = Tensors::read(&at.join("mine.safetensors")).unwrap();
    wrong.insert("zt", &[2, 100, 20], vec![0.0f32; 4000]);
    wrong.write(&at.join("turned.safetensors")).unwrap();
    let shapes = "must be [cases, 100] or [cases, steps, 100]: 100 grid points";
    refused(at, &["eval", &heat, "--cases", "turned.safetensors"], 2, &["[2, 100, 20]", shapes]);
}
