//! Vectors of x86-64: AVX2 with FMA, and AVX-512.
//!
//! SAFETY of the whole module: the intrinsics need CPU features, which the [`Isa`](super::Isa) that
//! `dispatched!` takes proves. What methods that touch memory rely on is said in [`Vector`].
#![allow(clippy::undocumented_unsafe_blocks)]

use super::vector::{Vector, check};
use std::arch::x86_64::*;

macro_rules! binary {
    ($($name:ident = $intrinsic:ident),* $(,)?) => {
        $(#[inline(always)]
        fn $name(self, b: Self) -> Self {
            Self(unsafe { $intrinsic(self.0, b.0) })
        })*
    };
}

/// `S` numbers, again and again until the register is full.
macro_rules! repeat {
    ($t:ident, $from:ident, $($count:literal => $value:expr,)*) => {
        #[inline(always)]
        unsafe fn repeat<const S: usize>(from: &[$t], at: usize) -> Self {
            check(at, S, from.len());
            unsafe {
                let $from = from.as_ptr().add(at);
                Self(match S {
                    $($count => $value,)*
                    _ => unreachable!("does not divide the lanes"),
                })
            }
        }
    };
}

macro_rules! avx {
    ($name:ident, $reg:ident, $t:ident, $lanes:literal, $tile:literal,
     $splat:ident, $load:ident, $store:ident, $fma:ident, $fnma:ident, $sqrt:ident, {$($binary:tt)*},
         $special:tt, {$($extra:tt)*}) => {
        #[derive(Clone, Copy)]
        pub struct $name($reg);

        impl Vector for $name {
            type Real = $t;
            const LANES: usize = $lanes;
            const TILE: usize = $tile;
            const TUNED: bool = size_of::<$t>() == 4;

            #[inline(always)]
            fn splat(x: $t) -> Self {
                Self(unsafe { $splat(x) })
            }
            #[inline(always)]
            unsafe fn load(from: &[$t], at: usize) -> Self {
                check(at, $lanes, from.len());
                Self(unsafe { $load(from.as_ptr().add(at)) })
            }
            #[inline(always)]
            unsafe fn store(self, to: &mut [$t], at: usize) {
                check(at, $lanes, to.len());
                unsafe { $store(to.as_mut_ptr().add(at), self.0) }
            }
            #[inline(always)]
            fn fma(self, a: Self, b: Self) -> Self {
                Self(unsafe { $fma(self.0, a.0, b.0) })
            }
            #[inline(always)]
            fn fnma(self, a: Self, b: Self) -> Self {
                Self(unsafe { $fnma(self.0, a.0, b.0) })
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                Self(unsafe { $sqrt(self.0) })
            }
            #[inline(always)]
            fn prefetch(address: usize) {
                // into the second level: the first is full of what this step needs
                unsafe { _mm_prefetch::<_MM_HINT_T1>(std::ptr::without_provenance(address)) }
            }
            binary! { $($binary)* }
            avx! { @special $t $lanes $special }
            $($extra)*
        }
        avx! { @mask $name $lanes $special }
    };

    (@mask $name:ident $lanes:literal (512 $($rest:tt)*)) => {};
    // a mask of AVX2 is a register: a window on ones followed by zeros
    (@mask $name:ident $lanes:literal (256 $bits:ident $($rest:tt)*)) => {
        impl $name {
            #[inline(always)]
            fn first(count: usize) -> __m256i {
                const EDGE: [[$bits; $lanes]; 2] = [[-1; $lanes], [0; $lanes]];
                debug_assert!(count <= $lanes);
                unsafe { _mm256_loadu_si256(EDGE.as_ptr().cast::<$bits>().add($lanes - count).cast()) }
            }
        }
    };

    // AVX-512 has masks, exponent scaling and reductions as instructions
    (@special $t:ident $lanes:literal (512 $mload:ident $mstore:ident $scale:ident $roundscale:ident
        $cmp:ident $blend:ident $abs:ident $sum:ident)) => {
        #[inline(always)]
        unsafe fn load_part(from: &[$t], at: usize, count: usize) -> Self {
            check(at, count, from.len());
            Self(unsafe { $mload(((1u32 << count) - 1) as _, from.as_ptr().add(at)) })
        }
        #[inline(always)]
        unsafe fn store_part(self, to: &mut [$t], at: usize, count: usize) {
            check(at, count, to.len());
            unsafe { $mstore(to.as_mut_ptr().add(at), ((1u32 << count) - 1) as _, self.0) }
        }
        #[inline(always)]
        fn scale2(self, n: Self) -> Self {
            Self(unsafe { $scale(self.0, n.0) })
        }
        #[inline(always)]
        fn round(self) -> Self {
            Self(unsafe { $roundscale::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0) })
        }
        #[inline(always)]
        fn select_lt(a: Self, b: Self, yes: Self, no: Self) -> Self {
            Self(unsafe { $blend($cmp::<_CMP_LT_OQ>(a.0, b.0), no.0, yes.0) })
        }
        #[inline(always)]
        fn abs(self) -> Self {
            Self(unsafe { $abs(self.0) })
        }
        #[inline(always)]
        fn sum(self) -> $t {
            unsafe { $sum(self.0) }
        }
    };

    (@special $t:ident $lanes:literal (256 $bits:ident $mload:ident $mstore:ident $round:ident $cmp:ident
        $blend:ident $andnot:ident $castsi:ident $cast:ident $slli:ident $mantissa:literal $bias:literal
        $set1:ident)) => {
        #[inline(always)]
        unsafe fn load_part(from: &[$t], at: usize, count: usize) -> Self {
            check(at, count, from.len());
            Self(unsafe { $mload(from.as_ptr().add(at), Self::first(count)) })
        }
        #[inline(always)]
        unsafe fn store_part(self, to: &mut [$t], at: usize, count: usize) {
            check(at, count, to.len());
            unsafe { $mstore(to.as_mut_ptr().add(at), Self::first(count), self.0) }
        }
        #[inline(always)]
        fn scale2(self, n: Self) -> Self {
            // adding 1.5 * 2^mantissa puts an integer into the low bits of a float
            let magic = (3u64 << ($mantissa - 1)) as $t + $bias as $t;
            unsafe {
                let bits = $slli::<$mantissa>($castsi(n.add(Self::splat(magic)).0));
                self.mul(Self($cast(bits)))
            }
        }
        #[inline(always)]
        fn round(self) -> Self {
            Self(unsafe { $round::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0) })
        }
        #[inline(always)]
        fn select_lt(a: Self, b: Self, yes: Self, no: Self) -> Self {
            Self(unsafe { $blend(no.0, yes.0, $cmp::<_CMP_LT_OQ>(a.0, b.0)) })
        }
        #[inline(always)]
        fn abs(self) -> Self {
            Self(unsafe { $andnot($set1(-0.0), self.0) })
        }
        #[inline(always)]
        fn sum(self) -> $t {
            let mut lanes = [0.0; $lanes];
            unsafe { self.store(&mut lanes, 0) };
            let mut width = $lanes / 2;
            while width > 0 {
                for i in 0..width {
                    lanes[i] += lanes[i + width];
                }
                width /= 2;
            }
            lanes[0]
        }
    };
}

