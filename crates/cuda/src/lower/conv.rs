//! 3 x 3 convolutions with a rectifier.

use super::product::lane_tile;
use super::*;

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
            format!("{nx}, {ny}, {inputs}, {outputs}, {periodic}")
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
    let text = if sizes.field {
        format!("conv_field<{}>(TEAM, {operands});", sizes.shape())
    } else {
        let [tm, tn] = lane_tile([sizes.outputs, sizes.agents], sizes.count(), lower.warps(sizes.work));
        format!("conv_patch<{}, {tm}, {tn}>(TEAM, {operands});", sizes.shape())
    };
    let call = Call::new(text, sizes.work).fills(node.y());
    vec![(0..3).fold(call, |call, i| call.reads(node.x(i)))]
}

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
        let text = if sizes.field {
            format!("conv_field_reverse_x<{shape}, {mode}>(TEAM, {}, {d}, {t});", w.name())
        } else {
            let [tm, tn] = lane_tile([inputs, agents], points, lower.warps(work));
            format!("conv_patch_reverse_x<{shape}, {mode}, {tm}, {tn}>(TEAM, {}, {d}, {t});", w.name())
        };
        calls.push(Call::new(text, work).reads(w).reads(dy).fills(to.slot));
    }
    let x = || r.x(0);
    match (r.to(1), r.to(2)) {
        (None, None) => {}
        (Some(w), Some(b)) if !sizes.field => {
            // wide tiles use the adjoint of a point often; those of a point are close to each other
            let (tm, tn) = (if outputs > 16 { 4 } else { 2 }, if inputs.is_multiple_of(8) { 6 } else { 4 });
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
            calls.push(call.reads(x()).reads(dy).writes(w.slot).writes(b.slot));
        }
        (Some(w), Some(b)) => {
            let shares = lower.shares(points, 9 * inputs * outputs, work);
            let text = format!(
                "conv_field_reverse_w<{shape}, {shares}, {}>(TEAM, {}, {d}, {});",
                w.mode,
                x().name(),
                w.slot.name()
            );
            let call = Call::new(text, work).sums(9 * inputs * outputs, shares);
            calls.push(call.reads(x()).reads(dy).takes(w.slot));
            calls.push(layout::sum_of_copies(lower, [outputs, 1], [outputs, points], dy, b));
        }
        _ => unreachable!("weights and bias are learned together"),
    }
    calls
}
