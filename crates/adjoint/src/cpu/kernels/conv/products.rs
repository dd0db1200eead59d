//! Products of 3 x 3 convolutions, without copying the neighbourhoods:
//! `y[o] = sum over taps (a, c) and channels i of w[a, c, i, o] x_ac[i]`, where `x_ac` is the input shifted
//! by the tap.
//!
//! Two forms, both for a *site*: a run of lanes that share their taps, with the place where each tap's input
//! begins. [`product`] has the lanes as the vector axis; a tile of outputs times up to three vectors stays in
//! registers while the taps and channels stream by, weights broadcast from panels of one tile's width.
//! [`outer`], the gradient of the weights, has the outputs as the vector axis: with dy transposed, a tile of
//! three taps times some channels times some vectors of outputs is summed over the lanes, inputs broadcast.

use super::*;
use crate::cpu::kernels::dense::{filled_lanes, strip_width};

/// Taps of a kernel along one axis.
pub(crate) const SIDE: usize = 3;

/// A run of lanes, the taps it uses, and where their inputs begin.
pub(crate) struct Site {
    /// Taps in x and in y.
    pub a: Range<usize>,
    pub c: Range<usize>,
    /// Place of the first channel of tap (a, first c), for every a in use.
    pub x: [usize; SIDE],
    pub lanes: usize,
}

/// Distances in the input: from one tap to the next in y, and from one channel to the next.
#[derive(Clone, Copy)]
pub(crate) struct Strides {
    pub tap: usize,
    pub channel: usize,
}

/// What a product is made of besides a site. `panels` comes from [`pack`].
#[derive(Clone, Copy)]
pub(crate) struct Factors<'a, T> {
    pub panels: &'a [T],
    pub inputs: usize,
    pub outputs: usize,
    pub x: &'a [T],
    pub strides: Strides,
}

/// What becomes of a product: an optional bias is added; it is cut at zero and written, or added to y, or
/// written.
#[derive(Clone, Copy)]
pub(crate) struct Finish<'a, T> {
    pub bias: &'a [T],
    pub accumulate: bool,
    pub relu: bool,
}

/// Outputs of the next panel, where `left` are left.
#[inline(always)]
unsafe fn panel_width<V: Vector>(left: usize) -> usize {
    match left {
        8.. if V::TILE == 8 && V::TUNED => 8,
        4.. => 4,
        3 if V::TUNED => 3,
        _ => 1,
    }
}

dispatched! {
    /// Weights `[taps][inputs][outputs]` in panels of a tile's outputs: `[panel][taps][inputs][width]`.
    /// `turned` takes the kernel turned around, inputs and outputs exchanged: what carries dy to dx, whose
    /// channels are then `inputs`.
    pub(crate) unsafe fn pack(weight: &[T], inputs: usize, outputs: usize, turned: bool, panels: &mut [T]) {
        let mut o = 0;
        while o < outputs {
            let width = panel_width::<V>(outputs - o);
            let panel = &mut panels[TAPS * inputs * o..][..TAPS * inputs * width];
            for (k, row) in panel.chunks_exact_mut(width).enumerate() {
                let (tap, i) = (k / inputs, k % inputs);
                for (q, to) in row.iter_mut().enumerate() {
                    *to = if turned {
                        weight[((TAPS - 1 - tap) * outputs + o + q) * inputs + i]
                    } else {
                        weight[k * outputs + o + q]
                    };
                }
            }
            o += width;
        }
    }
}

/// `R` outputs from `o` on, `C` vectors of lanes from `l` on, the last with `count` lanes if `PART`.
#[inline(always)]
unsafe fn tile<V: Vector, const R: usize, const C: usize, const PART: bool>(
    factors: Factors<'_, V::Real>,
    finish: Finish<'_, V::Real>,
    site: &Site,
    (o, l, count): (usize, usize, usize),
    y: &mut [V::Real],
    (y_at, y_stride): (usize, usize),
) {
    let Factors { panels, inputs, x, strides, .. } = factors;
    let mut sum = [[V::zero(); C]; R];
    if !finish.bias.is_empty() {
        for r in 0..R {
            sum[r] = [V::splat(finish.bias[o + r]); C];
        }
    }
    let panel = panels[TAPS * inputs * o..][..TAPS * inputs * R].as_chunks::<R>().0;
    // taps whose channels follow each other in memory are one run
    let joined = strides.tap == inputs * strides.channel;
    let (runs, length) = if joined { (1, site.c.len() * inputs) } else { (site.c.len(), inputs) };
    for a in site.a.clone() {
        for run in 0..runs {
            let mut at = site.x[a] + run * strides.tap + l;
            for weights in &panel[(SIDE * a + site.c.start + run) * inputs..][..length] {
                let mut column = [V::zero(); C];
                for c in 0..C {
                    column[c] = V::get(x, at + c * V::LANES, filled_lanes::<V, C, PART>(c, count));
                }
                at += strides.channel;
                for r in 0..R {
                    let weight = V::splat(weights[r]);
                    for c in 0..C {
                        sum[r][c] = weight.fma(column[c], sum[r][c]);
                    }
                }
            }
        }
    }
    // the choice outside the loops: they are unrolled only if they are short, and else the sums would go
    // through memory
    macro_rules! finish {
        (|$value:ident, $to:ident, $n:ident| $result:expr) => {
            for r in 0..R {
                for c in 0..C {
                    let $to = y_at + (o + r) * y_stride + l + c * V::LANES;
                    let ($value, $n) = (sum[r][c], filled_lanes::<V, C, PART>(c, count));
                    $result.put(y, $to, $n);
                }
            }
        };
    }
    if finish.relu {
        finish!(|value, to, n| value.max(V::zero()));
    } else if finish.accumulate {
        finish!(|value, to, n| V::get(y, to, n).add(value));
    } else {
        finish!(|value, to, n| value);
    }
}

