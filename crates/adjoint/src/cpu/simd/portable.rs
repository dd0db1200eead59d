//! Vectors as plain arrays: what the compiler makes of them depends on the target's baseline (NEON on
//! aarch64, SSE2 on x86-64).

use super::vector::{Vector, check, first_lanes, put_first_lanes};

const LANES: usize = 4;

/// Four numbers side by side.
#[derive(Clone, Copy)]
pub struct Array<T>([T; LANES]);

macro_rules! lanes {
    (|$i:ident| $e:expr) => {
        Array(std::array::from_fn(|$i| $e))
    };
}

macro_rules! portable {
    ($t:ident, $mantissa:literal, $bias:literal) => {
        impl Vector for Array<$t> {
            type Real = $t;
            const LANES: usize = LANES;
            const TILE: usize = if cfg!(target_arch = "aarch64") { 8 } else { 4 };
            const TUNED: bool = size_of::<$t>() == 4 && !cfg!(target_arch = "x86_64");

            #[inline(always)]
            fn splat(x: $t) -> Self {
                Array([x; LANES])
            }
            #[inline(always)]
            unsafe fn load(from: &[$t], at: usize) -> Self {
                check(at, LANES, from.len());
                // SAFETY: the caller's.
                Array(unsafe { from.as_ptr().add(at).cast::<[$t; LANES]>().read() })
            }
            #[inline(always)]
            unsafe fn store(self, to: &mut [$t], at: usize) {
                check(at, LANES, to.len());
                // SAFETY: the caller's.
                unsafe { to.as_mut_ptr().add(at).cast::<[$t; LANES]>().write(self.0) }
            }
            #[inline(always)]
            unsafe fn load_part(from: &[$t], at: usize, count: usize) -> Self {
                Array(first_lanes(from, at, count))
            }
            #[inline(always)]
            unsafe fn store_part(self, to: &mut [$t], at: usize, count: usize) {
                put_first_lanes(&self.0, to, at, count);
            }
            #[inline(always)]
            fn add(self, b: Self) -> Self {
                lanes!(|i| self.0[i] + b.0[i])
            }
            #[inline(always)]
            fn sub(self, b: Self) -> Self {
                lanes!(|i| self.0[i] - b.0[i])
            }
            #[inline(always)]
            fn mul(self, b: Self) -> Self {
                lanes!(|i| self.0[i] * b.0[i])
            }
            #[inline(always)]
            fn div(self, b: Self) -> Self {
                lanes!(|i| self.0[i] / b.0[i])
            }
            #[inline(always)]
            fn fma(self, a: Self, b: Self) -> Self {
                // a fused product without hardware for it is a slow library call
                if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
                    lanes!(|i| self.0[i].mul_add(a.0[i], b.0[i]))
                } else {
                    lanes!(|i| self.0[i] * a.0[i] + b.0[i])
                }
            }
            #[inline(always)]
            fn min(self, b: Self) -> Self {
                lanes!(|i| if self.0[i] < b.0[i] { self.0[i] } else { b.0[i] })
            }
            #[inline(always)]
            fn max(self, b: Self) -> Self {
                lanes!(|i| if self.0[i] > b.0[i] { self.0[i] } else { b.0[i] })
            }
            #[inline(always)]
            fn abs(self) -> Self {
                lanes!(|i| self.0[i].abs())
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                lanes!(|i| self.0[i].sqrt())
            }
            #[inline(always)]
            fn round(self) -> Self {
                lanes!(|i| self.0[i].round_ties_even())
            }
            #[inline(always)]
            fn scale2(self, n: Self) -> Self {
                // adding 1.5 * 2^mantissa puts an integer into the low bits of a float
                let magic = (3u64 << ($mantissa - 1)) as $t + $bias as $t;
                lanes!(|i| self.0[i] * <$t>::from_bits((n.0[i] + magic).to_bits() << $mantissa))
            }
            #[inline(always)]
            fn select_lt(a: Self, b: Self, yes: Self, no: Self) -> Self {
                lanes!(|i| if a.0[i] < b.0[i] { yes.0[i] } else { no.0[i] })
            }
            #[inline(always)]
            unsafe fn repeat<const S: usize>(from: &[$t], at: usize) -> Self {
                check(at, S, from.len());
                // SAFETY: the caller's.
                lanes!(|i| unsafe { *from.get_unchecked(at + i % S) })
            }
            #[inline(always)]
            fn sum(self) -> $t {
                (self.0[0] + self.0[2]) + (self.0[1] + self.0[3])
            }
        }
    };
}
portable!(f32, 23, 127);
portable!(f64, 52, 1023);
