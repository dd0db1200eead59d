//! One decision from the shell: test vectors, formats, defaults, refusals.

mod common;

use cinoc::learn::files::Tensors;
use cinoc::prelude::*;
use common::{TINY, cinoc, refused, text, train};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const TASKS: [&str; 8] =
    ["density2d", "fkpp1d", "heat1d", "heat2d", "heat2d-obstacles", "ks1d", "ks2d", "turb2d"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn policy(task: &str) -> String {
    root().join(format!("policies/{task}.safetensors")).display().to_string()
}

fn vectors(task: &str) -> String {
    format!("{}/tests/vectors/{task}.safetensors", env!("CARGO_MANIFEST_DIR"))
}

fn act(folder: &Path, policy: &str, arguments: &[&str]) -> Value {
    let output = cinoc(folder, &[&["act", policy, "--json"], arguments].concat());
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

/// All numbers of a value, however nested.
fn flat(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(flat).collect(),
        number => vec![number.as_f64().expect("a number")],
    }
}

/// A tensor as numbers in double precision.
fn numbers(file: &Tensors, name: &str) -> Option<Vec<f64>> {
    let single = || file.values::<f32>(name).map(|values| values.iter().map(|&x| f64::from(x)).collect());
    file.values::<f64>(name).map(<[f64]>::to_vec).or_else(|_| single()).ok()
}

/// Numbers of vectors, component by component instead of agent by agent.
fn by_axis(values: &[f64], dims: usize) -> Vec<f64> {
    (0..dims).flat_map(|axis| values.iter().copied().skip(axis).step_by(dims)).collect()
}

/// The network in NumPy is compared with the same vectors by `scripts/test-numpy`.
#[test]
fn the_engine_decides_as_the_test_vectors_say() {
    for name in TASKS.into_iter().chain(["fkpp1d-paper"]) {
        let file = Tensors::read(vectors(name).as_ref()).unwrap();
        let description: Value = serde_json::from_str(&file.metadata["description"]).unwrap();
        let path = root().join(description["policy"].as_str().unwrap());
        let policy = PolicyFile::read(&path, Tasks::built_in()).unwrap();
        assert_eq!(description["task"].as_str(), Some(policy.config.task.name.as_str()));
        let (z, xi, dims) =
            (numbers(&file, "z").unwrap(), numbers(&file, "xi").unwrap(), policy.config.task.dims);
        let config = policy.config.with_sets(&[format!("agents={}", xi.len() / dims)]).unwrap();
        let target = numbers(&file, "zt").unwrap_or_else(|| vec![0.0; z.len()]);
        let params: Vec<f64> = policy.params.iter().map(|&p| f64::from(p)).collect();

        let mut controller = Decision::<f64>::new(&config).controller(&params, &target);
        let decided = controller.decide(&z, &by_axis(&xi, dims));
        assert!(decided.u.is_some() || decided.v.is_some(), "{name}");
        for (what, found, dims) in [("u", decided.u, 1), ("v", decided.v, dims)] {
            let expected = numbers(&file, what).map(|values| by_axis(&values, dims));
            assert_eq!(found.map(<[f64]>::len), expected.as_ref().map(Vec::len), "{name}: {what}");
            for (found, expected) in found.unwrap_or_default().iter().zip(expected.unwrap_or_default()) {
                assert!(
                    (found - expected).abs() <= 1e-6,
                    "{name}: {what} is {found}, must be {expected}; after a change of its policy run \
                     scripts/test-numpy --write"
                );
            }
        }
    }
}

#[test]
fn the_page_shows_the_scripts() {
    let docs = root().join("docs");
    let page = fs::read_to_string(docs.join("policy-network.md")).unwrap();
    for script in ["policy_network_1d.py", "policy_network_2d.py"] {
        let code = fs::read_to_string(docs.join(script)).unwrap();
        let shown = page.contains(&format!("```python\n{code}```"));
        assert!(shown, "docs/policy-network.md does not show docs/{script} as it is");
    }
}

#[test]
fn the_command_prints_the_decision_of_the_library() {
    let folder = tempfile::tempdir().unwrap();
    for task in TASKS {
        let answer = act(folder.path(), &policy(task), &["--field", &vectors(task)]);
        let file = Tensors::read(vectors(task).as_ref()).unwrap();
        for name in ["xi", "u", "v"] {
            let Some(expected) = numbers(&file, name) else {
                assert!(answer.get(name).is_none(), "{task}: {name}");
                continue;
            };
            let found = flat(&answer[name]);
            assert_eq!(found.len(), expected.len(), "{task}: {name}");
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6;
            assert!(found.iter().zip(&expected).all(close), "{task}: {name}");
        }
    }
    let answer = act(folder.path(), &policy("heat2d"), &["--field", &vectors("heat2d")]);
    let keys: Vec<&str> = answer.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["agents", "bounds", "task", "u", "units", "v", "xi"]);
    assert_eq!(answer["v"][12].as_array().unwrap().len(), 2, "a vector per agent");
    assert_eq!(answer["units"], serde_json::json!({"xi": "L", "u": "Z/T", "v": "L/T"}));
    assert_eq!(answer["bounds"], serde_json::json!({"u": 40.0, "v": 5.0}));

    let table = cinoc(folder.path(), &["act", &policy("heat2d"), "--field", &vectors("heat2d")]);
    let table = text(&table.stdout);
    assert!(table.contains("13 agents") && table.contains("v_y (L/T)"), "{table}");
    assert_eq!(table.lines().count(), 3 + 13, "{table}");
}

