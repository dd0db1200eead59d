//! Elementary functions on vectors: range reduction, then a Taylor polynomial long enough for the precision.

use super::vector::Vector;
use std::f64::consts::{FRAC_1_PI, LN_2, LOG2_E};

/// 1/n!
const fn inverse_factorial(n: usize) -> f64 {
    let mut f = 1.0;
    let mut i = 2;
    while i <= n {
        f *= i as f64;
        i += 1;
    }
    1.0 / f
}

const INVERSE_FACTORIAL: [f64; 24] = {
    let mut c = [0.0; 24];
    let mut n = 0;
    while n < 24 {
        c[n] = inverse_factorial(n);
        n += 1;
    }
    c
};

/// `ln(2)^n / n!`, the Taylor coefficients of `2^r`.
const POWER_OF_TWO: [f64; 14] = {
    let mut c = [1.0; 14];
    let mut n = 1;
    while n < 14 {
        c[n] = c[n - 1] * LN_2 / n as f64;
        n += 1;
    }
    c
};

/// `2^x` for x <= 0; arguments below the precision's floor give exactly 0. Shorter than [`exp`], since x
/// minus its nearest integer is exact.
#[inline(always)]
pub(crate) fn exp2_negative<V: Vector>(x: V) -> V {
    let floor = V::of(<V::Real as super::sealed::Lanes>::EXP_FLOOR * LOG2_E);
    let clipped = x.max(floor);
    let n = clipped.round();
    let r = clipped.sub(n);
    let degree = <V::Real as super::sealed::Lanes>::EXP2_DEGREE;
    let mut p = V::of(POWER_OF_TWO[degree]);
    let mut k = degree;
    while k >= 1 {
        k -= 1;
        p = p.fma(r, V::of(POWER_OF_TWO[k]));
    }
    V::select_lt(x, floor, V::zero(), p.scale2(n))
}

/// Splits `x = n ln 2 + r`; returns n and `(e^r - 1)`.
#[inline(always)]
fn reduced_expm1<V: Vector>(x: V) -> (V, V) {
    // ln 2 in two parts: the product of n with the first is exact (f32 and f64 alike)
    const LN2_HIGH: f64 = 0.693145751953125;
    const LN2_LOW: f64 = 1.428606820309417e-6;
    let n = x.mul(V::of(LOG2_E)).round();
    let r = n.fnma(V::of(LN2_LOW), n.fnma(V::of(LN2_HIGH), x));
    let degree = <V::Real as super::sealed::Lanes>::EXP_DEGREE;
    let mut p = V::of(INVERSE_FACTORIAL[degree]);
    let mut k = degree - 1;
    while k >= 1 {
        p = p.fma(r, V::of(INVERSE_FACTORIAL[k]));
        k -= 1;
    }
    (n, p.mul(r))
}

/// `e^x` for x <= 80; arguments below the precision's floor give exactly 0.
#[inline(always)]
pub(crate) fn exp<V: Vector>(x: V) -> V {
    let floor = V::of(<V::Real as super::sealed::Lanes>::EXP_FLOOR);
    let (n, q) = reduced_expm1(x.max(floor).min(V::of(80.0)));
    let y = q.add(V::of(1.0)).scale2(n);
    V::select_lt(x, floor, V::zero(), y)
}

/// Hyperbolic tangent with full relative accuracy, also near 0.
#[inline(always)]
pub(crate) fn tanh<V: Vector>(x: V) -> V {
    if <V::Real as super::sealed::Lanes>::RATIONAL_TANH { rational_tanh(x) } else { exponential_tanh(x) }
}

/// `m / (m + 2)` with `m = e^(2|x|) - 1`.
#[inline(always)]
fn exponential_tanh<V: Vector>(x: V) -> V {
    let a = x.abs().min(V::of(<V::Real as super::sealed::Lanes>::TANH_LIMIT));
    let (n, q) = reduced_expm1(a.add(a));
    let one = V::of(1.0);
    let power = one.scale2(n);
    let m = q.fma(power, power.sub(one));
    let y = m.div(m.add(V::of(2.0)));
    V::select_lt(x, V::zero(), y.neg(), y)
}

