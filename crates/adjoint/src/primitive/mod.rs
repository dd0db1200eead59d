//! The primitives, one file each: what it computes, its forward kernel, its reverse rule, its tests.
//!
//! A reverse rule maps the adjoint of the output, `dy = dL/dy`, to adjoints of the inputs, `dx += (dy/dx)ᵀ dy`. Nothing else
//! of differentiation exists in the project: solvers and policies are forward code on these primitives.

mod advect;
mod binary;
mod broadcast;
mod combination;
mod contract;
mod conv;
mod conv_field;
mod conv_lines;
mod conv_patch;
mod conv_winograd;
mod dense;
mod few_lanes;
mod fourier;
mod gaussian;
mod gaussian_sum;
mod length;
mod linear;
mod map;
mod outer;
mod patch_dense;
mod patch_squares;
mod patches;
mod peak;
mod quadratic;
mod reduce;
mod rows;
mod samples;
mod separable;
mod softnorm;
mod solve;
mod transpose;
mod weight_adjoint;
mod window;

pub(crate) use advect::Advect;
pub(crate) use binary::Binary;
pub(crate) use broadcast::Broadcast;
pub(crate) use combination::Combination;
pub(crate) use contract::Contract;
pub(crate) use conv_field::ConvField;
pub(crate) use conv_patch::ConvPatch;
pub(crate) use dense::Dense;
pub(crate) use fourier::{Fourier, Symbol};
pub(crate) use gaussian::Gaussian;
pub(crate) use gaussian_sum::GaussianSum;
pub(crate) use length::{Length, LimitLength};
pub(crate) use linear::Linear;
pub(crate) use map::Map;
pub(crate) use outer::Outer;
pub(crate) use patch_dense::PatchDense;
pub(crate) use patch_squares::PatchSquares;
pub(crate) use patches::Patches;
pub(crate) use peak::PeakOne;
pub(crate) use quadratic::Quadratic;
pub(crate) use reduce::Reduce;
pub(crate) use rows::{Slice, Stack};
pub(crate) use separable::Separable;
pub(crate) use softnorm::SoftNormTanh;
pub(crate) use solve::Solve;
pub(crate) use transpose::Transpose;
pub(crate) use window::Window;

pub use gaussian::Bump;
pub use linear::Sparse;
pub use patches::PatchLattice;
pub use separable::Axis;
pub use solve::Tridiagonal;
pub use window::{Lattice, Sampling};

use crate::ahead::Ahead;
use crate::buffer::Buffer;
use crate::simd::{Isa, Real};
use crate::trace::Shape;
use std::any::Any;
use std::ops::{Deref, DerefMut};

/// Most inputs a primitive takes.
pub(crate) const MAX_INPUTS: usize = 6;

/// The shapes a kernel is built for.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Io {
    pub(crate) inputs: Vec<Shape>,
    pub(crate) output: Shape,
    /// Samples in a chunk.
    pub(crate) samples: usize,
}

impl Io {
    /// Contiguous lanes behind one row of input `i`.
    pub(crate) fn lanes(&self, i: usize) -> usize {
        self.inputs[i].lanes(self.samples)
    }
    pub(crate) fn output_lanes(&self) -> usize {
        self.output.lanes(self.samples)
    }
}

/// Which values a reverse rule looks at; the others need not be kept for it.
#[derive(Clone, Copy, Default)]
pub struct Reads {
    /// Bit i: the value of input i.
    pub inputs: u8,
    /// The value of the output.
    pub output: bool,
}

/// A primitive as it stands in a trace.
///
/// Reachable in signatures of sealed traits only; not part of the crate's interface.
pub trait Primitive: Any + Send + Sync {
    /// Whether another primitive of the trace is this one again. Those with large constants say so: their kernels are then built
    /// once, and what is used in every stage of a step stays in cache.
    #[doc(hidden)]
    fn same(&self, _other: &dyn Primitive) -> bool {
        false
    }
    #[doc(hidden)]
    fn output(&self, inputs: &[Shape]) -> Shape;
    #[doc(hidden)]
    fn reverse_reads(&self, inputs: usize) -> Reads;
    /// The same where not all adjoints of the inputs are wanted, for primitives that then look at less.
    #[doc(hidden)]
    fn reads_for(&self, wanted: &[bool]) -> Reads {
        self.reverse_reads(wanted.len())
    }
    #[doc(hidden)]
    fn kernel_f32(&self, io: &Io) -> Box<dyn Kernel<f32>>;
    #[doc(hidden)]
    fn kernel_f64(&self, io: &Io) -> Box<dyn Kernel<f64>>;
    /// Multiplications and additions of one forward run: one per number of the output unless the primitive knows better.
    #[doc(hidden)]
    fn flops(&self, io: &Io) -> f64 {
        io.output.len(io.samples) as f64
    }
    /// The time of one forward run in the same unit, where it is not the arithmetic that takes it.
    #[doc(hidden)]
    fn effort(&self, io: &Io) -> f64 {
        self.flops(io)
    }
}

/// Builds the kernel of a primitive in both precisions.
macro_rules! both_precisions {
    (|$self:ident, $io:ident| $make:expr) => {
        fn kernel_f32(&$self, $io: &Io) -> Box<dyn Kernel<f32>> {
            type T = f32;
            let _ = T::default();
            Box::new($make)
        }
        fn kernel_f64(&$self, $io: &Io) -> Box<dyn Kernel<f64>> {
            type T = f64;
            let _ = T::default();
            Box::new($make)
        }
    };
}
pub(crate) use both_precisions;

/// The values a reverse rule may look at. Slices it did not ask for are empty.
pub struct Seen<'a, T> {
    pub(crate) x: [&'a [T]; MAX_INPUTS],
    pub(crate) y: &'a [T],
}

/// Where the adjoint of one input goes.
pub struct Adjoint<T> {
    /// Empty if nobody wants it.
    pub(crate) data: Buffer<T>,
    /// Add to what is there, or overwrite it.
    pub(crate) accumulate: bool,
}

impl<T: Real> Adjoint<T> {
    pub(crate) fn wanted(&self) -> bool {
        !self.data.is_empty()
    }
    /// Clears it, so that a rule which only adds may start.
    pub(crate) fn prepare(&mut self) {
        if !self.accumulate {
            self.data.fill(T::default());
        }
    }
}

/// What kernels use and leave to the next one: memory, as a slice, and what they may fetch beside their work.
#[doc(hidden)]
pub struct Room<T> {
    pub(crate) memory: Buffer<T>,
    pub(crate) ahead: Ahead,
}

impl<T> Deref for Room<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.memory
    }
}

impl<T> DerefMut for Room<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.memory
    }
}

/// A primitive made ready for a chunk size and a precision.
pub trait Kernel<T>: Send + Sync {
    /// Numbers of scratch memory it wants.
    #[doc(hidden)]
    fn scratch(&self) -> usize {
        0
    }
    #[doc(hidden)]
    fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], room: &mut Room<T>);
    /// `dy` may be used as scratch, nobody reads it afterwards, and may become the adjoint of an input of the same size.
    #[doc(hidden)]
    fn reverse(&self, isa: Isa, seen: Seen<T>, dy: &mut Buffer<T>, dx: &mut [Adjoint<T>], room: &mut Room<T>);
}
