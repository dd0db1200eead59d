//! `cinoc record`: decisions of a policy, to verify its controller on another machine.

use crate::arguments::Record;
use crate::failure::Failure;
use crate::terminal::say;
use crate::work::subject::{changed, policy_path};
use cinoc_control::Tasks;
use cinoc_learn::decisions_file::{record, to_bytes};
use cinoc_learn::files::write_atomically;
use cinoc_learn::memory::Needs;
use cinoc_learn::policy_file::PolicyFile;
use serde_json::json;

pub fn run(request: &Record, tasks: &Tasks) -> Result<(), Failure> {
    let path = policy_path(&request.policy)?;
    let policy = PolicyFile::read(&path, tasks)?;
    // decisions belong to the bytes of a policy file
    let bytes = std::fs::read(&path)
        .map_err(|error| Failure::Request(format!("cannot read {}: {error}", path.display())))?;
    let sets: Vec<String> = request.agents.map(|agents| format!("agents={agents}")).into_iter().collect();
    let config = changed(&policy.config, &sets)?;
    Needs::evaluation(&config, request.count, 1, 1).check()?;

    let recorded = record(&policy, &config, request.count);
    let written = to_bytes(&recorded, &config, &bytes);
    write_atomically(&request.file, |file| file.write_all(&written))
        .map_err(|error| Failure::Run(error.to_string()))?;
    let (task, count, agents) = (&config.task.name, recorded.len(), config.agents);
    if request.json {
        return super::print_json(&json!({
            "task": task,
            "file": request.file,
            "decisions": count,
            "agents": agents,
            "bytes": written.len(),
        }));
    }
    say!("{}: {count} decisions of up to {agents} agents of {task}", request.file.display());
    say!("on the target: cinoc-selftest {} {}", path.display(), request.file.display());
    Ok(())
}
