//! Constant matrices: sparse ones along the rows, tridiagonal systems, a dense matrix per axis of a field in
//! 2D.

use super::*;

/// A constant sparse matrix, row by row.
///
/// ```
/// use cinoc_adjoint::Sparse;
///
/// // the mean of every point and the next one
/// let mean = Sparse::from_rows(3, vec![vec![(0, 0.5), (1, 0.5)], vec![(1, 0.5), (2, 0.5)]]);
/// assert_eq!(mean.apply(&[1.0, 3.0, 7.0]), [2.0, 5.0]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Sparse {
    pub(crate) inputs: usize,
    pub(crate) rows: Vec<Vec<(usize, f64)>>,
}

impl Sparse {
    /// A matrix with `inputs` columns; each row lists its nonzero entries as (column, value).
    pub fn from_rows(inputs: usize, rows: Vec<Vec<(usize, f64)>>) -> Sparse {
        for row in &rows {
            assert!(row.iter().all(|&(j, _)| j < inputs), "an entry lies outside the {inputs} columns");
        }
        Sparse { inputs, rows }
    }

    /// Rows and columns exchanged.
    pub fn transpose(&self) -> Sparse {
        let mut rows = vec![Vec::new(); self.inputs];
        for (i, row) in self.rows.iter().enumerate() {
            for &(j, value) in row {
                rows[j].push((i, value));
            }
        }
        Sparse { inputs: self.rows.len(), rows }
    }

    /// The matrix applied to a plain vector.
    pub fn apply(&self, x: &[f64]) -> Vec<f64> {
        assert_eq!(x.len(), self.inputs);
        self.rows.iter().map(|row| row.iter().map(|&(j, value)| value * x[j]).sum()).collect()
    }
}

/// A sparse matrix applied to the rows: stencils, resampling, strides, pairwise differences.
pub(crate) struct Linear {
    pub matrix: Sparse,
}

impl Primitive for Linear {
    fn name(&self) -> &'static str {
        "linear"
    }
    fn parameters(&self) -> Parameters {
        let entries = || self.matrix.rows.iter().flatten();
        vec![
            ("counts", Value::Counts(self.matrix.rows.iter().map(Vec::len).collect())),
            ("columns", Value::Counts(entries().map(|e| e.0).collect())),
            ("values", Value::Table(entries().map(|e| e.1).collect())),
        ]
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        let columns = self.matrix.inputs;
        assert_eq!(columns, inputs[0].rows, "a matrix of {columns} columns on {:?}", inputs[0]);
        Shape { rows: self.matrix.rows.len(), ..inputs[0] }
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads::default()
    }
    fn flops(&self, io: &Io) -> f64 {
        let entries: usize = self.matrix.rows.iter().map(Vec::len).sum();
        2.0 * (entries * io.lanes(0)) as f64
    }
}

/// A tridiagonal matrix: `lower[i] y[i-1] + diagonal[i] y[i] + upper[i] y[i+1]`.
///
/// ```
/// use cinoc_adjoint::{Tracer, Tridiagonal};
///
/// // an implicit step of diffusion on five points: (1 + 2 r) y[i] - r (y[i-1] + y[i+1]) = z[i]
/// let r = 0.1;
/// let step = Tridiagonal::new(vec![-r; 5], vec![1.0 + 2.0 * r; 5], vec![-r; 5]);
/// let tracer = Tracer::new();
/// let z = tracer.state("z", 5, 1);
/// tracer.advance(z, z.solve(&step));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tridiagonal {
    pub(crate) lower: Vec<f64>,
    pub(crate) diagonal: Vec<f64>,
    pub(crate) upper: Vec<f64>,
}

impl Tridiagonal {
    /// The three bands, each of length n; `lower[0]` and `upper[n-1]` are not used. It must be diagonally
    /// dominant, because the elimination does not exchange rows.
    pub fn new(lower: Vec<f64>, diagonal: Vec<f64>, upper: Vec<f64>) -> Tridiagonal {
        let n = diagonal.len();
        assert!(lower.len() == n && upper.len() == n, "three bands of one length");
        for i in 0..n {
            let below = if i > 0 { lower[i].abs() } else { 0.0 };
            let above = if i + 1 < n { upper[i].abs() } else { 0.0 };
            assert!(diagonal[i].abs() >= below + above, "row {i} is not diagonally dominant");
        }
        Tridiagonal { lower, diagonal, upper }
    }

    /// Rows and columns exchanged.
    pub(crate) fn transpose(&self) -> Tridiagonal {
        let n = self.diagonal.len();
        let lower = (0..n).map(|i| if i > 0 { self.upper[i - 1] } else { 0.0 }).collect();
        let upper = (0..n).map(|i| if i + 1 < n { self.lower[i + 1] } else { 0.0 }).collect();
        Tridiagonal { lower, diagonal: self.diagonal.clone(), upper }
    }
}

/// The solution of a tridiagonal system along the rows.
pub(crate) struct Solve {
    pub system: Tridiagonal,
}

