//! A 3 x 3 convolution of whole fields with a rectifier:
//! `y[o] = max(0, b[o] + sum over a, c, i of w[a, c, i, o] x[i](ix + a - 1, iy + c - 1))`.
//!
//! A field is `[channels * nx][ny]`, row `channel * nx + ix`. Beyond its ends it is wrapped or its end value
//! repeated.

use super::lines::{Edge, Lines, Map};
use super::*;

impl Lower for ConvField {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(self.lines(io))
    }
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
