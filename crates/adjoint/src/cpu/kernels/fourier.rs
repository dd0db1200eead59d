//! The real Fourier transform along the rows, its inverse, and multiplication by a constant symbol.
//!
//! `X_k = sum_j x_j e^{-2 pi i j k / n}` for k = 0 .. n/2, stored as `2 (n/2 + 1)` rows, real and imaginary
//! parts in turn. Lanes are independent, so one vector of lanes goes through a whole transform in cache: a
//! Stockham FFT of half the length on `x_{2j} + i x_{2j+1}`, then the split into the two real halves (an FFT
//! of full length for odd n).
//!
//! Both directions are linear maps of real numbers, and each is the other's adjoint up to a weight per mode:
//! the modes 0 and n/2 stand for themselves, every other one also for its complex conjugate.

use super::*;
use std::f64::consts::TAU;

impl Lower for Fourier {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(Transform::<T>::new(self.n, self.inverse, io.lanes(0)))
    }
}

impl Lower for Symbol {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>> {
        Box::new({
            let cast = |sign: f64| {
                let symbol = |values: &Vec<[f64; 2]>| {
                    values.iter().map(|v| [T::of(v[0]), T::of(sign * v[1])]).collect()
                };
                self.values.iter().map(symbol).collect()
            };
            Multiplier::<T> { forward: cast(1.0), reverse: cast(-1.0), lanes: io.lanes(0) }
        })
    }
}

struct Transform<T> {
    plan: Plan<T>,
    inverse: bool,
    lanes: usize,
    /// Weight of every mode in the forward and in the reverse direction.
    weights: [Vec<T>; 2],
}

impl<T: Real> Transform<T> {
    fn new(n: usize, inverse: bool, lanes: usize) -> Self {
        let own_conjugate = |k: usize| k == 0 || 2 * k == n;
        let count = |k: usize| if own_conjugate(k) { 1.0 } else { 2.0 };
        let modes = 0..n / 2 + 1;
        // synthesis divides by n; the adjoint of analysis must not, and counts every stored mode once
        let [forward, reverse]: [Vec<f64>; 2] = if inverse {
            [modes.clone().map(|_| 1.0).collect(), modes.map(|k| count(k) / n as f64).collect()]
        } else {
            [modes.clone().map(|_| 1.0).collect(), modes.map(|k| n as f64 / count(k)).collect()]
        };
        let cast = |v: Vec<f64>| v.into_iter().map(T::of).collect();
        Transform { plan: Plan::new(n), inverse, lanes, weights: [cast(forward), cast(reverse)] }
    }
}

impl<T: Real> Kernel<T> for Transform<T> {
    fn scratch(&self) -> usize {
        // three complex sequences of the widest vector
        3 * 2 * self.plan.length * 16
    }
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], room: &mut Room<T>) {
        let run = if self.inverse { synthesis } else { analysis };
        run(isa, &self.plan, &self.weights[0], self.lanes, x[0], false, y, room);
    }
    unsafe fn reverse(&self, isa: Isa, _: Seen<T>, dy: &mut [T], dx: &mut [Adjoint<T>], room: &mut Room<T>) {
        let run = if self.inverse { analysis } else { synthesis };
        run(isa, &self.plan, &self.weights[1], self.lanes, dy, dx[0].accumulate, &mut dx[0].data, room);
    }
}

/// Twiddle factors and radices of one transform.
struct Plan<T> {
    n: usize,
    /// Length of the complex transform: n/2 for even n, else n.
    length: usize,
    /// Radix of every pass.
    radices: Vec<usize>,
    /// `e^{-2 pi i j / length}`.
    roots: Vec<[T; 2]>,
    /// `e^{-2 pi i k / n}` for the split.
    split: Vec<[T; 2]>,
}

fn root<T: Real>(j: usize, n: usize) -> [T; 2] {
    let angle = -TAU * j as f64 / n as f64;
    [T::of(angle.cos()), T::of(angle.sin())]
}

