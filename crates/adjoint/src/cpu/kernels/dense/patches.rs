//! A dense layer on the patches agents see of feature maps, without writing the patches to memory:
//! `y[o] = sum over r, s, k of w[(r, s, k)][o] f[k](cx + r - p/2, cy + s - p/2)`, (cx, cy) the cell of the
//! agent.
//!
//! The maps are first brought into the order `[sample][x][y][channel]`, with a margin that holds what lies
//! beyond the ends: line r of a patch is then one contiguous run of `p * channels` numbers, wherever the
//! agent is. Three products follow, each with a tile in registers: y with the outputs as the vector axis and
//! features broadcast; dw the same way, summed over the agents; df with the run as the vector axis.

use super::*;
use crate::cpu::kernels::conv::{copy_runs, filled, transpose};

impl Lower for PatchDense {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(Layer {
            lattice: self.lattice,
            channels: io.inputs[1].rows / self.lattice.n[0],
            outputs: io.output.rows,
            lanes: io.output_lanes(),
            samples: io.samples,
        })
    }
}

impl PatchLattice {
    /// The point of the lattice that `at` stands for.
    pub(crate) fn point(&self, axis: usize, at: isize) -> usize {
        let n = self.n[axis] as isize;
        (if self.periodic { at.rem_euclid(n) } else { at.clamp(0, n - 1) }) as usize
    }
    /// The cell of a position.
    pub(crate) fn cell<T: Real>(&self, axis: usize, position: T) -> usize {
        self.point(axis, (position.f64() * self.density[axis]).floor() as isize)
    }
}

struct Layer {
    lattice: PatchLattice,
    channels: usize,
    outputs: usize,
    lanes: usize,
    samples: usize,
}

/// Lanes whose patches are looked up together.
const BLOCK: usize = 128;
/// Rows of the weight that are worked on together: few enough to stay in the first-level cache while all
/// agents pass by.
const STRETCH: usize = 256;

struct Block {
    first: usize,
    count: usize,
    starts: [usize; BLOCK],
}

impl Layer {
    /// Numbers of a line of a patch.
    fn line(&self) -> usize {
        self.lattice.patch * self.channels
    }
    /// Numbers of a line of a map in the new order, and of all lines of all samples.
    fn row(&self) -> usize {
        (self.lattice.n[1] + self.lattice.patch) * self.channels
    }
    fn maps(&self) -> usize {
        self.samples * (self.lattice.n[0] + self.lattice.patch) * self.row()
    }
    /// Numbers of one line of points of all samples, transposed either way.
    fn points(&self) -> usize {
        let lanes = self.lattice.n[1] * self.samples;
        (lanes * filled(self.channels)).max(filled(lanes) * self.channels)
    }

    /// Where the patch of a lane begins in the maps.
    fn start<T: Real>(&self, positions: &[T], lane: usize) -> usize {
        let (x, y) =
            (self.lattice.cell(0, positions[lane]), self.lattice.cell(1, positions[self.lanes + lane]));
        let sample = lane % self.samples;
        (sample * (self.lattice.n[0] + self.lattice.patch) + x) * self.row() + y * self.channels
    }
    /// Lanes `first..first + count` and where their patches begin.
    fn block<T: Real>(&self, positions: &[T], first: usize) -> Block {
        let count = BLOCK.min(self.lanes - first);
        let mut starts = [0; BLOCK];
        for (q, start) in starts[..count].iter_mut().enumerate() {
            *start = self.start(positions, first + q);
        }
        Block { first, count, starts }
    }

    /// Calls `each(margin, inside)` for the places along an axis that stand for a point inside.
    fn margins(&self, axis: usize, mut each: impl FnMut(usize, usize)) {
        let (n, half) = (self.lattice.n[axis], self.lattice.patch / 2);
        for place in (0..half).chain(n + half..n + self.lattice.patch) {
            each(place, half + self.lattice.point(axis, place as isize - half as isize));
        }
    }

    /// Feature maps in the order `[sample][x][y][channel]`, margins filled.
    unsafe fn load<T: Real>(&self, isa: Isa, features: &[T], maps: &mut [T], points: &mut [T]) {
        let ([nx, ny], p, channels) = (self.lattice.n, self.lattice.patch, self.channels);
        let (row, lanes, stride) = (self.row(), ny * self.samples, filled(channels));
        for ix in 0..nx {
            transpose(isa, channels, &features[ix * lanes..], nx * lanes, lanes, points);
            for sample in 0..self.samples {
                let line = &mut maps[(sample * (nx + p) + p / 2 + ix) * row..][..row];
                let to = &mut line[p / 2 * channels..];
                let from = &points[sample * stride..];
                copy_runs(isa, ny, channels, from, self.samples * stride, false, to, channels);
                self.margins(1, |margin, inside| {
                    line.copy_within(inside * channels..(inside + 1) * channels, margin * channels);
                });
            }
        }
        for map in maps.chunks_exact_mut((nx + p) * row) {
            self.margins(0, |margin, inside| map.copy_within(inside * row..(inside + 1) * row, margin * row));
        }
    }

