//! What agents see of fields: windows in 1D, patches in 2D.

use super::*;

/// How a window follows a position inside its cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// The window of the cell; piecewise constant in the position.
    Cell,
    /// Linear interpolation between this cell's window and the next one's.
    Linear,
}

impl Interpolation {
    fn value(self) -> Value {
        Value::Word(match self {
            Interpolation::Cell => "cell",
            Interpolation::Linear => "linear",
        })
    }
}

/// The points a window is read from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lattice {
    /// Points seen.
    pub width: usize,
    /// Points of the lattice.
    pub n: usize,
    /// Lattice cells per unit length.
    pub density: f64,
    /// Whether the lattice wraps around.
    pub periodic: bool,
    /// How the window follows the position.
    pub sampling: Interpolation,
}

/// For each agent `width` lattice points of some fields around its cell. Inputs: positions, fields.
pub(crate) struct Window {
    pub lattice: Lattice,
}

impl Primitive for Window {
    fn name(&self) -> &'static str {
        "window"
    }
    fn parameters(&self) -> Parameters {
        let Lattice { width, n, density, periodic, sampling } = self.lattice;
        vec![
            ("width", Value::Count(width)),
            ("n", Value::Count(n)),
            ("density", Value::Number(density)),
            ("periodic", Value::Flag(periodic)),
            ("sampling", sampling.value()),
        ]
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        let (positions, fields) = (inputs[0], &inputs[1..]);
        assert!(positions.rows == 1 && !positions.shared, "positions are one row per sample");
        for field in fields {
            assert_eq!(*field, Shape::per_sample(self.lattice.n, 1), "a field on the lattice");
        }
        Shape::per_sample(fields.len() * self.lattice.width, positions.cols)
    }
    fn reverse_reads(&self, inputs: usize) -> Reads {
        let fields = match self.lattice.sampling {
            Interpolation::Cell => 0,
            Interpolation::Linear => (1u8 << inputs) - 2,
        };
        Reads { inputs: 1 | fields, output: false }
    }
    fn effort(&self, io: &Io) -> f64 {
        // numbers are gathered one by one, two or three cycles each
        100.0 * io.output_len()
    }
}

/// The points a patch is read from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PatchLattice {
    /// Points seen along each axis.
    pub patch: usize,
    /// Points of the lattice along x and y.
    pub n: [usize; 2],
    /// Lattice cells per unit length along x and y.
    pub density: [f64; 2],
    /// Whether the lattice wraps around.
    pub periodic: bool,
    /// How the patch follows the position.
    pub sampling: Interpolation,
}

impl PatchLattice {
    pub(super) fn parameters(&self) -> Parameters {
        let PatchLattice { patch, n, density, periodic, sampling } = *self;
        vec![
            ("patch", Value::Count(patch)),
            ("n", Value::Counts(n.to_vec())),
            ("density", Value::Table(density.to_vec())),
            ("periodic", Value::Flag(periodic)),
            ("sampling", sampling.value()),
        ]
    }
    /// Checks positions and maps; channels of the maps.
    pub(super) fn channels(&self, positions: Shape, maps: Shape) -> usize {
        assert!(self.sampling == Interpolation::Cell, "patches of feature maps are those of a cell");
        assert!(positions.rows == 2 && !positions.shared, "positions are two rows per sample");
        let [nx, ny] = self.n;
        assert!(
            !maps.shared && maps.cols == ny && maps.rows.is_multiple_of(nx),
            "maps of {maps:?} on {nx} x {ny}"
        );
        maps.rows / nx
    }
}

/// For each agent a square of `patch x patch` lattice points of some fields around its cell. Inputs:
/// positions, fields.
pub(crate) struct Patches {
    pub lattice: PatchLattice,
}

impl Primitive for Patches {
    fn name(&self) -> &'static str {
        "patches"
    }
    fn parameters(&self) -> Parameters {
        self.lattice.parameters()
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        let (positions, fields, PatchLattice { patch, n, periodic, .. }) =
            (inputs[0], inputs[1], self.lattice);
        assert!(positions.rows == 2 && !positions.shared, "positions are two rows per sample");
        assert!(
            fields.rows.is_multiple_of(n[0]) && fields.cols == n[1] && !fields.shared,
            "{fields:?} are no fields on a lattice of {n:?} points"
        );
        assert!(
            !periodic || patch < n[0].min(n[1]),
            "a patch of {patch} wraps around {n:?} points more than once"
        );
        Shape::per_sample(patch * patch * (fields.rows / n[0]), positions.cols)
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        let fields = matches!(self.lattice.sampling, Interpolation::Linear) as u8;
        Reads { inputs: 1 | fields << 1, output: false }
    }
}

/// The sum of squares of the patch each agent sees of feature maps. Inputs: positions, maps.
pub(crate) struct PatchSquares {
    pub lattice: PatchLattice,
}

impl Primitive for PatchSquares {
    fn name(&self) -> &'static str {
        "patch_squares"
    }
    fn parameters(&self) -> Parameters {
        self.lattice.parameters()
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        self.lattice.channels(inputs[0], inputs[1]);
        Shape::per_sample(1, inputs[0].cols)
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads { inputs: 0b11, output: false }
    }
    fn flops(&self, io: &Io) -> f64 {
        let seen = (self.lattice.patch * self.lattice.patch * io.output_lanes()) as f64;
        2.0 * io.inputs[1].len(io.samples) as f64 + seen
    }
}
