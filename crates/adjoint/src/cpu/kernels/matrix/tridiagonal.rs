//! Solution of a constant tridiagonal system `A y = x` along the rows. The adjoint is a solve with `Aᵀ`.
//!
//! The factors are computed once, in double precision. A sweep then costs one fused product per row and lane,
//! and lanes (samples, grid lines) are independent, so the recurrence along the rows does not hinder SIMD.

use super::*;

impl Lower for Solve {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(Solver::<T> {
            forward: factors(&self.system),
            reverse: factors(&self.system.transpose()),
            lanes: io.lanes(0),
        })
    }
}

fn factors<T: Real>(system: &Tridiagonal) -> Factors<T> {
    let n = system.diagonal.len();
    let (mut pivot, mut down, mut up) = (vec![T::default(); n], vec![T::default(); n], vec![T::default(); n]);
    let mut previous_up = 0.0;
    for i in 0..n {
        let lower = if i > 0 { system.lower[i] } else { 0.0 };
        let upper = if i + 1 < n { system.upper[i] } else { 0.0 };
        let inverse = 1.0 / (system.diagonal[i] - lower * previous_up);
        previous_up = upper * inverse;
        (pivot[i], down[i], up[i]) = (T::of(inverse), T::of(lower * inverse), T::of(previous_up));
    }
    Factors { pivot, down, up }
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
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        y.copy_from_slice(x[0]);
        solve(isa, &self.forward, self.lanes, y);
    }
    unsafe fn reverse(&self, isa: Isa, _: Seen<T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        solve(isa, &self.reverse, self.lanes, dy);
        add_in_place(isa, dy, &mut dx[0]);
    }
}

/// Rows after which a recurrence looks whether there is anything left of it. Looking at every row would
/// double the time of the chain.
const ROWS: usize = 8;

/// 0 if a number is negligible: a solution fades exponentially away from what causes it, soon into denormal
/// numbers, which are slow.
#[inline(always)]
unsafe fn faded<V: Vector>(x: V) -> V {
    V::select_lt(x.abs(), V::of(<V::Real as sealed::Lanes>::NEGLIGIBLE), V::zero(), x)
}

dispatched! {
    unsafe fn solve(f: &Factors<T>, lanes: usize, y: &mut [T]) {
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
