//! Transport by a flow.

use super::*;

/// A field carried by a flow for one step, traced back along it and read by bilinear interpolation. Inputs:
/// the field, and the displacement in cells along rows and columns.
pub(crate) struct Advect;

impl Primitive for Advect {
    fn name(&self) -> &'static str {
        "advect"
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        let (rho, shift) = (inputs[0], inputs[1]);
        assert!(
            shift.rows == 2 * rho.rows && shift.cols == rho.cols && !rho.shared && !shift.shared,
            "{rho:?} is not carried by {shift:?}"
        );
        rho
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads { inputs: 0b11, output: false }
    }
    fn flops(&self, io: &Io) -> f64 {
        8.0 * io.output_len()
    }
}
