//! A constant sparse matrix along the rows: stencils, resampling, strides, pairwise differences.

use super::*;

impl Lower for Linear {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(Both::<T> {
            matrix: compressed(&self.matrix),
            transpose: compressed(&self.matrix.transpose()),
            lanes: io.lanes(0),
        })
    }
}

fn compressed<T: Real>(matrix: &Sparse) -> Compressed<T> {
    let mut c = Compressed { bands: Vec::new(), columns: Vec::new(), values: Vec::new() };
    for (i, row) in matrix.rows.iter().enumerate() {
        if i > 0 && shifted(&matrix.rows[i - 1], row) {
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

/// Whether a row has the entries of the row before it, one column further on.
fn shifted(before: &[(usize, f64)], row: &[(usize, f64)]) -> bool {
    before.len() == row.len() && before.iter().zip(row).all(|(a, b)| a.0 + 1 == b.0 && a.1 == b.1)
}

/// A matrix as bands of rows.
struct Compressed<T> {
    bands: Vec<Band>,
    columns: Vec<usize>,
    values: Vec<T>,
}

/// Rows with the same entries, each row's one column further on than those of the row before: a stencil. As
/// rows follow each other in memory, the lanes of all of them are one run, which fills vectors where a chunk
/// has few samples.
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
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        apply(isa, &self.matrix, self.lanes, x[0], false, y);
    }
    unsafe fn reverse(&self, isa: Isa, _: Seen<T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        apply(isa, &self.transpose, self.lanes, dy, dx[0].accumulate, &mut dx[0].data);
    }
}

dispatched! {
    unsafe fn apply(matrix: &Compressed<T>, lanes: usize, x: &[T], accumulate: bool, y: &mut [T]) {
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
