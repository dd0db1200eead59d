//! A dense layer along the rows: `y = wᵀ x + b`, `x: [inputs][cols]`, `w: [inputs][outputs]` shared and `b`, a shared bias
//! `[outputs][1]` or something to add, `[outputs][cols]`.
//!
//! Three products: forward `wᵀ x`; reverse `dx = w dy`, `dw = x dyᵀ`, `db = sum dy`. In the first two the lanes are the
//! vector axis and weights are broadcast, which needs no packing: a tile of outputs times up to three vectors
//! stays in registers while the inputs stream by. The third is a sum over lanes; with dy transposed first it has the same form,
//! outputs as the vector axis and x broadcast, and needs no sums across a register.

use super::*;
use crate::simd::{Vector, dispatched, sweep};
use std::ops::Range;

pub(crate) struct Dense;

impl Primitive for Dense {
    fn output(&self, inputs: &[Shape]) -> Shape {
        let (x, w) = (inputs[0], inputs[1]);
        assert!(x.rows == w.rows && w.shared && !x.shared, "a weight of {w:?} on {x:?}");
        if let Some(b) = inputs.get(2) {
            let added = Shape::per_sample(w.cols, x.cols);
            assert!(b.shared && b.size() == w.cols || *b == added, "a bias of {b:?} for {} outputs", w.cols);
        }
        Shape::per_sample(w.cols, x.cols)
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads { inputs: 0b11, output: false }
    }
    fn reads_for(&self, wanted: &[bool]) -> Reads {
        // inputs are read for the adjoint of the weights, and the other way round
        Reads { inputs: u8::from(wanted[1]) | u8::from(wanted[0]) << 1, output: false }
    }
    fn flops(&self, io: &Io) -> f64 {
        2.0 * io.inputs[0].rows as f64 * io.output.len(io.samples) as f64
    }
    both_precisions!(|self, io| Layer {
        inputs: io.inputs[0].rows,
        outputs: io.output.rows,
        lanes: io.output_lanes(),
        added: io.inputs.get(2).is_some_and(|b| !b.shared),
    });
}

struct Layer {
    inputs: usize,
    outputs: usize,
    lanes: usize,
    /// Whether b has a number per lane.
    added: bool,
}

/// Inputs that are worked on together: few enough that they and their weights stay in cache while all strips of lanes and tiles of outputs
/// pass by.
const BLOCK: usize = 128;

impl Layer {
    fn blocks(&self) -> impl Iterator<Item = Range<usize>> {
        let inputs = self.inputs;
        (0..inputs).step_by(BLOCK).map(move |start| start..inputs.min(start + BLOCK))
    }
}

impl<T: Real> Kernel<T> for Layer {
    fn scratch(&self) -> usize {
        self.outputs * STRETCH.min(self.lanes)
    }
    fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], scratch: &mut Scratch<T>) {
        for rows in self.blocks() {
            let w =
                Weights { data: &x[1][rows.start * self.outputs..], out_stride: 1, in_stride: self.outputs };
            let target = match rows.start {
                0 => Target { bias: x[2], per_lane: self.added, accumulate: false },
                _ => Target::SUM,
            };
            let x = &x[0][rows.start * self.lanes..];
            product(isa, self.outputs, rows.len(), w, x, target, self.lanes, y, &mut scratch.ahead);
        }
    }

    fn reverse(
        &self,
        isa: Isa,
        seen: Seen<'_, T>,
        dy: &mut Buffer<T>,
        dx: &mut [Adjoint<T>],
        scratch: &mut Scratch<T>,
    ) {
        if dx[0].wanted() {
            for rows in self.blocks() {
                let data = &seen.x[1][rows.start * self.outputs..];
                let w = Weights { data, out_stride: self.outputs, in_stride: 1 };
                let target = if dx[0].accumulate { Target::SUM } else { Target::NEW };
                let to = &mut dx[0].data[rows.start * self.lanes..];
                product(isa, rows.len(), self.outputs, w, dy, target, self.lanes, to, &mut scratch.ahead);
            }
        }
        let [_, dw, db @ ..] = dx else { unreachable!("a layer has a weight") };
        let db = match db {
            [added] if self.added => {
                if added.wanted() {
                    super::binary::add_scaled(isa, T::of(1.0), dy, added.accumulate, &mut added.data);
                }
                &mut []
            }
            bias => bias,
        };
        if !dw.wanted() && !db.iter().any(Adjoint::wanted) {
            return;
        }
        dw.prepare();
        db.iter_mut().for_each(Adjoint::prepare);
        let db = db.first_mut().map_or(&mut [][..], |db| &mut db.data[..]);
        outer(isa, self.inputs, self.outputs, seen.x[0], dy, self.lanes, &mut dw.data, db, scratch);
    }
}