avx!(F32x16, __m512, f32, 16, 8, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_fmadd_ps,
    _mm512_fnmadd_ps, _mm512_sqrt_ps,
{ add = _mm512_add_ps, sub = _mm512_sub_ps, mul = _mm512_mul_ps, div = _mm512_div_ps, min =
    _mm512_min_ps, max = _mm512_max_ps },
(512 _mm512_maskz_loadu_ps _mm512_mask_storeu_ps _mm512_scalef_ps _mm512_roundscale_ps
    _mm512_cmp_ps_mask _mm512_mask_blend_ps _mm512_abs_ps _mm512_reduce_add_ps),
{
    #[inline(always)]
    fn reciprocal(self) -> Self {
        // 14 correct bits, doubled by one Newton step
        let r = Self(unsafe { _mm512_rcp14_ps(self.0) });
        r.mul(self.fnma(r, Self::splat(2.0)))
    }
    #[inline(always)]
    fn sums(vectors: &[Self]) -> Self {
        unsafe { Self(sums_16(&vectors[..16])) }
    }
    #[inline(always)]
    unsafe fn gather(from: &[f32], at: &[u32; 16]) -> Self {
        for &at in at {
            check(at as usize, 1, from.len());
        }
        unsafe { Self(_mm512_i32gather_ps::<4>(_mm512_loadu_si512(at.as_ptr().cast()), from.as_ptr())) }
    }
    #[inline(always)]
    unsafe fn scatter(self, to: &mut [f32], at: &[u32; 16]) {
        for &at in at {
            check(at as usize, 1, to.len());
        }
        unsafe { _mm512_i32scatter_ps::<4>(to.as_mut_ptr(), _mm512_loadu_si512(at.as_ptr().cast()), self.0) }
    }
    #[inline(always)]
    unsafe fn transpose(from: &[f32], stride: usize, to: &mut [f32], to_stride: usize) {
        check(15 * stride, 16, from.len());
        check(15 * to_stride, 16, to.len());
        unsafe { transpose_16(from.as_ptr(), stride, to.as_mut_ptr(), to_stride) }
    }
    repeat! { f32, from,
        1 => _mm512_set1_ps(*from),
        2 => _mm512_castpd_ps(_mm512_set1_pd(from.cast::<f64>().read_unaligned())),
        4 => _mm512_broadcast_f32x4(_mm_loadu_ps(from)),
        8 => _mm512_broadcast_f32x8(_mm256_loadu_ps(from)),
        16 => _mm512_loadu_ps(from),
    }
});
avx!(F32x8, __m256, f32, 8, 4, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_fmadd_ps,
    _mm256_fnmadd_ps, _mm256_sqrt_ps,
    { add = _mm256_add_ps, sub = _mm256_sub_ps, mul = _mm256_mul_ps, div = _mm256_div_ps, min =
        _mm256_min_ps, max = _mm256_max_ps },
    (256 i32 _mm256_maskload_ps _mm256_maskstore_ps _mm256_round_ps _mm256_cmp_ps _mm256_blendv_ps
        _mm256_andnot_ps _mm256_castps_si256 _mm256_castsi256_ps _mm256_slli_epi32 23 127 _mm256_set1_ps),
{
    repeat! { f32, from,
        1 => _mm256_set1_ps(*from),
        2 => _mm256_castpd_ps(_mm256_set1_pd(from.cast::<f64>().read_unaligned())),
        4 => _mm256_set_m128(_mm_loadu_ps(from), _mm_loadu_ps(from)),
        8 => _mm256_loadu_ps(from),
    }
});
avx!(F64x4, __m256d, f64, 4, 4, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_fmadd_pd,
    _mm256_fnmadd_pd, _mm256_sqrt_pd,
    { add = _mm256_add_pd, sub = _mm256_sub_pd, mul = _mm256_mul_pd, div = _mm256_div_pd, min =
        _mm256_min_pd, max = _mm256_max_pd },
    (256 i64 _mm256_maskload_pd _mm256_maskstore_pd _mm256_round_pd _mm256_cmp_pd _mm256_blendv_pd
        _mm256_andnot_pd _mm256_castpd_si256 _mm256_castsi256_pd _mm256_slli_epi64 52 1023 _mm256_set1_pd), {
    repeat! { f64, from,
        1 => _mm256_set1_pd(*from),
        2 => _mm256_broadcast_pd(&*from.cast()),
        4 => _mm256_loadu_pd(from),
    }
});

