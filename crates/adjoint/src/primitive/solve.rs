//! Solution of a constant tridiagonal system `A y = x` along the rows. The adjoint is a solve with `Aᵀ`.
//!
//! The factors are computed once, in double precision. A sweep then costs one fused product per row and lane, and lanes
//! (samples, grid lines) are independent, so the recurrence along the rows does not hinder SIMD.

use super::*;
use crate::simd::{Vector, dispatched, sealed, sweep};

/// A tridiagonal matrix: `lower[i] y[i-1] + diagonal[i] y[i] + upper[i] y[i+1]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Tridiagonal {
    lower: Vec<f64>,
    diagonal: Vec<f64>,
    upper: Vec<f64>,
}

impl Tridiagonal {
    /// The three bands, each of length n; `lower[0]` and `upper[n-1]` are not used. It must be diagonally dominant, because
    /// the elimination does not exchange rows.
    pub fn new(lower: Vec<f64>, diagonal: Vec<f64>, upper: Vec<f64>) -> Tridiagonal {
        let n = diagonal.len();
        assert!(lower.len() == n && upper.len() == n, "three bands of one length");
        for i in 0..n {
            let below = if i > 0 { lower[i].abs() } else { 0.0 };
            let above = if i + 1 < n { upper[i].abs() } else { 0.0 };
            assert!(diagonal[i].abs() >= below + above, "row {i} is not diagonally dominant");
        }
        Tridiagonal { lower, diagonal, upper }
    }

    fn transpose(&self) -> Tridiagonal {
        let n = self.diagonal.len();
        let lower = (0..n).map(|i| if i > 0 { self.upper[i - 1] } else { 0.0 }).collect();
        let upper = (0..n).map(|i| if i + 1 < n { self.lower[i + 1] } else { 0.0 }).collect();
        Tridiagonal { lower, diagonal: self.diagonal.clone(), upper }
    }

    fn factors<T: Real>(&self) -> Factors<T> {
        let n = self.diagonal.len();
        let (mut pivot, mut down, mut up) =
            (vec![T::default(); n], vec![T::default(); n], vec![T::default(); n]);
        let mut previous_up = 0.0;
        for i in 0..n {
            let lower = if i > 0 { self.lower[i] } else { 0.0 };
            let upper = if i + 1 < n { self.upper[i] } else { 0.0 };
            let inverse = 1.0 / (self.diagonal[i] - lower * previous_up);
            previous_up = upper * inverse;
            (pivot[i], down[i], up[i]) = (T::of(inverse), T::of(lower * inverse), T::of(previous_up));
        }
        Factors { pivot, down, up }
    }
}

pub(crate) struct Solve {
    pub system: Tridiagonal,
}

impl Primitive for Solve {
    fn output(&self, inputs: &[Shape]) -> Shape {
        assert_eq!(
            inputs[0].rows,
            self.system.diagonal.len(),
            "a system of {} rows",
            self.system.diagonal.len()
        );
        inputs[0]
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads::default()
    }
    fn flops(&self, io: &Io) -> f64 {
        5.0 * io.output.len(io.samples) as f64
    }
    both_precisions!(|self, io| Solver::<T> {
        forward: self.system.factors(),
        reverse: self.system.transpose().factors(),
        lanes: io.lanes(0),
    });
}

/// `d_i = pivot_i x_i - down_i d_{i-1}`, then `y_i = d_i - up_i y_{i+1}`.
struct Factors<T> {
    pivot: Vec<T>,
    down: Vec<T>,
    up: Vec<T>,
}

struct Solver<T> {
    forward: Factors<T>,
    reverse: Factors<T>,
    lanes: usize,
}

impl<T: Real> Kernel<T> for Solver<T> {
    fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        y.copy_from_slice(x[0]);
        solve(isa, &self.forward, self.lanes, y);
    }
    fn reverse(&self, isa: Isa, _: Seen<T>, dy: &mut Buffer<T>, dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        solve(isa, &self.reverse, self.lanes, dy);
        super::binary::add_scaled(isa, T::of(1.0), dy, dx[0].accumulate, &mut dx[0].data);
    }
}

/// Rows after which a recurrence looks whether there is anything left of it. Looking at every row would double the time of the chain.
const ROWS: usize = 8;

/// 0 if a number is negligible: a solution fades exponentially away from what causes it, soon into denormal numbers, which are slow.
#[inline(always)]
fn faded<V: Vector>(x: V) -> V {
    V::select_lt(x.abs(), V::of(<V::Real as sealed::Lanes>::NEGLIGIBLE), V::zero(), x)
}

dispatched! {
    fn solve(f: &Factors<T>, lanes: usize, y: &mut [T]) {
        let n = f.pivot.len();
        sweep!(V, lanes, |i, count| {
            let mut d = V::zero();
            for start in (0..n).step_by(ROWS) {
                d = faded(d);
                for row in start..n.min(start + ROWS) {
                    let x = V::get(y, row * lanes + i, count).mul(V::splat(f.pivot[row]));
                    d = d.fnma(V::splat(f.down[row]), x);
                    d.put(y, row * lanes + i, count);
                }
            }
            let mut next = V::zero();
            for start in (0..n).step_by(ROWS).rev() {
                next = faded(next);
                for row in (start..n.min(start + ROWS)).rev() {
                    next = next.fnma(V::splat(f.up[row]), V::get(y, row * lanes + i, count));
                    next.put(y, row * lanes + i, count);
                }
            }
        });
    }
}
