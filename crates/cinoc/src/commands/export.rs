//! `cinoc export`: a policy in a format that other programs run.

use crate::arguments::Export;
use crate::failure::Failure;
use crate::terminal::{Terminal, say, table};
use crate::work::export::export_onnx;
use crate::work::subject::load_policy;
use cinoc_control::Tasks;
use cinoc_learn::onnx::{Extent, Kind, OPSET, Part, Port};
use serde_json::{Value, json};

pub fn run(request: &Export, tasks: &Tasks) -> Result<(), Failure> {
    let policy = load_policy(&request.policy, request.best, tasks, &Terminal::default())?.policy;
    let part = if request.inner { Part::Network } else { Part::Decision };
    let model = export_onnx(&policy, &request.sets, part, &request.onnx)?;
    if request.json {
        return super::print_json(&json!({
            "file": request.onnx.display().to_string(),
            "bytes": model.bytes.len(),
            "opset": OPSET,
            "task": policy.config.task.name,
            "trained_agents": policy.config.agents,
            "inputs": model.inputs.iter().map(object).collect::<Vec<_>>(),
            "outputs": model.outputs.iter().map(object).collect::<Vec<_>>(),
        }));
    }
    let (file, bytes) = (request.onnx.display(), model.bytes.len());
    say!("{file}: {} as ONNX, opset {OPSET}, {bytes} bytes", policy.config.task);
    let ports = model.inputs.iter().map(|port| ("in", port));
    let ports = ports.chain(model.outputs.iter().map(|port| ("out", port)));
    let row = |(way, port): (&str, &Port)| {
        vec![way.to_string(), port.name.to_string(), kind(port).to_string(), shape(port).join(" x ")]
    };
    table(&ports.map(row).collect::<Vec<_>>());
    Ok(())
}

fn object(port: &Port) -> Value {
    let extent = |extent: &Extent| match extent {
        Extent::Fixed(extent) => json!(extent),
        Extent::Free(name) => json!(name),
    };
    let shape: Vec<Value> = port.shape.iter().map(extent).collect();
    json!({ "name": port.name, "type": kind(port), "shape": shape })
}

fn shape(port: &Port) -> Vec<String> {
    let extent = |extent: &Extent| match extent {
        Extent::Fixed(extent) => extent.to_string(),
        Extent::Free(name) => name.to_string(),
    };
    port.shape.iter().map(extent).collect()
}

/// The type of an input or output, as ONNX spells it.
fn kind(port: &Port) -> &'static str {
    match port.kind {
        Kind::F32 => "float",
        Kind::F64 => "double",
        Kind::I32 => "int32",
        Kind::I64 => "int64",
        Kind::Bool => "bool",
    }
}
