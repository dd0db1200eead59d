//! Kernels of the primitives, in files named after those of `primitive/`: what is computed, the order of the
//! numbers in memory, the forward kernel and the reverse rule.
//!
//! # Safety
//! Kernels read and write memory without checking the range of every access. Builds with debug assertions
//! check it, and `scripts/test-checked` runs all tests of the engine in such a build, on every instruction
//! set; release builds do not check. Every function here that relies on this is an `unsafe fn` with the
//! contract of [`Kernel::forward`]: slices have the lengths that follow from the shapes the kernel was built
//! for, scratch memory has the length it asked for, and the processor has the instruction set. Shapes are
//! checked when a step is traced, and [`super::replay`] lends memory by them.
// one contract for all of it, stated above: a block around every access would say the same a thousand times
#![allow(unsafe_op_in_unsafe_fn)]

mod advect;
mod conv;
mod dense;
mod elementwise;
mod fourier;
mod gather;
mod gaussian;
mod layout;
mod matrix;
mod reduce;
mod samples;

use super::ahead::Ahead;
use super::buffer::Buffer;
use super::simd::{Isa, Real, Vector, dispatched, math, sealed, sweep};
use crate::primitive::*;
use crate::trace::Shape;
use elementwise::{add_in_place, add_scaled};
use std::any::Any;
use std::ops::{Deref, DerefMut, Range};

/// The values a reverse rule may read. Slices it did not ask for are empty.
pub(crate) struct Seen<'a, T> {
    pub x: [&'a [T]; MAX_INPUTS],
    pub y: &'a [T],
}

/// Where the adjoint of one input goes.
pub(crate) struct Adjoint<T> {
    /// Empty if nobody wants it, or if it is handed over in `dy`.
    pub data: Buffer<T>,
    /// Add to what is there, or overwrite it.
    pub accumulate: bool,
}

impl<T: Real> Adjoint<T> {
    #[inline]
    fn wanted(&self) -> bool {
        !self.data.is_empty()
    }
    /// Clears it, so that a rule which only adds may start.
    #[inline]
    fn prepare(&mut self) {
        if !self.accumulate {
            self.data.fill(T::default());
        }
    }
    /// Ready for a rule which only adds, if somebody wants it.
    #[inline]
    fn prepared(&mut self) -> Option<&mut [T]> {
        self.prepare();
        self.wanted().then_some(&mut *self.data)
    }
}

/// What kernels use and leave to the next one: scratch memory, as a slice, and what they may prefetch.
pub(crate) struct Room<T> {
    pub memory: Buffer<T>,
    pub ahead: Ahead,
}

impl<T> Deref for Room<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        &self.memory
    }
}

impl<T> DerefMut for Room<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.memory
    }
}

/// A primitive made ready for a chunk size and a precision.
pub(crate) trait Kernel<T>: Send + Sync {
    /// Numbers of scratch memory it wants.
    fn scratch(&self) -> usize {
        0
    }
    /// Computes the output.
    ///
    /// # Safety
    /// Inputs and output have the lengths of the shapes the kernel was built for, and `room` has at least the
    /// length that [`Kernel::scratch`] tells.
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], room: &mut Room<T>);
    /// Adds to the adjoints of the inputs or overwrites them. `dy` may be used as scratch memory. A primitive
    /// with a [`Primitive::reverse_in_place`] leaves the adjoint of that input there if `dx` does not ask for
    /// it.
    ///
    /// # Safety
    /// As for [`Kernel::forward`]; `seen` holds what [`Primitive::reads_for`] asked for, `dy` has the length
    /// of the output, and every adjoint that is not empty has the length of its input.
    unsafe fn reverse(
        &self,
        isa: Isa,
        seen: Seen<T>,
        dy: &mut [T],
        dx: &mut [Adjoint<T>],
        room: &mut Room<T>,
    );
}

/// Makes the kernel of a primitive.
trait Lower {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>>;
}

/// The kernel of a primitive for these shapes.
pub(crate) fn kernel<T: Real>(primitive: &dyn Primitive, io: &Io) -> Box<dyn Kernel<T>> {
    macro_rules! first_of {
        ($($kind:ident),* $(,)?) => {
            $(if let Some(primitive) = (primitive as &dyn Any).downcast_ref::<$kind>() {
                return primitive.lower(io);
            })*
        };
    }
    first_of!(
        Advect,
        Binary,
        Broadcast,
        Combination,
        Contract,
        ConvField,
        ConvPatch,
        Dense,
        Fourier,
        Gaussian,
        GaussianSum,
        Length,
        LimitLength,
        Linear,
        Map,
        Outer,
        PatchDense,
        PatchSquares,
        Patches,
        PeakOne,
        Quadratic,
        Reduce,
        Separable,
        Slice,
        SoftNormTanh,
        Solve,
        Stack,
        Symbol,
        Transpose,
        Window,
    );
    unreachable!("no kernel of {}", primitive.name())
}
