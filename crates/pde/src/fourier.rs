//! Fields on a periodic rectangle as sums of products of sines and cosines.
//!
//! `z(x, y) = sum over a, b of c_ab phi_a(x) phi_b(y)`, where `phi_a` is one of
//! `1, cos(k x), sin(k x), ..., cos(N x / 2)` (x measured in turns), scaled so that the values on the n grid
//! points of its axis are orthonormal. A *spectrum* is the column of the n_x n_y numbers `c_ab`. It has as
//! many numbers as the grid has points, and no mode occurs twice; the transform is orthogonal. An even real
//! symbol, a function of `k_x^2` and `k_y^2`, is a table with one number per row, which multiplies the
//! spectrum. Derivatives are taken while a spectrum is evaluated or a field is projected.
//!
//! # Products without aliasing
//! Modes with wave numbers up to a cutoff K on both axes are called *resolved* and come first. A product of
//! two fields of such modes has wave numbers up to 2 K. On m > 3 K points per axis none of them is aliased to
//! a resolved mode. Products are therefore formed on m points, where m is the first multiple of four above 3
//! K (on 64 points K = 21 needs 64, and K = 31 needs 96). Only the resolved modes of a product are used, so
//! the positions of these points are free: they are in the folded order of
//! [`cinoc_adjoint::AxisMatrix::folded`], half a cell from the ends.

use cinoc_adjoint::{AxisMatrix, Sparse, Var};
use std::f64::consts::TAU;

/// One basis function of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mode {
    /// Periods in the domain.
    wave: usize,
    sine: bool,
    /// The factor that makes it orthonormal on the grid.
    amplitude: f64,
}

impl Mode {
    /// Its value (or its slope, per turn) at `s` turns.
    fn value(self, s: f64, slope: bool) -> f64 {
        let k = TAU * self.wave as f64;
        let (sin, cos) = (k * s).sin_cos();
        self.amplitude
            * match (self.sine, slope) {
                (false, false) => cos,
                (true, false) => sin,
                (false, true) => -k * sin,
                (true, true) => k * cos,
            }
    }
    /// Even cosines, odd cosines, even sines, odd sines.
    fn symmetry(self) -> usize {
        2 * self.sine as usize + self.wave % 2
    }
}

/// All modes of an axis: the resolved ones by symmetry, then the others.
fn modes(n: usize, cutoff: usize) -> Vec<Mode> {
    let mode = |wave: usize, sine: bool| {
        let alone = wave == 0 || 2 * wave == n;
        Mode { wave, sine, amplitude: (if alone { 1.0 } else { 2.0 } / n as f64).sqrt() }
    };
    let waves =
        |sine: bool| (sine as usize..=if sine { (n - 1) / 2 } else { n / 2 }).map(move |k| mode(k, sine));
    let mut all: Vec<Mode> = waves(false).chain(waves(true)).collect();
    all.sort_by_key(|m| (m.wave > cutoff, if m.wave > cutoff { 0 } else { m.symmetry() }, m.wave));
    all
}

/// The Fourier basis of a periodic rectangle.
pub struct Fourier {
    n: [usize; 2],
    lengths: [f64; 2],
    modes: [Vec<Mode>; 2],
    /// Resolved modes per axis.
    resolved: [usize; 2],
    /// From spectra to fields, on the grid.
    grid: [AxisMatrix; 2],
    /// From resolved modes to values and slopes on the points where products are formed.
    products: [[AxisMatrix; 2]; 2],
    /// Number of these points per axis.
    fine: [usize; 2],
    /// Row of every mode `a * n_y + b`.
    rows: Vec<usize>,
}

impl Fourier {
    /// Domain of `lengths` with `n` points, wave numbers up to `cutoff` resolved.
    ///
    /// # Panics
    /// If an axis has no points, or its cutoff is not below half their number.
    pub fn new(n: [usize; 2], lengths: [f64; 2], cutoff: [usize; 2]) -> Fourier {
        for axis in 0..2 {
            assert!(2 * cutoff[axis] < n[axis], "{} points cannot resolve {} periods", n[axis], cutoff[axis]);
        }
        let each = |f: &dyn Fn(usize) -> AxisMatrix| [f(0), f(1)];
        let modes = [modes(n[0], cutoff[0]), modes(n[1], cutoff[1])];
        let resolved = cutoff.map(|k| 2 * k + 1);
        let fine = cutoff.map(|k| (3 * k + 1).next_multiple_of(4));
        let on_grid = |axis: usize| {
            let points = |m: &Mode| (0..n[axis]).map(|j| m.value(j as f64 / n[axis] as f64, false)).collect();
            AxisMatrix::dense(modes[axis].iter().map(points).collect())
        };
        let folded = |axis: usize, slope: bool| {
            let mut columns = [const { Vec::new() }; 4];
            for mode in &modes[axis][..resolved[axis]] {
                let unit = if slope { 1.0 / lengths[axis] } else { 1.0 };
                let value = |j: usize| unit * mode.value((j as f64 + 0.5) / fine[axis] as f64, slope);
                // the slope of a cosine is a sine
                columns[if slope { mode.symmetry() ^ 2 } else { mode.symmetry() }]
                    .push((0..fine[axis] / 4).map(value).collect());
            }
            AxisMatrix::folded(columns, if slope { [2, 3, 0, 1] } else { [0, 1, 2, 3] })
        };
        let mut rows = vec![0; n[0] * n[1]];
        let (mut next, mut rest) = (0, resolved[0] * resolved[1]);
        for a in 0..n[0] {
            for b in 0..n[1] {
                let counter = if a < resolved[0] && b < resolved[1] { &mut next } else { &mut rest };
                rows[a * n[1] + b] = *counter;
                *counter += 1;
            }
        }
        let grid = each(&on_grid);
        let products = [0, 1].map(|axis| [folded(axis, false), folded(axis, true)]);
        Fourier { n, lengths, modes, resolved, grid, products, fine, rows }
    }