/// `x P(x²) / Q(x²)`: a minimax fit of relative error 1e-8 on [0, 8.3], half the work of the exponential.
#[inline(always)]
fn rational_tanh<V: Vector>(x: V) -> V {
    const P: [f64; 5] =
        [0.999999990724, 0.134258679487, 0.00354916595258, 2.15084362804e-5, 1.46481638471e-8];
    const Q: [f64; 5] = [1.0, 0.467591927952, 0.0260799380359, 0.000337394492864, 8.29507228498e-7];
    let limit = V::of(<V::Real as super::sealed::Lanes>::TANH_LIMIT);
    let x = x.min(limit).max(limit.neg());
    let x2 = x.mul(x);
    let (mut p, mut q) = (V::of(P[4]), V::of(Q[4]));
    for k in (0..4).rev() {
        p = p.fma(x2, V::of(P[k]));
        q = q.fma(x2, V::of(Q[k]));
    }
    x.mul(p).mul(q.reciprocal())
}

/// Hyperbolic tangent of arguments in [-1, 1], where a polynomial does.
#[inline(always)]
pub(crate) fn tanh_unit<V: Vector>(x: V) -> V {
    // a minimax fit of relative error 5e-8, below the rounding of single precision
    const P: [f64; 7] = [
        0.99999995024,
        -0.33332839153,
        0.13325204076,
        -0.053457029564,
        0.020289980416,
        -0.0062033790982,
        0.0010410226316,
    ];
    if !<V::Real as super::sealed::Lanes>::RATIONAL_TANH {
        return exponential_tanh(x);
    }
    let x2 = x.mul(x);
    let mut p = V::of(P[6]);
    for k in (0..6).rev() {
        p = p.fma(x2, V::of(P[k]));
    }
    x.mul(p)
}

/// `(-1)^m` for integer-valued m.
#[inline(always)]
fn alternate<V: Vector>(m: V) -> V {
    let half = m.mul(V::of(0.5));
    let odd = half.sub(half.round()).abs(); // 0 or 1/2
    odd.fma(V::of(-4.0), V::of(1.0))
}

/// `sin(x - c pi)` for a multiple c that brings the argument into [-pi/2, pi/2].
#[inline(always)]
fn reduced_sin<V: Vector>(x: V, c: V) -> V {
    // pi in three parts, the first two short enough for exact products
    const PI: [f64; 3] = [3.141357421875, 0.00023523159325122833, 1.2154201013012384e-10];
    let r = c.fnma(V::of(PI[2]), c.fnma(V::of(PI[1]), c.fnma(V::of(PI[0]), x)));
    let r2 = r.mul(r);
    let degree = <V::Real as super::sealed::Lanes>::SIN_DEGREE;
    let sign = |k: usize| if k % 4 == 1 { 1.0 } else { -1.0 };
    let mut p = V::of(sign(degree) * INVERSE_FACTORIAL[degree]);
    let mut k = degree - 2;
    while k >= 3 {
        p = p.fma(r2, V::of(sign(k) * INVERSE_FACTORIAL[k]));
        k -= 2;
    }
    p.mul(r2).fma(r, r)
}

/// Sine, for arguments up to some thousands.
#[inline(always)]
pub(crate) fn sin<V: Vector>(x: V) -> V {
    let n = x.mul(V::of(FRAC_1_PI)).round();
    reduced_sin(x, n).mul(alternate(n))
}