impl Primitive for Solve {
    fn name(&self) -> &'static str {
        "solve"
    }
    fn parameters(&self) -> Parameters {
        let Tridiagonal { lower, diagonal, upper } = self.system.clone();
        vec![
            ("lower", Value::Table(lower)),
            ("diagonal", Value::Table(diagonal)),
            ("upper", Value::Table(upper)),
        ]
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        let rows = self.system.diagonal.len();
        assert_eq!(inputs[0].rows, rows, "a system of {rows} rows");
        inputs[0]
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads::default()
    }
    fn reverse_in_place(&self) -> Option<usize> {
        Some(0)
    }
    fn flops(&self, io: &Io) -> f64 {
        5.0 * io.output_len()
    }
}

/// A constant matrix along one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisMatrix {
    pub(crate) inputs: usize,
    /// Outputs of one part.
    pub(crate) height: usize,
    /// One part, or four whose outputs are folded.
    pub(crate) parts: Vec<AxisPart>,
}

/// A matrix that acts on some of the inputs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AxisPart {
    /// Its first input.
    pub first: usize,
    /// `columns[k][r]`: what input `first + k` gives to output r.
    pub columns: Vec<Vec<f64>>,
}

impl AxisMatrix {
    /// The matrix whose column k, what input k gives to all outputs, is `columns[k]`.
    pub fn dense(columns: Vec<Vec<f64>>) -> AxisMatrix {
        AxisMatrix::of(vec![columns])
    }

    /// A matrix whose outputs are the points of a period in folded order. `columns` holds, for each of the
    /// four symmetries (even cosines, odd cosines, even sines, odd sines), the functions on the first
    /// quarter; `order` tells which of these lists comes first, second, ... in the inputs.
    pub fn folded(mut columns: [Vec<Vec<f64>>; 4], order: [usize; 4]) -> AxisMatrix {
        let mut first = [0; 4];
        let mut inputs = 0;
        for symmetry in order {
            first[symmetry] = inputs;
            inputs += columns[symmetry].len();
        }
        let height = columns.iter().flatten().next().map_or(0, Vec::len);
        let parts =
            (0..4).map(|p| AxisPart { first: first[p], columns: std::mem::take(&mut columns[p]) }).collect();
        AxisMatrix { inputs, height, parts }.checked()
    }

    fn of(parts: Vec<Vec<Vec<f64>>>) -> AxisMatrix {
        let height = parts[0].first().map_or(0, Vec::len);
        let inputs = parts[0].len();
        AxisMatrix {
            inputs,
            height,
            parts: parts.into_iter().map(|columns| AxisPart { first: 0, columns }).collect(),
        }
        .checked()
    }

    fn checked(self) -> AxisMatrix {
        let columns = || self.parts.iter().flat_map(|p| &p.columns);
        assert!(columns().all(|c| c.len() == self.height), "columns of equal length");
        assert!(self.inputs > 0 && self.height > 0, "an empty matrix");
        self
    }

    /// Numbers it takes.
    pub fn inputs(&self) -> usize {
        self.inputs
    }
    /// Numbers it gives.
    pub fn outputs(&self) -> usize {
        self.height * self.parts.len()
    }
    /// Nonzero products of it with a vector.
    fn products(&self) -> usize {
        self.parts.iter().map(|p| p.columns.len() * self.height).sum()
    }
}

/// A matrix along each axis of a field, `y = (X ⊗ Y) x`, or the transpose of this.
#[derive(Clone, PartialEq)]
pub(crate) struct Separable {
    pub axes: [AxisMatrix; 2],
    pub transposed: bool,
}

impl Primitive for Separable {
    fn name(&self) -> &'static str {
        "separable"
    }
    fn parameters(&self) -> Parameters {
        let mut all = vec![("transposed", Value::Flag(self.transposed))];
        for ((sizes_of, name), axis) in [("x_sizes", "x"), ("y_sizes", "y")].into_iter().zip(&self.axes) {
            // sizes first: inputs, outputs of a part, then first input and columns of every part
            let sizes = [axis.inputs, axis.height].into_iter();
            let parts = axis.parts.iter().flat_map(|part| [part.first, part.columns.len()]);
            all.push((sizes_of, Value::Counts(sizes.chain(parts).collect())));
            let numbers = axis.parts.iter().flat_map(|part| part.columns.concat());
            all.push((name, Value::Table(numbers.collect())));
        }
        all
    }
    fn same(&self, other: &dyn Primitive) -> bool {
        equal(self, other)
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        let [x, y] = &self.axes;
        let (from, to) = (x.inputs() * y.inputs(), x.outputs() * y.outputs());
        let (from, to) = if self.transposed { (to, from) } else { (from, to) };
        assert_eq!(inputs[0].rows, from, "matrices of {from} inputs on {:?}", inputs[0]);
        Shape { rows: to, ..inputs[0] }
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads::default()
    }
    fn flops(&self, io: &Io) -> f64 {
        let [x, y] = &self.axes;
        2.0 * ((x.inputs() * y.products() + x.products() * y.outputs()) * io.lanes(0)) as f64
    }
}
