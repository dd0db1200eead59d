//! `y = tanh(x / (|x| + 1))`, the norm taken over the rows of one column: inputs of any size enter the unit ball smoothly.
//!
//! Reverse, with `s = (1 - y²) dy`: `dx = s / (|x| + 1) - x (x . s) / (|x| (|x| + 1)²)`. Norm and tanh are one primitive
//! because together they pass over memory once less, and need one value less in reverse.

use super::*;
use crate::simd::{self, Vector, dispatched};

/// Keeps the derivative of the norm finite at 0; far below rounding elsewhere.
const TINY: f64 = 1e-30;

pub(crate) struct SoftNormTanh;

impl Primitive for SoftNormTanh {
    fn output(&self, inputs: &[Shape]) -> Shape {
        inputs[0]
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads { inputs: 1, output: true }
    }
    fn flops(&self, io: &Io) -> f64 {
        23.0 * io.output.len(io.samples) as f64
    }
    both_precisions!(|self, io| Columns { rows: io.output.rows, lanes: io.output_lanes() });
}

struct Columns {
    rows: usize,
    lanes: usize,
}

impl<T: Real> Kernel<T> for Columns {
    fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Scratch<T>) {
        forward(isa, self.rows, self.lanes, x[0], y);
    }
    fn reverse(&self, isa: Isa, seen: Seen<'_, T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut Scratch<T>) {
        reverse(isa, self.rows, self.lanes, seen.x[0], seen.y, dy, dx[0].accumulate, &mut dx[0].data);
    }
}

/// `C` vectors of lanes from `l` on (the only one of `count` lanes if C is 1). Sums over the rows are chains of dependent additions:
/// several columns of them at once hide their latency, and long runs of every row come faster from the second-level cache than short ones.
#[inline(always)]
fn forward_strip<V: Vector, const C: usize>(
    rows: usize,
    lanes: usize,
    (l, count): (usize, usize),
    x: &[V::Real],
    y: &mut [V::Real],
) {
    let n = if C == 1 { count } else { V::LANES };
    let mut square = [V::of(TINY); C];
    for row in 0..rows {
        for c in 0..C {
            let v = V::get(x, row * lanes + l + c * V::LANES, n);
            square[c] = v.fma(v, square[c]);
        }
    }
    let mut scale = [V::zero(); C];
    for c in 0..C {
        scale[c] = V::of(1.0).div(square[c].sqrt().add(V::of(1.0)));
    }
    for row in 0..rows {
        for c in 0..C {
            let at = row * lanes + l + c * V::LANES;
            // a component of a vector is no longer than the vector, here below 1
            simd::tanh_unit(V::get(x, at, n).mul(scale[c])).put(y, at, n);
        }
    }
}

#[inline(always)]
fn reverse_strip<V: Vector, const C: usize>(
    rows: usize,
    lanes: usize,
    (l, count): (usize, usize),
    x: &[V::Real],
    y: &[V::Real],
    ds: &mut [V::Real],
    accumulate: bool,
    to: &mut [V::Real],
) {
    let n = if C == 1 { count } else { V::LANES };
    let (mut square, mut dot) = ([V::of(TINY); C], [V::zero(); C]);
    for row in 0..rows {
        for c in 0..C {
            let at = row * lanes + l + c * V::LANES;
            let (v, t, d) = (V::get(x, at, n), V::get(y, at, n), V::get(ds, at, n));
            let s = t.mul(t).fnma(d, d);
            s.put(ds, at, n);
            square[c] = v.fma(v, square[c]);
            dot[c] = v.fma(s, dot[c]);
        }
    }
    let (mut scale, mut pull) = ([V::zero(); C], [V::zero(); C]);
    for c in 0..C {
        let norm = square[c].sqrt();
        scale[c] = V::of(1.0).div(norm.add(V::of(1.0)));
        pull[c] = dot[c].mul(scale[c]).mul(scale[c]).div(norm);
    }
    for row in 0..rows {
        for c in 0..C {
            let at = row * lanes + l + c * V::LANES;
            let d = V::get(ds, at, n).mul(scale[c]);
            V::get(x, at, n).fnma(pull[c], d).put_or_add(accumulate, to, at, n);
        }
    }
}

/// All lanes in strips: eight vectors wide where there are registers for them, then four, then one.
macro_rules! strips {
    ($strip:ident($($arg:expr),*), $V:ident, $rows:expr, $lanes:expr) => {{
        let mut l = 0;
        macro_rules! wide {
            ($width:literal) => {
                while l + $width * $V::LANES <= $lanes {
                    $strip::<$V, $width>($rows, $lanes, (l, $V::LANES), $($arg),*);
                    l += $width * $V::LANES;
                }
            };
        }
        if $V::TILE == 8 {
            wide!(8);
        }
        wide!(4);
        while l < $lanes {
            $strip::<$V, 1>($rows, $lanes, (l, $V::LANES.min($lanes - l)), $($arg),*);
            l += $V::LANES;
        }
    }};
}

dispatched! {
    fn forward(rows: usize, lanes: usize, x: &[T], y: &mut [T]) {
        strips!(forward_strip(x, y), V, rows, lanes);
    }
}

dispatched! {
    fn reverse(rows: usize, lanes: usize, x: &[T], y: &[T], ds: &mut [T], accumulate: bool, to: &mut [T]) {
        strips!(reverse_strip(x, y, ds, accumulate, to), V, rows, lanes);
    }
}