/// Numbers as `numpy.save` writes them.
fn npy(shape: &str, values: &[f64]) -> Vec<u8> {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    let data: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), &data].concat()
}

#[test]
fn every_format_gives_the_same_decision() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let write = |name: &str, contents: &[u8]| fs::write(at.join(name), contents).unwrap();
    for (task, n, agents) in [("heat1d", "(100,)", "(6,)"), ("heat2d", "(32, 32)", "(13, 2)")] {
        let file = Tensors::read(vectors(task).as_ref()).unwrap();
        let columns = |name: &str| file.tensor(name).unwrap().shape.get(1).copied().unwrap_or(1);
        let joined =
            |values: &[f64], by: &str| values.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>().join(by);
        for (name, shape) in [("z", n), ("zt", n), ("xi", agents)] {
            let values = numbers(&file, name).unwrap();
            let rows = |by: &str| values.chunks(columns(name)).map(|row| joined(row, by)).collect::<Vec<_>>();
            write(&format!("{name}.npy"), &npy(shape, &values));
            write(&format!("{name}.csv"), format!("# {name}\n{}\n", rows(", ").join("\n")).as_bytes());
            write(&format!("{name}.txt"), rows(" ").join("\n").as_bytes());
            let lists = match columns(name) {
                1 => format!("[{}]", joined(&values, ",")),
                _ => format!("[[{}]]", rows(",").join("],[")),
            };
            write(&format!("{name}.json"), lists.as_bytes());
        }
        let expected = act(at, &policy(task), &["--field", &vectors(task)]);
        for format in ["npy", "csv", "txt", "json"] {
            let files = ["z", "zt", "xi"].map(|name| format!("{name}.{format}"));
            let arguments = ["--field", &files[0], "--target", &files[1], "--positions", &files[2]];
            assert_eq!(act(at, &policy(task), &arguments), expected, "{task} {format}");
        }
        // a file of its own comes before what the file of the field holds
        write("half.json", if task == "heat1d" { b"[0.5]" } else { b"[[0.5, 0.5]]" });
        let one = act(at, &policy(task), &["--field", &vectors(task), "--positions", "half.json"]);
        assert_eq!((one["agents"].as_u64(), flat(&one["xi"])[0]), (Some(1), 0.5));
    }
}