    /// Number of grid points, and of modes.
    pub fn len(&self) -> usize {
        self.rows.len()
    }
    /// Always false: a grid has points.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Number of resolved modes: the first rows of a spectrum.
    pub fn resolved(&self) -> usize {
        self.resolved[0] * self.resolved[1]
    }

    /// Wave numbers `[k_x, k_y]` of every row, without sign.
    pub fn wave_numbers(&self) -> Vec<[f64; 2]> {
        let mut all = vec![[0.0; 2]; self.len()];
        let k = |axis: usize, mode: &Mode| TAU / self.lengths[axis] * mode.wave as f64;
        for (a, x) in self.modes[0].iter().enumerate() {
            for (b, y) in self.modes[1].iter().enumerate() {
                all[self.rows[a * self.n[1] + b]] = [k(0, x), k(1, y)];
            }
        }
        all
    }

    /// `symbol(k_x^2 + k_y^2)` of every row.
    pub fn table(&self, symbol: impl Fn(f64) -> f64) -> Vec<f64> {
        self.wave_numbers().iter().map(|[x, y]| symbol(x * x + y * y)).collect()
    }

    /// The same for the resolved rows, and for the others.
    pub fn split_table(&self, symbol: impl Fn(f64) -> f64) -> (Vec<f64>, Vec<f64>) {
        let mut table = self.table(symbol);
        let others = table.split_off(self.resolved());
        (table, others)
    }

    /// The spectrum of a field.
    pub fn forward<'t>(&self, field: Var<'t>) -> Var<'t> {
        let [x, y] = &self.grid;
        let mut by_row = vec![0; self.len()];
        self.rows.iter().enumerate().for_each(|(mode, &row)| by_row[row] = mode);
        field.separable_transposed(x, y).linear(&selection(&by_row))
    }

    /// The field of a spectrum.
    pub fn inverse<'t>(&self, spectrum: Var<'t>) -> Var<'t> {
        let [x, y] = &self.grid;
        spectrum.linear(&selection(&self.rows)).separable(x, y)
    }

    /// The field `z` after a run in Fourier space: `resolved` advances the resolved modes, `others` the modes
    /// that take part in no product. Both get their part of the spectrum of `z` and of the spectrum
    /// `forcing`.
    pub fn advance<'t>(
        &self,
        z: Var<'t>,
        forcing: Var<'t>,
        resolved: impl FnOnce(Var<'t>, Var<'t>) -> Var<'t>,
        others: impl FnOnce(Var<'t>, Var<'t>) -> Var<'t>,
    ) -> Var<'t> {
        let (z, first, all) = (self.forward(z), self.resolved(), self.len());
        let forcing = forcing.broadcast(z.shape());
        let next = resolved(z.slice(0..first), forcing.slice(0..first));
        let next = if first == all {
            next
        } else {
            next.stack(others(z.slice(first..all), forcing.slice(first..all)))
        };
        self.inverse(next)
    }

    /// The field of a plain spectrum.
    pub fn field(&self, spectrum: &[f64]) -> Vec<f64> {
        let value = |axis: usize, mode: usize, j: usize| {
            self.modes[axis][mode].value(j as f64 / self.n[axis] as f64, false)
        };
        let [nx, ny] = self.n;
        let mut half = vec![0.0; nx * ny];
        let mut field = vec![0.0; nx * ny];
        for (a, b, j) in triples(nx, ny, ny) {
            half[a * ny + j] += value(1, b, j) * spectrum[self.rows[a * ny + b]];
        }
        for (a, i, j) in triples(nx, nx, ny) {
            field[i * ny + j] += value(0, a, i) * half[a * ny + j];
        }
        field
    }

    /// The derivative of the given order (0 or 1 per axis) of resolved modes, on the points where products
    /// are formed.
    pub fn evaluate<'t>(&self, resolved: Var<'t>, order: [usize; 2]) -> Var<'t> {
        resolved.separable(&self.products[0][order[0]], &self.products[1][order[1]])
    }

    /// Resolved modes of the derivative of the given order (0 or 1 per axis) of a product, up to the factor
    /// [`Fourier::projection_factor`].
    pub fn project<'t>(&self, product: Var<'t>, order: [usize; 2]) -> Var<'t> {
        product.separable_transposed(&self.products[0][order[0]], &self.products[1][order[1]])
    }

    /// The factor that [`Fourier::project`] leaves to the tables of the caller: the ratio of grid points to
    /// product points, and the sign of an integration by parts.
    pub fn projection_factor(&self, order: [usize; 2]) -> f64 {
        let points = self.len() as f64 / (self.fine[0] * self.fine[1]) as f64;
        if (order[0] + order[1]) % 2 == 1 { -points } else { points }
    }
}

fn triples(a: usize, b: usize, c: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..a * b * c).map(move |i| (i / (b * c), i / c % b, i % c))
}

/// Row i of the output is row `from[i]` of the input.
fn selection(from: &[usize]) -> Sparse {
    Sparse::from_rows(from.len(), from.iter().map(|&j| vec![(j, 1.0)]).collect())
}