/// A weight matrix seen with either index as the output.
#[derive(Clone, Copy)]
pub(super) struct Weights<'a, T> {
    pub data: &'a [T],
    pub out_stride: usize,
    pub in_stride: usize,
}

/// What a product is added to.
#[derive(Clone, Copy)]
pub(super) struct Target<'a, T> {
    /// A number per output, or none.
    bias: &'a [T],
    /// The bias has a number per output and lane.
    per_lane: bool,
    /// What is there already.
    accumulate: bool,
}

impl<T: Real> Target<'_, T> {
    /// Nothing.
    pub const NEW: Target<'static, T> = Target { bias: &[], per_lane: false, accumulate: false };
    /// What is there.
    pub const SUM: Target<'static, T> = Target { bias: &[], per_lane: false, accumulate: true };

    /// One number of an output.
    #[inline(always)]
    pub fn put(self, y: &mut [T], output: usize, at: usize, value: T) {
        let value = match self.bias {
            [] => value,
            bias => value + bias[if self.per_lane { at } else { output }],
        };
        y[at] = if self.accumulate { y[at] + value } else { value };
    }
}

/// Lanes in use of vector `c` of a tile.
#[inline(always)]
pub(super) fn filled_lanes<V: Vector, const C: usize, const PART: bool>(c: usize, count: usize) -> usize {
    if PART && c + 1 == C { count } else { V::LANES }
}

/// `R` outputs from row `o` on, `C` vectors of lanes from `l` on, the last with `count` lanes if `PART`.
#[inline(always)]
fn tile<V: Vector, const R: usize, const C: usize, const PART: bool>(
    inner: usize,
    w: Weights<'_, V::Real>,
    x: &[V::Real],
    target: Target<'_, V::Real>,
    lanes: usize,
    (o, l, count): (usize, usize, usize),
    y: &mut [V::Real],
    ahead: &mut Ahead,
) {
    let mut sum = [[V::zero(); C]; R];
    if target.per_lane {
        for r in 0..R {
            for c in 0..C {
                let n = filled_lanes::<V, C, PART>(c, count);
                sum[r][c] = V::get(target.bias, (o + r) * lanes + l + c * V::LANES, n);
            }
        }
    } else if !target.bias.is_empty() {
        for r in 0..R {
            sum[r] = [V::splat(target.bias[o + r]); C];
        }
    }
    let first = o * w.out_stride;
    debug_assert!(inner == 0 || first + (R - 1) * w.out_stride + (inner - 1) * w.in_stride < w.data.len());
    let share = ahead.share(inner);
    for k in 0..inner {
        share.fetch::<V>(k);
        let mut column = [V::zero(); C];
        for c in 0..C {
            column[c] = V::get(x, k * lanes + l + c * V::LANES, filled_lanes::<V, C, PART>(c, count));
        }
        for r in 0..R {
            // SAFETY: the largest index is checked by the assertion above, against the sizes fixed at trace time.
            let weight =
                V::splat(unsafe { *w.data.get_unchecked(first + r * w.out_stride + k * w.in_stride) });
            for c in 0..C {
                sum[r][c] = weight.fma(column[c], sum[r][c]);
            }
        }
    }
    for r in 0..R {
        for c in 0..C {
            let n = filled_lanes::<V, C, PART>(c, count);
            sum[r][c].put_or_add(target.accumulate, y, (o + r) * lanes + l + c * V::LANES, n);
        }
    }
}