dispatched! {
    /// All outputs of a site, `y_stride` apart from `y_at` on.
    pub(crate) unsafe fn product(
        factors: Factors<'_, T>,
        finish: Finish<'_, T>,
        site: &Site,
        y: &mut [T],
        y_at: usize,
        y_stride: usize,
    ) {
        let outputs = factors.outputs;
        macro_rules! strip {
            ($c:literal, $part:literal, $l:expr, $count:expr) => {{
                let mut o = 0;
                while o < outputs {
                    let width = panel_width::<V>(outputs - o);
                    macro_rules! rows {
                        ($r:literal) => {
                            tile::<V, $r, $c, $part>(
                                factors,
                                finish,
                                site,
                                (o, $l, $count),
                                y,
                                (y_at, y_stride),
                            )
                        };
                    }
                    match width {
                        8 if V::TILE == 8 && V::TUNED => rows!(8),
                        4 => rows!(4),
                        3 if V::TUNED => rows!(3),
                        _ => rows!(1),
                    }
                    o += width;
                }
            }};
        }
        let lanes = site.lanes;
        let mut l = 0;
        while l < lanes {
            let (width, count) = strip_width::<V>(lanes - l);
            match (width, V::TUNED && count == V::LANES) {
                (3, true) if V::TUNED => strip!(3, false, l, V::LANES),
                (3, false) if V::TUNED => strip!(3, true, l, count),
                (2, true) if V::TUNED => strip!(2, false, l, V::LANES),
                (2, _) => strip!(2, true, l, count),
                (_, true) if V::TUNED => strip!(1, false, l, V::LANES),
                (_, _) => strip!(1, true, l, count),
            }
            l += width * V::LANES;
        }
    }
}

/// Outputs of a transposed dy: filled up with zeros to whole vectors of every instruction set.
pub(crate) fn filled(outputs: usize) -> usize {
    outputs.next_multiple_of(16)
}

dispatched! {
    /// A block of dy, `rows` outputs `stride` apart, transposed: `[lanes][filled outputs]`.
    pub(crate) unsafe fn transpose(rows: usize, dy: &[T], stride: usize, lanes: usize, dyt: &mut [T]) {
        let filled = filled(rows);
        let (whole_rows, whole_lanes) = (rows / V::LANES * V::LANES, lanes / V::LANES * V::LANES);
        for o in (0..whole_rows).step_by(V::LANES) {
            for l in (0..whole_lanes).step_by(V::LANES) {
                V::transpose(&dy[o * stride + l..], stride, &mut dyt[l * filled + o..], filled);
            }
        }
        for l in 0..lanes {
            let first = if l < whole_lanes { whole_rows } else { 0 };
            let to = &mut dyt[l * filled..][..filled];
            for o in first..rows {
                to[o] = dy[o * stride + l];
            }
            to[rows..].fill(T::default());
        }
    }
}

/// Lanes of a transposed dy with their inputs: a site, repeated `blocks` times, `step` apart in the input and
/// one after the other in `dyt`.
pub(crate) struct Blocks {
    pub site: Site,
    pub blocks: usize,
    pub step: usize,
}

