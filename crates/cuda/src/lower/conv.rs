//! 3 x 3 convolutions with a rectifier.

use super::product::{Product, lane_tile, none};
use super::*;
use crate::late;

/// Sizes of a convolution.
struct Sizes {
    inputs: usize,
    outputs: usize,
    /// Points of a patch or of a field, by axes.
    points: [usize; 2],
    agents: usize,
    field: bool,
    periodic: bool,
    work: f64,
}

impl Sizes {
    fn new(node: &Node) -> Sizes {
        let (x, w) = (node.input(0), node.input(1));
        let field = node.op.name() == "conv_field";
        let (points, agents) = if field {
            ([node.count("nx"), x.cols], 1)
        } else {
            let patch = node.counts("patch");
            ([patch[0], patch[1]], x.cols)
        };
        let (inputs, outputs) = (w.rows / 9, w.cols);
        let work = 2.0 * (points[0] * points[1] * agents * w.rows * outputs) as f64;
        Sizes { inputs, outputs, points, agents, field, periodic: node.flag("periodic"), work }
    }
    fn shape(&self) -> String {
        let Sizes { inputs, outputs, points: [nx, ny], agents, periodic, .. } = self;
        if self.field {
            format!("{nx}, {ny}, {inputs}, {periodic}")
        } else {
            format!("{nx}, {ny}, {inputs}, {outputs}, {agents}")
        }
    }
    fn count(&self) -> usize {
        self.points[0] * self.points[1]
    }
}

pub fn forward(lower: &mut Lower, node: &Node) -> Vec<Call> {
    let sizes = Sizes::new(node);
    let names: Vec<String> = (0..3).map(|i| node.x(i).name()).collect();
    let operands = format!("{}, {}", names.join(", "), node.y().name());
    let call = if sizes.field {
        // what the taps read, then a product
        let (points, taps, [x, w, b]) = (sizes.count(), 9 * sizes.inputs, [0, 1, 2].map(|i| &names[i]));
        let product = Product {
            extents: [sizes.outputs, points, taps],
            a: [1, sizes.outputs],
            b: [points, 1],
            factors: [w.clone(), "TEAM.room".into()],
            result: node.y().name(),
            start: ("PER_ROW", b.clone()),
            mode: "WRITE",
        };
        let (product, room) = product.within(lower, taps * points);
        let text = format!(
            "{{ neighbours<{}>(TEAM, {x}, TEAM.room); meet(TEAM); {product} meet(TEAM); \
             rectify<{}>(TEAM, {}); }}",
            sizes.shape(),
            sizes.outputs * points,
            node.y().name()
        );
        Call::new(text, sizes.work).room(room)
    } else {
        let [tm, tn] = lane_tile([sizes.outputs, sizes.agents], sizes.count(), lower.warps(sizes.work));
        let apart = lower.apart(node.x(1), sizes.outputs);
        Call::new(
            format!("conv_patch<{}, {apart}, {tm}, {tn}>(TEAM, {operands});", sizes.shape()),
            sizes.work,
        )
    };
    vec![(0..3).fold(call.fills(node.y()), |call, i| call.reads(node.x(i)))]
}

/// Points of all patches together from which a second pass pays for full tiles.
const MANY: usize = 10_000;

/// Columns of a lane in wide tiles: the 9 taps of 8 channels in a warp.
const WIDE: usize = 18;

pub fn reverse(lower: &mut Lower, r: &Reverse) -> Vec<Call> {
    let sizes = Sizes::new(&r.node);
    let (shape, dy, work) = (sizes.shape(), r.dy(), sizes.work);
    let Sizes { inputs, outputs, agents, .. } = sizes;
    let (points, d) = (sizes.count(), dy.name());
    let n = r.node.output().size();
    let busy = 12.0 * n as f64;
    let cut = format!("rectified<{n}>(TEAM, {}, {d});", r.y().name());
    let mut calls = vec![Call::new(cut, busy).reads(r.y()).reads(dy).fills(dy)];
    if let Some(to) = r.to(0) {
        let (w, t, mode) = (r.x(1), to.slot.name(), to.mode);
        let call = if sizes.field {
            let product = Product {
                extents: [9 * inputs, points, outputs],
                a: [outputs, 1],
                b: [points, 1],
                factors: [w.name(), d.clone()],
                result: "TEAM.room".into(),
                start: none(),
                mode: "WRITE",
            };
            let (product, room) = product.within(lower, 9 * inputs * points);
            let gather = format!("neighbours_reverse<{shape}, {mode}>(TEAM, TEAM.room, {t});");
            Call::new(format!("{{ {product} meet(TEAM); {gather} }}"), work).room(room)
        } else {
            let few = 9 * inputs <= 32 && points * agents >= MANY;
            let rows = if few { 9 * inputs } else { inputs };
            let [tm, tn] = lane_tile([rows, agents], points, lower.warps(work));
            let shape = format!("{shape}, {mode}, {}, {tm}, {tn}", lower.apart(w, outputs));
            let name = if few { "conv_patch_reverse_few" } else { "conv_patch_reverse_x" };
            let seen = if few { "" } else { ", NOT_CUT" };
            let call = Call::new(format!("{name}<{shape}>(TEAM, {}, {d}, {t}{seen});", w.name()), work);
            if few { call.room(points * rows * agents) } else { call }
        };
        calls.push(call.reads(w).reads(dy).fills(to.slot));
    }
    let x = || r.x(0);
    match (r.to(1), r.to(2)) {
        (None, None) => {}
        (Some(w), Some(b)) if !sizes.field => {
            // wide tiles use the adjoint of a point often; those of a point are close to each other
            let alone = lower.cluster == 1 && lower.threads == late::THREADS;
            let tm = if outputs > 16 { 4 } else { 2 };
            // a block alone has registers for more
            let wide = alone && (9 * inputs).is_multiple_of(4 * WIDE);
            let of_eight = if inputs.is_multiple_of(8) { 6 } else { 4 };
            let tn = if wide { WIDE } else { of_eight };
            let tiles = outputs.div_ceil(8 * tm) * (9 * inputs).div_ceil(4 * tn);
            let parts = (lower.warps(work) / tiles).clamp(1, 32).min(points);
            let text = format!(
                "conv_patch_reverse_w<{shape}, {}, {}, {tm}, {tn}, {parts}>(TEAM, {}, {d}, {}, {});",
                w.mode,
                b.mode,
                x().name(),
                w.slot.name(),
                b.slot.name()
            );
            let call = Call::new(text, work).room(parts * (9 * inputs + 1) * outputs);
            calls.push(call.reads(x()).reads(dy).fills(w.slot).fills(b.slot));
        }
        (Some(w), Some(b)) => {
            let product = Product {
                extents: [9 * inputs, outputs, points],
                a: [points, 1],
                b: [1, points],
                factors: ["TEAM.room".into(), d.clone()],
                result: w.slot.name(),
                start: none(),
                mode: w.mode,
            };
            let (product, room) = product.within(lower, 9 * inputs * points);
            let gather = format!("neighbours<{shape}>(TEAM, {}, TEAM.room);", x().name());
            let call = Call::new(format!("{{ {gather} meet(TEAM); {product} }}"), work).room(room);
            calls.push(call.reads(x()).reads(dy).fills(w.slot));
            calls.push(layout::sum_of_copies(lower, [outputs, 1], [outputs, points], dy, b));
        }
        _ => unreachable!("weights and bias are learned together"),
    }
    calls
}
