//! A 3 x 3 convolution of what each agent sees, with a rectifier:
//! `y[i, j, o] = max(0, b[o] + sum over a, c, k of w[a, c, k, o] x[i + a - 1, j + c - 1, k])`, zero outside
//! the patch.
//!
//! A patch is a column, its rows in (x, y, channel) order: `[px * py * channels][agents]`. The three taps in
//! y of an output and their channels are one contiguous run of rows, and every row is a run of lanes, so an
//! output position is a short matrix product on the values where they lie. Where the lanes would leave
//! vectors half empty, whole lines of the patch are taken instead (`lines.rs`). Between layers of many
//! channels fewer products are made (`winograd.rs`).

use super::lines::{Edge, Lines, Map};
use super::products::*;
use super::winograd::Winograd;
use super::*;

/// Whether the lanes of a point fill their vectors well enough.
fn by_points(io: &Io) -> bool {
    let lanes = io.output_lanes();
    lanes as f64 > 0.85 * lanes.next_multiple_of(16) as f64
}

impl Lower for ConvPatch {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>> {
        let (inputs, outputs, lanes) = (io.inputs[1].rows / TAPS, io.inputs[1].cols, io.output_lanes());
        if winograd_fits(inputs, outputs, lanes) {
            Box::new(Winograd { patch: self.patch, inputs, outputs, lanes })
        } else if by_points(io) {
            Box::new(self.points(io))
        } else {
            Box::new(self.lines(io))
        }
    }
}

impl ConvPatch {
    fn points(&self, io: &Io) -> Points {
        Points {
            patch: self.patch,
            inputs: io.inputs[1].rows / TAPS,
            outputs: io.inputs[1].cols,
            lanes: io.output_lanes(),
        }
    }
    fn lines(&self, io: &Io) -> Lines {
        let point = io.output_lanes();
        let (inputs, outputs) = (io.inputs[1].rows / TAPS, io.inputs[1].cols);
        let map = |channels: usize| Map {
            channel: point,
            row: self.patch[1] * channels * point,
            point: channels * point,
        };
        let (x, y) = (map(inputs), map(outputs));
        Lines { n: self.patch, point, inputs, outputs, edge: Edge::Zero, x, y }
    }
}

struct Points {
    patch: [usize; 2],
    inputs: usize,
    outputs: usize,
    lanes: usize,
}

/// Lanes worked on together in weight gradients: few enough that a line of dy, transposed, stays in the
/// second-level cache.
const STRETCH: usize = 64;

/// Taps inside an axis of `n` points at point `i`.
fn taps(i: usize, n: usize) -> Range<usize> {
    usize::from(i == 0)..if i + 1 == n { 2 } else { 3 }
}

impl Points {
    fn weights(&self) -> usize {
        TAPS * self.inputs * self.outputs
    }

    fn strides(&self, channels: usize) -> Strides {
        Strides { tap: channels * self.lanes, channel: self.lanes }
    }

    /// Point (i, j) with the taps it has; lanes from `start` on.
    fn site(&self, channels: usize, i: usize, j: usize, start: usize, lanes: usize) -> Site {
        let (a, c) = (taps(i, self.patch[0]), taps(j, self.patch[1]));
        let mut x = [0; SIDE];
        for a in a.clone() {
            x[a] = ((i + a - 1) * self.patch[1] + j + c.start - 1) * channels * self.lanes + start;
        }
        Site { a, c, x, lanes }
    }

    /// Products at all points.
    unsafe fn products<T: Real>(
        &self,
        isa: Isa,
        factors: Factors<'_, T>,
        finish: Finish<'_, T>,
        y: &mut [T],
    ) {
        for i in 0..self.patch[0] {
            for j in 0..self.patch[1] {
                let at = (i * self.patch[1] + j) * factors.outputs * self.lanes;
                let site = self.site(factors.inputs, i, j, 0, self.lanes);
                product(isa, factors, finish, &site, y, at, self.lanes);
            }
        }
    }

    /// dw and db from dy, which is already masked.
    unsafe fn reverse_weight<T: Real>(
        &self,
        isa: Isa,
        x: &[T],
        dy: &[T],
        mut dw: Option<&mut [T]>,
        mut db: Option<&mut [T]>,
        room: &mut [T],
    ) {
        let [px, py] = self.patch;
        let filled = filled(self.outputs);
        let per_point = self.outputs * self.lanes;
        // points of a line with the same taps
        let segments = [0..1, 1..py.max(2) - 1, py.max(2) - 1..py];
        for start in (0..self.lanes).step_by(STRETCH) {
            let lanes = STRETCH.min(self.lanes - start);
            let dyt = &mut room[..py * lanes * filled];
            for i in 0..px {
                for (j, dyt) in dyt.chunks_exact_mut(lanes * filled).enumerate() {
                    let dy = &dy[(i * py + j) * per_point + start..];
                    transpose(isa, self.outputs, dy, self.lanes, lanes, dyt);
                }
                if let Some(db) = &mut db {
                    bias_sums(isa, dyt, db);
                }
                let Some(dw) = &mut dw else { continue };
                for j in segments.iter().filter(|j| !j.is_empty()) {
                    let site = self.site(self.inputs, i, j.start, start, lanes);
                    let at = Blocks { site, blocks: j.len(), step: self.inputs * self.lanes };
                    let dyt = &dyt[j.start * lanes * filled..];
                    outer(isa, x, self.strides(self.inputs), dyt, &at, self.inputs, self.outputs, dw);
                }
            }
        }
    }
}

impl<T: Real> Kernel<T> for Points {
    fn scratch(&self) -> usize {
        self.weights().max(self.patch[1] * STRETCH.min(self.lanes) * filled(self.outputs))
    }

    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], room: &mut Room<T>) {
        let (inputs, outputs) = (self.inputs, self.outputs);
        pack(isa, x[1], inputs, outputs, false, &mut room[..self.weights()]);
        let factors = Factors { panels: room, inputs, outputs, x: x[0], strides: self.strides(inputs) };
        self.products(isa, factors, Finish { bias: x[2], accumulate: false, relu: true }, y);
    }

    unsafe fn reverse(
        &self,
        isa: Isa,
        seen: Seen<T>,
        dy: &mut [T],
        dx: &mut [Adjoint<T>],
        room: &mut Room<T>,
    ) {
        mask(isa, seen.y, dy);
        let [dx, dw, db] = dx else { unreachable!("patches, weights and a bias") };
        if dx.wanted() {
            let (inputs, outputs) = (self.outputs, self.inputs);
            pack(isa, seen.x[1], inputs, outputs, true, &mut room[..self.weights()]);
            let factors = Factors { panels: room, inputs, outputs, x: dy, strides: self.strides(inputs) };
            let finish = Finish { bias: &[], accumulate: dx.accumulate, relu: false };
            self.products(isa, factors, finish, &mut dx.data);
        }
        if dw.wanted() || db.wanted() {
            self.reverse_weight(isa, seen.x[0], dy, dw.prepared(), db.prepared(), room);
        }
    }
}
