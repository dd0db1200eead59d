//! What a kernel may do with a vector of lanes.

use crate::Real;

/// Asserts in debug builds that `at..at + count` lies inside a slice of `len` numbers. The assertion is a
/// call, because kernels have thousands of accesses.
#[inline(always)]
pub(crate) fn check(at: usize, count: usize, len: usize) {
    #[inline(never)]
    fn inside(at: usize, count: usize, len: usize) {
        assert!(at.checked_add(count).is_some_and(|end| end <= len), "{count} numbers at {at} of {len}");
    }
    if cfg!(debug_assertions) {
        inside(at, count, len);
    }
}

/// The first `count` of `N` lanes from memory, zero in the others. Not inlined: kernels have many ends of
/// rows.
#[inline(never)]
pub(crate) fn first_lanes<T: Copy + Default, const N: usize>(from: &[T], at: usize, count: usize) -> [T; N] {
    let mut lanes = [T::default(); N];
    lanes[..count].copy_from_slice(&from[at..at + count]);
    lanes
}

/// The first `count` lanes to memory.
#[inline(never)]
pub(crate) fn put_first_lanes<T: Copy>(lanes: &[T], to: &mut [T], at: usize, count: usize) {
    to[at..at + count].copy_from_slice(&lanes[..count]);
}

/// A register of `LANES` numbers.
///
/// # Safety
/// Every use of such a type needs a CPU that has the instructions. The types never leave the crate, and
/// functions that use them are entered through `dispatched!`, which takes an [`Isa`](super::Isa) as the
/// proof. Methods that touch memory are unsafe for another reason: the numbers they read or write must lie
/// inside the slice. Debug builds assert that, release builds do not, because a check in every round of an
/// inner loop costs more than the loop can spare.
pub trait Vector: Copy {
    type Real: Real;
    const LANES: usize;
    /// Rows of a matrix-product tile that keep the accumulators of three vectors each in registers.
    const TILE: usize;
    /// Whether kernels have tiles of many shapes for it. Each shape is compiled for each vector type, so the
    /// types that do not train make do with few: double precision, and the fallback where x86-64 has no AVX2.
    /// The shape of a tile does not change a result.
    const TUNED: bool;

    fn splat(x: Self::Real) -> Self;
    /// `from[at..at + LANES]`.
    unsafe fn load(from: &[Self::Real], at: usize) -> Self;
    /// To `to[at..at + LANES]`.
    unsafe fn store(self, to: &mut [Self::Real], at: usize);
    /// The first `count` lanes from memory, zero in the others.
    unsafe fn load_part(from: &[Self::Real], at: usize, count: usize) -> Self;
    /// The first `count` lanes to memory.
    unsafe fn store_part(self, to: &mut [Self::Real], at: usize, count: usize);
    fn add(self, b: Self) -> Self;
    fn sub(self, b: Self) -> Self;
    fn mul(self, b: Self) -> Self;
    fn div(self, b: Self) -> Self;
    /// `self * a + b`, rounded once where the machine can.
    fn fma(self, a: Self, b: Self) -> Self;
    fn min(self, b: Self) -> Self;
    fn max(self, b: Self) -> Self;
    fn abs(self) -> Self;
    fn sqrt(self) -> Self;
    /// Nearest integer, ties to even.
    fn round(self) -> Self;
    /// `self * 2^n` for integer-valued n within the normal exponent range.
    fn scale2(self, n: Self) -> Self;
    /// `a < b ? yes : no`, lane by lane.
    fn select_lt(a: Self, b: Self, yes: Self, no: Self) -> Self;
    /// Sum of the lanes.
    fn sum(self) -> Self::Real;

    /// Lane j is the sum of the lanes of vector j.
    #[inline(always)]
    fn sums(vectors: &[Self]) -> Self {
        let mut lanes = [Self::Real::default(); 16];
        for i in 0..Self::LANES {
            lanes[i] = vectors[i].sum();
        }
        // SAFETY: no vector has more than 16 lanes.
        unsafe { Self::load(&lanes, 0) }
    }
    /// Asks for the cache line at an address, which need not be one of ours.
    #[inline(always)]
    fn prefetch(_address: usize) {}
    /// `1 / self`, to rounding or within one unit in the last place where that is faster.
    #[inline(always)]
    fn reciprocal(self) -> Self {
        Self::of(1.0).div(self)
    }
    /// `S` numbers from memory, again and again until the vector is full; S divides the lanes.
    #[inline(always)]
    unsafe fn repeat<const S: usize>(from: &[Self::Real], at: usize) -> Self {
        if S == 1 {
            return Self::splat(from[at]);
        }
        let mut lanes = [Self::Real::default(); 16];
        for i in 0..Self::LANES {
            lanes[i] = from[at + i % S];
        }
        Self::load(&lanes, 0)
    }
    /// Numbers from the places `at`, one per lane.
    #[inline(always)]
    unsafe fn gather(from: &[Self::Real], at: &[u32; 16]) -> Self {
        let mut lanes = [Self::Real::default(); 16];
        for i in 0..Self::LANES {
            lanes[i] = from[at[i] as usize];
        }
        Self::load(&lanes, 0)
    }
    /// Numbers to the places `at`, one per lane, no two the same.
    #[inline(always)]
    unsafe fn scatter(self, to: &mut [Self::Real], at: &[u32; 16]) {
        let mut lanes = [Self::Real::default(); 16];
        self.store(&mut lanes, 0);
        for i in 0..Self::LANES {
            to[at[i] as usize] = lanes[i];
        }
    }
    /// Rows and columns of a square block exchanged: lane j of row i, `i * stride` apart in `from`, becomes
    /// lane i of row j, `j * to_stride` apart in `to`.
    #[inline(always)]
    unsafe fn transpose(from: &[Self::Real], stride: usize, to: &mut [Self::Real], to_stride: usize) {
        for i in 0..Self::LANES {
            for j in 0..Self::LANES {
                to[j * to_stride + i] = from[i * stride + j];
            }
        }
    }
    #[inline(always)]
    fn zero() -> Self {
        Self::splat(Self::Real::default())
    }
    #[inline(always)]
    fn of(x: f64) -> Self {
        Self::splat(Self::Real::of(x))
    }
    #[inline(always)]
    fn neg(self) -> Self {
        Self::zero().sub(self)
    }
    /// `b - self * a`.
    #[inline(always)]
    fn fnma(self, a: Self, b: Self) -> Self {
        self.neg().fma(a, b)
    }
    /// `count` lanes from memory; a constant `count == LANES` compiles to a plain load.
    #[inline(always)]
    unsafe fn get(from: &[Self::Real], at: usize, count: usize) -> Self {
        if count == Self::LANES { Self::load(from, at) } else { Self::load_part(from, at, count) }
    }
    /// `count` lanes to memory.
    #[inline(always)]
    unsafe fn put(self, to: &mut [Self::Real], at: usize, count: usize) {
        if count == Self::LANES { self.store(to, at) } else { self.store_part(to, at, count) }
    }
    /// Writes, or adds to what is there.
    #[inline(always)]
    unsafe fn put_or_add(self, accumulate: bool, to: &mut [Self::Real], at: usize, count: usize) {
        let value = if accumulate { Self::get(to, at, count).add(self) } else { self };
        value.put(to, at, count);
    }
}
