//! 3 x 3 convolutions with a rectifier.

use super::product::tile;
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

/// A tile for many points: as large as registers allow.
fn large_tile(m: usize, n: usize) -> [usize; 2] {
    tile(m, n, 1)
}

pub fn forward(_: &mut Lower, node: &Node) -> Vec<Call> {
    let sizes = Sizes::new(node);
    let names: Vec<String> = (0..3).map(|i| node.x(i).name()).collect();
    let operands = format!("{}, {}", names.join(", "), node.y().name());
    let text = if sizes.field {
        format!("conv_field<{}>(TEAM, {operands});", sizes.shape())
    } else {
        let [tm, tn] = large_tile(sizes.outputs, sizes.agents);
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
    let cut = format!("rectified<{n}, {}>(TEAM, {}, {d});", lower.batch(n, busy), r.y().name());
    let mut calls = vec![Call::new(cut, busy).flat(r.y()).flat(dy).writes(dy)];
    if let Some(to) = r.to(0) {
        let (w, t, mode) = (r.x(1), to.slot.name(), to.mode);
        let text = if sizes.field {
            format!("conv_field_reverse_x<{shape}, {mode}>(TEAM, {}, {d}, {t});", w.name())
        } else {
            let [tm, tn] = large_tile(inputs, agents);
            let ku = divisor(outputs, &[4, 2, 1]);
            format!("conv_patch_reverse_x<{shape}, {mode}, {tm}, {tn}, {ku}>(TEAM, {}, {d}, {t});", w.name())
        };
        calls.push(Call::new(text, work).reads(w).reads(dy).fills(to.slot));
    }
    if let Some(to) = r.to(1) {
        let (x, t, mode) = (r.x(0), to.slot.name(), to.mode);
        let size = 9 * inputs * outputs;
        let call = if sizes.field {
            let shares = lower.shares(points, size, work);
            let text =
                format!("conv_field_reverse_w<{shape}, {shares}, {mode}>(TEAM, {}, {d}, {t});", x.name());
            Call::new(text, work).sums(size, shares)
        } else {
            let [tm, tn] = large_tile(inputs, outputs);
            let ku = divisor(agents, &[4, 2, 1]);
            let tiles = size / (tm * tn);
            let parts = (lower.team(work) / tiles).clamp(1, 32).min(points);
            let text = format!(
                "conv_patch_reverse_w<{shape}, {mode}, {tm}, {tn}, {ku}, {parts}>(TEAM, {}, {d}, {t});",
                x.name()
            );
            Call::new(text, work).room(parts * size)
        };
        calls.push(call.reads(x).reads(dy).takes(to.slot));
    }
    if let Some(to) = r.to(2) {
        let (t, mode) = (to.slot.name(), to.mode);
        if sizes.field {
            calls.push(layout::sum_of_copies(lower, [outputs, 1], [outputs, points], dy, to));
        } else {
            let shares = lower.shares(points * agents, outputs, busy);
            let text = format!(
                "conv_patch_reverse_b<{points}, {outputs}, {agents}, {shares}, {mode}>(TEAM, {d}, {t});"
            );
            calls.push(Call::new(text, busy).sums(outputs, shares).reads(dy).takes(to.slot));
        }
    }
    calls
}
