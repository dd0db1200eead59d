//! A 3 x 3 convolution of patches with fewer products, by Winograd's minimal filtering F(2 x 2, 3 x 3): the
//! definition is in `patch.rs`.
//!
//! Along one axis, two outputs of a filter g with three taps take four inputs d and, written out, six
//! products. Four will do:
//!
//! ```text
//! u = (d0 - d2, d1 + d2, d2 - d1, d3 - d1)        v = (g0, (g0 + g1 + g2) / 2, (g0 - g1 + g2) / 2, g2)
//! m = u v        y = (m0 + m1 + m2, m1 - m2 + m3)
//! ```
//!
//! Along both axes, a *tile* of 2 x 2 outputs takes 16 products instead of 36, at 16 *spots* (p, q). Summed
//! over channels these are 16 ordinary matrix products, whose lanes are those of several tiles; what
//! surrounds them are additions, few beside the products where there are many channels. The reverse rules are
//! the transposed transforms around products of the same kind. The kernel turned around, which carries dy to
//! dx, has the same v with first and last exchanged.

use super::products::{Finish, SIDE, bias_sums, mask, transpose};
use super::*;
use crate::cpu::kernels::dense::outer_transposed;
use crate::cpu::kernels::dense::{Target, Weights, product};

/// Outputs and inputs of a tile along one axis.
const TILE: usize = 2;
const WIDE: usize = 4;
const SPOTS: usize = WIDE * WIDE;

/// Lanes worked on together, if there are as many: few enough to keep their transforms in the second-level
/// cache.
const BLOCK: usize = 128;

pub(crate) struct Winograd {
    pub patch: [usize; 2],
    pub inputs: usize,
    pub outputs: usize,
    pub lanes: usize,
}

/// A run of tiles of a line of tiles.
struct Block {
    line: usize,
    tiles: Range<usize>,
}

/// Scratch memory, cut up.
struct Parts<'a, T> {
    /// Transformed weights or their adjoints, `[spots][inputs][outputs]`.
    v: &'a mut [T],
    zeros: &'a [T],
    /// Transformed inputs, `[spots][channels][width]`.
    u: &'a mut [T],
    /// Products, `[spots][channels][width]`, or transformed dy, `[spots][width][outputs]`.
    m: &'a mut [T],
    /// dy of a tile, transposed: `[points][lanes][outputs]`.
    dyt: &'a mut [T],
    ahead: &'a mut Ahead,
}

impl Winograd {
    fn tiles(&self) -> [usize; 2] {
        self.patch.map(|n| n.div_ceil(TILE))
    }
    /// Tiles of a block: a line of tiles is cut evenly.
    fn block(&self) -> usize {
        let tiles = self.tiles()[1];
        let most = (BLOCK / self.lanes).clamp(1, tiles);
        tiles.div_ceil(tiles.div_ceil(most))
    }
    /// Lanes of a block, filled up to whole vectors.
    fn width(&self) -> usize {
        (self.block() * self.lanes).next_multiple_of(16)
    }
    /// From one spot to the next where there are `channels`: not a multiple of a page, or all spots would
    /// meet in the same part of the cache.
    fn apart(&self, channels: usize) -> usize {
        channels * self.width() + 16
    }
    fn weights(&self) -> usize {
        self.inputs * self.outputs
    }
    fn blocks(&self) -> impl Iterator<Item = Block> {
        let ([lines, tiles], block) = (self.tiles(), self.block());
        let starts = (0..tiles).step_by(block);
        (0..lines).flat_map(move |line| {
            starts.clone().map(move |start| Block { line, tiles: start..tiles.min(start + block) })
        })
    }
    /// Where the numbers of a point begin, if it is in the patch.
    fn point(&self, channels: usize, i: isize, j: isize) -> Option<usize> {
        let [px, py] = self.patch.map(|n| n as isize);
        let inside = (0..px).contains(&i) && (0..py).contains(&j);
        inside.then(|| (i * py + j) as usize * channels * self.lanes)
    }
    /// Where the outputs of a tile begin.
    fn outputs(&self, channels: usize, line: usize, tile: usize) -> [Option<usize>; TILE * TILE] {
        std::array::from_fn(|p| {
            let (i, j) = (TILE * line + p / TILE, TILE * tile + p % TILE);
            self.point(channels, i as isize, j as isize)
        })
    }