#[test]
fn a_finer_grid_and_a_run_directory_are_understood() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let file = Tensors::read(vectors("heat1d").as_ref()).unwrap();
    let mut fine = Tensors::default();
    for name in ["z", "zt"] {
        // agents read every second point, whatever lies between
        let values: Vec<f64> = numbers(&file, name).unwrap().iter().flat_map(|&x| [x, 7.0]).collect();
        fine.insert(name, &[199], values[..199].to_vec());
    }
    fine.insert("xi", &[6], numbers(&file, "xi").unwrap());
    fine.write(&at.join("fine.safetensors")).unwrap();
    let coarse = act(at, &policy("heat1d"), &["--field", &vectors("heat1d")]);
    assert_eq!(act(at, &policy("heat1d"), &["--field", "fine.safetensors"]), coarse);

    let output = train(at, "ks1d", &["--set", "data.spin_up=1"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    fs::write(at.join("z.csv"), "0.5\n".repeat(128)).unwrap();
    let answer = act(at, "run", &["--field", "z.csv"]);
    assert_eq!((answer["agents"].as_u64(), flat(&answer["xi"])[0]), (Some(8), 22.0 / 16.0));
    assert_eq!(flat(&act(at, "run", &["--field", "z.csv", "--agents", "2"])["xi"]), [5.5, 16.5]);
    fs::write(at.join("zt.csv"), "0.5\n".repeat(128)).unwrap();
    let there = act(at, "run", &["--field", "z.csv", "--target", "zt.csv"]);
    assert_ne!(there["u"], answer["u"], "a target of its own is used");
}

#[test]
fn bad_files_are_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let write = |name: &str, contents: &str| fs::write(at.join(name), contents).unwrap();
    write("z.csv", &"0.1\n".repeat(100));
    write("plane.csv", &"0.1,0.2\n".repeat(50));
    write("some.csv", &"0.1\n".repeat(30));
    write("nan.csv", &format!("{}nan\n", "0.1\n".repeat(99)));
    write("head.csv", "z\n0.1\n");
    write("outside.json", "[0.5, 1.5]");
    write("none.json", "[]");
    write("z.mat", "");
    write("z.npy", "hello");
    let heat = policy("heat1d");
    let with = |arguments: &[&str], parts: &[&str]| {
        refused(at, &[&["act", heat.as_str(), "--json"], arguments].concat(), 2, parts)
    };
    let field = ["--field", "z.csv", "--target", "z.csv"];
    with(&["--field", "absent.npy"], &["absent.npy", "not found"]);
    with(&["--field", "z.mat"], &["z.mat", "unknown format", ".npy"]);
    with(&["--field", "z.npy"], &["z.npy", "numpy.save"]);
    with(&["--field", "z.csv"], &["heat1d tracks a target", "--target FILE"]);
    with(&["--field", "plane.csv"], &["plane.csv", "[50, 2]", "must be [n]"]);
    with(&["--field", "some.csv"], &["some.csv", "grid.n = 30", "at least 34"]);
    with(&["--field", "nan.csv"], &["nan.csv", "index 99", "NaN"]);
    with(&["--field", "head.csv"], &["head.csv", "line 1", "begin headings with #"]);
    with(&["--field", "z.csv", "--target", "some.csv"], &["some.csv", "[30, 1]", "must be [100]"]);
    with(&[&field[..], &["--positions", "outside.json"]].concat(), &["agent 1", "x = 1.5", "[0, 1]"]);
    with(&[&field[..], &["--positions", "none.json"]].concat(), &["none.json", "no numbers"]);
    with(&[&field[..], &["--positions", "plane.csv"]].concat(), &["plane.csv", "must be [agents]"]);
    with(&[&field[..], &["--positions", "z.csv", "--agents", "3"]].concat(), &["100 agents", "must be of 3"]);
    with(&[&field[..], &["--agents", "0"]].concat(), &["agents = 0"]);
    with(&[&field[..], &["--set", "policy.softnorm=true"]].concat(), &["network", "fixed"]);
    with(&[&field[..], &["--set", "grid.n=199"]].concat(), &["z.csv", "[100, 1]", "must be [199]"]);
    with(&[&field[..], &["--agents", "1000000000"]].concat(), &["memory"]);
    refused(at, &["act", "absent", "--field", "z.csv"], 2, &["absent", "not found"]);
    let mut wrong = Tensors::default();
    wrong.insert("z0", &[100], vec![0.0f32; 100]);
    wrong.write(&at.join("wrong.safetensors")).unwrap();
    with(&["--field", "wrong.safetensors"], &["wrong.safetensors", "no tensor \"z\"", "z0"]);
    let turbulence = policy("turb2d");
    let plane = |file: &str, parts: &[&str]| refused(at, &["act", &turbulence, "--field", file], 2, parts);
    write("line.json", "[0.1, 0.2, 0.3]");
    plane("line.json", &["line.json", "[3]", "must be [n_x, n_y]"]);
    plane("z.csv", &["z.csv", "[100, 1]", "must be [100, 100]"]);
    write("wide.txt", &format!("{}\n", "0 ".repeat(80)).repeat(64));
    plane("wide.txt", &["wide.txt", "[64, 80]", "must be [64, 64]"]);
    write("huge.csv", &"1.7e308\n".repeat(100));
    with(&["--field", "huge.csv", "--target", "z.csv"], &["huge.csv", "index 0 is 1.7e308", "1e100"]);
    write("empty.txt", &format!("{}\n", "0 ".repeat(80)).repeat(64));
    let density = policy("density2d");
    let nothing = ["act", density.as_str(), "--field", "empty.txt", "--target", "empty.txt"];
    refused(at, &nothing, 2, &["empty.txt", "sum", "must be above 0"]);
}