dispatched! {
    /// `y (+)= w x + bias` for a strip of lanes at a time, so that the strip of x stays in the first-level cache.
    pub(super) fn product(outputs: usize, inner: usize, w: Weights<'_, T>, x: &[T], target: Target<'_, T>, lanes: usize, y: &mut [T], ahead: &mut Ahead) {
        let done = match lanes {
            1 => few_lanes::product::<V, 1>(outputs, inner, w, x, target, y),
            2 => few_lanes::product::<V, 2>(outputs, inner, w, x, target, y),
            3 => few_lanes::product::<V, 3>(outputs, inner, w, x, target, y),
            4 => few_lanes::product::<V, 4>(outputs, inner, w, x, target, y),
            _ => false,
        };
        if done {
            return;
        }
        macro_rules! strip {
            ($c:literal, $part:literal, $l:expr, $count:expr) => {{
                let mut o = 0;
                macro_rules! rows {
                    ($r:literal) => {
                        while outputs - o >= $r {
                            tile::<V, $r, $c, $part>(inner, w, x, target, lanes, (o, $l, $count), y, ahead);
                            o += $r;
                        }
                    };
                }
                if V::TILE == 8 {
                    rows!(8);
                }
                rows!(4);
                rows!(2);
                rows!(1);
            }};
        }
        let mut l = 0;
        // a head of one or two outputs: longer strips, whose sums do not wait for each other
        while outputs <= 2 && lanes - l >= 4 * V::LANES {
            if V::TILE == 8 && lanes - l >= 8 * V::LANES {
                strip!(8, false, l, V::LANES);
                l += 8 * V::LANES;
            } else {
                strip!(4, false, l, V::LANES);
                l += 4 * V::LANES;
            }
        }
        while l < lanes {
            // strips of three vectors, but 4 = 2 + 2: a strip of one cannot hide the latency of its sums
            let vectors = (lanes - l).div_ceil(V::LANES);
            let width = if vectors == 2 || vectors == 4 { 2 } else { vectors.min(3) };
            let count = lanes - l - (width - 1) * V::LANES;
            match (width, count < V::LANES) {
                (3, false) => strip!(3, false, l, V::LANES),
                (3, true) => strip!(3, true, l, count),
                (2, false) => strip!(2, false, l, V::LANES),
                (2, true) => strip!(2, true, l, count),
                (_, false) => strip!(1, false, l, V::LANES),
                (_, true) => strip!(1, true, l, count),
            }
            l += width * V::LANES;
        }
    }
}

/// Lanes of dy that are worked on together: few enough to stay in the first-level cache while all inputs pass by.
const STRETCH: usize = 128;

/// `dw += x dyᵀ` for `R` inputs from row `i` on and `C` vectors of outputs from `o` on, given a stretch of dy transposed.
#[inline(always)]
fn outer_tile<V: Vector, const R: usize, const C: usize>(
    x: &[V::Real],
    dyt: &[V::Real],
    lanes: usize,
    stretch: Range<usize>,
    (i, o, outputs): (usize, usize, usize),
    dw: &mut [V::Real],
    ahead: &mut Ahead,
) {
    let mut sum = [[V::zero(); C]; R];
    debug_assert!((i + R) * lanes <= x.len());
    let start = stretch.start;
    let share = ahead.share(stretch.len());
    for l in stretch {
        share.fetch::<V>(l - start);
        let mut row = [V::zero(); C];
        for c in 0..C {
            row[c] = V::load(dyt, (l - start) * outputs + o + c * V::LANES);
        }
        for r in 0..R {
            // SAFETY: the largest index is checked by the assertion above, against the sizes fixed at trace time.
            let x = V::splat(unsafe { *x.get_unchecked((i + r) * lanes + l) });
            for c in 0..C {
                sum[r][c] = x.fma(row[c], sum[r][c]);
            }
        }
    }
    for r in 0..R {
        for c in 0..C {
            sum[r][c].put_or_add(true, dw, (i + r) * outputs + o + c * V::LANES, V::LANES);
        }
    }
}

/// Dot products over the lanes of row `i` of x with `C` rows of dy from `o` on: for outputs that do not fill a vector.
#[inline(always)]
fn dots<V: Vector, const C: usize>(
    x: &[V::Real],
    dy: &[V::Real],
    lanes: usize,
    (i, o, outputs): (usize, usize, usize),
    dw: &mut [V::Real],
) {
    let mut sum = [V::zero(); C];
    sweep!(V, lanes, |l, n| {
        let row = V::get(x, i * lanes + l, n);
        for c in 0..C {
            sum[c] = row.fma(V::get(dy, (o + c) * lanes + l, n), sum[c]);
        }
    });
    for c in 0..C {
        dw[i * outputs + o + c] += sum[c].sum();
    }
}

/// A stretch of the outputs of dy that fill vectors, transposed: `[stretch][outputs]`.
#[inline(always)]
fn transpose<V: Vector>(
    outputs: usize,
    dy: &[V::Real],
    lanes: usize,
    stretch: Range<usize>,
    dyt: &mut [V::Real],
) {
    let whole_lanes = stretch.start + stretch.len() / V::LANES * V::LANES;
    for o in (0..outputs / V::LANES * V::LANES).step_by(V::LANES) {
        for l in (stretch.start..whole_lanes).step_by(V::LANES) {
            V::transpose(&dy[o * lanes + l..], lanes, &mut dyt[(l - stretch.start) * outputs + o..], outputs);
        }
        for l in whole_lanes..stretch.end {
            for c in 0..V::LANES {
                dyt[(l - stretch.start) * outputs + o + c] = dy[(o + c) * lanes + l];
            }
        }
    }
}