    /// The reverse of [`Layer::load`]: adds margins to what they stand for and brings adjoints back into the
    /// order of the features.
    unsafe fn unload<T: Real>(
        &self,
        isa: Isa,
        maps: &mut [T],
        points: &mut [T],
        turned: &mut [T],
        to: &mut Adjoint<T>,
    ) {
        let ([nx, ny], p, channels) = (self.lattice.n, self.lattice.patch, self.channels);
        let (row, lanes) = (self.row(), ny * self.samples);
        for map in maps.chunks_exact_mut((nx + p) * row) {
            self.margins(0, |margin, inside| add_within(isa, margin * row, inside * row, row, map));
            for line in map.chunks_exact_mut(row) {
                self.margins(1, |margin, inside| {
                    add_within(isa, margin * channels, inside * channels, channels, line);
                });
            }
        }
        for ix in 0..nx {
            for sample in 0..self.samples {
                let line = &maps[(sample * (nx + p) + p / 2 + ix) * row + p / 2 * channels..];
                let points = &mut points[sample * channels..];
                copy_runs(isa, ny, channels, line, channels, false, points, self.samples * channels);
            }
            transpose(isa, lanes, points, channels, channels, turned);
            let data = &mut to.data[ix * lanes..];
            copy_runs(isa, channels, lanes, turned, filled(lanes), to.accumulate, data, nx * lanes);
        }
    }
}

/// Scratch memory, cut up.
struct Parts<'a, T> {
    maps: &'a mut [T],
    points: &'a mut [T],
    turned: &'a mut [T],
    /// `[lanes][filled outputs]`.
    by_lane: &'a mut [T],
    /// A line of weights, transposed: `[outputs][filled line]`.
    weights: &'a mut [T],
}

impl Layer {
    fn cut<'a, T>(&self, room: &'a mut [T]) -> Parts<'a, T> {
        let (maps, rest) = room.split_at_mut(self.maps());
        let (points, rest) = rest.split_at_mut(self.points());
        let (turned, rest) = rest.split_at_mut(self.points());
        let (by_lane, rest) = rest.split_at_mut(self.lanes * filled(self.outputs));
        let weights = &mut rest[..self.outputs * filled(self.line())];
        Parts { maps, points, turned, by_lane, weights }
    }
}

impl<T: Real> Kernel<T> for Layer {
    fn scratch(&self) -> usize {
        self.maps()
            + 2 * self.points()
            + self.lanes * filled(self.outputs)
            + self.outputs * filled(self.line())
    }

    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], room: &mut Room<T>) {
        let [positions, features, weight, ..] = x;
        let Parts { maps, points, by_lane, .. } = self.cut(room);
        self.load(isa, features, maps, points);
        by_lane.fill(T::default());
        for first in (0..self.lanes).step_by(BLOCK) {
            products(isa, self, &self.block(positions, first), weight, maps, by_lane);
        }
        for (lane, sums) in by_lane.chunks_exact(filled(self.outputs)).take(self.lanes).enumerate() {
            for (o, sum) in sums[..self.outputs].iter().enumerate() {
                y[o * self.lanes + lane] = *sum;
            }
        }
    }

    unsafe fn reverse(
        &self,
        isa: Isa,
        seen: Seen<T>,
        dy: &mut [T],
        dx: &mut [Adjoint<T>],
        room: &mut Room<T>,
    ) {
        let [positions, features, weight, ..] = seen.x;
        let Parts { maps, points, turned, by_lane, weights } = self.cut(room);
        let line = self.line();
        dx[0].prepare();
        if dx[2].wanted() {
            dx[2].prepare();
            self.load(isa, features, maps, points);
            transpose(isa, self.outputs, dy, self.lanes, self.lanes, by_lane);
            for first in (0..self.lanes).step_by(BLOCK) {
                reverse_weight(isa, self, &self.block(positions, first), maps, by_lane, &mut dx[2].data);
            }
        }
        if dx[1].wanted() {
            maps.fill(T::default());
            for r in 0..self.lattice.patch {
                let weight = &weight[r * line * self.outputs..][..line * self.outputs];
                transpose(isa, line, weight, self.outputs, self.outputs, weights);
                for first in (0..self.lanes).step_by(BLOCK) {
                    reverse_features(isa, self, &self.block(positions, first), r, weights, dy, maps);
                }
            }
            self.unload(isa, maps, points, turned, &mut dx[1]);
        }
    }
}

