//! `cinoc act`: one decision, of all agents, about a field from a file.

use crate::arguments::Act;
use crate::failure::Failure;
use crate::terminal::{Terminal, number, table};
use crate::work::subject::{changed, load_policy};
use cinoc_control::config::KEYS;
use cinoc_control::{Config, Decision, Tasks};
use cinoc_learn::memory::Needs;
use cinoc_learn::situation::Arrays;
use serde_json::{Map, Value, json};
use std::io::Write;

pub fn run(request: &Act, tasks: &Tasks) -> Result<(), Failure> {
    let policy = load_policy(&request.policy, false, tasks, &Terminal::default())?.policy;
    let arrays = Arrays::read(&request.field, request.target.as_deref(), request.positions.as_deref())?;
    let config = circumstances(request, &policy.config, &arrays)?;
    Needs::decisions(&config, 1).check()?;
    let situation = arrays.situation(&config)?;

    let params: Vec<f64> = policy.params.iter().map(|&p| f64::from(p)).collect();
    let mut controller = Decision::<f64>::new(&config).controller(&params, &situation.target);
    let decided = controller.decide(&situation.z, &situation.xi);
    let answer = Answer { config: &config, xi: &situation.xi, u: decided.u, v: decided.v };
    if request.json { super::print_json(&answer.object()) } else { answer.show() }
}

/// The settings of the policy on the grid of the field, with the agents of the positions, as changed by the
/// request.
fn circumstances(request: &Act, trained: &Config, arrays: &Arrays) -> Result<Config, Failure> {
    let mut sets = arrays.settings(trained)?;
    let mut asked = request.sets.clone();
    asked.extend(request.agents.map(|agents| format!("agents={agents}")));
    // an error of the request is told as such, and not as one of the field
    changed(trained, &asked)?;
    sets.extend(asked);
    changed(trained, &sets).map_err(|failure| match failure {
        Failure::Request(reason) => {
            let (path, shape) = arrays.field_shape();
            Failure::Request(format!("cannot use {}: its shape is {shape:?}; {reason}", path.display()))
        }
        other => other,
    })
}

/// A decision as it is told: vectors are all first components, then all second ones.
struct Answer<'a> {
    config: &'a Config,
    xi: &'a [f64],
    u: Option<&'a [f64]>,
    v: Option<&'a [f64]>,
}

impl Answer<'_> {
    /// What there is of positions, intensities and velocities, with the setting that has their unit and
    /// bound.
    fn quantities(&self) -> impl Iterator<Item = (&'static str, &'static str, &[f64])> {
        let all = [
            ("xi", "grid.length", Some(self.xi)),
            ("u", "actuation.u_max", self.u),
            ("v", "actuation.v_max", self.v),
        ];
        all.into_iter().filter_map(|(name, key, values)| values.map(|values| (name, key, values)))
    }

    fn object(&self) -> Value {
        let actuation = &self.config.actuation;
        let mut object = Map::new();
        object.insert("task".to_string(), json!(self.config.task.name));
        object.insert("agents".to_string(), json!(self.config.agents));
        let mut units = Map::new();
        for (name, key, values) in self.quantities() {
            object.insert(name.to_string(), by_agent(values, self.config.agents));
            units.insert(name.to_string(), json!(unit(key)));
        }
        object.insert("units".to_string(), Value::Object(units));
        let bounds = [("u", actuation.u_max), ("v", actuation.v_max)];
        let bounds = bounds.into_iter().filter_map(|(name, bound)| Some((name.to_string(), json!(bound?))));
        object.insert("bounds".to_string(), Value::Object(bounds.collect()));
        Value::Object(object)
    }

    fn show(&self) -> Result<(), Failure> {
        let (agents, mut heading) = (self.config.agents, vec!["agent".to_string()]);
        let mut rows: Vec<Vec<String>> = (0..agents).map(|agent| vec![agent.to_string()]).collect();
        for (name, key, values) in self.quantities() {
            for (axis, component) in values.chunks_exact(agents).enumerate() {
                let symbol = match (name, values.len() > agents) {
                    ("xi", _) => ["x", "y"][axis].to_string(),
                    (_, true) => format!("{name}_{}", ["x", "y"][axis]),
                    (_, false) => name.to_string(),
                };
                heading.push(format!("{symbol} ({})", unit(key)));
                rows.iter_mut().zip(component).for_each(|(row, &value)| row.push(number(value)));
            }
        }
        let about = format!("{}: what {agents} agents do (L length, T time, Z the field)", self.config.task);
        // a pager that is closed early is no failure
        let _ = writeln!(std::io::stdout(), "{about}");
        table(&[vec![heading], rows].concat());
        Ok(())
    }
}

/// The unit of a setting, in symbols.
fn unit(key: &str) -> &'static str {
    KEYS.iter().find(|known| known.name == key).map_or("", |known| known.unit)
}

/// A number per agent, or a vector per agent where there are two components.
fn by_agent(values: &[f64], agents: usize) -> Value {
    match values.split_at(agents) {
        (first, []) => json!(first),
        (first, second) => json!(first.iter().zip(second).collect::<Vec<_>>()),
    }
}
