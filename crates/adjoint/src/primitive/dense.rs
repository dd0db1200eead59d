//! Dense layers.

use super::*;

/// `y = wᵀ x + b`: inputs x, w and optionally b, a shared bias or something of the output's shape.
pub(crate) struct Dense;

impl Primitive for Dense {
    fn name(&self) -> &'static str {
        "dense"
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        let (x, w) = (inputs[0], inputs[1]);
        assert!(x.rows == w.rows && w.shared && !x.shared, "a weight of {w:?} on {x:?}");
        if let Some(b) = inputs.get(2) {
            let added = Shape::per_sample(w.cols, x.cols);
            assert!(b.shared && b.size() == w.cols || *b == added, "a bias of {b:?} for {} outputs", w.cols);
        }
        Shape::per_sample(w.cols, x.cols)
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads { inputs: 0b11, output: false }
    }
    fn reads_for(&self, wanted: &[bool]) -> Reads {
        // inputs are read for the adjoint of the weights, and the other way round
        Reads { inputs: u8::from(wanted[1]) | u8::from(wanted[0]) << 1, output: false }
    }
    fn flops(&self, io: &Io) -> f64 {
        2.0 * io.inputs[0].rows as f64 * io.output_len()
    }
}

/// A dense layer on the patches that agents see of feature maps. Inputs: positions, maps, weights.
pub(crate) struct PatchDense {
    pub lattice: PatchLattice,
}

impl Primitive for PatchDense {
    fn name(&self) -> &'static str {
        "patch_dense"
    }
    fn parameters(&self) -> Parameters {
        self.lattice.parameters()
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        let channels = self.lattice.channels(inputs[0], inputs[1]);
        let (w, rows) = (inputs[2], self.lattice.patch * self.lattice.patch * channels);
        assert!(w.shared && w.rows == rows, "a weight of {w:?} on patches of {rows}");
        Shape::per_sample(w.cols, inputs[0].cols)
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads { inputs: 0b111, output: false }
    }
    fn flops(&self, io: &Io) -> f64 {
        2.0 * io.inputs[2].rows as f64 * io.output_len()
    }
}
