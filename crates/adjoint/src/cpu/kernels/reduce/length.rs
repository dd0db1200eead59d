//! The Euclidean norm of every column, `y = |x|`, and columns cut to a length, `y = x min(1, limit / |x|)`.
//!
//! Reverse: `dx = x dy / |x|`, and 0 where the norm is 0; where the limit acts,
//! `dx = limit/|x| (dy - x (x . dy) / |x|²)`.

use super::*;

impl Lower for Length {
    fn lower<T: Real>(&self, _io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(Norm)
    }
}

impl Lower for LimitLength {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(Limit { limit: self.limit, rows: io.output.rows, lanes: io.output_lanes() })
    }
}

struct Norm;

impl<T: Real> Kernel<T> for Norm {
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        length(isa, x[0], y);
    }
    unsafe fn reverse(&self, isa: Isa, seen: Seen<T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        reverse_length(isa, seen.x[0], seen.y, dy, dx[0].accumulate, &mut dx[0].data);
    }
}

/// Rows whose squares are added up before they meet the sum so far: memory is read in order, the sum rarely.
const ROWS: usize = 8;

dispatched! {
    unsafe fn length(x: &[T], y: &mut [T]) {
        let lanes = y.len();
        y.fill(T::default());
        let mut blocks = x.chunks_exact(ROWS * lanes);
        for block in &mut blocks {
            sweep!(V, lanes, |i, n| {
                let (mut even, mut odd) = (V::zero(), V::get(y, i, n));
                for row in 0..ROWS / 2 {
                    let a = V::get(block, 2 * row * lanes + i, n);
                    let b = V::get(block, (2 * row + 1) * lanes + i, n);
                    even = a.fma(a, even);
                    odd = b.fma(b, odd);
                }
                even.add(odd).put(y, i, n);
            });
        }
        let rest = blocks.remainder();
        sweep!(V, lanes, |i, n| {
            let mut sum = V::get(y, i, n);
            for row in (0..rest.len()).step_by(lanes) {
                let v = V::get(rest, row + i, n);
                sum = v.fma(v, sum);
            }
            sum.sqrt().put(y, i, n);
        });
    }
}

dispatched! {
    unsafe fn reverse_length(x: &[T], y: &[T], dy: &mut [T], accumulate: bool, to: &mut [T]) {
        let lanes = y.len();
        sweep!(V, lanes, |i, n| {
            let norm = V::get(y, i, n);
            let scale = V::get(dy, i, n).div(norm);
            V::select_lt(V::zero(), norm, scale, V::zero()).put(dy, i, n);
        });
        for (x, to) in x.chunks_exact(lanes).zip(to.chunks_exact_mut(lanes)) {
            sweep!(V, lanes, |i, n| {
                V::get(x, i, n).mul(V::get(dy, i, n)).put_or_add(accumulate, to, i, n);
            });
        }
    }
}

struct Limit {
    limit: f64,
    rows: usize,
    lanes: usize,
}

impl<T: Real> Kernel<T> for Limit {
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        limit(isa, self, x[0], y);
    }
    unsafe fn reverse(&self, isa: Isa, seen: Seen<T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        reverse_limit(isa, self, seen.x[0], dy, dx[0].accumulate, &mut dx[0].data);
    }
}

dispatched! {
    unsafe fn limit(k: &Limit, x: &[T], y: &mut [T]) {
        let (limit, limit_square, one) = (V::of(k.limit), V::of(k.limit * k.limit), V::of(1.0));
        sweep!(V, k.lanes, |i, n| {
            let mut square = V::zero();
            for row in 0..k.rows {
                let v = V::get(x, row * k.lanes + i, n);
                square = v.fma(v, square);
            }
            let scale = V::select_lt(limit_square, square, limit.div(square.sqrt()), one);
            for row in 0..k.rows {
                let at = row * k.lanes + i;
                V::get(x, at, n).mul(scale).put(y, at, n);
            }
        });
    }
}

dispatched! {
    unsafe fn reverse_limit(k: &Limit, x: &[T], dy: &[T], accumulate: bool, to: &mut [T]) {
        let (limit, limit_square, one) = (V::of(k.limit), V::of(k.limit * k.limit), V::of(1.0));
        sweep!(V, k.lanes, |i, n| {
            let (mut square, mut dot) = (V::zero(), V::zero());
            for row in 0..k.rows {
                let at = row * k.lanes + i;
                let v = V::get(x, at, n);
                square = v.fma(v, square);
                dot = v.fma(V::get(dy, at, n), dot);
            }
            let scale = V::select_lt(limit_square, square, limit.div(square.sqrt()), one);
            let pull = V::select_lt(limit_square, square, dot.div(square), V::zero());
            for row in 0..k.rows {
                let at = row * k.lanes + i;
                let d = V::get(x, at, n).fnma(pull, V::get(dy, at, n));
                d.mul(scale).put_or_add(accumulate, to, at, n);
            }
        });
    }
}
