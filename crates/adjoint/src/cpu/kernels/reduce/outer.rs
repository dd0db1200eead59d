//! Sum of outer products: `y[i][j] = sum_k a[i][k] b[j][k]`, `a: [nx][m]`, `b: [ny][m]`, `y: [nx][ny]`.
//!
//! With a and b the factors of m separable bumps along x and y, this is their sum on the plane. Reverse:
//! `da[i][k] = sum_j dy[i][j] b[j][k]`, `db[j][k] = sum_i dy[i][j] a[i][k]`.
//!
//! All three are one product, `out[row][lane] (+)= sum_k c[row][k] b[k][lane]`: lanes are (column, sample) in
//! memory order, and a coefficient is one number per sample, repeated along the lanes. Few samples therefore
//! fill vectors as well as many.

use super::*;
use crate::cpu::kernels::layout::transpose;

impl Lower for Outer {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(Products {
            nx: io.output.rows,
            ny: io.output.cols,
            m: io.inputs[0].cols,
            samples: io.samples,
        })
    }
}

struct Products {
    nx: usize,
    ny: usize,
    m: usize,
    samples: usize,
}

impl<T: Real> Kernel<T> for Products {
    fn scratch(&self) -> usize {
        self.m * self.ny * self.samples
    }
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], room: &mut Room<T>) {
        let Products { nx, ny, m, samples } = *self;
        let b = &mut room[..m * ny * samples];
        transpose(isa, ny, m, samples, x[1], false, b);
        product(isa, Sizes { rows: nx, inner: m, cols: ny, samples, strides: (m, 1) }, x[0], b, false, y);
    }
    unsafe fn reverse(&self, isa: Isa, seen: Seen<T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        let Products { nx, ny, m, samples } = *self;
        let sizes = [
            Sizes { rows: nx, inner: ny, cols: m, samples, strides: (ny, 1) },
            Sizes { rows: ny, inner: nx, cols: m, samples, strides: (1, ny) },
        ];
        for (i, to) in dx.iter_mut().enumerate().filter(|(_, to)| to.wanted()) {
            product(isa, sizes[i], dy, seen.x[1 - i], to.accumulate, &mut to.data);
        }
    }
}

#[derive(Clone, Copy)]
struct Sizes {
    rows: usize,
    inner: usize,
    cols: usize,
    samples: usize,
    /// How far apart coefficients of neighbouring rows and of neighbouring k are, in groups of samples.
    strides: (usize, usize),
}

dispatched! {
    unsafe fn product(s: Sizes, c: &[T], b: &[T], accumulate: bool, to: &mut [T]) {
        match s.samples {
            1 => panels::<V, 1>(s, c, b, accumulate, to),
            2 if V::TUNED => panels::<V, 2>(s, c, b, accumulate, to),
            4 if V::TUNED => panels::<V, 4>(s, c, b, accumulate, to),
            8 if V::LANES >= 8 && V::TUNED => panels::<V, 8>(s, c, b, accumulate, to),
            _ => panels::<V, 0>(s, c, b, accumulate, to),
        }
    }
}

/// Panels of lanes, tile after tile of rows. `S` is the number of samples where it divides a vector, else 0.
#[inline(always)]
unsafe fn panels<V: Vector, const S: usize>(
    s: Sizes,
    c: &[V::Real],
    b: &[V::Real],
    accumulate: bool,
    to: &mut [V::Real],
) {
    let lanes = s.cols * s.samples;
    let mut l = 0;
    while l + 4 * V::LANES <= lanes {
        tiles::<V, 4, S>(s, (l, V::LANES), c, b, accumulate, to);
        l += 4 * V::LANES;
    }
    while l < lanes {
        tiles::<V, 1, S>(s, (l, V::LANES.min(lanes - l)), c, b, accumulate, to);
        l += V::LANES;
    }
}

#[inline(always)]
unsafe fn tiles<V: Vector, const C: usize, const S: usize>(
    s: Sizes,
    at: (usize, usize),
    c: &[V::Real],
    b: &[V::Real],
    accumulate: bool,
    to: &mut [V::Real],
) {
    let mut row = 0;
    // as many accumulators as leave registers for the operands
    while V::TILE == 8 && row + 4 <= s.rows {
        tile::<V, 4, C, S>(s, row, at, c, b, accumulate, to);
        row += 4;
    }
    while V::TILE < 8 && row + 2 <= s.rows {
        tile::<V, 2, C, S>(s, row, at, c, b, accumulate, to);
        row += 2;
    }
    while row < s.rows {
        tile::<V, 1, C, S>(s, row, at, c, b, accumulate, to);
        row += 1;
    }
}

/// `R` rows of `C` vectors from lane `l` on, the only one of them of `count` lanes if C is 1.
#[inline(always)]
unsafe fn tile<V: Vector, const R: usize, const C: usize, const S: usize>(
    s: Sizes,
    row: usize,
    (l, count): (usize, usize),
    c: &[V::Real],
    b: &[V::Real],
    accumulate: bool,
    to: &mut [V::Real],
) {
    let n = if C == 1 { count } else { V::LANES };
    let lanes = s.cols * s.samples;
    let mut phase = [0; C];
    for j in 0..C {
        phase[j] = (l + j * V::LANES) % s.samples;
    }
    let mut sum = [[V::zero(); C]; R];
    for k in 0..s.inner {
        let mut x = [V::zero(); C];
        for j in 0..C {
            x[j] = V::get(b, k * lanes + l + j * V::LANES, n);
        }
        for i in 0..R {
            let at = ((row + i) * s.strides.0 + k * s.strides.1) * s.samples;
            for j in 0..C {
                let coefficient =
                    if S > 0 { V::repeat::<S>(c, at) } else { repeat_any(c, at, s.samples, phase[j]) };
                sum[i][j] = coefficient.fma(x[j], sum[i][j]);
            }
        }
    }
    for i in 0..R {
        for j in 0..C {
            sum[i][j].put_or_add(accumulate, to, (row + i) * lanes + l + j * V::LANES, n);
        }
    }
}

/// The coefficients of lanes whose first belongs to sample `phase`, for any number of samples.
#[inline(always)]
unsafe fn repeat_any<V: Vector>(c: &[V::Real], at: usize, samples: usize, phase: usize) -> V {
    if samples.is_multiple_of(V::LANES) {
        return V::load(c, at + phase);
    }
    let mut lanes = [V::Real::default(); 16];
    for i in 0..V::LANES {
        lanes[i] = c[at + (phase + i) % samples];
    }
    V::load(&lanes, 0)
}