impl<T: Real> Plan<T> {
    fn new(n: usize) -> Plan<T> {
        let length = if n.is_multiple_of(2) { n / 2 } else { n };
        let mut radices = Vec::new();
        let mut rest = length;
        while rest.is_multiple_of(4) {
            radices.push(4);
            rest /= 4;
        }
        let mut p = 2;
        while rest > 1 {
            if rest.is_multiple_of(p) {
                radices.push(p);
                rest /= p;
            } else {
                p += 1;
            }
        }
        Plan {
            n,
            length,
            radices,
            roots: (0..length).map(|j| root(j, length)).collect(),
            split: (0..n / 2 + 1).map(|k| root(k, n)).collect(),
        }
    }
}

/// A vector of complex numbers.
#[derive(Clone, Copy)]
struct Complex<V>(V, V);

impl<V: Vector> Complex<V> {
    #[inline(always)]
    unsafe fn load(from: &[V::Real], j: usize) -> Self {
        Complex(V::load(from, 2 * j * V::LANES), V::load(from, (2 * j + 1) * V::LANES))
    }
    #[inline(always)]
    unsafe fn store(self, to: &mut [V::Real], j: usize) {
        self.0.store(to, 2 * j * V::LANES);
        self.1.store(to, (2 * j + 1) * V::LANES);
    }
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Complex(self.0.add(b.0), self.1.add(b.1))
    }
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Complex(self.0.sub(b.0), self.1.sub(b.1))
    }
    /// Times a constant.
    #[inline(always)]
    fn times(self, w: [V::Real; 2]) -> Self {
        let (re, im) = (V::splat(w[0]), V::splat(w[1]));
        Complex(self.1.fnma(im, self.0.mul(re)), self.1.fma(re, self.0.mul(im)))
    }
    /// Times -i.
    #[inline(always)]
    fn turned(self) -> Self {
        Complex(self.1, self.0.neg())
    }
    #[inline(always)]
    fn conjugate(self) -> Self {
        Complex(self.0, self.1.neg())
    }
    #[inline(always)]
    fn scaled(self, c: V::Real) -> Self {
        Complex(self.0.mul(V::splat(c)), self.1.mul(V::splat(c)))
    }
}

/// The four sums of a pass of radix 4, from numbers `stride` apart, before they are turned into place.
#[inline(always)]
unsafe fn quarters<V: Vector>(x: &[V::Real], from: usize, stride: usize) -> [Complex<V>; 4] {
    let (a, b) = (Complex::<V>::load(x, from), Complex::<V>::load(x, from + stride));
    let (c, d) = (Complex::<V>::load(x, from + 2 * stride), Complex::<V>::load(x, from + 3 * stride));
    let (ac, bd) = (a.add(c), b.add(d));
    let (a_c, b_d) = (a.sub(c), b.sub(d).turned());
    [ac.add(bd), a_c.add(b_d), ac.sub(bd), a_c.sub(b_d)]
}

/// One Stockham pass of radix r: `n` is what is left to transform, `s` what is done.
#[inline(always)]
unsafe fn pass<V: Vector>(
    plan: &Plan<V::Real>,
    r: usize,
    n: usize,
    s: usize,
    x: &[V::Real],
    y: &mut [V::Real],
) {
    let m = n / r;
    // w_n^p = root[p * (length / n)], and length / n = s
    match r {
        2 => {
            for p in 0..m {
                for q in 0..s {
                    let (a, b) = (Complex::<V>::load(x, q + s * p), Complex::<V>::load(x, q + s * (p + m)));
                    a.add(b).store(y, q + s * 2 * p);
                    a.sub(b).times(plan.roots[p * s]).store(y, q + s * (2 * p + 1));
                }
            }
        }
        4 => {
            // nothing to turn where p = 0: a quarter of the second and all of the last pass of 64
            for q in 0..s {
                let sums = quarters::<V>(x, q, s * m);
                for k in 0..4 {
                    sums[k].store(y, q + k * s);
                }
            }
            for p in 1..m {
                let turns = [plan.roots[p * s], plan.roots[2 * p * s], plan.roots[3 * p * s]];
                for q in 0..s {
                    let sums = quarters::<V>(x, q + s * p, s * m);
                    let to = q + s * 4 * p;
                    sums[0].store(y, to);
                    for k in 1..4 {
                        sums[k].times(turns[k - 1]).store(y, to + k * s);
                    }
                }
            }
        }
        _ => {
            for p in 0..m {
                for q in 0..s {
                    for j in 0..r {
                        let mut sum = Complex::<V>::load(x, q + s * p);
                        for k in 1..r {
                            let w = plan.roots[j * k % r * (plan.length / r)];
                            sum = sum.add(Complex::<V>::load(x, q + s * (p + k * m)).times(w));
                        }
                        sum.times(plan.roots[p * j * s % plan.length]).store(y, q + s * (r * p + j));
                    }
                }
            }
        }
    }
}

