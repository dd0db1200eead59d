//! The network: branch, trunk, the layer where both meet, and the bounded actions.

use std::collections::HashMap;

use cinoc_control::Config;
use cinoc_control::config::{Around, Fusion, Padding, View as Seeing};

use super::graph::{AGENTS, BATCH, Extent, Graph, Value};
use super::observation::{Seen, channel_count, reference, resampling, target_count, view};
use crate::policy_file::{PolicyFile, tensor_shapes};

/// The parameters of a policy as constants of a graph, under the names they have in its file.
pub(super) struct Layers(HashMap<String, (Value, Vec<usize>)>);

impl Layers {
    pub fn new(g: &mut Graph, policy: &PolicyFile) -> Layers {
        let (mut all, mut rest) = (HashMap::new(), &policy.params[..]);
        for (name, shape) in tensor_shapes(&policy.config) {
            let (these, others) = rest.split_at(shape.iter().product());
            all.insert(name.clone(), (g.parameter(&name, &shape, these), shape));
            rest = others;
        }
        Layers(all)
    }

    fn weight(&self, name: &str) -> Value {
        self.0[&format!("{name}.w")].0
    }

    fn bias(&self, name: &str) -> Value {
        self.0[&format!("{name}.b")].0
    }

    /// Numbers in and out of a layer.
    fn sizes(&self, name: &str) -> [usize; 2] {
        let shape = &self.0[&format!("{name}.w")].1;
        [shape[0], shape[1]]
    }

    fn dense(&self, g: &mut Graph, x: Value, name: &str) -> Value {
        self.dense_with(g, x, self.weight(name), name)
    }

    fn dense_with(&self, g: &mut Graph, x: Value, weight: Value, name: &str) -> Value {
        let product = g.op("MatMul", &[x, weight]);
        g.op("Add", &[product, self.bias(name)])
    }
}

/// What a network is given beside the view of its branch.
pub(super) struct Known {
    /// Positions, `[batch, agents]` per axis, where the branch reads a convolved field at the agents.
    pub xi: Vec<Value>,
    /// What the trunk is told, `[batch, agents, features]`.
    pub features: Value,
}

/// Outputs of the network before they are bounded, `[batch, agents, actions]`.
pub(super) fn raw(g: &mut Graph, config: &Config, layers: &Layers, seen: Seen, known: &Known) -> Value {
    let mut trunk = known.features;
    for name in ["trunk.0", "trunk.1"] {
        let layer = layers.dense(g, trunk, name);
        trunk = g.op("Tanh", &[layer]);
    }
    let merged = met(g, config, layers, seen, known, trunk);
    if !config.policy.rest {
        return layers.dense(g, merged, "head");
    }
    let without_error = without_error(g, config, seen);
    let at_rest = met(g, config, layers, without_error, known, trunk);
    let difference = g.op("Sub", &[merged, at_rest]);
    // the bias of the head is in both
    g.op("MatMul", &[difference, layers.weight("head")])
}

/// The branch, and the layer where it meets the trunk.
fn met(g: &mut Graph, config: &Config, layers: &Layers, seen: Seen, known: &Known, trunk: Value) -> Value {
    let branch = match seen {
        Seen::Windows(_) | Seen::Inputs(_) | Seen::Zeros => window_branch(g, config, layers, seen),
        Seen::Patches(_) | Seen::Channels(_) => patch_branch(g, config, layers, seen, known),
    };
    let merged = match config.policy.fusion {
        Fusion::Product => {
            let product = g.op("Mul", &[branch, trunk]);
            layers.dense(g, product, "merge")
        }
        Fusion::Concat => {
            // in two parts, because the branch may be one for all agents
            let (w, [rows, _]) = (layers.weight("merge"), layers.sizes("merge"));
            let split = rows - layers.sizes("trunk.1")[1];
            let [first, second] = [[0, split, 1], [split, rows, 1]].map(|rows| g.slice(w, 0, rows));
            let branch = g.op("MatMul", &[branch, first]);
            let trunk = layers.dense_with(g, trunk, second, "merge");
            g.op("Add", &[branch, trunk])
        }
    };
    g.op("Tanh", &[merged])
}