    fn cut<'a, T: Real>(&self, room: &'a mut Room<T>) -> Parts<'a, T> {
        let Room { memory, ahead } = room;
        let size = SPOTS * self.apart(self.inputs.max(self.outputs));
        let (v, rest) = memory.split_at_mut(SPOTS * self.weights());
        let (u, rest) = rest.split_at_mut(size);
        let (m, rest) = rest.split_at_mut(size);
        let (dyt, rest) = rest.split_at_mut(TILE * TILE * self.lanes * self.outputs);
        let zeros = &mut rest[..self.lanes];
        zeros.fill(T::default());
        Parts { v, zeros, u, m, dyt, ahead }
    }

    /// Inputs of a block, transformed.
    unsafe fn load<T: Real>(
        &self,
        isa: Isa,
        x: &[T],
        channels: usize,
        block: &Block,
        zeros: &[T],
        u: &mut [T],
    ) {
        for (k, tile) in block.tiles.clone().enumerate() {
            let sources: [Source<'_, T>; SPOTS] = std::array::from_fn(|spot| {
                let (i, j) = (TILE * block.line + spot / WIDE, TILE * tile + spot % WIDE);
                match self.point(channels, i as isize - 1, j as isize - 1) {
                    Some(at) => Source { data: &x[at..], stride: self.lanes },
                    None => Source { data: zeros, stride: 0 },
                }
            });
            let to = &mut u[k * self.lanes..];
            transform_inputs(isa, &sources, channels, self.lanes, to, self.width(), self.apart(channels));
        }
    }

    /// The convolution, or with `turned` what carries dy to dx.
    unsafe fn products<T: Real>(
        &self,
        isa: Isa,
        x: &[T],
        turned: bool,
        finish: Finish<'_, T>,
        y: &mut [T],
        parts: Parts<'_, T>,
    ) {
        let Parts { v, zeros, u, m, ahead, .. } = parts;
        let (inputs, outputs) =
            if turned { (self.outputs, self.inputs) } else { (self.inputs, self.outputs) };
        let (u_apart, m_apart) = (self.apart(inputs), self.apart(outputs));
        // lanes that fill up vectors are computed with, though nobody looks at the result
        for u in u.chunks_exact_mut(u_apart) {
            u.chunks_exact_mut(self.width())
                .for_each(|row| row[self.block() * self.lanes..].fill(T::default()));
        }
        for block in self.blocks() {
            self.load(isa, x, inputs, &block, zeros, u);
            for spot in 0..SPOTS {
                let data = |spot: usize| &v[spot * self.weights()..][..self.weights()];
                let w = if turned {
                    Weights { data: data(turned_spot(spot)), out_stride: self.outputs, in_stride: 1 }
                } else {
                    Weights { data: data(spot), out_stride: 1, in_stride: self.outputs }
                };
                let (u, m) = (&u[spot * u_apart..], &mut m[spot * m_apart..]);
                product(isa, outputs, inputs, w, u, Target::NEW, self.width(), m, ahead);
            }
            for (k, tile) in block.tiles.clone().enumerate() {
                let places = self.outputs(outputs, block.line, tile);
                let m = &m[k * self.lanes..];
                transform_products(isa, m, self.width(), m_apart, outputs, self.lanes, finish, &places, y);
            }
        }
    }

    /// dw and db from dy, which is already masked.
    unsafe fn reverse_weight<T: Real>(
        &self,
        isa: Isa,
        x: &[T],
        dy: &[T],
        dw: Option<&mut [T]>,
        mut db: Option<&mut [T]>,
        parts: Parts<'_, T>,
    ) {
        let Parts { v: dv, zeros, u, m: d, dyt, ahead } = parts;
        let point = self.lanes * self.outputs;
        dv.fill(T::default());
        for block in self.blocks() {
            for (k, tile) in block.tiles.clone().enumerate() {
                let places = self.outputs(self.outputs, block.line, tile);
                for (place, dyt) in places.iter().zip(dyt.chunks_exact_mut(point)) {
                    match place {
                        Some(at) => transpose(isa, self.outputs, &dy[*at..], self.lanes, self.lanes, dyt),
                        None => dyt.fill(T::default()),
                    }
                }
                if let Some(db) = &mut db {
                    bias_sums(isa, dyt, db);
                }
                transform_adjoints(isa, dyt, &mut d[k * point..], self.apart(self.outputs));
            }
            if dw.is_some() {
                self.load(isa, x, self.inputs, &block, zeros, u);
                for spot in 0..SPOTS {
                    let (u, d) =
                        (&u[spot * self.apart(self.inputs)..], &d[spot * self.apart(self.outputs)..]);
                    let dv = &mut dv[spot * self.weights()..][..self.weights()];
                    let used = block.tiles.len() * self.lanes;
                    outer_transposed(isa, self.inputs, self.outputs, u, d, self.width(), used, dv, ahead);
                }
            }
        }
        if let Some(dw) = dw {
            reverse_weights(isa, dv, dw);
        }
    }
}