/// `scripts/test-c` replays such files with `cinoc-selftest`.
#[test]
fn recorded_decisions_are_written_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let heat = policy("heat1d");
    let record = |arguments: &[&str]| {
        let output = cinoc(at, &[&["record", &heat, "d"], arguments].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        (text(&output.stdout), fs::read(at.join("d")).unwrap())
    };
    let (said, bytes) = record(&["--agents", "20", "--count", "9", "--json"]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((said["decisions"].as_u64(), said["agents"].as_u64()), (Some(9), Some(20)));
    assert_eq!(said["bytes"].as_u64(), Some(bytes.len() as u64));
    assert_eq!(&bytes[..8], b"CINOCDEC");
    assert_eq!(bytes[32..40], cinoc::learn::files::fnv1a(&fs::read(&heat).unwrap()).to_le_bytes());
    let (said, again) = record(&["--agents", "20", "--count", "9"]);
    assert!(said.contains("9 decisions of up to 20 agents") && said.contains("cinoc-selftest"), "{said}");
    assert!(again == bytes, "the same request gives the same bytes");
    refused(at, &["record", "absent", "d"], 2, &["absent", "not found"]);
    refused(at, &["record", &heat, "d", "--agents", "0"], 2, &["agents = 0"]);
    refused(at, &["record", &heat, "d", "--agents", "1000000000"], 2, &["memory"]);
    refused(at, &["record", &heat, "nowhere/d"], 1, &["nowhere/d"]);
}

#[test]
fn a_centralised_policy_decides_for_its_own_agents_only() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert!(train(at, "heat1d", &["--method", "dpc"]).status.success(), "{TINY:?}");
    fs::write(at.join("z.csv"), "0.1\n".repeat(100)).unwrap();
    let field = ["--field", "z.csv", "--target", "z.csv"];
    assert_eq!(flat(&act(at, "run", &field)["u"]).len(), 8);
    refused(at, &[&["act", "run", "--agents", "3"], &field[..]].concat(), 2, &["centralised", "8 agents"]);
}
