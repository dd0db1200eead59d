//! The real Fourier transform along the rows, its inverse, and multiplication by a constant symbol.

use super::*;

/// `X_k = sum_j x_j e^{-2 pi i j k / n}` for k = 0 .. n/2, real and imaginary parts in turn, or its inverse.
pub(crate) struct Fourier {
    pub n: usize,
    pub inverse: bool,
}

impl Primitive for Fourier {
    fn name(&self) -> &'static str {
        if self.inverse { "irfft" } else { "rfft" }
    }
    fn parameters(&self) -> Parameters {
        vec![("n", Value::Count(self.n))]
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        let coefficients = 2 * (self.n / 2 + 1);
        let (from, to) = if self.inverse { (coefficients, self.n) } else { (self.n, coefficients) };
        assert_eq!(inputs[0].rows, from, "a transform of {} points takes {from} rows", self.n);
        Shape { rows: to, ..inputs[0] }
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads::default()
    }
    fn flops(&self, io: &Io) -> f64 {
        let n = self.n as f64;
        2.5 * n * n.log2() * io.lanes(0) as f64
    }
}

/// A sum of Fourier coefficients, each times a constant complex number per mode.
pub(crate) struct Symbol {
    /// Numbers of every input.
    pub values: Vec<Vec<[f64; 2]>>,
}

impl Primitive for Symbol {
    fn name(&self) -> &'static str {
        "symbol"
    }
    fn parameters(&self) -> Parameters {
        self.values.iter().map(|values| ("symbol", Value::Table(values.concat()))).collect()
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        for (values, input) in self.values.iter().zip(inputs) {
            assert!(
                input.rows == 2 * values.len() && *input == inputs[0],
                "one symbol value per mode of {input:?}"
            );
        }
        inputs[0]
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads::default()
    }
    fn flops(&self, io: &Io) -> f64 {
        (4 * self.values.len() - 1) as f64 * io.output_len()
    }
}