impl<T: Real> Kernel<T> for Winograd {
    fn scratch(&self) -> usize {
        SPOTS * (self.weights() + 2 * self.apart(self.inputs.max(self.outputs)))
            + self.lanes * (TILE * TILE * self.outputs + 1)
    }

    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], room: &mut Room<T>) {
        let parts = self.cut(room);
        transform_weights(isa, x[1], parts.v);
        let finish = Finish { bias: x[2], accumulate: false, relu: true };
        self.products(isa, x[0], false, finish, y, parts);
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
            let parts = self.cut(room);
            transform_weights(isa, seen.x[1], parts.v);
            let finish = Finish { bias: &[], accumulate: dx.accumulate, relu: false };
            self.products(isa, dy, true, finish, &mut dx.data, parts);
        }
        if dw.wanted() || db.wanted() {
            self.reverse_weight(isa, seen.x[0], dy, dw.prepared(), db.prepared(), self.cut(room));
        }
    }
}

/// Channels of a point, `stride` apart; zeros without a stride stand for a point beyond the rim.
struct Source<'a, T> {
    data: &'a [T],
    stride: usize,
}

/// The spot of a kernel that is turned around.
fn turned_spot(spot: usize) -> usize {
    let turned = [3, 1, 2, 0];
    WIDE * turned[spot / WIDE] + turned[spot % WIDE]
}

// The transforms along one axis; those of reverse rules are the transposed ones.

#[inline(always)]
unsafe fn input<V: Vector>([d0, d1, d2, d3]: [V; 4]) -> [V; 4] {
    [d0.sub(d2), d1.add(d2), d2.sub(d1), d3.sub(d1)]
}
#[inline(always)]
unsafe fn weight<V: Vector>([g0, g1, g2]: [V; 3]) -> [V; 4] {
    let (outer, half) = (g0.add(g2), V::of(0.5));
    [g0, half.mul(outer.add(g1)), half.mul(outer.sub(g1)), g2]
}
#[inline(always)]
unsafe fn output<V: Vector>([m0, m1, m2, m3]: [V; 4]) -> [V; 2] {
    [m0.add(m1).add(m2), m1.sub(m2).add(m3)]
}
#[inline(always)]
unsafe fn weight_reverse<V: Vector>([v0, v1, v2, v3]: [V; 4]) -> [V; 3] {
    let half = V::of(0.5);
    let (sum, difference) = (half.mul(v1.add(v2)), half.mul(v1.sub(v2)));
    [v0.add(sum), difference, sum.add(v3)]
}
#[inline(always)]
unsafe fn output_reverse<V: Vector>([y0, y1]: [V; 2]) -> [V; 4] {
    [y0, y0.add(y1), y0.sub(y1), y1]
}

