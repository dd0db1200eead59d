//! 3 x 3 convolutions with a rectifier, of patches and of whole fields. Inputs: values, weights, bias.

use super::*;

/// Numbers of a kernel along one axis, and in all.
const SIDE: usize = 3;
pub(crate) const TAPS: usize = SIDE * SIDE;

/// A convolution of what each agent sees, zero outside its patch.
pub(crate) struct ConvPatch {
    pub patch: [usize; 2],
}

/// Whether Winograd's algorithm pays for so many channels, which must fill vectors.
pub(crate) fn winograd_fits(inputs: usize, outputs: usize, lanes: usize) -> bool {
    inputs.is_multiple_of(16) && outputs.is_multiple_of(16) && lanes >= 8
}

impl Primitive for ConvPatch {
    fn name(&self) -> &'static str {
        "conv_patch"
    }
    fn parameters(&self) -> Parameters {
        vec![("patch", Value::Counts(self.patch.to_vec()))]
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        let (x, w, b) = (inputs[0], inputs[1], inputs[2]);
        let points = self.patch[0] * self.patch[1];
        assert!(
            !x.shared && points > 0 && x.rows.is_multiple_of(points),
            "patches of {points} points in {x:?}"
        );
        check_weights(x.rows / points, w, b);
        Shape::per_sample(points * w.cols, x.cols)
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads { inputs: 0b11, output: true }
    }
    fn flops(&self, io: &Io) -> f64 {
        let (channels, lanes) = (io.inputs[1].rows / TAPS, io.output_lanes());
        let [inputs, outputs] = [channels, io.inputs[1].cols].map(|n| n as f64);
        if winograd_fits(channels, io.inputs[1].cols, lanes) {
            // tiles of 2 x 2 outputs: 16 products each, and 32 additions per input and 24 per output around
            // them
            let tiles: usize = self.patch.iter().map(|n| n.div_ceil(2)).product();
            return (tiles * lanes) as f64 * (2.0 * 16.0 * inputs * outputs + 32.0 * inputs + 24.0 * outputs);
        }
        // taps inside the patch, over all its points: 3 n - 2 per axis
        let taps: f64 = self.patch.iter().map(|&n| (SIDE * n - 2) as f64).product();
        2.0 * taps * inputs * outputs * lanes as f64
    }
}

/// A convolution of whole fields `[channels * nx][ny]`, wrapped or with repeated ends beyond them.
pub(crate) struct ConvField {
    pub nx: usize,
    pub periodic: bool,
}

impl Primitive for ConvField {
    fn name(&self) -> &'static str {
        "conv_field"
    }
    fn parameters(&self) -> Parameters {
        vec![("nx", Value::Count(self.nx)), ("periodic", Value::Flag(self.periodic))]
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        let (x, w, b) = (inputs[0], inputs[1], inputs[2]);
        assert!(
            !x.shared && self.nx >= 2 && x.cols >= 2 && x.rows.is_multiple_of(self.nx),
            "fields of {x:?}"
        );
        check_weights(x.rows / self.nx, w, b);
        Shape::per_sample(w.cols * self.nx, x.cols)
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads { inputs: 0b11, output: true }
    }
    fn flops(&self, io: &Io) -> f64 {
        2.0 * io.inputs[1].rows as f64 * io.output_len()
    }
}

fn check_weights(channels: usize, w: Shape, b: Shape) {
    assert!(w.shared && w.rows == TAPS * channels, "a kernel of {w:?} on {channels} channels");
    assert!(b.shared && b.size() == w.cols, "a bias of {b:?} for {} outputs", w.cols);
}
