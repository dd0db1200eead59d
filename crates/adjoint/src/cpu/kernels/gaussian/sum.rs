//! A weighted sum of Gaussian bumps: `y[r] = sum_i w_i height exp(-(x_r - xi_i)² / (2 sigma²))`,
//! `xi, w: [1][cols]`, `y: [rows][1]`.
//!
//! What [`Gaussian`] and [`Contract`] give one after the other, without the matrix of all bumps in between.
//! Reverse, with `b` the bump: `dw_i = sum_r dy_r b_ri` and
//! `dxi_i = w_i sum_r dy_r b_ri (x_r - xi_i) / sigma²`.
//!
//! On equally spaced points an exponential is not needed at every point. From a point at distance d on, j
//! spacings h further,
//!
//! ```text
//! exp(-(d + j h)² / (2 sigma²)) = exp(-d² / (2 sigma²)) exp(-d h / sigma²)^j exp(-j² h² / (2 sigma²))
//! ```
//!
//! the first two factors are computed once per *block* of points, the power grows by one multiplication per
//! point, and the third is a table. Blocks are short against sigma, so that no factor is large and few
//! roundings add up.
//!
//! Lanes are samples. A single sample (a decision) would leave most of a vector empty: its lanes are points.

use super::*;
use std::f64::consts::LOG2_E;

impl Lower for GaussianSum {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(Bumps::<T>::new(&self.bump, io))
    }
}

/// Adjoints are multiplied by this for the time of a sum: what is small times a small bump would be a
/// denormal number, which is slow.
const LIFT: f64 = (1u64 << 60) as f64;

struct Bumps<T> {
    points: Vec<T>,
    /// `height exp(-j² h² / (2 sigma²))` for the points of a block.
    table: Vec<T>,
    /// The same times [`LIFT`].
    lifted: Vec<T>,
    /// `-log2(e) / (2 sigma²)` and `-log2(e) h / sigma²`: exponentials are powers of two.
    square: T,
    slope: T,
    inverse_variance: T,
    /// 0 without a period.
    period: T,
    frequency: T,
    cols: usize,
    samples: usize,
}

impl<T: Real> Bumps<T> {
    fn new(bump: &Bump, io: &Io) -> Bumps<T> {
        let (h, inverse_variance) = (bump.spacing(), 1.0 / (bump.sigma * bump.sigma));
        let factor = |j: usize| bump.height * (-0.5 * inverse_variance * (j as f64 * h).powi(2)).exp();
        Bumps {
            points: bump.points.iter().map(|&x| T::of(x)).collect(),
            table: (0..bump.block()).map(|j| T::of(factor(j))).collect(),
            lifted: (0..bump.block()).map(|j| T::of(LIFT * factor(j))).collect(),
            square: T::of(-0.5 * LOG2_E * inverse_variance),
            slope: T::of(-LOG2_E * h * inverse_variance),
            inverse_variance: T::of(inverse_variance),
            period: T::of(bump.period.unwrap_or(0.0)),
            frequency: T::of(bump.period.map_or(0.0, |p| 1.0 / p)),
            cols: io.inputs[0].cols,
            samples: io.samples,
        }
    }
}

impl<T: Real> Kernel<T> for Bumps<T> {
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        if self.samples == 1 {
            return forward_along_points(isa, self, x[0], x[1], y);
        }
        y.fill(T::default());
        forward(isa, self, x[0], x[1], y);
    }
    unsafe fn reverse(&self, isa: Isa, seen: Seen<T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        let (dxi, dw) = dx.split_at_mut(1);
        reverse(isa, self, seen.x[0], seen.x[1], dy, &mut dxi[0], &mut dw[0]);
    }
}

/// The bump at distance `d` without its height, and its ratio from one point of a block to the next before
/// the table.
#[inline(always)]
unsafe fn start<V: Vector>(k: &Bumps<V::Real>, d: V) -> (V, V) {
    // a bump too small to matter is 0 for the whole block: its powers would run into denormal numbers, which
    // are slow. Where it rises along the block it has to be there from e^-50 on, where it falls it need not
    // go on below e^-32
    let floor = <V::Real as sealed::Lanes>::EXP_FLOOR;
    let (rising, falling) = (V::of((floor + 14.0) * LOG2_E), V::of((floor + 32.0) * LOG2_E));
    let lowest = V::select_lt(V::zero(), d, falling, rising);
    let exponent = d.mul(d).mul(V::splat(k.square));
    let value = V::select_lt(exponent, lowest, V::zero(), math::exp2_negative(exponent));
    if k.table.len() == 1 {
        return (value, V::zero());
    }
    // the bound acts only where the bump is 0, which an infinite ratio would spoil
    (value, math::exp2_negative(d.mul(V::splat(k.slope)).min(V::of(100.0))))
}

/// Distance from points at `xi` to one at `x`.
#[inline(always)]
unsafe fn distance<V: Vector>(k: &Bumps<V::Real>, x: V::Real, xi: V) -> V {
    nearest(k, V::splat(x).sub(xi))
}

/// A distance, to the nearest image where the domain is periodic.
#[inline(always)]
unsafe fn nearest<V: Vector>(k: &Bumps<V::Real>, d: V) -> V {
    if k.period > V::Real::of(0.0) {
        d.mul(V::splat(k.frequency)).round().fnma(V::splat(k.period), d)
    } else {
        d
    }
}

