//! What agents see of the field: the channels of `docs/policy-network.md` on the reference lattice, and
//! windows or patches of them.

use cinoc_control::Config;
use cinoc_control::config::{Around, Padding, Sampling, View as Seeing};

use super::graph::{Graph, Kind, Value};
use super::lattice::{Axis, Lattice, View};

/// What the agents decide about, as values of a graph.
pub(super) struct Sight {
    /// The state, `[batch, (fields,) n_x, (n_y)]`.
    pub z: Value,
    /// The target of the tracked fields, likewise.
    pub target: Value,
    /// Positions, `[batch, agents]` per axis.
    pub xi: Vec<Value>,
    /// 1 for agents that work and 0 for others, `[batch, agents]`, where the policy asks for it.
    pub alive: Option<Value>,
}

/// What the branch of the network is given.
#[derive(Clone, Copy)]
pub(super) enum Seen {
    /// Windows, `[batch, agents, W, channels]`.
    Windows(Value),
    /// The inputs of the 1D branch, `[batch, agents, channels * P]`.
    Inputs(Value),
    /// Patches, `[batch, agents, p, p, channels]`.
    Patches(Value),
    /// The whole lattice, `[batch, n_x, n_y, channels]`.
    Channels(Value),
    /// Inputs of the 1D branch that are all 0.
    Zeros,
}

/// The reference lattice of a policy.
pub(super) fn reference(config: &Config) -> Lattice {
    let axis = |axis: &cinoc_control::config::ReferenceAxis| Axis {
        n: axis.n_ref,
        density: axis.cells_per_length(),
    };
    Lattice { axes: config.axes().iter().map(axis).collect(), ring: config.periodic() }
}

/// The part of the lattice that an agent sees.
pub(super) fn view(config: &Config) -> View {
    let width = match config.observe.around {
        Around::Window { window, .. } => window,
        Around::Patch { patch, .. } => patch,
    };
    View { width, linear: config.observe.sampling == Sampling::Linear }
}

/// Whether the branch convolves the whole lattice, and not the patch of every agent.
pub(super) fn convolves_field(config: &Config) -> bool {
    let all = matches!(config.observe.around, Around::Patch { view: Seeing::Field, .. });
    all || config.task.dims == 2 && config.policy.padding == Some(Padding::Field)
}

/// Channels on the lattice.
pub(super) fn channel_count(config: &Config) -> usize {
    match config.task.dims {
        1 => cinoc_control::observation::window::channels(config),
        _ => cinoc_control::observation::patch::channels(config),
    }
}

/// The last of them, which are targets.
pub(super) fn target_count(config: &Config) -> usize {
    let shown = config.task.fields.iter().filter(|field| field.observed && field.tracked).count();
    if config.observe.target == Some(true) { shown } else { 0 }
}

/// What the branch is given.
pub(super) fn seen(g: &mut Graph, config: &Config, sight: &Sight) -> Seen {
    let lattice = reference(config);
    let channels = channels(g, config, &lattice, sight);
    if convolves_field(config) {
        return Seen::Channels(channels);
    }
    let seen = lattice.read(g, channels, channel_count(config), &sight.xi, view(config));
    if config.task.dims == 1 { Seen::Windows(seen) } else { Seen::Patches(seen) }
}

/// All channels on the reference lattice, `[batch, n_x, (n_y,) channels]`.
fn channels(g: &mut Graph, config: &Config, lattice: &Lattice, sight: &Sight) -> Value {
    let fields = &config.task.fields;
    let tracked = fields.iter().filter(|field| field.tracked).count();
    let (mut errors, mut targets) = (Vec::new(), Vec::new());
    let mut next_target = 0;
    for (i, field) in fields.iter().enumerate() {
        let target = field.tracked.then_some(next_target);
        next_target += usize::from(field.tracked);
        if !field.observed {
            continue;
        }
        let z = on_lattice(g, config, sight.z, i, fields.len());
        let target = target.map(|k| on_lattice(g, config, sight.target, k, tracked));
        errors.push(target.map_or(z, |target| g.op("Sub", &[z, target])));
        targets.extend(target);
    }
    let errors = g.concat(&errors, -1);
    let mut channels = vec![errors];
    if config.observe.gradient {
        channels.extend((0..lattice.axes.len()).map(|axis| lattice.differences(g, errors, axis)));
    }
    if config.observe.target == Some(true) {
        channels.extend(targets);
    }
    g.concat(&channels, -1)
}

