//! A constant sparse matrix along the rows: stencils, resampling, strides, pairwise differences.

use super::*;
use crate::simd::{dispatched, sweep};
use std::ops::Range;

/// A constant sparse matrix, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Sparse {
    inputs: usize,
    rows: Vec<Vec<(usize, f64)>>,
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

    fn compressed<T: Real>(&self) -> Compressed<T> {
        let mut c = Compressed { bands: Vec::new(), columns: Vec::new(), values: Vec::new() };
        for (i, row) in self.rows.iter().enumerate() {
            if i > 0 && shifted(&self.rows[i - 1], row) {
                c.bands.last_mut().expect("a row before").rows.end += 1;
                continue;
            }
            let start = c.columns.len();
            c.columns.extend(row.iter().map(|e| e.0));
            c.values.extend(row.iter().map(|e| T::of(e.1)));
            c.bands.push(Band { rows: i..i + 1, entries: start..c.columns.len() });
        }
        c
    }
}

/// Whether a row has the entries of the row before it, one column further on.
fn shifted(before: &[(usize, f64)], row: &[(usize, f64)]) -> bool {
    before.len() == row.len() && before.iter().zip(row).all(|(a, b)| a.0 + 1 == b.0 && a.1 == b.1)
}

pub(crate) struct Linear {
    pub matrix: Sparse,
}

impl Primitive for Linear {
    fn output(&self, inputs: &[Shape]) -> Shape {
        assert_eq!(
            self.matrix.inputs, inputs[0].rows,
            "a matrix of {} columns on {:?}",
            self.matrix.inputs, inputs[0]
        );
        Shape { rows: self.matrix.rows.len(), ..inputs[0] }
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads::default()
    }
    fn flops(&self, io: &Io) -> f64 {
        let entries: usize = self.matrix.rows.iter().map(Vec::len).sum();
        2.0 * (entries * io.lanes(0)) as f64
    }
    both_precisions!(|self, io| Both::<T> {
        matrix: self.matrix.compressed(),
        transpose: self.matrix.transpose().compressed(),
        lanes: io.lanes(0),
    });
}

/// A matrix as bands of rows.
struct Compressed<T> {
    bands: Vec<Band>,
    columns: Vec<usize>,
    values: Vec<T>,
}

/// Rows with the same entries, each row's one column further on than those of the row before: a stencil. As rows follow each other in memory,
/// the lanes of all of them are one run, which fills vectors where a chunk has few samples.
struct Band {
    rows: Range<usize>,
    /// Those of the first row.
    entries: Range<usize>,
}

struct Both<T> {
    matrix: Compressed<T>,
    transpose: Compressed<T>,
    lanes: usize,
}

impl<T: Real> Kernel<T> for Both<T> {
    fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        apply(isa, &self.matrix, self.lanes, x[0], false, y);
    }
    fn reverse(&self, isa: Isa, _: Seen<T>, dy: &mut Buffer<T>, dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        apply(isa, &self.transpose, self.lanes, dy, dx[0].accumulate, &mut dx[0].data);
    }
}

dispatched! {
    fn apply(matrix: &Compressed<T>, lanes: usize, x: &[T], accumulate: bool, y: &mut [T]) {
        for Band { rows, entries } in &matrix.bands {
            sweep!(V, rows.len() * lanes, |i, n| {
                let mut sum = V::zero();
                for e in entries.clone() {
                    sum = V::splat(matrix.values[e]).fma(V::get(x, matrix.columns[e] * lanes + i, n), sum);
                }
                sum.put_or_add(accumulate, y, rows.start * lanes + i, n);
            });
        }
    }
}