/// The complex transform of the sequence x, with room for two more.
#[inline(always)]
unsafe fn transform<'s, V: Vector>(
    plan: &Plan<V::Real>,
    x: &'s [V::Real],
    [mut a, mut b]: [&'s mut [V::Real]; 2],
) -> &'s [V::Real] {
    let (mut n, mut s) = (plan.length, 1);
    for (i, &r) in plan.radices.iter().enumerate() {
        pass::<V>(plan, r, n, s, if i == 0 { x } else { a }, b);
        std::mem::swap(&mut a, &mut b);
        n /= r;
        s *= r;
    }
    if plan.radices.is_empty() { x } else { a }
}

/// Room for three complex sequences.
#[inline(always)]
unsafe fn rooms<V: Vector>(length: usize, room: &mut [V::Real]) -> [&mut [V::Real]; 3] {
    let (a, rest) = room.split_at_mut(2 * length * V::LANES);
    let (b, c) = rest.split_at_mut(2 * length * V::LANES);
    [a, b, c]
}

dispatched! {
    /// `y (+)= weight_k X_k`.
    unsafe fn analysis(
        plan: &Plan<T>,
        weights: &[T],
        lanes: usize,
        x: &[T],
        accumulate: bool,
        y: &mut [T],
        room: &mut [T],
    ) {
        let (even, h) = (plan.n.is_multiple_of(2), plan.length);
        sweep!(V, lanes, |l, count| {
            let [start, a, b] = rooms::<V>(h, room);
            // rows of one vector already are the complex sequence
            let in_place = even && lanes == V::LANES;
            for j in 0..if in_place { 0 } else { h } {
                let row = if even { 2 * j } else { j };
                let im = if even { V::get(x, (row + 1) * lanes + l, count) } else { V::zero() };
                Complex(V::get(x, row * lanes + l, count), im).store(start, j);
            }
            let z = transform::<V>(plan, if in_place { x } else { start }, [a, b]);
            macro_rules! put {
                ($k:expr, $value:expr, $factor:expr) => {{
                    let value = $value.scaled(T::of($factor) * weights[$k]);
                    value.0.put_or_add(accumulate, y, 2 * $k * lanes + l, count);
                    value.1.put_or_add(accumulate, y, (2 * $k + 1) * lanes + l, count);
                }};
            }
            if !even {
                // the mean has no imaginary part: an exact zero, whatever the rounding
                put!(0, Complex(Complex::<V>::load(z, 0).0, V::zero()), 1.0);
                for k in 1..plan.n / 2 + 1 {
                    put!(k, Complex::<V>::load(z, k), 1.0);
                }
            } else {
                let Complex(re, im) = Complex::<V>::load(z, 0);
                put!(0, Complex(re.add(im), V::zero()), 1.0);
                put!(h, Complex(re.sub(im), V::zero()), 1.0);
                // X_k = (even + odd) / 2 and X_{h-k} = conj(even - odd) / 2
                for k in 1..h / 2 + 1 {
                    let (zk, zc) = (Complex::<V>::load(z, k), Complex::<V>::load(z, h - k).conjugate());
                    let (even, odd) = (zk.add(zc), zk.sub(zc).times(plan.split[k]).turned());
                    put!(k, even.add(odd), 0.5);
                    if 2 * k < h {
                        put!(h - k, even.sub(odd).conjugate(), 0.5);
                    }
                }
            }
        });
    }
}

