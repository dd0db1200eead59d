//! A 3 x 3 convolution of whole fields with a rectifier: `y[o] = max(0, b[o] + sum over a, c, i of w[a, c, i, o] x[i](ix + a - 1, iy + c - 1))`.
//!
//! A field is `[channels * nx][ny]`, row `channel * nx + ix`. Beyond its ends it is wrapped or its end value repeated.

use super::conv::TAPS;
use super::conv_lines::{Edge, Lines, Map};
use super::*;

pub(crate) struct ConvField {
    pub nx: usize,
    pub periodic: bool,
}

impl Primitive for ConvField {
    fn output(&self, inputs: &[Shape]) -> Shape {
        let (x, w, b) = (inputs[0], inputs[1], inputs[2]);
        assert!(
            !x.shared && self.nx >= 2 && x.cols >= 2 && x.rows.is_multiple_of(self.nx),
            "fields of {x:?}"
        );
        let channels = x.rows / self.nx;
        assert!(w.shared && w.rows == TAPS * channels, "a kernel of {w:?} on {channels} channels");
        assert!(b.shared && b.size() == w.cols, "a bias of {b:?} for {} outputs", w.cols);
        Shape::per_sample(w.cols * self.nx, x.cols)
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads { inputs: 0b11, output: true }
    }
    fn flops(&self, io: &Io) -> f64 {
        2.0 * io.inputs[1].rows as f64 * io.output.len(io.samples) as f64
    }
    both_precisions!(|self, io| self.lines(io));
}

impl ConvField {
    fn lines(&self, io: &Io) -> Lines {
        let (inputs, outputs) = (io.inputs[1].rows / TAPS, io.inputs[1].cols);
        let lanes = io.output_lanes();
        let map = Map { channel: self.nx * lanes, row: lanes, point: io.samples };
        let edge = if self.periodic { Edge::Wrap } else { Edge::Repeat };
        let n = [self.nx, io.output.cols];
        Lines { n, point: io.samples, inputs, outputs, edge, x: map, y: map }
    }
}
