//! Weighted sum over the columns: `y[r] = sum_i k[r][i] w[i]`, `k: [rows][cols]`, `w: [1][cols]`, `y: [rows][1]`.
//!
//! With k the agents' kernels and w their intensities this is the forcing field.

use super::*;
use crate::simd::{dispatched, sweep};

pub(crate) struct Contract;

impl Primitive for Contract {
    fn output(&self, inputs: &[Shape]) -> Shape {
        let (k, w) = (inputs[0], inputs[1]);
        assert!(w.rows == 1 && w.cols == k.cols && !k.shared && !w.shared, "{k:?} and {w:?} do not contract");
        Shape::per_sample(k.rows, 1)
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads { inputs: 0b11, output: false }
    }
    fn flops(&self, io: &Io) -> f64 {
        2.0 * io.inputs[0].len(io.samples) as f64
    }
    both_precisions!(|self, io| Columns {
        rows: io.inputs[0].rows,
        cols: io.inputs[0].cols,
        samples: io.samples
    });
}

struct Columns {
    rows: usize,
    cols: usize,
    samples: usize,
}

impl<T: Real> Kernel<T> for Columns {
    fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut [T]) {
        forward(isa, self, x[0], x[1], y);
    }
    fn reverse(&self, isa: Isa, seen: Seen<'_, T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut [T]) {
        let (k, w) = dx.split_at_mut(1);
        if k[0].wanted() {
            reverse_kernel(isa, self, seen.x[1], dy, k[0].accumulate, &mut k[0].data);
        }
        if w[0].wanted() {
            reverse_weights(isa, self, seen.x[0], dy, w[0].accumulate, &mut w[0].data);
        }
    }
}

dispatched! {
    fn forward(c: &Columns, k: &[T], w: &[T], y: &mut [T]) {
        for row in 0..c.rows {
            sweep!(V, c.samples, |s, n| {
                let mut sum = V::zero();
                for col in 0..c.cols {
                    let lane = col * c.samples + s;
                    sum = V::get(k, row * c.cols * c.samples + lane, n).fma(V::get(w, lane, n), sum);
                }
                sum.put(y, row * c.samples + s, n);
            });
        }
    }
}

dispatched! {
    fn reverse_kernel(c: &Columns, w: &[T], dy: &[T], accumulate: bool, to: &mut [T]) {
        for row in 0..c.rows {
            sweep!(V, c.samples, |s, n| {
                let d = V::get(dy, row * c.samples + s, n);
                for col in 0..c.cols {
                    let lane = col * c.samples + s;
                    d.mul(V::get(w, lane, n)).put_or_add(accumulate, to, row * c.cols * c.samples + lane, n);
                }
            });
        }
    }
}

dispatched! {
    fn reverse_weights(c: &Columns, k: &[T], dy: &[T], accumulate: bool, to: &mut [T]) {
        for col in 0..c.cols {
            sweep!(V, c.samples, |s, n| {
                let lane = col * c.samples + s;
                let mut sum = V::zero();
                for row in 0..c.rows {
                    let at = row * c.cols * c.samples + lane;
                    sum = V::get(k, at, n).fma(V::get(dy, row * c.samples + s, n), sum);
                }
                sum.put_or_add(accumulate, to, lane, n);
            });
        }
    }
}