/// Adds `C` neighbouring bumps to y: independent work, and y passes by once for all of them.
#[inline(always)]
unsafe fn forward_strip<V: Vector, const C: usize>(
    k: &Bumps<V::Real>,
    (col, s, n): (usize, usize, usize),
    xi: &[V::Real],
    w: &[V::Real],
    y: &mut [V::Real],
) {
    let (mut position, mut weight) = ([V::zero(); C], [V::zero(); C]);
    for c in 0..C {
        let at = (col + c) * k.samples + s;
        (position[c], weight[c]) = (V::get(xi, at, n), V::get(w, at, n));
    }
    let mut row = 0;
    for block in k.points.chunks(k.table.len()) {
        let (mut power, mut ratio) = ([V::zero(); C], [V::zero(); C]);
        for c in 0..C {
            (power[c], ratio[c]) = start(k, distance(k, block[0], position[c]));
            power[c] = power[c].mul(weight[c]);
        }
        for j in 0..block.len() {
            let mut sum = power[0];
            for c in 1..C {
                sum = sum.add(power[c]);
            }
            for c in 0..C {
                power[c] = power[c].mul(ratio[c]);
            }
            let at = (row + j) * k.samples + s;
            sum.fma(V::splat(k.table[j]), V::get(y, at, n)).put(y, at, n);
        }
        row += block.len();
    }
}

/// Adjoints of `C` neighbouring positions and weights.
#[inline(always)]
unsafe fn reverse_strip<V: Vector, const C: usize>(
    k: &Bumps<V::Real>,
    (col, s, n): (usize, usize, usize),
    xi: &[V::Real],
    w: &[V::Real],
    dy: &[V::Real],
    dxi: &mut Adjoint<V::Real>,
    dw: &mut Adjoint<V::Real>,
) {
    let mut position = [V::zero(); C];
    for c in 0..C {
        position[c] = V::get(xi, (col + c) * k.samples + s, n);
    }
    let (mut sum, mut moment) = ([V::zero(); C], [V::zero(); C]);
    let mut row = 0;
    for block in k.points.chunks(k.table.len()) {
        let (mut power, mut ratio) = ([V::zero(); C], [V::zero(); C]);
        for c in 0..C {
            (power[c], ratio[c]) = start(k, distance(k, block[0], position[c]));
        }
        for (j, &x) in block.iter().enumerate() {
            let d = V::get(dy, (row + j) * k.samples + s, n).mul(V::splat(k.lifted[j]));
            for c in 0..C {
                let part = power[c].mul(d);
                sum[c] = sum[c].add(part);
                moment[c] = part.fma(distance(k, x, position[c]), moment[c]);
                power[c] = power[c].mul(ratio[c]);
            }
        }
        row += block.len();
    }
    for c in 0..C {
        let at = (col + c) * k.samples + s;
        if dw.wanted() {
            sum[c].mul(V::of(1.0 / LIFT)).put_or_add(dw.accumulate, &mut dw.data, at, n);
        }
        if dxi.wanted() {
            let slope = V::get(w, at, n).mul(V::splat(k.inverse_variance)).mul(V::of(1.0 / LIFT));
            moment[c].mul(slope).put_or_add(dxi.accumulate, &mut dxi.data, at, n);
        }
    }
}

/// The bump at distance `d` without its height, 0 where it is too small to matter.
#[inline(always)]
unsafe fn alone<V: Vector>(k: &Bumps<V::Real>, d: V) -> V {
    let exponent = d.mul(d).mul(V::splat(k.square));
    let lowest = V::of(<V::Real as sealed::Lanes>::EXP_FLOOR * LOG2_E);
    V::select_lt(exponent, lowest, V::zero(), math::exp2_negative(exponent))
}

dispatched! {
    /// The sum of one sample, a vector of points at a time.
    unsafe fn forward_along_points(k: &Bumps<T>, xi: &[T], w: &[T], y: &mut [T]) {
        sweep!(V, k.points.len(), |r, n| {
            let x = V::get(&k.points, r, n);
            let mut sum = V::zero();
            let w = &w[..xi.len()];
            for i in 0..xi.len() {
                let (xi, w) = (xi[i], w[i]);
                let d = nearest(k, x.sub(V::splat(xi)));
                sum = alone(k, d).fma(V::splat(w), sum);
            }
            sum.mul(V::splat(k.table[0])).put(y, r, n);
        });
    }
}

dispatched! {
    unsafe fn forward(k: &Bumps<T>, xi: &[T], w: &[T], y: &mut [T]) {
        sweep!(V, k.samples, |s, n| {
            let mut col = 0;
            while col + 4 <= k.cols {
                forward_strip::<V, 4>(k, (col, s, n), xi, w, y);
                col += 4;
            }
            while col < k.cols {
                forward_strip::<V, 1>(k, (col, s, n), xi, w, y);
                col += 1;
            }
        });
    }
}

dispatched! {
    unsafe fn reverse(k: &Bumps<T>, xi: &[T], w: &[T], dy: &[T], dxi: &mut Adjoint<T>, dw: &mut Adjoint<T>) {
        sweep!(V, k.samples, |s, n| {
            let mut col = 0;
            while col + 4 <= k.cols {
                reverse_strip::<V, 4>(k, (col, s, n), xi, w, dy, dxi, dw);
                col += 4;
            }
            while col < k.cols {
                reverse_strip::<V, 1>(k, (col, s, n), xi, w, dy, dxi, dw);
                col += 1;
            }
        });
    }
}
