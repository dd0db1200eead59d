//! Experiments and sweeps from the command line.

mod common;

use common::{cinoc, command, text, train};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The project itself.
fn project() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn every_experiment_runs_when_it_has_to_be_quick() {
    let folder = tempfile::tempdir().unwrap();
    // with the shipped policies, as in a checkout
    fs::create_dir(folder.path().join("policies")).unwrap();
    for file in fs::read_dir(project().join("policies")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), folder.path().join("policies").join(file.file_name())).unwrap();
    }
    let listed = cinoc(folder.path(), &["reproduce", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let names: Vec<&String> = listed.as_object().unwrap().keys().collect();
    assert_eq!(names.len(), 19);

    let done = cinoc(folder.path(), &["reproduce", "all", "--quick", "--threads", "2", "--json"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let objects: Vec<Value> =
        text(&done.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(objects.len(), names.len());
    let results = folder.path().join("runs/quick/results");
    for object in objects {
        let name = object["name"].as_str().unwrap();
        assert!(object["command"].as_str().unwrap().starts_with(&format!("cinoc reproduce {name} --quick")));
        let tables = object["tables"].as_array().unwrap();
        assert!(!tables.is_empty() && !object["findings"].as_array().unwrap().is_empty(), "{name}");
        for table in tables {
            assert!(!table["rows"].as_array().unwrap().is_empty(), "{name}: {}", table["name"]);
            let csv = format!("{name}-{}.csv", table["name"].as_str().unwrap());
            assert!(results.join(&csv).exists(), "{csv}");
        }
        for ending in ["json", "md"] {
            assert!(results.join(format!("{name}.{ending}")).exists(), "{name}.{ending}");
        }
    }
}

#[test]
fn the_page_of_results_is_made_from_the_committed_files() {
    let made = cinoc_lab::results::page(&project().join("results"), "../results/").unwrap();
    let committed = fs::read_to_string(project().join("docs/results.md")).unwrap();
    assert!(
        made == committed,
        "docs/results.md is not what the files in results/ say: run cinoc reproduce page"
    );
}

#[test]
fn tasks_measured_one_by_one_end_up_in_one_file_that_says_what_made_it() {
    let folder = tempfile::tempdir().unwrap();
    let one = |task: &str| {
        let arguments = ["reproduce", "failure", "--quick", "--out", "results", "--json", "--tasks", task];
        let done = cinoc(folder.path(), &arguments);
        assert!(done.status.success(), "{}", text(&done.stderr));
        serde_json::from_slice::<Value>(&done.stdout).unwrap()
    };
    let tasks = |results: &Value| -> Vec<String> {
        let rows = results["tables"][0]["rows"].as_array().unwrap();
        rows.iter().map(|row| row[0].as_str().unwrap().to_string()).collect()
    };
    let listed = || text(&cinoc(folder.path(), &["reproduce"]).stdout);
    assert!(!listed().contains("of this code"));
    assert_eq!(tasks(&one("heat1d")), ["heat1d"]);
    let both = one("fkpp1d");
    assert_eq!(tasks(&both), ["heat1d", "fkpp1d"]);
    assert_eq!(both["charts"][0]["curves"].as_array().unwrap().len(), 2);
    let version = both["provenance"]["version"].as_str().unwrap();
    assert_eq!(version, cinoc_lab::results::version());
    assert_eq!(both["provenance"]["policies"].as_object().unwrap().len(), 2);
    assert!(listed().contains("of this code"), "{}", listed());

    // other code made a part of it
    let path = folder.path().join("results/failure.json");
    let other = fs::read_to_string(&path).unwrap().replace(version, "0.0.1+0123456789abcdef");
    fs::write(&path, other).unwrap();
    assert!(listed().contains("stale: made by other code"), "{}", listed());
    let again = one("heat1d");
    assert_eq!(again["provenance"]["earlier"][0], "0.0.1+0123456789abcdef");
    assert!(listed().contains("stale: made by other code"), "{}", listed());
}

#[test]
fn an_experiment_that_is_killed_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["reproduce", "effort", "--quick", "--seeds", "3", "--threads", "1", "--json"];
    let mut killed =
        command(folder.path(), &arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let first = Instant::now();
    let measured = folder.path().join("runs/quick/measured");
    let count = || fs::read_dir(&measured).map_or(0, |files| files.count());
    while count() == 0 && first.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let kept = count();
    assert!(kept > 0, "nothing was measured in a minute");

    let resumed = cinoc(folder.path(), &arguments);
    assert!(resumed.status.success(), "{}", text(&resumed.stderr));
    let whole = tempfile::tempdir().unwrap();
    let at_once = cinoc(whole.path(), &arguments);
    let tables = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap()["tables"].clone();
    assert_eq!(tables(&resumed.stdout), tables(&at_once.stdout));
}

#[test]
fn a_policy_is_swept_along_every_axis() {
    let folder = tempfile::tempdir().unwrap();
    assert!(train(folder.path(), "fkpp1d", &[]).status.success());
    for (axis, values, rows) in [
        ("agents", "0.5,1,2", 3),
        ("noise", "0,0.1", 2),
        ("failure", "0,0.5", 2),
        ("physics", "1,2", 4),
        ("grid", "1,2", 2),
    ] {
        let arguments =
            ["sweep", axis, "run", "--values", values, "--cases", "2", "--json", "--out", "swept"];
        let swept = cinoc(folder.path(), &arguments);
        assert!(swept.status.success(), "{axis}: {}", text(&swept.stderr));
        let object: Value = serde_json::from_slice(&swept.stdout).unwrap();
        let table = object["tables"][0]["rows"].as_array().unwrap();
        assert_eq!(table.len(), rows, "{axis}");
        assert!(table.iter().all(|row| row[1].as_f64().is_some_and(|loss| loss > 0.0)), "{axis}: {table:?}");
        assert!(folder.path().join(format!("swept/sweep-{axis}.md")).exists());
        assert!(folder.path().join(format!("swept/sweep-{axis}-{axis}.svg")).exists());
    }
    let shown = cinoc(folder.path(), &["sweep", "agents", "run", "--values", "1", "--cases", "1"]);
    assert!(text(&shown.stdout).contains("as in training"), "{}", text(&shown.stdout));
}

#[test]
fn wrong_requests_are_refused_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |arguments: &[&str]| {
        let output = cinoc(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stderr)
    };
    assert!(refused(&["reproduce", "cardinalty"]).contains("there are table, methods"));
    assert!(
        refused(&["reproduce", "table", "--methods", "ppo,sac"])
            .contains("--methods sac: there are cinoc, dpc")
    );
    assert!(refused(&["reproduce", "noise", "--tasks", "heat1d"]).contains("--tasks does not go with noise"));
    assert!(
        refused(&["reproduce", "methods", "--tasks", "wave"]).contains("--tasks wave: there are density2d")
    );
    assert!(refused(&["reproduce", "effort", "--seeds", "0"]).contains("at least 1"));
    assert!(refused(&["sweep", "agents", "missing.safetensors"]).contains("missing.safetensors"));
    assert!(refused(&["sweep", "colour", "x"]).contains("agents, noise, failure, physics, grid"));
    assert!(train(folder.path(), "fkpp1d", &[]).status.success());
    assert!(refused(&["sweep", "noise", "run", "--values", "-1"]).contains("0 or more"));
    assert!(refused(&["sweep", "failure", "run", "--values", "1.5"]).contains("failure.share"));
    fs::write(folder.path().join("file"), "").unwrap();
    let output =
        cinoc(folder.path(), &["sweep", "agents", "run", "--values", "1", "--cases", "1", "--out", "file"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
}