/// What an agent would see if the field were as it should be: of all channels the targets, which come last.
fn without_error(g: &mut Graph, config: &Config, seen: Seen) -> Seen {
    let (channels, targets) = (channel_count(config), target_count(config));
    let kept = |channel: usize| if channel < channels - targets { 0.0 } else { 1.0 };
    let mut masked = |x: Value, each: usize| {
        let mask: Vec<f64> = (0..channels).flat_map(|channel| vec![kept(channel); each]).collect();
        let mask = g.f32s(&mask);
        g.op("Mul", &[x, mask])
    };
    match seen {
        Seen::Windows(_) | Seen::Inputs(_) | Seen::Zeros if targets == 0 => Seen::Zeros,
        Seen::Zeros => seen,
        Seen::Windows(x) => Seen::Windows(masked(x, 1)),
        Seen::Patches(x) => Seen::Patches(masked(x, 1)),
        Seen::Channels(x) => Seen::Channels(masked(x, 1)),
        Seen::Inputs(x) => {
            let Around::Window { points, .. } = config.observe.around else {
                unreachable!("inputs are those of 1D tasks")
            };
            Seen::Inputs(masked(x, points))
        }
    }
}

/// 1D: two layers, each divided by its norm + 1.
fn window_branch(g: &mut Graph, config: &Config, layers: &Layers, seen: Seen) -> Value {
    let activated = |g: &mut Graph, mut x: Value| {
        if config.policy.softnorm {
            let divisor = norm_plus_one(g, x);
            x = g.op("Div", &[x, divisor]);
        }
        g.op("Tanh", &[x])
    };
    let mut weight = layers.weight("branch.0");
    let first = match seen {
        // the same for all agents
        Seen::Zeros => layers.bias("branch.0"),
        Seen::Windows(windows) => {
            let Around::Window { window, points } = config.observe.around else {
                unreachable!("windows are cut by 1D tasks")
            };
            // the resampling is multiplied into the weight, which stays a constant: [W * channels, outputs]
            let matrix = resampling(g, window, points);
            let [channels, width] = [channel_count(config), layers.sizes("branch.0")[1]].map(|n| n as i64);
            let [window, points] = [window, points].map(|n| n as i64);
            weight = g.reshape(weight, &[channels, points, width]);
            weight = g.transpose(weight, &[1, 0, 2]);
            weight = g.reshape(weight, &[points, channels * width]);
            weight = g.op("MatMul", &[matrix, weight]);
            weight = g.reshape(weight, &[window * channels, width]);
            let x = g.reshape(windows, &[0, 0, window * channels]);
            layers.dense_with(g, x, weight, "branch.0")
        }
        Seen::Inputs(x) | Seen::Patches(x) | Seen::Channels(x) => layers.dense_with(g, x, weight, "branch.0"),
    };
    let hidden = activated(g, first);
    let second = layers.dense(g, hidden, "branch.1");
    activated(g, second)
}

/// 2D: convolutions, then one layer of what was divided by its norm + 1.
fn patch_branch(g: &mut Graph, config: &Config, layers: &Layers, seen: Seen, known: &Known) -> Value {
    let [_, width] = layers.sizes("branch");
    let channels = config.policy.conv.last().copied().unwrap_or_else(|| channel_count(config));
    let weight = layers.weight("branch");
    let whole = matches!(config.observe.around, Around::Patch { view: Seeing::Field, .. });
    let at_the_agents = match seen {
        Seen::Channels(maps) if !whole => {
            debug_assert_eq!(config.policy.padding, Some(Padding::Field));
            let lattice = reference(config);
            let maps = g.transpose(maps, &[0, 3, 1, 2]);
            let maps = convolved(g, config, layers, maps, |g, maps| lattice.framed(g, maps), 0);
            let maps = g.transpose(maps, &[0, 2, 3, 1]);
            let view = view(config);
            let seen = lattice.read(g, maps, channels, &known.xi, view);
            let flat = g.reshape(seen, &[0, 0, (view.width * view.width * channels) as i64]);
            (flat, weight)
        }
        _ => {
            // every agent, or the whole field, is an image of its own: [images, channels, n_x, n_y]
            let (images, sides) = match seen {
                Seen::Patches(patches) => {
                    let side = view(config).width;
                    let patches = g.transpose(patches, &[0, 1, 4, 2, 3]);
                    let shape = [channel_count(config), side, side].map(|extent| extent as i64);
                    (g.reshape(patches, &[&[-1][..], &shape].concat()), [side, side])
                }
                Seen::Zeros => unreachable!("patches are cut"),
                Seen::Channels(maps) | Seen::Windows(maps) | Seen::Inputs(maps) => {
                    let n = reference(config).axes.iter().map(|axis| axis.n).collect::<Vec<_>>();
                    (g.transpose(maps, &[0, 3, 1, 2]), [n[0], n[1]])
                }
            };
            let maps = convolved(g, config, layers, images, |_, maps| maps, 1);
            let [n_x, n_y, c, out] = [sides[0], sides[1], channels, width].map(|extent| extent as i64);
            let flat = g.reshape(maps, &[-1, c * n_x * n_y]);
            // rows by channel, x, y, as the convolutions leave them
            let weight = g.reshape(weight, &[n_x, n_y, c, out]);
            let weight = g.transpose(weight, &[2, 0, 1, 3]);
            (flat, g.reshape(weight, &[c * n_x * n_y, out]))
        }
    };
    let (flat, weight) = at_the_agents;
    // (h / |h|) w = (h w) / |h|, on fewer numbers
    let mut y = g.op("MatMul", &[flat, weight]);
    if config.policy.softnorm {
        let divisor = norm_plus_one(g, flat);
        y = g.op("Div", &[y, divisor]);
    }
    y = g.op("Add", &[y, layers.bias("branch")]);
    y = g.op("Tanh", &[y]);
    match seen {
        Seen::Patches(_) => y = g.by_agent(y, width, known.features),
        _ if whole => y = g.unsqueeze(y, &[1]),
        _ => {}
    }
    y
}

