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
    assert_eq!(names.len(), 20);

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
        assert!(!tables.is_empty(), "{name}");
        assert!(object["findings"].as_array().unwrap().is_empty(), "no verdicts from a test: {name}");
        let text = fs::read_to_string(results.join(format!("{name}.md"))).unwrap();
        assert!(text.lines().next().unwrap().contains("the numbers mean nothing"), "{name}: {text}");
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
fn a_quick_experiment_says_first_that_its_numbers_mean_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let done = cinoc(folder.path(), &["reproduce", "failure", "--quick", "--tasks", "heat1d"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let (shown, written) = (
        text(&done.stdout),
        fs::read_to_string(folder.path().join("runs/quick/results/failure.md")).unwrap(),
    );
    for text in [shown, written] {
        assert!(text.lines().next().unwrap().contains("the numbers mean nothing"), "{text}");
        assert!(!text.lines().any(|line| line.starts_with("- ")), "no findings: {text}");
    }
}

#[test]
fn the_page_of_results_is_made_from_the_committed_files() {
    let made =
        cinoc_lab::results::page(&project().join("results"), &project().join("policies"), "../results/")
            .unwrap();
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
    // in the order of `cinoc tasks`
    assert_eq!(tasks(&both), ["fkpp1d", "heat1d"]);
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
        ("agents", "x0.5,x1,40", 3),
        ("noise", "0,0.1", 2),
        ("failure", "0,0.5", 2),
        ("physics", "x1,x2", 4),
        ("physics.rho", "3,6", 2),
        // the setting of the training comes without being asked for
        ("grid", "199", 2),
    ] {
        let arguments =
            ["sweep", axis, "run", "--values", values, "--cases", "2", "--json", "--out", "swept"];
        let swept = cinoc(folder.path(), &arguments);
        assert!(swept.status.success(), "{axis}: {}", text(&swept.stderr));
        let object: Value = serde_json::from_slice(&swept.stdout).unwrap();
        let columns: Vec<&str> =
            object["tables"][0]["columns"].as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect();
        let table = object["tables"][0]["rows"].as_array().unwrap();
        assert_eq!(table.len(), rows, "{axis}");
        let cell = |row: &Value, column: &str| {
            row[columns.iter().position(|known| *known == column).unwrap()].clone()
        };
        let number = |row: &Value, column: &str| cell(row, column).as_f64().unwrap();
        let trained = table
            .iter()
            .find(|row| cell(row, "setting").as_str().unwrap().ends_with("(as in training)"))
            .unwrap_or_else(|| panic!("{axis}: {table:?}"));
        assert_eq!(number(trained, "relative to trained"), 1.0);
        for row in table {
            let relative = number(row, "error at the last step") / number(trained, "error at the last step");
            assert_eq!(number(row, "relative to trained"), relative, "{axis}");
            assert!(number(row, "uncontrolled") > 0.0 && number(row, "sum of u²") > 0.0, "{axis}: {row}");
        }
        assert!(folder.path().join(format!("swept/sweep-{axis}.md")).exists());
        assert!(folder.path().join(format!("swept/sweep-{axis}-{axis}.svg")).exists());
    }
}

#[test]
fn a_sweep_says_what_it_rounds_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    assert!(train(folder.path(), "heat1d", &[]).status.success());
    let files = || {
        let mut names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = files();
    let swept = cinoc(folder.path(), &["sweep", "agents", "run", "--values", "x0.3,2,x0.01", "--cases", "1"]);
    assert!(swept.status.success(), "{}", text(&swept.stderr));
    let shown = text(&swept.stdout);
    for part in [
        "agents (as in training)  8 ",
        "x0.3 of 8 agents is 2.40: rounded to a whole number, 2.",
        "2 is the same setting as an earlier one, agents=2.",
        "x0.01 of 8 agents is 0.0800: at least 1 is needed, 1.",
        "1 test cases per setting",
    ] {
        assert!(shown.contains(part), "no {part:?} in {shown}");
    }
    let longest = shown.split_whitespace().filter(|word| word.parse::<f64>().is_ok()).map(str::len).max();
    assert!(longest <= Some(8), "numbers are rounded for reading: {shown}");
    assert_eq!(files(), before, "nothing is written without --out");
}

#[test]
fn where_agents_only_move_a_sweep_shows_the_effort_of_moving() {
    let folder = tempfile::tempdir().unwrap();
    let policy = project().join("policies/density2d.safetensors");
    let swept = cinoc(
        folder.path(),
        &["sweep", "agents", policy.to_str().unwrap(), "--values", "4", "--cases", "1", "--json"],
    );
    assert!(swept.status.success(), "{}", text(&swept.stderr));
    let object: Value = serde_json::from_slice(&swept.stdout).unwrap();
    let columns = object["tables"][0]["columns"].as_array().unwrap();
    assert_eq!(columns.last().unwrap(), "mean |v|²");
    assert!(!columns.iter().any(|column| column == "mean u²"), "{columns:?}");
    assert!(object["tables"][0]["rows"][1].as_array().unwrap().last().unwrap().as_f64().unwrap() > 0.0);
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
    assert!(refused(&["sweep", "colour", "x"]).contains("agents, noise, failure, grid, physics"));
    assert!(train(folder.path(), "fkpp1d", &[]).status.success());
    assert!(refused(&["sweep", "noise", "run", "--values", "-1"]).contains("0 or more"));
    assert!(refused(&["sweep", "failure", "run", "--values", "1.5"]).contains("failure.share"));
    assert!(refused(&["sweep", "agents", "run", "--values", "2.5"]).contains("whole numbers"));
    assert!(refused(&["sweep", "agents", "run", "--values", "half"]).contains("--values half: must be"));
    assert!(refused(&["sweep", "grid", "run", "--values", "x1.5"]).contains("100, 199, 298"));
    assert!(refused(&["sweep", "physics", "run", "--values", "3"]).contains("(nu, rho)"));
    assert!(
        refused(&["sweep", "physics.mu", "run"]).contains("it has agents, noise, failure, grid, physics")
    );
    let huge = refused(&["sweep", "agents", "run", "--cases", "999999999"]);
    assert!(huge.contains("of memory") && huge.contains("lower --cases"), "{huge}");
    let ks1d = project().join("policies/ks1d.safetensors");
    assert!(
        refused(&["sweep", "physics", ks1d.to_str().unwrap()])
            .contains("ks1d has no axis physics; it has agents, noise, failure, grid")
    );
    fs::write(folder.path().join("file"), "").unwrap();
    let output =
        cinoc(folder.path(), &["sweep", "agents", "run", "--values", "1", "--cases", "1", "--out", "file"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
}
