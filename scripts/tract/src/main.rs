//! Runs exported policies with tract and compares their decisions with those of the engine (`cinoc act`, in double
//! precision): with one agent, the number of the training and five times as many.
//!
//! `tract-check CINOC SITUATION POLICY [SITUATION POLICY]...`: the program `cinoc`, then pairs of a safetensors file with
//! a field `z` (and `zt`, a target) and a policy of its task.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, anyhow};
use serde_json::{Value, json};
use tract_onnx::prelude::*;

/// Largest difference in units of the bound of an action.
const TOLERANCE: f64 = 1e-5;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [cinoc, pairs @ ..] = &arguments[..] else {
        eprintln!("usage: tract-check CINOC SITUATION POLICY [SITUATION POLICY]...");
        return ExitCode::from(2);
    };
    let folder = std::env::temp_dir().join(format!("tract-check-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for temporary files");
    let mut good = true;
    for pair in pairs.chunks_exact(2) {
        match check(cinoc, pair[0].as_ref(), &pair[1], &folder) {
            Ok(errors) => {
                let told: Vec<String> = errors.iter().map(|(m, e)| format!("{m} agents {e:.1e}")).collect();
                println!("{}: {}", pair[1], told.join(", "));
                good &= errors.iter().all(|&(_, error)| error <= TOLERANCE);
            }
            Err(error) => {
                println!("{}: {error:?}", pair[1]);
                good = false;
            }
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The largest error for every number of agents.
type Errors = Vec<(usize, f64)>;

fn check(cinoc: &str, situation: &Path, policy: &str, folder: &Path) -> TractResult<Errors> {
    let model = folder.join("policy.onnx");
    let told = run(cinoc, &["export", policy, "--onnx", &text(&model), "--json"])?;
    let fields = read_singles(situation)?;
    let decided = run(cinoc, &["act", policy, "--field", &text(situation), "--json"])?;
    let known = decided["xi"].as_array().context("positions")?;
    let trained = told["trained_agents"].as_u64().context("a number of agents")? as usize;
    let mut errors = Errors::new();
    for agents in [1, trained, 5 * trained] {
        // the places of the situation in turn, each time moved a little
        let place = |i: usize| moved(&known[i % known.len()], 0.97f64.powi((i / known.len()) as i32));
        let xi: Vec<Value> = (0..agents).map(place).collect();
        let positions = folder.join("xi.json");
        std::fs::write(&positions, json!(xi).to_string())?;
        let with = ["act", policy, "--field", &text(situation), "--positions", &text(&positions), "--json"];
        errors.push((agents, difference(&model, &told, &fields, &xi, &run(cinoc, &with)?)?));
    }
    Ok(errors)
}

/// The largest difference of a decision, in units of the bounds.
fn difference(model: &Path, told: &Value, fields: &Fields, xi: &[Value], wanted: &Value) -> TractResult<f64> {
    let mut onnx = tract_onnx::onnx().model_for_path(model)?;
    let mut inputs = TVec::new();
    for (i, input) in told["inputs"].as_array().context("inputs")?.iter().enumerate() {
        let extent = |extent: &Value| match extent.as_str() {
            Some("batch") => 1,
            Some(_) => xi.len(),
            None => extent.as_u64().unwrap_or(0) as usize,
        };
        let shape: Vec<usize> = input["shape"].as_array().context("a shape")?.iter().map(extent).collect();
        let size: usize = shape.iter().product();
        let tensor = match input["name"].as_str() {
            Some("z") => Tensor::from_shape(&shape, &fields.z)?,
            Some("target") => {
                Tensor::from_shape(&shape, fields.target.as_deref().unwrap_or(&vec![0.0; size]))?
            }
            Some("xi") => Tensor::from_shape(&shape, &numbers(&json!(xi)))?,
            _ => Tensor::from_shape(&shape, &vec![true; size])?,
        };
        onnx.set_input_fact(i, InferenceFact::dt_shape(tensor.datum_type(), &shape))?;
        inputs.push(tensor.into_tvalue());
    }
    let found = onnx.into_optimized()?.into_runnable()?.run(inputs)?;
    let mut worst: f64 = 0.0;
    for (output, found) in told["outputs"].as_array().context("outputs")?.iter().zip(found) {
        let name = output["name"].as_str().context("a name")?;
        let (wanted, bound) = (numbers(&wanted[name]), wanted["bounds"][name].as_f64().context("a bound")?);
        let found = found.to_plain_array_view::<f32>()?;
        if found.len() != wanted.len() {
            return Err(anyhow!("{name} has {} numbers, must be {}", found.len(), wanted.len()));
        }
        for (found, wanted) in found.iter().zip(wanted) {
            let error = f64::from(found - wanted).abs() / bound;
            worst = if error.is_nan() { f64::INFINITY } else { worst.max(error) };
        }
    }
    Ok(worst)
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// What a command prints as JSON.
fn run(cinoc: &str, arguments: &[&str]) -> TractResult<Value> {
    let output = Command::new(cinoc).args(arguments).output()?;
    if !output.status.success() {
        return Err(anyhow!("{arguments:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// A position times a number, as single precision has it.
fn moved(place: &Value, factor: f64) -> Value {
    match place {
        Value::Array(all) => all.iter().map(|x| moved(x, factor)).collect(),
        number => json!((number.as_f64().unwrap_or(0.0) * factor) as f32),
    }
}

/// All numbers of a value, however nested.
fn numbers(value: &Value) -> Vec<f32> {
    match value {
        Value::Array(all) => all.iter().flat_map(numbers).collect(),
        number => vec![number.as_f64().unwrap_or(f64::NAN) as f32],
    }
}

/// A field and its target, in single precision.
struct Fields {
    z: Vec<f32>,
    target: Option<Vec<f32>>,
}

/// The arrays `z` and `zt` of a safetensors file.
fn read_singles(path: &Path) -> TractResult<Fields> {
    let bytes = std::fs::read(path)?;
    let length = u64::from_le_bytes(bytes[..8].try_into()?) as usize;
    let header: Value = serde_json::from_slice(&bytes[8..8 + length])?;
    let array = |name: &str| -> Option<Vec<f32>> {
        let offsets = header.get(name)?["data_offsets"].as_array()?;
        let [first, end] = [0, 1].map(|i| 8 + length + offsets[i].as_u64().unwrap_or(0) as usize);
        let number = |four: &[u8]| f32::from_le_bytes([four[0], four[1], four[2], four[3]]);
        Some(bytes[first..end].chunks_exact(4).map(number).collect())
    };
    let (z, target) = (array("z").context("a field z")?, array("zt"));
    Ok(Fields { z, target })
}