/// `dw += x dyᵀ` for taps `(a, c)` of all `K` columns c in use, `R` channels from `i` on and `C` vectors of
/// outputs from `o` on.
#[inline(always)]
unsafe fn outer_tile<V: Vector, const K: usize, const R: usize, const C: usize>(
    (x, strides): (&[V::Real], Strides),
    dyt: &[V::Real],
    at: &Blocks,
    (a, i, o): (usize, usize, usize),
    (inputs, outputs): (usize, usize),
    dw: &mut [V::Real],
) {
    let Blocks { site, blocks, step } = at;
    let filled = filled(outputs);
    let mut sum = [[[V::zero(); C]; R]; K];
    for block in 0..*blocks {
        let first = site.x[a] + block * step + i * strides.channel;
        let dy = block * site.lanes * filled + o;
        debug_assert!(first + (K - 1) * strides.tap + (R - 1) * strides.channel + site.lanes <= x.len());
        for l in 0..site.lanes {
            let mut row = [V::zero(); C];
            for c in 0..C {
                row[c] = V::load(dyt, dy + l * filled + c * V::LANES);
            }
            for k in 0..K {
                for r in 0..R {
                    // SAFETY: the caller's, sizes follow from the shapes; debug builds assert the largest
                    // index above.
                    let x = V::splat(unsafe {
                        *x.get_unchecked(first + k * strides.tap + r * strides.channel + l)
                    });
                    for c in 0..C {
                        sum[k][r][c] = x.fma(row[c], sum[k][r][c]);
                    }
                }
            }
        }
    }
    for k in 0..K {
        for r in 0..R {
            let to = ((SIDE * a + site.c.start + k) * inputs + i + r) * outputs + o;
            for c in 0..C {
                let count = V::LANES.min(outputs - o - c * V::LANES);
                sum[k][r][c].put_or_add(true, dw, to + c * V::LANES, count);
            }
        }
    }
}

dispatched! {
    /// `dw += x dyᵀ`, dw as `[taps][inputs][outputs]`.
    pub(crate) unsafe fn outer(
        x: &[T],
        strides: Strides,
        dyt: &[T],
        at: &Blocks,
        inputs: usize,
        outputs: usize,
        dw: &mut [T],
    ) {
        macro_rules! channels {
            ($k:literal, $c:literal, $a:expr, $o:expr) => {{
                macro_rules! rows {
                    ($r:literal, $i:expr) => {{
                        let (place, sizes) = (($a, $i, $o), (inputs, outputs));
                        outer_tile::<V, $k, $r, $c>((x, strides), dyt, at, place, sizes, dw);
                        $i += $r;
                    }};
                }
                let mut i = 0;
                while i < inputs {
                    match inputs - i {
                        4.. if V::TILE == 8 && V::TUNED => rows!(4, i),
                        3 if V::TILE == 8 && V::TUNED => rows!(3, i),
                        2.. => rows!(2, i),
                        _ => rows!(1, i),
                    }
                }
            }};
        }
        macro_rules! outputs {
            ($k:literal, $a:expr) => {{
                let mut o = 0;
                while o < outputs {
                    if V::TUNED && o + V::LANES < outputs {
                        channels!($k, 2, $a, o);
                        o += 2 * V::LANES;
                    } else {
                        channels!($k, 1, $a, o);
                        o += V::LANES;
                    }
                }
            }};
        }
        for a in at.site.a.clone() {
            match at.site.c.len() {
                3 => outputs!(3, a),
                2 => outputs!(2, a),
                _ => outputs!(1, a),
            }
        }
    }
}

dispatched! {
    /// `db += sum over lanes` of a transposed dy.
    pub(crate) unsafe fn bias_sums(dyt: &[T], db: &mut [T]) {
        let filled = filled(db.len());
        sweep!(V, db.len(), |o, n| {
            // several sums at once, because one would wait for itself
            let mut sums = [V::zero(); 4];
            let mut rows = dyt.chunks_exact(4 * filled);
            for four in &mut rows {
                for (q, sum) in sums.iter_mut().enumerate() {
                    *sum = sum.add(V::load(four, q * filled + o));
                }
            }
            for row in rows.remainder().chunks_exact(filled) {
                sums[0] = sums[0].add(V::load(row, o));
            }
            let sum = sums[0].add(sums[1]).add(sums[2].add(sums[3]));
            sum.put_or_add(true, db, o, n);
        });
    }
}

dispatched! {
    /// Reverse of `max(., 0)`: no adjoint passes where y is zero.
    pub(crate) unsafe fn mask(y: &[T], dy: &mut [T]) {
        sweep!(V, y.len(), |l, n| {
            let (value, adjoint) = (V::get(y, l, n), V::get(dy, l, n));
            V::select_lt(V::zero(), value, adjoint, V::zero()).put(dy, l, n);
        });
    }
}

dispatched! {
    /// Copies `count` runs of `length` numbers, or adds them to what is there.
    pub(crate) unsafe fn copy_runs(
        count: usize,
        length: usize,
        from: &[T],
        stride: usize,
        accumulate: bool,
        to: &mut [T],
        to_stride: usize,
    ) {
        for run in 0..count {
            sweep!(V, length, |l, n| {
                V::get(from, run * stride + l, n).put_or_add(accumulate, to, run * to_stride + l, n);
            });
        }
    }
}