/// One of the fields of a state on the reference lattice, `[batch, n_x, (n_y,) 1]`.
fn on_lattice(g: &mut Graph, config: &Config, state: Value, field: usize, fields: usize) -> Value {
    // a state with one field has no axis for fields, one with several has it even for a single target
    let several = config.task.fields.len() > 1;
    let mut field = if several { g.slice(state, 1, [field, field + 1, 1]) } else { state };
    debug_assert!(several || fields == 1);
    for (k, axis) in config.axes().iter().enumerate() {
        let along = i64::from(several) + 1 + k as i64;
        field = match axis.stride() {
            Some(1) => field,
            Some(stride) => g.slice(field, along, [0, axis.n, stride]),
            None => between(g, field, along, &axis.readings(), config.task.dims - 1 - k),
        };
    }
    match (several, config.task.dims) {
        (false, dims) => g.unsqueeze(field, &[1 + dims as i64]),
        // the axis of the field becomes that of the channel
        (true, 1) => g.transpose(field, &[0, 2, 1]),
        (true, _) => g.transpose(field, &[0, 2, 3, 1]),
    }
}

/// A field at points between those of its grid along an axis, which `trailing` axes follow.
fn between(g: &mut Graph, field: Value, axis: i64, readings: &[Vec<(usize, f64)>], trailing: usize) -> Value {
    // points that coincide with a grid point have one reading
    let last = |reading: &Vec<(usize, f64)>| reading[reading.len() - 1];
    let before: Vec<i64> = readings.iter().map(|reading| reading[0].0 as i64).collect();
    let after: Vec<i64> = readings.iter().map(|reading| last(reading).0 as i64).collect();
    let weights: Vec<f64> = readings.iter().map(|reading| last(reading).1).collect();
    let [before, after] = [before, after].map(|indices| {
        let indices = g.i64s(&indices);
        g.gather(field, indices, axis)
    });
    let weights = g.f32s(&weights);
    let axes: Vec<i64> = (1..=trailing as i64).collect();
    let weights = if axes.is_empty() { weights } else { g.unsqueeze(weights, &axes) };
    let slope = g.op("Sub", &[after, before]);
    let step = g.op("Mul", &[slope, weights]);
    g.op("Add", &[before, step])
}

/// The matrix from windows of W points to the P inputs of the branch, `[W, P]`: half-pixel centres, a
/// triangle filter where it coarsens.
///
/// Made of a few operators, because a file with the matrix would be larger. Double precision, because nothing
/// is lost: runtimes compute what depends on constants alone once.
pub(super) fn resampling(g: &mut Graph, window: usize, points: usize) -> Value {
    let ratio = window as f64 / points as f64;
    let [taps, inputs] = [window, points].map(|count| {
        let numbers = g.range(0, count);
        g.cast(numbers, Kind::F64)
    });
    let (scale, shift) = (g.f64(ratio), g.f64(0.5 * ratio - 0.5));
    let centres = g.op("Mul", &[inputs, scale]);
    let centres = g.op("Add", &[centres, shift]);
    // not Unsqueeze: onnx.shape_inference with data_prop follows the numbers through it, and loses the new
    // axis
    let taps = g.reshape(taps, &[-1, 1]);
    let distance = g.op("Sub", &[taps, centres]);
    let distance = g.op("Abs", &[distance]);
    let (reach, zero) = (g.f64(ratio.max(1.0)), g.f64(0.0));
    // reach - distance: the factor 1 / reach falls out in the division by the sum
    let weight = g.op("Sub", &[reach, distance]);
    let weight = g.op("Max", &[weight, zero]);
    let total = g.sum(weight, 0);
    let weight = g.op("Div", &[weight, total]);
    g.cast(weight, Kind::F32)
}