/// Sums of `Q` lanes from `q` on and `C` vectors of outputs from `o` on, over the rows `k` of the weights of
/// line `r`; the last vector with `count` lanes if `PART`.
#[inline(always)]
unsafe fn tile<V: Vector, const Q: usize, const C: usize, const PART: bool>(
    layer: &Layer,
    block: &Block,
    (weight, maps): (&[V::Real], &[V::Real]),
    (r, k): (usize, Range<usize>),
    (q, o, count): (usize, usize, usize),
    by_lane: &mut [V::Real],
) {
    let (outputs, filled) = (layer.outputs, filled(layer.outputs));
    // pointers, because the compiler adds indices in a vector register and takes them out again one by one
    let mut at = [maps.as_ptr(); Q];
    let mut sum = [[V::zero(); C]; Q];
    for i in 0..Q {
        let start = block.starts[q + i] + r * layer.row();
        at[i] = maps[start..start + k.end].as_ptr();
        for c in 0..C {
            sum[i][c] = V::load(by_lane, (block.first + q + i) * filled + o + c * V::LANES);
        }
    }
    for k in k {
        let mut row = [V::zero(); C];
        for c in 0..C {
            let n = if PART && c + 1 == C { count } else { V::LANES };
            row[c] = V::get(weight, (r * layer.line() + k) * outputs + o + c * V::LANES, n);
        }
        for i in 0..Q {
            // SAFETY: k is below `k.end`, the length of the slice the pointer was taken from.
            let x = V::splat(unsafe { *at[i].add(k) });
            for c in 0..C {
                sum[i][c] = x.fma(row[c], sum[i][c]);
            }
        }
    }
    for i in 0..Q {
        for c in 0..C {
            sum[i][c].store(by_lane, (block.first + q + i) * filled + o + c * V::LANES);
        }
    }
}

dispatched! {
    /// `y += wᵀ f` for a block of lanes, y as `[lanes][filled outputs]`.
    unsafe fn products(layer: &Layer, block: &Block, weight: &[T], maps: &[T], by_lane: &mut [T]) {
        macro_rules! lanes {
            ($c:literal, $part:literal, $r:expr, $k:expr, $o:expr, $count:expr) => {{
                let mut q = 0;
                macro_rules! tiles {
                    ($q:literal) => {
                        while block.count - q >= $q {
                            let at = (q, $o, $count);
                            tile::<V, $q, $c, $part>(layer, block, (weight, maps), ($r, $k), at, by_lane);
                            q += $q;
                        }
                    };
                }
                if V::TILE == 8 && V::TUNED {
                    // no more, or the places of the patches do not fit into registers
                    tiles!(8);
                }
                tiles!(4);
                tiles!(1);
            }};
        }
        let line = layer.line();
        for r in 0..layer.lattice.patch {
            for start in (0..line).step_by(STRETCH) {
                let k = start..line.min(start + STRETCH);
                let mut o = 0;
                while o < layer.outputs {
                    let left = layer.outputs - o;
                    if V::TUNED && left >= 2 * V::LANES {
                        lanes!(2, false, r, k.clone(), o, V::LANES);
                        o += 2 * V::LANES;
                    } else {
                        if V::TUNED && left >= V::LANES {
                            lanes!(1, false, r, k.clone(), o, V::LANES);
                        } else {
                            lanes!(1, true, r, k.clone(), o, left.min(V::LANES));
                        }
                        o += V::LANES;
                    }
                }
            }
        }
    }
}

/// `dw += f dyᵀ` for `K` rows from `k` on of line `r`, `C` vectors of outputs from `o` on.
#[inline(always)]
unsafe fn outer_tile<V: Vector, const K: usize, const C: usize>(
    layer: &Layer,
    block: &Block,
    (maps, by_lane): (&[V::Real], &[V::Real]),
    (r, k, o): (usize, usize, usize),
    dw: &mut [V::Real],
) {
    let (outputs, filled) = (layer.outputs, filled(layer.outputs));
    let mut sum = [[V::zero(); C]; K];
    for q in 0..block.count {
        let mut row = [V::zero(); C];
        for c in 0..C {
            row[c] = V::load(by_lane, (block.first + q) * filled + o + c * V::LANES);
        }
        let features = &maps[block.starts[q] + r * layer.row() + k..][..K];
        for i in 0..K {
            let x = V::splat(features[i]);
            for c in 0..C {
                sum[i][c] = x.fma(row[c], sum[i][c]);
            }
        }
    }
    for i in 0..K {
        for c in 0..C {
            let count = V::LANES.min(outputs - o - c * V::LANES);
            let to = (r * layer.line() + k + i) * outputs + o + c * V::LANES;
            sum[i][c].put_or_add(true, dw, to, count);
        }
    }
}

