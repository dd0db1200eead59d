//! `y = tanh(x / (|x| + 1))`, the norm taken over the rows of one column: inputs of any size enter the unit
//! ball smoothly.
//!
//! Reverse, with `s = (1 - y²) dy`: `dx = s / (|x| + 1) - x (x . s) / (|x| (|x| + 1)²)`. Norm and tanh are
//! one primitive because together they pass over memory once less, and need one value less in reverse.

use super::*;

impl Lower for SoftNormTanh {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(Columns { rows: io.output.rows, lanes: io.output_lanes() })
    }
}

/// Keeps the derivative of the norm finite at 0; far below rounding elsewhere.
const TINY: f64 = 1e-30;

struct Columns {
    rows: usize,
    lanes: usize,
}

impl<T: Real> Kernel<T> for Columns {
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        forward(isa, self.rows, self.lanes, x[0], y);
    }
    unsafe fn reverse(&self, isa: Isa, seen: Seen<T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        reverse(isa, self.rows, self.lanes, seen.x[0], seen.y, dy);
        add_in_place(isa, dy, &mut dx[0]);
    }
}

/// `C` vectors of lanes from `l` on (the only one of `count` lanes if C is 1). Sums over the rows are chains
/// of dependent additions: several columns of them at once hide their latency.
#[inline(always)]
unsafe fn forward_strip<V: Vector, const C: usize>(
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
            math::tanh_unit(V::get(x, at, n).mul(scale[c])).put(y, at, n);
        }
    }
}

/// From dy to dx, in place. The derivative of tanh is computed in both passes, because numbers kept from one
/// to the other would push x, y and dy out of the first-level cache; the second pass begins with the rows
/// that the first has read last.
#[inline(always)]
unsafe fn reverse_strip<V: Vector, const C: usize>(
    rows: usize,
    lanes: usize,
    (l, count): (usize, usize),
    x: &[V::Real],
    y: &[V::Real],
    d: &mut [V::Real],
) {
    let n = if C == 1 { count } else { V::LANES };
    let (mut square, mut dot) = ([V::of(TINY); C], [V::zero(); C]);
    for row in 0..rows {
        for c in 0..C {
            let at = row * lanes + l + c * V::LANES;
            let (v, t, d) = (V::get(x, at, n), V::get(y, at, n), V::get(d, at, n));
            square[c] = v.fma(v, square[c]);
            dot[c] = v.fma(t.mul(t).fnma(d, d), dot[c]);
        }
    }
    let (mut scale, mut pull) = ([V::zero(); C], [V::zero(); C]);
    for c in 0..C {
        let norm = square[c].sqrt();
        scale[c] = V::of(1.0).div(norm.add(V::of(1.0)));
        pull[c] = dot[c].mul(scale[c]).mul(scale[c]).div(norm);
    }
    for row in (0..rows).rev() {
        for c in 0..C {
            let at = row * lanes + l + c * V::LANES;
            let (v, t, s) = (V::get(x, at, n), V::get(y, at, n), V::get(d, at, n));
            v.fnma(pull[c], t.mul(t).fnma(s, s).mul(scale[c])).put(d, at, n);
        }
    }
}

/// Runs the block for all lanes in strips of the given widths and at last of one vector; `at` is its first
/// lane and the lanes of a vector.
macro_rules! strips {
    ($V:ident, $lanes:expr, [$($width:literal),*], |$at:ident, $C:ident| $body:expr) => {{
        let mut l = 0;
        $(while l + $width * $V::LANES <= $lanes {
            const $C: usize = $width;
            let $at = (l, $V::LANES);
            $body;
            l += $width * $V::LANES;
        })*
        while l < $lanes {
            const $C: usize = 1;
            let $at = (l, $V::LANES.min($lanes - l));
            $body;
            l += $V::LANES;
        }
    }};
}

dispatched! {
    unsafe fn forward(rows: usize, lanes: usize, x: &[T], y: &mut [T]) {
        if V::TILE == 8 {
            // long runs of every row come faster from the second-level cache than short ones
            strips!(V, lanes, [8, 4], |at, C| forward_strip::<V, C>(rows, lanes, at, x, y));
        } else {
            strips!(V, lanes, [4], |at, C| forward_strip::<V, C>(rows, lanes, at, x, y));
        }
    }
}

dispatched! {
    unsafe fn reverse(rows: usize, lanes: usize, x: &[T], y: &[T], d: &mut [T]) {
        strips!(V, lanes, [4], |at, C| reverse_strip::<V, C>(rows, lanes, at, x, y, d));
    }
}
