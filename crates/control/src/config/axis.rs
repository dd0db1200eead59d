//! The axes of the domain: each with its grid, its reference lattice and how it ends.

use super::Config;
use cinoc_pde::{Boundary, Dynamics, Grid};

/// One axis of the domain, with its grid and its reference lattice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReferenceAxis {
    /// Grid points.
    pub n: usize,
    /// Length.
    pub length: f64,
    /// Points of the reference lattice.
    pub n_ref: usize,
    /// How it ends.
    pub boundary: Boundary,
}

impl ReferenceAxis {
    /// Grid spacing.
    pub fn h(&self) -> f64 {
        self.length / self.cells(self.n) as f64
    }

    /// Reference cells per unit of length. One number, so that `floor(xi * cells_per_length)` rounds the same
    /// everywhere.
    pub fn cells_per_length(&self) -> f64 {
        self.cells(self.n_ref) as f64 / self.length
    }

    /// Grid cells per reference cell; `None` if reference points lie between grid points.
    pub fn stride(&self) -> Option<usize> {
        let (cells, reference) = (self.cells(self.n), self.cells(self.n_ref));
        cells.is_multiple_of(reference).then_some(cells / reference)
    }

    /// What to read at every reference point: grid points with their weights, by linear interpolation where
    /// it lies between two.
    pub fn readings(&self) -> Vec<Vec<(usize, f64)>> {
        let (cells, reference) = (self.cells(self.n), self.cells(self.n_ref));
        let reading = |j: usize| {
            let (before, rest) = (j * cells / reference, j * cells % reference);
            let weight = rest as f64 / reference as f64;
            match rest {
                0 => vec![(before, 1.0)],
                _ => vec![(before, 1.0 - weight), ((before + 1) % self.n, weight)],
            }
        };
        (0..self.n_ref).map(reading).collect()
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
    pub fn axes(&self) -> Vec<ReferenceAxis> {
        let (grid, observe, boundary) = (&self.grid, &self.observe, self.task.boundary);
        let x = ReferenceAxis { n: grid.n, length: grid.length, n_ref: observe.n_ref, boundary };
        let y = ReferenceAxis {
            n: grid.n_y.unwrap_or(grid.n),
            length: grid.length_y.unwrap_or(grid.length),
            n_ref: observe.n_ref_y.unwrap_or(observe.n_ref),
            boundary,
        };
        [x, y][..self.task.dims].to_vec()
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

    /// Numbers of a state: all its fields at all grid points.
    pub fn state_size(&self) -> usize {
        self.task.fields.len() * self.points()
    }

    /// Rows and columns of a state: its fields one above the other.
    pub fn state_shape(&self) -> (usize, usize) {
        let (rows, cols) = self.shape();
        (self.task.fields.len() * rows, cols)
    }

    /// Where the fields live.
    pub fn domain(&self) -> Grid {
        let axis = |axis: &ReferenceAxis| cinoc_pde::Axis {
            n: axis.n,
            length: axis.length,
            boundary: axis.boundary,
        };
        match &self.axes()[..] {
            [x, y] => Grid::rectangle(axis(x), axis(y)),
            axes => Grid::line(axis(&axes[0])),
        }
    }

    /// The equation of the task with its scheme and time step.
    ///
    /// # Panics
    /// If the task made an equation of another grid, time step or number of fields than the config has.
    pub fn dynamics(&self) -> Box<dyn Dynamics> {
        let dynamics = self.task.make_dynamics(self);
        assert_eq!(dynamics.grid(), self.domain(), "the equation's grid and the config's");
        assert_eq!(dynamics.dt(), self.time.dt, "the equation's time step and time.dt");
        assert_eq!(dynamics.fields(), self.task.fields.len(), "fields of the equation and of the task");
        dynamics
    }
}
