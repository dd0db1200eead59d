//! Sums over rows, columns or all numbers of a sample, and values scaled by them.

use super::*;

/// Sums over all numbers of a sample: `[rows][cols] -> [1][1]`.
#[derive(Clone, Copy)]
pub(crate) enum Reduce {
    Sum,
    SumOfSquares,
}

impl Primitive for Reduce {
    fn name(&self) -> &'static str {
        match self {
            Reduce::Sum => "sum",
            Reduce::SumOfSquares => "sum_of_squares",
        }
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        assert!(!inputs[0].shared, "only values that differ between samples are summed");
        Shape::per_sample(1, 1)
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads { inputs: matches!(self, Reduce::SumOfSquares) as u8, output: false }
    }
    fn flops(&self, io: &Io) -> f64 {
        2.0 * io.inputs[0].len(io.samples) as f64
    }
}

/// The Euclidean norm of every column.
pub(crate) struct Length;

impl Primitive for Length {
    fn name(&self) -> &'static str {
        "length"
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        Shape { rows: 1, ..inputs[0] }
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads { inputs: 1, output: true }
    }
    fn flops(&self, io: &Io) -> f64 {
        2.0 * io.inputs[0].len(io.samples) as f64
    }
}

/// Columns cut to a length: `x min(1, limit / |x|)`.
pub(crate) struct LimitLength {
    pub limit: f64,
}

impl Primitive for LimitLength {
    fn name(&self) -> &'static str {
        "limit_length"
    }
    fn parameters(&self) -> Parameters {
        vec![("limit", Value::Number(self.limit))]
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        assert!(self.limit > 0.0, "a limit of length must be positive, got {}", self.limit);
        inputs[0]
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads { inputs: 1, output: false }
    }
    fn flops(&self, io: &Io) -> f64 {
        3.0 * io.output_len()
    }
}

/// Every column divided by its largest value.
pub(crate) struct PeakOne;

impl Primitive for PeakOne {
    fn name(&self) -> &'static str {
        "peak_one"
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        inputs[0]
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads { inputs: 1, output: false }
    }
    fn flops(&self, io: &Io) -> f64 {
        2.0 * io.output_len()
    }
}

/// `tanh(x / (|x| + 1))`, the norm taken over the rows of one column.
pub(crate) struct SoftNormTanh;

impl Primitive for SoftNormTanh {
    fn name(&self) -> &'static str {
        "softnorm_tanh"
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        inputs[0]
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads { inputs: 1, output: true }
    }
    fn reverse_in_place(&self) -> Option<usize> {
        Some(0)
    }
    fn flops(&self, io: &Io) -> f64 {
        23.0 * io.output_len()
    }
}

/// Weighted sum over the columns: `y[r] = sum_i k[r][i] w[i]`.
pub(crate) struct Contract;

impl Primitive for Contract {
    fn name(&self) -> &'static str {
        "contract"
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        let (k, w) = (inputs[0], inputs[1]);
        assert!(w.rows == 1 && w.cols == k.cols && !k.shared && !w.shared, "{k:?} and {w:?} do not contract");
        Shape::per_sample(k.rows, 1)
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads { inputs: 0b11, output: false }
    }
    fn flops(&self, io: &Io) -> f64 {
        2.0 * io.inputs[0].len(io.samples) as f64
    }
}

/// Sum of outer products: `y[i][j] = sum_k a[i][k] b[j][k]`.
pub(crate) struct Outer;

impl Primitive for Outer {
    fn name(&self) -> &'static str {
        "outer"
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        let (a, b) = (inputs[0], inputs[1]);
        assert!(a.cols == b.cols && !a.shared && !b.shared, "{a:?} and {b:?} have no outer product");
        Shape::per_sample(a.rows, b.rows)
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads { inputs: 0b11, output: false }
    }
    fn flops(&self, io: &Io) -> f64 {
        2.0 * io.output_len() * io.inputs[0].cols as f64
    }
}
