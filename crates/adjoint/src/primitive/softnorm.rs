//! `y = x / (|x| + 1)`, the norm taken over the rows of one column: inputs of any size enter the unit ball smoothly.
//!
//! Reverse: `dx = dy / (|x| + 1) - x (x . dy) / (|x| (|x| + 1)²)`.

use super::*;
use crate::simd::{dispatched, sweep};

/// Keeps the derivative of the norm finite at 0; far below rounding elsewhere.
const TINY: f64 = 1e-30;

pub(crate) struct SoftNorm;

impl Primitive for SoftNorm {
    fn output(&self, inputs: &[Shape]) -> Shape {
        inputs[0]
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads { inputs: 1, output: false }
    }
    fn flops(&self, io: &Io) -> f64 {
        3.0 * io.output.len(io.samples) as f64
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
        reverse(isa, self.rows, self.lanes, seen.x[0], dy, dx[0].accumulate, &mut dx[0].data);
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
                V::get(x, row * lanes + i, n).mul(scale).put(y, row * lanes + i, n);
            }
        });
    }
}

dispatched! {
    fn reverse(rows: usize, lanes: usize, x: &[T], dy: &[T], accumulate: bool, to: &mut [T]) {
        sweep!(V, lanes, |i, n| {
            let (mut square, mut dot) = (V::of(TINY), V::zero());
            for row in 0..rows {
                let v = V::get(x, row * lanes + i, n);
                square = v.fma(v, square);
                dot = v.fma(V::get(dy, row * lanes + i, n), dot);
            }
            let norm = square.sqrt();
            let scale = V::of(1.0).div(norm.add(V::of(1.0)));
            let pull = dot.mul(scale).mul(scale).div(norm);
            for row in 0..rows {
                let v = V::get(x, row * lanes + i, n);
                let d = V::get(dy, row * lanes + i, n).mul(scale);
                v.fnma(pull, d).put_or_add(accumulate, to, row * lanes + i, n);
            }
        });
    }
}