/// Maps `[images, channels, n_x, n_y]` after all convolutions.
fn convolved(
    g: &mut Graph,
    config: &Config,
    layers: &Layers,
    mut maps: Value,
    frame: impl Fn(&mut Graph, Value) -> Value,
    pad: i64,
) -> Value {
    let mut channels = channel_count(config);
    for (k, &outputs) in config.policy.conv.iter().enumerate() {
        let name = format!("conv.{k}");
        // [tap x, tap y, in, out] to [out, in, tap x, tap y]
        let weight = g.reshape(layers.weight(&name), &[3, 3, channels as i64, outputs as i64]);
        let weight = g.transpose(weight, &[3, 2, 0, 1]);
        let framed = frame(g, maps);
        maps = g.convolution(framed, weight, layers.bias(&name), pad);
        maps = g.op("Relu", &[maps]);
        channels = outputs;
    }
    maps
}

fn norm_plus_one(g: &mut Graph, x: Value) -> Value {
    let (norm, one) = (g.norm(x), g.f32(1.0));
    g.op("Add", &[norm, one])
}

/// The bounded actions as outputs `u` and `v`, 0 for agents that are not `alive`.
pub(super) fn act(g: &mut Graph, config: &Config, raw: Value, share: Option<Value>, alive: Option<Value>) {
    let bounds = &config.actuation;
    let dims = config.task.dims;
    let first_v = usize::from(bounds.u_max.is_some());
    let bounded = |g: &mut Graph, rows: [usize; 2], share: Option<Value>, bound: f64| {
        let part = g.slice(raw, 2, [rows[0], rows[1], 1]);
        let part = share.map_or(part, |share| g.op("Mul", &[part, share]));
        let units = g.op("Tanh", &[part]);
        let alive = alive.map(|alive| g.unsqueeze(alive, &[2]));
        let units = alive.map_or(units, |alive| g.op("Mul", &[units, alive]));
        g.scaled(units, bound)
    };
    if let Some(u_max) = bounds.u_max {
        let u = bounded(g, [0, 1], share, u_max);
        let u = g.squeeze(u, 2);
        g.output("u", u, &[BATCH, AGENTS]);
    }
    if let Some(v_max) = bounds.v_max {
        // only what adds up over agents is shared: the intensity, or the velocity of agents that stir
        let share = share.filter(|_| bounds.u_max.is_none());
        let mut v = bounded(g, [first_v, first_v + dims], share, v_max);
        if bounds.gain.is_some() && v_max > 0.0 {
            let (speed, one) = (g.norm(v), g.f32(1.0));
            let excess = g.scaled(speed, 1.0 / v_max);
            let excess = g.op("Max", &[excess, one]);
            v = g.op("Div", &[v, excess]);
        }
        if dims == 1 {
            v = g.squeeze(v, 2);
            return g.output("v", v, &[BATCH, AGENTS]);
        }
        g.output("v", v, &[BATCH, AGENTS, Extent::Fixed(dims)]);
    }
}
