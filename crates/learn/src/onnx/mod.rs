//! Policies as ONNX files, for controllers in any language.
//!
//! The whole decision is one graph of standard operators, for any number of agents and of fields at once:
//! what agents see (`observation`, read by `lattice`), what they know of each other (`crowd`) and of their
//! place (`trunk`), and the network with its bounded actions (`network`). The definition is
//! `docs/policy-network.md`. The parameters stand in the file as in the policy file, under the same names;
//! what follows from them and from settings alone is computed by a few operators, which runtimes evaluate
//! once.

mod crowd;
mod graph;
mod lattice;
mod network;
mod observation;
mod proto;
mod trunk;

#[cfg(test)]
mod tests;

pub use graph::{AGENTS, BATCH, Extent, Kind, OPSET, Port};

use std::path::Path;

use cinoc_control::Config;
use cinoc_control::config::{Around, KEYS};
use cinoc_control::policy::layers;
use serde_json::{Map, Value as Json, json};
use thiserror::Error;

use crate::cases_file::extents;
use crate::files::{FileError, write_atomically};
use crate::policy_file::PolicyFile;
use graph::{Graph, Value};
use network::{Known, Layers};
use observation::{Seen, Sight};

/// The metadata entry that names the meaning of inputs and outputs.
const FORMAT: &str = "cinoc onnx 1";

/// Which part of a policy is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// From the field, the target and the positions to the actions.
    Decision,
    /// The network alone, from observations to the actions.
    Network,
}

/// Why a policy cannot be exported.
#[derive(Debug, PartialEq, Eq, Error)]
#[error(
    "a policy of the method {method} cannot be exported; only those of the method cinoc (cinoc train TASK) \
     can: \
     its baselines have other networks"
)]
pub struct NotExportable {
    method: String,
}

/// An ONNX model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Its file.
    pub bytes: Vec<u8>,
    /// What it is given.
    pub inputs: Vec<Port>,
    /// What it gives.
    pub outputs: Vec<Port>,
}

impl Model {
    /// A part of a policy as it is used in `config`: that of its training, or one with the same network and
    /// another grid, say.
    ///
    /// ```
    /// use cinoc_control::{Config, policy::param_count};
    /// use cinoc_learn::onnx::{AGENTS, BATCH, Model, Part};
    /// use cinoc_learn::policy_file::PolicyFile;
    ///
    /// let config = Config::preset("heat1d").unwrap();
    /// let policy = PolicyFile { params: vec![0.0; param_count(&config)], config };
    /// let model = Model::new(&policy, &policy.config, Part::Decision).unwrap();
    /// assert_eq!(model.outputs[0].name, "u");
    /// assert_eq!(model.outputs[0].shape, [BATCH, AGENTS]);
    /// ```
    ///
    /// # Panics
    /// If the network of `config` has other sizes than that of the policy.
    pub fn new(policy: &PolicyFile, config: &Config, part: Part) -> Result<Model, NotExportable> {
        if config.method.is_some() {
            return Err(NotExportable { method: config.method_name().to_string() });
        }
        assert_eq!(layers(config), layers(&policy.config), "a network of other sizes");
        let mut g = Graph::default();
        match part {
            Part::Decision => decision(&mut g, policy, config),
            Part::Network => network_alone(&mut g, policy, config),
        }
        let (inputs, outputs) = (g.inputs.clone(), g.outputs.clone());
        let description = match part {
            Part::Decision => "What every agent does about a field. Units: L length, T time, Z the field.",
            Part::Network => {
                "What every agent does about its observation. Units: L length, T time, Z the field."
            }
        };
        let bytes = g.into_file(&config.task.name, description, &metadata(policy, config, part));
        Ok(Model { bytes, inputs, outputs })
    }

    /// Writes the file, completely or not at all.
    pub fn write(&self, path: &Path) -> Result<(), FileError> {
        write_atomically(path, |file| file.write_all(&self.bytes))
    }
}

/// A shape that begins with the batch.
fn batched(rest: impl IntoIterator<Item = usize>) -> Vec<Extent> {
    std::iter::once(BATCH).chain(rest.into_iter().map(Extent::Fixed)).collect()
}

/// A shape that begins with the batch and the agents.
fn of_agents(rest: impl IntoIterator<Item = usize>) -> Vec<Extent> {
    [BATCH, AGENTS].into_iter().chain(rest.into_iter().map(Extent::Fixed)).collect()
}

