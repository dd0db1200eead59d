//! Every column divided by its largest value, `y = x / m` with `m = max over rows of x`: a kernel of height
//! one.
//!
//! The maximum is differentiated: `dx[r] = dy[r] / m`, and the first row that attains m gets `- (dy . y) / m`
//! besides.

use super::*;

impl Lower for PeakOne {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(Columns { rows: io.output.rows, lanes: io.output_lanes() })
    }
}

struct Columns {
    rows: usize,
    lanes: usize,
}

impl<T: Real> Kernel<T> for Columns {
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        forward(isa, self, x[0], y);
    }
    unsafe fn reverse(&self, isa: Isa, seen: Seen<T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        reverse(isa, self, seen.x[0], dy, dx[0].accumulate, &mut dx[0].data);
    }
}

/// Largest value of the columns from lane `i` on.
#[inline(always)]
unsafe fn largest<V: Vector>(k: &Columns, x: &[V::Real], i: usize, n: usize) -> V {
    let mut max = V::get(x, i, n);
    for row in 1..k.rows {
        max = max.max(V::get(x, row * k.lanes + i, n));
    }
    max
}

dispatched! {
    unsafe fn forward(k: &Columns, x: &[T], y: &mut [T]) {
        sweep!(V, k.lanes, |i, n| {
            let max: V = largest(k, x, i, n);
            for row in 0..k.rows {
                let at = row * k.lanes + i;
                V::get(x, at, n).div(max).put(y, at, n);
            }
        });
    }
}

dispatched! {
    unsafe fn reverse(k: &Columns, x: &[T], dy: &[T], accumulate: bool, to: &mut [T]) {
        sweep!(V, k.lanes, |i, n| {
            let max: V = largest(k, x, i, n);
            let scale = V::of(1.0).div(max);
            let mut dot = V::zero();
            for row in 0..k.rows {
                let at = row * k.lanes + i;
                dot = V::get(x, at, n).fma(V::get(dy, at, n), dot);
            }
            // what the first row at the maximum gets; zero once it has been given
            let mut pull = dot.mul(scale);
            for row in 0..k.rows {
                let at = row * k.lanes + i;
                let v = V::get(x, at, n);
                let here = V::select_lt(v, max, V::zero(), pull);
                V::get(dy, at, n).sub(here).mul(scale).put_or_add(accumulate, to, at, n);
                pull = pull.sub(here);
            }
        });
    }
}