dispatched! {
    unsafe fn reverse_weight(layer: &Layer, block: &Block, maps: &[T], by_lane: &[T], dw: &mut [T]) {
        macro_rules! rows {
            ($c:literal, $r:expr, $o:expr) => {{
                let mut k = 0;
                macro_rules! tiles {
                    ($k:literal) => {
                        while layer.line() - k >= $k {
                            outer_tile::<V, $k, $c>(layer, block, (maps, by_lane), ($r, k, $o), dw);
                            k += $k;
                        }
                    };
                }
                if V::TILE == 8 && V::TUNED {
                    tiles!(12);
                }
                tiles!(4);
                tiles!(1);
            }};
        }
        for r in 0..layer.lattice.patch {
            let mut o = 0;
            while o < layer.outputs {
                if V::TUNED && o + V::LANES < layer.outputs {
                    rows!(2, r, o);
                    o += 2 * V::LANES;
                } else {
                    rows!(1, r, o);
                    o += V::LANES;
                }
            }
        }
    }
}

/// `df += w dy` for `Q` lanes from `q` on and `C` vectors (the last of `count` lanes) of line `r` from `k`
/// on.
#[inline(always)]
unsafe fn scatter_tile<V: Vector, const Q: usize, const C: usize>(
    layer: &Layer,
    block: &Block,
    (weights, dy): (&[V::Real], &[V::Real]),
    (r, q, k, count): (usize, usize, usize, usize),
    maps: &mut [V::Real],
) {
    let stride = filled(layer.line());
    let mut sum = [[V::zero(); C]; Q];
    debug_assert!((layer.outputs - 1) * layer.lanes + block.first + q + Q <= dy.len());
    for o in 0..layer.outputs {
        let mut row = [V::zero(); C];
        for c in 0..C {
            row[c] = V::load(weights, o * stride + k + c * V::LANES);
        }
        for i in 0..Q {
            // SAFETY: the caller's, sizes follow from the shapes; debug builds assert the largest index
            // above.
            let dy = V::splat(unsafe { *dy.get_unchecked(o * layer.lanes + block.first + q + i) });
            for c in 0..C {
                sum[i][c] = dy.fma(row[c], sum[i][c]);
            }
        }
    }
    // patches overlap: one lane after the other
    for i in 0..Q {
        let at = block.starts[q + i] + r * layer.row() + k;
        for c in 0..C {
            let n = if C == 1 { count } else { V::LANES };
            sum[i][c].put_or_add(true, maps, at + c * V::LANES, n);
        }
    }
}

dispatched! {
    unsafe fn reverse_features(
        layer: &Layer,
        block: &Block,
        r: usize,
        weights: &[T],
        dy: &[T],
        maps: &mut [T],
    ) {
        macro_rules! lanes {
            ($c:literal, $k:expr, $count:expr) => {{
                let mut q = 0;
                while q + 4 <= block.count {
                    scatter_tile::<V, 4, $c>(layer, block, (weights, dy), (r, q, $k, $count), maps);
                    q += 4;
                }
                while q < block.count {
                    scatter_tile::<V, 1, $c>(layer, block, (weights, dy), (r, q, $k, $count), maps);
                    q += 1;
                }
            }};
        }
        let mut k = 0;
        while k < layer.line() {
            let left = layer.line() - k;
            if V::TILE == 8 && V::TUNED && left >= 4 * V::LANES {
                lanes!(4, k, V::LANES);
                k += 4 * V::LANES;
            } else if left >= 2 * V::LANES {
                lanes!(2, k, V::LANES);
                k += 2 * V::LANES;
            } else {
                lanes!(1, k, left.min(V::LANES));
                k += V::LANES;
            }
        }
    }
}

dispatched! {
    /// Adds `length` numbers from `from` on to those from `to` on.
    unsafe fn add_within(from: usize, to: usize, length: usize, data: &mut [T]) {
        sweep!(V, length, |l, n| {
            V::get(data, to + l, n).add(V::get(data, from + l, n)).put(data, to + l, n);
        });
    }
}
