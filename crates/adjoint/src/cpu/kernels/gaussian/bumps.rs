//! Gaussian bumps around moving or static positions: `y[r][i] = height exp(-(x_r - xi_i)² / (2 sigma²))`.
//!
//! Differentiated in the positions: `dxi_i = sum_r dy[r][i] y[r][i] (x_r - xi_i) / sigma²`.

use super::*;
use std::f64::consts::LOG2_E;

impl Lower for Gaussian {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(Sampled::<T> {
            points: self.bump.points.iter().map(|&x| T::of(x)).collect(),
            inverse_variance: T::of(1.0 / (self.bump.sigma * self.bump.sigma)),
            // without a period every distance is its own nearest image
            period: T::of(self.bump.period.unwrap_or(0.0)),
            frequency: T::of(self.bump.period.map_or(0.0, |p| 1.0 / p)),
            height: T::of(self.bump.height),
            lanes: io.output_lanes(),
        })
    }
}

struct Sampled<T> {
    points: Vec<T>,
    inverse_variance: T,
    period: T,
    frequency: T,
    height: T,
    lanes: usize,
}

impl<T: Real> Kernel<T> for Sampled<T> {
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        forward(isa, self, x[0], y);
    }
    unsafe fn reverse(&self, isa: Isa, seen: Seen<T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        reverse(isa, self, seen.x[0], seen.y, dy, dx[0].accumulate, &mut dx[0].data);
    }
}

/// Distance, to the nearest image where the domain is periodic.
#[inline(always)]
unsafe fn distance<V: Vector>(k: &Sampled<V::Real>, periodic: bool, x: V::Real, xi: V) -> V {
    let d = V::splat(x).sub(xi);
    if periodic { d.mul(V::splat(k.frequency)).round().fnma(V::splat(k.period), d) } else { d }
}

/// Bumps of `C` vectors of positions: neighbours in memory, and independent work.
#[inline(always)]
unsafe fn forward_strip<V: Vector, const C: usize>(
    k: &Sampled<V::Real>,
    periodic: bool,
    (i, n): (usize, usize),
    xi: &[V::Real],
    y: &mut [V::Real],
) {
    // e^(-d²/(2 sigma²)) as a power of two
    let exponent = V::splat(V::Real::of(-0.5 * LOG2_E) * k.inverse_variance);
    let height = V::splat(k.height);
    let mut positions = [V::zero(); C];
    for c in 0..C {
        positions[c] = V::get(xi, i + c * V::LANES, n);
    }
    for (row, &x) in k.points.iter().enumerate() {
        for c in 0..C {
            let d = distance(k, periodic, x, positions[c]);
            let value = math::exp2_negative(d.mul(d).mul(exponent)).mul(height);
            value.put(y, row * k.lanes + i + c * V::LANES, n);
        }
    }
}

#[inline(always)]
unsafe fn reverse_strip<V: Vector, const C: usize>(
    k: &Sampled<V::Real>,
    periodic: bool,
    (i, n): (usize, usize),
    xi: &[V::Real],
    y: &[V::Real],
    dy: &[V::Real],
    accumulate: bool,
    to: &mut [V::Real],
) {
    let (mut positions, mut sum) = ([V::zero(); C], [V::zero(); C]);
    for c in 0..C {
        positions[c] = V::get(xi, i + c * V::LANES, n);
    }
    for (row, &x) in k.points.iter().enumerate() {
        for c in 0..C {
            let at = row * k.lanes + i + c * V::LANES;
            let slope = V::get(y, at, n).mul(distance(k, periodic, x, positions[c]));
            sum[c] = slope.fma(V::get(dy, at, n), sum[c]);
        }
    }
    for c in 0..C {
        sum[c].mul(V::splat(k.inverse_variance)).put_or_add(accumulate, to, i + c * V::LANES, n);
    }
}

dispatched! {
    unsafe fn forward(k: &Sampled<T>, xi: &[T], y: &mut [T]) {
        let periodic = k.period > T::default();
        let mut i = 0;
        while i + 4 * V::LANES <= k.lanes {
            forward_strip::<V, 4>(k, periodic, (i, V::LANES), xi, y);
            i += 4 * V::LANES;
        }
        while i < k.lanes {
            forward_strip::<V, 1>(k, periodic, (i, V::LANES.min(k.lanes - i)), xi, y);
            i += V::LANES;
        }
    }
}

dispatched! {
    unsafe fn reverse(k: &Sampled<T>, xi: &[T], y: &[T], dy: &[T], accumulate: bool, to: &mut [T]) {
        let periodic = k.period > T::default();
        let mut i = 0;
        while i + 4 * V::LANES <= k.lanes {
            reverse_strip::<V, 4>(k, periodic, (i, V::LANES), xi, y, dy, accumulate, to);
            i += 4 * V::LANES;
        }
        while i < k.lanes {
            reverse_strip::<V, 1>(k, periodic, (i, V::LANES.min(k.lanes - i)), xi, y, dy, accumulate, to);
            i += V::LANES;
        }
    }
}
