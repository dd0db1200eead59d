//! SIMD chosen at run time.
//!
//! Every kernel is written once, generic over a [`Vector`] type, and compiled once per instruction set. The
//! macro [`dispatched!`] makes the copies and picks one by the CPU it runs on, so a plain `cargo build` is
//! fast everywhere. On machines without a copy of their own (aarch64 among them) the portable vectors,
//! fixed-size arrays, are turned into whatever the target's baseline offers.
// unsafe functions here do one thing, and their contract is that of `Vector`
#![allow(unsafe_op_in_unsafe_fn)]

pub(crate) mod math;
mod portable;
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use vector::Vector;

use std::fmt::{Debug, Display};
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// The precision a program runs in: `f32` to train, `f64` to verify.
pub trait Real:
    Copy
    + Debug
    + Display
    + Default
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + sealed::Lanes
    + 'static
{
    /// `"f32"` or `"f64"`.
    const NAME: &'static str;
    /// Nearest value of this precision.
    fn of(x: f64) -> Self;
    /// The value in double precision.
    fn f64(self) -> f64;
    /// Neither infinite nor not-a-number.
    fn is_finite(self) -> bool;
}

/// What the crate itself needs of a precision; users cannot add others.
pub(crate) mod sealed {
    use super::*;

    pub trait Lanes: Sized {
        /// Degree of the Taylor polynomial of `exp` on |r| <= ln(2)/2, and of `sin` on |r| <= pi/2.
        const EXP_DEGREE: usize;
        /// The same for `2^r` on |r| <= 1/2 where an error of one unit in the last place will do.
        const EXP2_DEGREE: usize;
        const SIN_DEGREE: usize;
        /// Beyond this, tanh is taken as constant: it is 1 to rounding.
        const TANH_LIMIT: f64;
        /// Whether a short rational approximation of tanh reaches this precision.
        const RATIONAL_TANH: bool;
        /// Below this, exp is taken as 0: results stay far from denormal numbers, which are slow.
        const EXP_FLOOR: f64;
        /// Where numbers fade step by step, those below this are taken as 0, for the same reason.
        const NEGLIGIBLE: f64;
        type Portable: Vector<Real = Self>;
        #[cfg(target_arch = "x86_64")]
        type Avx2: Vector<Real = Self>;
        /// Whether kernels are compiled for AVX-512 too. Double precision verifies: it makes do with AVX2,
        /// which saves compiling every kernel once more.
        const HAS_AVX512: bool;
        /// Of 256 bits where there are no kernels for AVX-512.
        #[cfg(target_arch = "x86_64")]
        type Avx512: Vector<Real = Self>;
    }
}

macro_rules! real {
    ($t:ident, $exp:literal, $exp2:literal, $sin:literal, $tanh:literal, $rational:literal, $floor:literal,
     $negligible:literal, $has_avx512:literal, $avx2:ident, $avx512:ident) => {
        impl Real for $t {
            const NAME: &'static str = stringify!($t);
            fn of(x: f64) -> Self {
                x as $t
            }
            fn f64(self) -> f64 {
                self as f64
            }
            fn is_finite(self) -> bool {
                $t::is_finite(self)
            }
        }
        impl sealed::Lanes for $t {
            const EXP_DEGREE: usize = $exp;
            const EXP2_DEGREE: usize = $exp2;
            const SIN_DEGREE: usize = $sin;
            const TANH_LIMIT: f64 = $tanh;
            const RATIONAL_TANH: bool = $rational;
            const EXP_FLOOR: f64 = $floor;
            const NEGLIGIBLE: f64 = $negligible;
            const HAS_AVX512: bool = $has_avx512;
            type Portable = portable::Array<$t>;
            #[cfg(target_arch = "x86_64")]
            type Avx2 = x86::$avx2;
            #[cfg(target_arch = "x86_64")]
            type Avx512 = x86::$avx512;
        }
    };
}
real!(f32, 7, 6, 13, 8.3, true, -64.0, 1e-25, true, F32x8, F32x16);
real!(f64, 13, 13, 21, 19.1, false, -700.0, 1e-280, false, F64x4, F64x4);

/// The instruction set kernels run with. Only [`Isa::available`] makes one, so holding it proves the CPU has
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isa(pub(crate) Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Isa {
    /// Every instruction set this CPU can run, the fastest last.
    pub fn available() -> Vec<Isa> {
        #[allow(unused_mut)]
        let mut all = vec![Isa(Kind::Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                all.push(Isa(Kind::Avx2));
                if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
                    all.push(Isa(Kind::Avx512));
                }
            }
        }
        all
    }

    /// The fastest instruction set of this CPU.
    pub fn best() -> Isa {
        *Isa::available().last().expect("the portable set is always there")
    }

    /// Its name: `portable`, `avx2` or `avx512`.
    pub fn name(self) -> &'static str {
        match self.0 {
            Kind::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512",
        }
    }
}

/// Compiles a kernel once per instruction set and calls the copy for `isa`.
///
/// Inside the body `T` is the precision and `V` the vector type. A kernel is an `unsafe fn`: it says which
/// lengths it relies on, or its module does.
macro_rules! dispatched {
    ($(#[$meta:meta])* $vis:vis unsafe fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block) => {
        $(#[$meta])*
        #[allow(unsafe_op_in_unsafe_fn)]
        $vis unsafe fn $name<T: crate::Real>(isa: crate::Isa, $($arg: $ty),*) {
            #[inline(always)]
            unsafe fn body<T: crate::Real, V: crate::cpu::simd::Vector<Real = T>>($($arg: $ty),*) $body
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn avx2<T: crate::Real>($($arg: $ty),*) {
                body::<T, T::Avx2>($($arg),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,avx512f,avx512dq")]
            unsafe fn avx512<T: crate::Real>($($arg: $ty),*) {
                body::<T, T::Avx512>($($arg),*)
            }
            // an `Isa` exists only where the CPU has its features
            match isa.0 {
                crate::cpu::simd::Kind::Portable => body::<T, T::Portable>($($arg),*),
                #[cfg(target_arch = "x86_64")]
                crate::cpu::simd::Kind::Avx512 if T::HAS_AVX512 => avx512::<T>($($arg),*),
                #[cfg(target_arch = "x86_64")]
                crate::cpu::simd::Kind::Avx2 | crate::cpu::simd::Kind::Avx512 => avx2::<T>($($arg),*),
            }
        }
    };
}
pub(crate) use dispatched;

/// Runs the block for every vector of `len` elements, `i` its first element and `count` its lanes: a constant
/// in the main loop, what is left in the last turn. Types that are not tuned have the block once, with a
/// variable count. This is a macro and not a function with a closure: a closure that is not inlined loses the
/// instruction set of its kernel.
macro_rules! sweep {
    ($V:ident, $len:expr, |$i:ident, $count:ident| $body:block) => {{
        let len = $len;
        let mut start = 0;
        while $V::TUNED && start + $V::LANES <= len {
            let $i = start;
            let $count = $V::LANES;
            $body
            start += $V::LANES;
        }
        while start < len {
            let $i = start;
            let $count = $V::LANES.min(len - start);
            $body
            start += $V::LANES;
        }
    }};
}
pub(crate) use sweep;