/// `db += sum over a stretch of dy`, given it transposed, for the outputs that fill vectors.
#[inline(always)]
fn sums<V: Vector>(outputs: usize, dyt: &[V::Real], stretch: usize, db: &mut [V::Real]) {
    for o in (0..outputs / V::LANES * V::LANES).step_by(V::LANES) {
        // four sums at once, because one addition would have to wait for the one before
        let mut sum = [V::zero(); 4];
        for l in (0..stretch).step_by(4) {
            for j in 0..4.min(stretch - l) {
                sum[j] = sum[j].add(V::load(dyt, (l + j) * outputs + o));
            }
        }
        sum[0].add(sum[1]).add(sum[2].add(sum[3])).put_or_add(true, db, o, V::LANES);
    }
}

/// `dw += x dyᵀ` for a stretch of lanes with dy transposed and the outputs that fill vectors; how many those are.
#[inline(always)]
fn stretch_outer<V: Vector>(
    inputs: usize,
    outputs: usize,
    x: &[V::Real],
    dyt: &[V::Real],
    lanes: usize,
    stretch: Range<usize>,
    dw: &mut [V::Real],
    ahead: &mut Ahead,
) -> usize {
    macro_rules! columns {
        // tiles of $r inputs, then smaller ones: one input alone cannot hide the latency of its sums
        ($r:literal, $c:literal, $o:expr) => {{
            let mut i = 0;
            columns!(i, $r, $c, $o);
            columns!(i, 4, $c, $o);
            columns!(i, 2, $c, $o);
            columns!(i, 1, $c, $o);
        }};
        ($i:ident, $r:literal, $c:literal, $o:expr) => {
            while inputs - $i >= $r {
                outer_tile::<V, $r, $c>(x, dyt, lanes, stretch.clone(), ($i, $o, outputs), dw, ahead);
                $i += $r;
            }
        };
    }
    let mut o = 0;
    if V::TILE == 8 {
        while o + 4 * V::LANES <= outputs {
            columns!(6, 4, o);
            o += 4 * V::LANES;
        }
    }
    while o + 2 * V::LANES <= outputs {
        if V::TILE == 8 {
            columns!(8, 2, o);
        } else {
            columns!(6, 2, o);
        }
        o += 2 * V::LANES;
    }
    while o + V::LANES <= outputs {
        columns!(8, 1, o);
        o += V::LANES;
    }
    o
}

dispatched! {
    /// `dw += x dyᵀ` for the first `used` lanes, with dy transposed, `[lanes][outputs]`; outputs fill vectors.
    pub(super) fn outer_transposed(inputs: usize, outputs: usize, x: &[T], dyt: &[T], lanes: usize, used: usize, dw: &mut [T], ahead: &mut Ahead) {
        stretch_outer::<V>(inputs, outputs, x, dyt, lanes, 0..used, dw, ahead);
    }
}

dispatched! {
    /// `dw += x dyᵀ` and `db += sum of dy`, where they are wanted.
    fn outer(inputs: usize, outputs: usize, x: &[T], dy: &[T], lanes: usize, dw: &mut [T], db: &mut [T], scratch: &mut Scratch<T>) {
        let Scratch { memory: dyt, ahead } = scratch;
        let inputs = if dw.is_empty() { 0 } else { inputs };
        let mut o = 0;
        for start in (0..lanes).step_by(STRETCH) {
            let stretch = start..lanes.min(start + STRETCH);
            transpose::<V>(outputs, dy, lanes, stretch.clone(), dyt);
            if !db.is_empty() {
                sums::<V>(outputs, dyt, stretch.len(), db);
            }
            o = stretch_outer::<V>(inputs, outputs, x, dyt, lanes, stretch, dw, ahead);
        }
        while o < outputs {
            for i in 0..inputs {
                if o + 2 <= outputs {
                    dots::<V, 2>(x, dy, lanes, (i, o, outputs), dw);
                } else {
                    dots::<V, 1>(x, dy, lanes, (i, o, outputs), dw);
                }
            }
            for o in o..outputs.min(o + 2) {
                if !db.is_empty() {
                    let mut sum = V::zero();
                    sweep!(V, lanes, |l, n| { sum = sum.add(V::get(dy, o * lanes + l, n)); });
                    db[o] += sum.sum();
                }
            }
            o += 2;
        }
    }
}