/// Positions as an input: one value `[batch, agents]` per axis.
fn positions(g: &mut Graph, config: &Config) -> Vec<Value> {
    if config.task.dims == 1 {
        return vec![g.input("xi", Kind::F32, &of_agents([]))];
    }
    let xi = g.input("xi", Kind::F32, &of_agents([config.task.dims]));
    let along = |axis| {
        let axis = g.i32(axis);
        g.gather(xi, axis, 2)
    };
    (0..config.task.dims as i32).map(along).collect()
}

fn decision(g: &mut Graph, policy: &PolicyFile, config: &Config) {
    let fields = &config.task.fields;
    let tracked = fields.iter().filter(|field| field.tracked).count();
    let z = g.input("z", Kind::F32, &batched(extents(config, fields.len())));
    let target = g.input("target", Kind::F32, &batched(extents(config, tracked)));
    let mut xi = positions(g, config);
    let alive = crowd::wanted(config).then(|| {
        let alive = g.input("alive", Kind::Bool, &of_agents([]));
        // the position of an agent that has failed may be anything, also NaN
        let zero = g.f32(0.0);
        xi.iter_mut().for_each(|xi| *xi = g.op("Where", &[alive, *xi, zero]));
        g.cast(alive, Kind::F32)
    });
    let sight = Sight { z, target, xi, alive };
    let layers = Layers::new(g, policy);
    let neighbours = crowd::neighbours(g, config, &sight);
    let features = trunk::features(g, config, &sight, neighbours.as_ref());
    let seen = observation::seen(g, config, &sight);
    let known = Known { xi: sight.xi.clone(), features };
    let raw = network::raw(g, config, &layers, seen, &known);
    let share = neighbours.filter(|_| shares(config)).map(|neighbours| neighbours.share);
    network::act(g, config, raw, share, sight.alive);
}

fn network_alone(g: &mut Graph, policy: &PolicyFile, config: &Config) {
    let channels = observation::channel_count(config);
    let mut xi = Vec::new();
    let seen = match config.observe.around {
        Around::Window { points, .. } => {
            Seen::Inputs(g.input("observation", Kind::F32, &of_agents([channels * points])))
        }
        Around::Patch { view, .. } if observation::convolves_field(config) => {
            let lattice = config.axes().into_iter().map(|axis| axis.n_ref);
            let shape = batched(lattice.chain([channels]));
            let maps = g.input("channels", Kind::F32, &shape);
            if view == cinoc_control::config::View::Patch {
                xi = positions(g, config);
            }
            Seen::Channels(maps)
        }
        Around::Patch { patch, .. } => {
            Seen::Patches(g.input("observation", Kind::F32, &of_agents([patch, patch, channels])))
        }
    };
    let of_trunk = |layer: &cinoc_control::policy::Layer| layer.name == "trunk.0";
    let count = layers(config).iter().find(|layer| of_trunk(layer)).map_or(0, |layer| layer.inputs);
    let features = g.input("features", Kind::F32, &of_agents([count]));
    let share = shares(config).then(|| {
        let share = g.input("share", Kind::F32, &of_agents([]));
        g.unsqueeze(share, &[2])
    });
    let layers = Layers::new(g, policy);
    let raw = network::raw(g, config, &layers, seen, &Known { xi, features });
    network::act(g, config, raw, share, None);
}

fn shares(config: &Config) -> bool {
    config.policy.share == cinoc_control::config::Share::Crowd
}

/// What a user of the file wants to know.
fn metadata(policy: &PolicyFile, config: &Config, part: Part) -> Vec<(&'static str, String)> {
    let unit = |key: &str| KEYS.iter().find(|known| known.name == key).map_or("", |known| known.unit);
    let (mut units, mut bounds) = (Map::new(), Map::new());
    units.insert("z".into(), json!("Z"));
    units.insert("xi".into(), json!(unit("grid.length")));
    let actions =
        [("u", "actuation.u_max", config.actuation.u_max), ("v", "actuation.v_max", config.actuation.v_max)];
    for (name, key, bound) in actions {
        let Some(bound) = bound else { continue };
        units.insert(name.into(), json!(unit(key)));
        bounds.insert(name.into(), json!(bound));
    }
    let axes = config.axes();
    let lengths: Vec<f64> = axes.iter().map(|axis| axis.length).collect();
    vec![
        ("format", FORMAT.into()),
        ("part", if part == Part::Decision { "decision" } else { "network" }.into()),
        ("task", config.task.name.clone()),
        ("units", Json::Object(units).to_string()),
        ("bounds", Json::Object(bounds).to_string()),
        ("lengths", json!(lengths).to_string()),
        ("periodic", config.periodic().to_string()),
        ("control_step", json!(config.control_dt()).to_string()),
        ("trained_agents", policy.config.agents.to_string()),
        ("policy_checksum", policy.to_tensors().checksum()),
    ]
}
