//! The axes of the domain: each with its grid, its reference lattice and how it ends.

use super::Config;
use cinoc_pde::Boundary;

/// One axis of the domain, with its grid and its reference lattice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// Grid points.
    pub n: usize,
    /// Length.
    pub length: f64,
    /// Points of the reference lattice.
    pub n_ref: usize,
    /// How it ends.
    pub boundary: Boundary,
}

impl Axis {
    /// Grid spacing.
    pub fn h(&self) -> f64 {
        self.length / self.cells(self.n) as f64
    }

    /// Reference cells per unit of length. One number, so that `floor(xi * cells_per_length)` rounds the same
    /// everywhere.
    pub fn cells_per_length(&self) -> f64 {
        self.cells(self.n_ref) as f64 / self.length
    }

    /// Grid cells per reference cell.
    pub fn stride(&self) -> usize {
        self.cells(self.n) / self.cells(self.n_ref)
    }

    /// Whether its two ends are the same point.
    pub fn periodic(&self) -> bool {
        self.boundary == Boundary::Periodic
    }

    /// Cells between `points` grid points.
    fn cells(&self, points: usize) -> usize {
        if self.periodic() { points } else { points - 1 }
    }
}

impl Config {
    /// The axes of the domain: one or two.
    pub fn axes(&self) -> Vec<Axis> {
        let (grid, observe, boundary) = (&self.grid, &self.observe, self.equation().boundary());
        let x = Axis { n: grid.n, length: grid.length, n_ref: observe.n_ref, boundary };
        let y = Axis {
            n: grid.n_y.unwrap_or(grid.n),
            length: grid.length_y.unwrap_or(grid.length),
            n_ref: observe.n_ref_y.unwrap_or(observe.n_ref),
            boundary,
        };
        [x, y][..self.equation().dims()].to_vec()
    }

    /// Rows and columns of a field: `(n, 1)` in 1D.
    pub fn shape(&self) -> (usize, usize) {
        let axes = self.axes();
        (axes[0].n, axes.get(1).map_or(1, |axis| axis.n))
    }

    /// Grid points of a field.
    pub fn points(&self) -> usize {
        self.axes().iter().map(|axis| axis.n).product()
    }
}
