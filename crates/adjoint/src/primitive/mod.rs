//! What the primitives are: shapes, parameters, what their reverse rules read, and how much arithmetic they
//! take.
//!
//! A primitive is a value with a name and parameters. It knows no processor: the code that runs it belongs to
//! a backend (`cpu/kernels/`, in files of the same names). A reverse rule maps the adjoint of the output,
//! `dy = dL/dy`, to adjoints of the inputs, `dx += (dy/dx)ᵀ dy`. The project has no other derivatives:
//! solvers and policies are forward code on these primitives.

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
mod text;
mod value;

pub(crate) use advect::Advect;
pub(crate) use conv::{ConvField, ConvPatch, TAPS, winograd_fits};
pub(crate) use dense::{Dense, PatchDense};
pub(crate) use elementwise::{Binary, Combination, Map, Quadratic, elementary_functions};
pub(crate) use fourier::{Fourier, Symbol};
pub(crate) use gather::{PatchSquares, Patches, Window};
pub(crate) use gaussian::{Gaussian, GaussianSum};
pub(crate) use layout::{Broadcast, Slice, Stack, Transpose};
pub(crate) use matrix::{Linear, Separable, Solve};
pub(crate) use reduce::{Contract, Length, LimitLength, Outer, PeakOne, Reduce, SoftNormTanh};

pub use gather::{Interpolation, Lattice, PatchLattice};
pub use gaussian::Bump;
pub use matrix::{AxisMatrix, Sparse, Tridiagonal};
pub use text::Formula;
pub use value::Value;

use crate::trace::Shape;
use std::any::Any;

/// Most inputs a primitive takes.
pub(crate) const MAX_INPUTS: usize = 6;

/// The shapes a primitive is used with.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Io {
    /// Those of the inputs.
    pub inputs: Vec<Shape>,
    /// That of the output.
    pub output: Shape,
    /// Samples in a chunk.
    pub samples: usize,
}

impl Io {
    /// Contiguous lanes behind one row of input `i`.
    pub fn lanes(&self, i: usize) -> usize {
        self.inputs[i].lanes(self.samples)
    }
    /// Contiguous lanes behind one row of the output.
    pub fn output_lanes(&self) -> usize {
        self.output.lanes(self.samples)
    }
    /// Numbers of the output.
    pub fn output_len(&self) -> f64 {
        self.output.len(self.samples) as f64
    }
}

/// Which values a reverse rule reads; the others need not be kept for it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Reads {
    /// Bit i: the value of input i.
    pub inputs: u8,
    /// The value of the output.
    pub output: bool,
}

/// Parameters of a primitive with their names.
pub type Parameters = Vec<(&'static str, Value)>;

/// A primitive as it stands in a trace.
pub(crate) trait Primitive: Any + Send + Sync {
    /// What it is called in listings, and by other backends.
    fn name(&self) -> &'static str;
    /// All that it depends on besides its inputs and their shapes.
    fn parameters(&self) -> Parameters {
        Vec::new()
    }
    /// Value and derivative as text, if it is an elementary function.
    fn formula(&self) -> Option<Formula> {
        None
    }
    /// Whether another primitive of the trace is this one again. Those with large constants say so: their
    /// kernels are then built once, and what is used in every stage of a step stays in cache.
    fn same(&self, _other: &dyn Primitive) -> bool {
        false
    }
    /// The shape of the output; panics if the inputs do not fit.
    fn output(&self, inputs: &[Shape]) -> Shape;
    /// What its reverse rule reads.
    fn reverse_reads(&self, inputs: usize) -> Reads;
    /// The same where not all adjoints of the inputs are wanted, for primitives that then read less.
    fn reads_for(&self, wanted: &[bool]) -> Reads {
        self.reverse_reads(wanted.len())
    }
    /// An input of the output's size whose adjoint the reverse rule leaves in the memory of `dy`. If nothing
    /// has been added to that adjoint before, the plan hands the memory over, and nothing is copied.
    fn reverse_in_place(&self) -> Option<usize> {
        None
    }
    /// Multiplications and additions of one forward run: one per number of the output unless the primitive
    /// knows better.
    fn flops(&self, io: &Io) -> f64 {
        io.output_len()
    }
    /// The time of one forward run in the same unit, where something else than arithmetic takes it.
    fn effort(&self, io: &Io) -> f64 {
        self.flops(io)
    }
}

/// Whether a primitive is the same as another of its type.
fn equal<P: Primitive + PartialEq>(one: &P, other: &dyn Primitive) -> bool {
    (other as &dyn Any).downcast_ref::<P>().is_some_and(|other| one == other)
}