dispatched! {
    /// `y (+)= sum_k weight_k X_k e^{2 pi i j k / n} / n`, the conjugate modes included.
    unsafe fn synthesis(
        plan: &Plan<T>,
        weights: &[T],
        lanes: usize,
        x: &[T],
        accumulate: bool,
        y: &mut [T],
        room: &mut [T],
    ) {
        let (even, h) = (plan.n.is_multiple_of(2), plan.length);
        let scale = T::of(1.0 / plan.n as f64);
        sweep!(V, lanes, |l, count| {
            let [start, a, b] = rooms::<V>(h, room);
            // a macro, because a closure that is not inlined loses the instruction set
            macro_rules! mode {
                ($k:expr) => {{
                    // self-conjugate modes have no imaginary part
                    let real_only = $k == 0 || 2 * $k == plan.n;
                    let im = if real_only { V::zero() } else { V::get(x, (2 * $k + 1) * lanes + l, count) };
                    Complex(V::get(x, 2 * $k * lanes + l, count), im).scaled(scale * weights[$k])
                }};
            }
            // the inverse transform is the forward one between conjugations
            if even {
                for k in 0..h / 2 + 1 {
                    let (xk, xc) = (mode!(k), mode!(h - k).conjugate());
                    let [re, im] = plan.split[k];
                    let (sum, odd) = (xk.add(xc), xk.sub(xc).times([re, -im]));
                    Complex(sum.0.sub(odd.1), sum.1.add(odd.0).neg()).store(start, k);
                    if k > 0 && 2 * k < h {
                        Complex(sum.0.add(odd.1), sum.1.sub(odd.0)).store(start, h - k);
                    }
                }
            } else {
                for k in 0..h {
                    let z = if 2 * k < plan.n { mode!(k).conjugate() } else { mode!(plan.n - k) };
                    z.store(start, k);
                }
            }
            let z = transform::<V>(plan, start, [a, b]);
            for j in 0..h {
                let value = Complex::<V>::load(z, j).conjugate();
                if even {
                    value.0.put_or_add(accumulate, y, 2 * j * lanes + l, count);
                    value.1.put_or_add(accumulate, y, (2 * j + 1) * lanes + l, count);
                } else {
                    value.0.put_or_add(accumulate, y, j * lanes + l, count);
                }
            }
        });
    }
}

struct Multiplier<T> {
    forward: Vec<Vec<[T; 2]>>,
    /// The adjoint of a multiplication is one by the conjugate.
    reverse: Vec<Vec<[T; 2]>>,
    lanes: usize,
}

impl<T: Real> Kernel<T> for Multiplier<T> {
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        multiply(isa, &self.forward, self.lanes, &x, false, y);
    }
    unsafe fn reverse(&self, isa: Isa, _: Seen<T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        for (symbol, dx) in self.reverse.chunks(1).zip(dx).filter(|(_, dx)| dx.wanted()) {
            multiply(isa, symbol, self.lanes, &[dy], dx.accumulate, &mut dx.data);
        }
    }
}

dispatched! {
    /// `y (+)= sum over inputs of symbol x`.
    unsafe fn multiply(symbols: &[Vec<[T; 2]>], lanes: usize, x: &[&[T]], accumulate: bool, y: &mut [T]) {
        for k in 0..symbols[0].len() {
            let (re, im) = (2 * k * lanes, (2 * k + 1) * lanes);
            sweep!(V, lanes, |l, n| {
                let mut sum = Complex(V::get(x[0], re + l, n), V::get(x[0], im + l, n)).times(symbols[0][k]);
                for i in 1..symbols.len() {
                    let part = Complex(V::get(x[i], re + l, n), V::get(x[i], im + l, n));
                    sum = sum.add(part.times(symbols[i][k]));
                }
                sum.0.put_or_add(accumulate, y, re + l, n);
                sum.1.put_or_add(accumulate, y, im + l, n);
            });
        }
    }
}
