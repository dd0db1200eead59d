//! `cinoc trace`: the control step of a task as the list of primitives that the engine runs.

use crate::arguments::Trace;
use crate::failure::Failure;
use cinoc_adjoint::Entry;
use cinoc_control::{ClosedLoop, Tasks};
use cinoc_learn::memory::Needs;
use cinoc_learn::train::chunk;
use serde_json::{Map, Value, json};
use std::io::Write;

pub fn run(request: &Trace, tasks: &Tasks) -> Result<(), Failure> {
    let mut sets = request.sets.clone();
    sets.extend(request.agents.map(|agents| format!("agents={agents}")));
    let config = tasks.find(&request.task)?.resolve(request.preset.into(), "cinoc", None, &sets)?;
    Needs::training(&config, 1).check()?;
    let listing = ClosedLoop::<f32>::for_training(&config, chunk(&config)).program().listing();
    if request.json {
        let entries: Vec<Value> = listing.entries.iter().map(entry).collect();
        return super::print_json(
            &json!({"task": config.task.name, "chunk": listing.chunk, "entries": entries}),
        );
    }
    // a pager that is closed early is no failure
    let _ = write!(std::io::stdout(), "{listing}");
    Ok(())
}

fn entry(entry: &Entry) -> Value {
    let parameters: Map<String, Value> = entry
        .parameters
        .iter()
        .enumerate()
        .map(|(i, (name, value))| {
            // several tables of one name are numbered
            let again = entry.parameters[..i].iter().filter(|other| other.0 == *name).count();
            let name = if again == 0 { name.to_string() } else { format!("{name}_{}", again + 1) };
            (name, Value::String(value.to_string()))
        })
        .collect();
    json!({
        "id": entry.id,
        "primitive": entry.primitive,
        "label": entry.label,
        "parameters": parameters,
        "inputs": entry.inputs,
        "rows": entry.shape.rows,
        "cols": entry.shape.cols,
        "shared": entry.shape.shared,
        "uses": entry.uses,
        "stage": entry.stage,
        "flops": entry.flops,
        "bytes": entry.bytes,
        "reverse": entry.reverse,
    })
}