/// A 16 x 16 block: pairs of rows are interleaved, then pairs of pairs, then quarters of registers.
#[inline(always)]
unsafe fn transpose_16(from: *const f32, stride: usize, to: *mut f32, to_stride: usize) {
    unsafe {
        let mut a = [_mm512_setzero_ps(); 16];
        for i in 0..8 {
            let (even, odd) =
                (_mm512_loadu_ps(from.add(2 * i * stride)), _mm512_loadu_ps(from.add((2 * i + 1) * stride)));
            a[2 * i] = _mm512_unpacklo_ps(even, odd);
            a[2 * i + 1] = _mm512_unpackhi_ps(even, odd);
        }
        // quarter q of b[4 g + c] holds column 4 q + c of the rows 4 g .. 4 g + 3
        let mut b = [_mm512_setzero_ps(); 16];
        for g in 0..4 {
            for half in 0..2 {
                let (first, second) =
                    (_mm512_castps_pd(a[4 * g + half]), _mm512_castps_pd(a[4 * g + half + 2]));
                b[4 * g + 2 * half] = _mm512_castpd_ps(_mm512_unpacklo_pd(first, second));
                b[4 * g + 2 * half + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(first, second));
            }
        }
        for c in 0..4 {
            let (low, high) = ((b[c], b[4 + c]), (b[8 + c], b[12 + c]));
            let even =
                [_mm512_shuffle_f32x4::<0x88>(low.0, low.1), _mm512_shuffle_f32x4::<0x88>(high.0, high.1)];
            let odd =
                [_mm512_shuffle_f32x4::<0xDD>(low.0, low.1), _mm512_shuffle_f32x4::<0xDD>(high.0, high.1)];
            _mm512_storeu_ps(to.add(c * to_stride), _mm512_shuffle_f32x4::<0x88>(even[0], even[1]));
            _mm512_storeu_ps(to.add((c + 8) * to_stride), _mm512_shuffle_f32x4::<0xDD>(even[0], even[1]));
            _mm512_storeu_ps(to.add((c + 4) * to_stride), _mm512_shuffle_f32x4::<0x88>(odd[0], odd[1]));
            _mm512_storeu_ps(to.add((c + 12) * to_stride), _mm512_shuffle_f32x4::<0xDD>(odd[0], odd[1]));
        }
    }
}

/// Lane j is the sum of register j. Every stage halves the registers: what two of them hold side by side is
/// added crosswise.
#[inline(always)]
unsafe fn sums_16(v: &[F32x16]) -> __m512 {
    unsafe {
        let mut pairs = [_mm512_setzero_ps(); 8];
        for i in 0..8 {
            let (a, b) = (v[2 * i].0, v[2 * i + 1].0);
            pairs[i] = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
        }
        // quarter q of fours[g] holds sums over quarter q of the registers 4 g .. 4 g + 3
        let mut fours = [_mm512_setzero_ps(); 4];
        for i in 0..4 {
            let (a, b) = (_mm512_castps_pd(pairs[2 * i]), _mm512_castps_pd(pairs[2 * i + 1]));
            let (low, high) = (_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b));
            fours[i] = _mm512_add_ps(_mm512_castpd_ps(low), _mm512_castpd_ps(high));
        }
        let mut halves = [_mm512_setzero_ps(); 2];
        for i in 0..2 {
            let (a, b) = (fours[2 * i], fours[2 * i + 1]);
            let (even, odd) = (_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xDD>(a, b));
            halves[i] = _mm512_add_ps(even, odd);
        }
        let [a, b] = halves;
        _mm512_add_ps(_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xDD>(a, b))
    }
}
