//! Vectors as plain arrays: what the compiler makes of them depends on the target's baseline (NEON on aarch64, SSE2 on
//! x86-64). Loads and stores index slices, so this copy of every kernel is checked in any build.

use super::vector::Vector;

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

            #[inline(always)]
            fn splat(x: $t) -> Self {
                Array([x; LANES])
            }
            #[inline(always)]
            fn load(from: &[$t], at: usize) -> Self {
                lanes!(|i| from[at + i])
            }
            #[inline(always)]
            fn store(self, to: &mut [$t], at: usize) {
                to[at..at + LANES].copy_from_slice(&self.0);
            }
            #[inline(always)]
            fn load_part(from: &[$t], at: usize, count: usize) -> Self {
                lanes!(|i| if i < count { from[at + i] } else { 0.0 })
            }
            #[inline(always)]
            fn store_part(self, to: &mut [$t], at: usize, count: usize) {
                to[at..at + count].copy_from_slice(&self.0[..count]);
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
            fn sum(self) -> $t {
                (self.0[0] + self.0[2]) + (self.0[1] + self.0[3])
            }
        }
    };
}
portable!(f32, 23, 127);
portable!(f64, 52, 1023);