/// Reads a square of `$from` x `$from` vectors, applies a transform along both axes, hands over each vector
/// of the square that results.
macro_rules! both_axes {
    ($transform:ident, $from:ident, $to:ident,
     |$i:ident, $j:ident| $read:expr, |$place:ident, $value:ident| $write:expr) => {{
        let mut half = [[V::zero(); $from]; $to];
        for $i in 0..$from {
            let mut row = [V::zero(); $from];
            for $j in 0..$from {
                row[$j] = $read;
            }
            let row = $transform(row);
            for q in 0..$to {
                half[q][$i] = row[q];
            }
        }
        for q in 0..$to {
            let column = $transform(half[q]);
            for p in 0..$to {
                let ($place, $value) = (p * $to + q, column[p]);
                $write;
            }
        }
    }};
}

dispatched! {
    /// The inputs around a tile, all channels, to `[spots][channels][width]`.
    unsafe fn transform_inputs(
        sources: &[Source<'_, T>; SPOTS],
        channels: usize,
        lanes: usize,
        to: &mut [T],
        width: usize,
        apart: usize,
    ) {
        for k in 0..channels {
            sweep!(V, lanes, |l, n| {
                both_axes!(input, WIDE, WIDE, |i, j| {
                    let Source { data, stride } = &sources[i * WIDE + j];
                    V::get(data, k * stride + l, n)
                }, |spot, value| value.put(to, spot * apart + k * width + l, n));
            });
        }
    }
}

dispatched! {
    /// Weights `[taps][inputs][outputs]` to `[spots][inputs][outputs]`.
    unsafe fn transform_weights(w: &[T], v: &mut [T]) {
        let each = w.len() / TAPS;
        sweep!(V, each, |l, n| {
            both_axes!(weight, SIDE, WIDE, |i, j| V::get(w, (i * SIDE + j) * each + l, n), |spot, value| {
                value.put(v, spot * each + l, n)
            });
        });
    }
}

dispatched! {
    /// The reverse of [`transform_weights`].
    unsafe fn reverse_weights(dv: &[T], dw: &mut [T]) {
        let each = dw.len() / TAPS;
        sweep!(V, each, |l, n| {
            both_axes!(weight_reverse, WIDE, SIDE,
                |i, j| V::get(dv, (i * WIDE + j) * each + l, n), |tap, value| {
                value.put_or_add(true, dw, tap * each + l, n)
            });
        });
    }
}

dispatched! {
    /// From the products of a tile to its outputs.
    unsafe fn transform_products(
        m: &[T],
        width: usize,
        apart: usize,
        outputs: usize,
        lanes: usize,
        finish: Finish<'_, T>,
        places: &[Option<usize>; TILE * TILE],
        y: &mut [T],
    ) {
        for o in 0..outputs {
            let bias = if finish.bias.is_empty() { V::zero() } else { V::splat(finish.bias[o]) };
            sweep!(V, lanes, |l, n| {
                both_axes!(output, WIDE, TILE, |i, j| {
                    V::get(m, (i * WIDE + j) * apart + o * width + l, n)
                }, |point, value| {
                    if let Some(at) = places[point] {
                        let value = value.add(bias);
                        let value = if finish.relu { value.max(V::zero()) } else { value };
                        value.put_or_add(finish.accumulate, y, at + o * lanes + l, n);
                    }
                });
            });
        }
    }
}

dispatched! {
    /// The adjoints of the products of a tile from those of its outputs, both `[lanes][outputs]`.
    unsafe fn transform_adjoints(dyt: &[T], d: &mut [T], apart: usize) {
        let point = dyt.len() / (TILE * TILE);
        sweep!(V, point, |l, n| {
            both_axes!(output_reverse, TILE, WIDE,
                |i, j| V::get(dyt, (i * TILE + j) * point + l, n), |spot, value| {
                value.put(d, spot * apart + l, n)
            });
        });
    }
}
