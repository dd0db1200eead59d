//! `cinoc tasks`: what can be controlled.

use crate::arguments;
use crate::failure::Failure;
use crate::terminal::say;
use crate::terminal::table;
use cinoc_control::config::Preset;
use cinoc_control::{Config, Task, Tasks};
use serde_json::json;

pub fn run(request: &arguments::Tasks, tasks: &Tasks) -> Result<(), Failure> {
    if let Some(name) = &request.task {
        return settings(tasks.find(name)?, request.json);
    }
    let configs = tasks.iter().map(|task| Ok((task.as_ref(), task.config()?)));
    let configs: Vec<_> = configs.collect::<Result<_, Failure>>()?;
    if request.json {
        let list: Vec<_> = configs
            .iter()
            .map(|(task, config)| {
                json!({"name": task.name, "title": task.title, "agents": config.agents, "grid": extents(config),
                    "steps": config.time.steps, "parameters": cinoc_control::policy::param_count(config)})
            })
            .collect();
        return super::print_json(&json!({ "tasks": list }));
    }
    let heading = ["task", "what", "agents", "grid", "steps"].map(String::from).to_vec();
    let row = |(task, config): &(&Task, Config)| {
        let grid = extents(config).iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
        let numbers = [config.agents.to_string(), grid, config.time.steps.to_string()];
        [vec![task.name.to_string(), task.title.to_string()], numbers.to_vec()].concat()
    };
    let rows: Vec<_> = std::iter::once(heading).chain(configs.iter().map(row)).collect();
    table(&rows);
    say!("\nEvery setting of a task: cinoc tasks TASK");
    Ok(())
}

/// Every setting of a task, and what the published form changes, if there is one.
fn settings(task: &Task, json: bool) -> Result<(), Failure> {
    let config = task.config()?;
    let paper = task.resolve(Preset::Paper, "cinoc", None, &[]).ok();
    if json {
        return super::print_json(&json!({ "default": config, "paper": paper }));
    }
    say!("{}", config.listing().trim_end());
    if let Some(paper) = paper {
        say!("\n# What `--preset paper` changes.\n{}", config.changes(&paper).trim_end());
    }
    Ok(())
}

/// Grid points along every axis.
fn extents(config: &Config) -> Vec<usize> {
    config.axes().iter().map(|axis| axis.n).collect()
}
