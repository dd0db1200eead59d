//! `y = tanh(x / (|x| + 1))`, the norm taken over the rows of one column: inputs of any size enter the unit ball smoothly.
//!
//! Reverse, with `s = (1 - y²) dy`: `dx = s / (|x| + 1) - x (x . s) / (|x| (|x| + 1)²)`. Norm and tanh are one primitive
//! because together they pass over memory once less, and need one value less in reverse.

use super::*;
use crate::simd::{self, dispatched, sweep};

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
    fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut [T]) {
        forward(isa, self.rows, self.lanes, x[0], y);
    }
    fn reverse(&self, isa: Isa, seen: Seen<'_, T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut [T]) {
        reverse(isa, self.rows, self.lanes, seen.x[0], seen.y, dy, dx[0].accumulate, &mut dx[0].data);
    }
}

dispatched! {
    fn forward(rows: usize, lanes: usize, x: &[T], y: &mut [T]) {
        sweep!(V, lanes, |i, n| {
            let mut square = V::of(TINY);
            for row in 0..rows {
                let v = V::get(x, row * lanes + i, n);
                square = v.fma(v, square);
            }
            let scale = V::of(1.0).div(square.sqrt().add(V::of(1.0)));
            for row in 0..rows {
                simd::tanh(V::get(x, row * lanes + i, n).mul(scale)).put(y, row * lanes + i, n);
            }
        });
    }
}

dispatched! {
    fn reverse(rows: usize, lanes: usize, x: &[T], y: &[T], ds: &mut [T], accumulate: bool, to: &mut [T]) {
        sweep!(V, lanes, |i, n| {
            let (mut square, mut dot) = (V::of(TINY), V::zero());
            for row in 0..rows {
                let at = row * lanes + i;
                let (v, t, d) = (V::get(x, at, n), V::get(y, at, n), V::get(ds, at, n));
                let s = t.mul(t).fnma(d, d);
                s.put(ds, at, n);
                square = v.fma(v, square);
                dot = v.fma(s, dot);
            }
            let norm = square.sqrt();
            let scale = V::of(1.0).div(norm.add(V::of(1.0)));
            let pull = dot.mul(scale).mul(scale).div(norm);
            for row in 0..rows {
                let v = V::get(x, row * lanes + i, n);
                let d = V::get(ds, row * lanes + i, n).mul(scale);
                v.fnma(pull, d).put_or_add(accumulate, to, row * lanes + i, n);
            }
        });
    }
}