/// Cosine: `cos((m + 1/2) pi + r) = -(-1)^m sin r`.
#[inline(always)]
pub(crate) fn cos<V: Vector>(x: V) -> V {
    let m = x.fma(V::of(FRAC_1_PI), V::of(-0.5)).round();
    reduced_sin(x, m.add(V::of(0.5))).mul(alternate(m)).neg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::simd::{dispatched, sweep};
    use crate::{Isa, Real};

    dispatched! {
        unsafe fn apply(which: usize, x: &[T], y: &mut [T]) {
            sweep!(V, x.len(), |i, n| {
                let v = V::get(x, i, n);
                match which {
                    0 => tanh(v),
                    1 => exp(v),
                    2 => sin(v),
                    4 => exp2_negative(v),
                    5 => tanh_unit(v),
                    _ => cos(v),
                }
                .put(y, i, n);
            });
        }
    }

    fn largest_errors<T: Real>(isa: Isa, which: usize, range: f64, exact: fn(f64) -> f64) -> (f64, f64) {
        let x: Vec<T> = (0..40_001).map(|i| T::of((i as f64 / 20_000.0 - 1.0).powi(3) * range)).collect();
        let mut y = vec![T::default(); x.len()];
        // SAFETY: x and y have one length.
        unsafe { apply(isa, which, &x, &mut y) };
        let (mut absolute, mut relative) = (0.0f64, 0.0f64);
        for (x, y) in x.iter().zip(&y) {
            let want = exact(x.f64());
            absolute = absolute.max((y.f64() - want).abs());
            if want.abs() > 1e-30 {
                relative = relative.max((y.f64() - want).abs() / want.abs());
            }
        }
        (absolute, relative)
    }

    /// Largest relative error of `exp2_negative` on [-60, 0].
    fn run_negative(isa: Isa, single: bool, exact: fn(f64) -> f64) -> f64 {
        fn errors<T: Real>(isa: Isa, exact: fn(f64) -> f64) -> f64 {
            let x: Vec<T> = (0..10_000).map(|i| T::of(-60.0 * i as f64 / 10_000.0)).collect();
            let mut y = vec![T::default(); x.len()];
            // SAFETY: x and y have one length.
            unsafe { apply(isa, 4, &x, &mut y) };
            x.iter().zip(&y).map(|(x, y)| (y.f64() / exact(x.f64()) - 1.0).abs()).fold(0.0, f64::max)
        }
        if single { errors::<f32>(isa, exact) } else { errors::<f64>(isa, exact) }
    }

    #[test]
    fn functions_are_accurate_to_rounding() {
        for isa in Isa::available() {
            for (eps, f32_like) in [(f32::EPSILON as f64, true), (f64::EPSILON, false)] {
                let run = |which, range, exact: fn(f64) -> f64| {
                    if f32_like {
                        largest_errors::<f32>(isa, which, range, exact)
                    } else {
                        largest_errors::<f64>(isa, which, range, exact)
                    }
                };
                assert!(run(0, 12.0, f64::tanh).1 < 6.0 * eps, "tanh {isa:?} {eps:e}");
                assert!(run(5, 1.0, f64::tanh).1 < 6.0 * eps, "tanh_unit {isa:?} {eps:e}");
                assert!(run(1, 60.0, f64::exp).1 < 4.0 * eps, "exp {isa:?} {eps:e}");
                let of_negative = |x: f64| (-x.abs()).exp2();
                assert!(run_negative(isa, f32_like, of_negative) < 4.0 * eps, "exp2 {isa:?} {eps:e}");
                assert!(run(2, 100.0, f64::sin).0 < 4.0 * eps, "sin {isa:?} {eps:e}");
                assert!(run(3, 100.0, f64::cos).0 < 4.0 * eps, "cos {isa:?} {eps:e}");
            }
        }
    }

    #[test]
    fn exp_underflows_to_zero_without_denormals() {
        for isa in Isa::available() {
            let x = [-64.5f32, -100.0, -1e30, -63.0];
            let mut y = [1.0f32; 4];
            // SAFETY: x and y have one length.
            unsafe { apply(isa, 1, &x, &mut y) };
            assert_eq!(y[..3], [0.0; 3]);
            assert!(y[3] > 0.0);
        }
    }
}
