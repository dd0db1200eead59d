//! `cinoc tasks`: what can be controlled.

use crate::arguments::Tasks;
use crate::failure::Failure;
use crate::terminal::table;
use cinoc_control::Config;
use cinoc_control::config::tasks;
use serde_json::json;

pub fn run(request: &Tasks) -> Result<(), Failure> {
    if let Some(name) = &request.task {
        let config = Config::preset(name)?;
        let info = tasks().iter().find(|task| task.name == *name).expect("presets belong to tasks");
        if request.json {
            super::print_json(&json!({ "default": config, "paper": Config::paper(name)? }))?
        } else {
            print!("{}\n# What `--preset paper` changes.\n{}", info.preset, info.paper)
        }
        return Ok(());
    }
    let configs = tasks().iter().map(|task| Ok((task, Config::preset(task.name)?)));
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
    let row = |(task, config): &(&cinoc_control::config::TaskInfo, Config)| {
        let grid = extents(config).iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
        let numbers = [config.agents.to_string(), grid, config.time.steps.to_string()];
        [vec![task.name.to_string(), task.title.to_string()], numbers.to_vec()].concat()
    };
    let rows: Vec<_> = std::iter::once(heading).chain(configs.iter().map(row)).collect();
    table(&rows);
    println!("\nEvery setting of a task: cinoc tasks TASK");
    Ok(())
}

/// Grid points along every axis.
fn extents(config: &Config) -> Vec<usize> {
    config.axes().iter().map(|axis| axis.n).collect()
}
