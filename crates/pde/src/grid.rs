//! Equally spaced points on an interval `[0, L]` or on a rectangle `[0, Lx] x [0, Ly]`.
//!
//! If the domain has ends, both end points are grid points, `x_j = j L / (n - 1)`. On a periodic axis the two
//! ends are one point, `x_j = j L / n`. A field on a rectangle is `[nx][ny]`, a field on an interval
//! `[n][1]`.

/// Boundary condition of an axis.
///
/// ```
/// use cinoc_pde::{Axis, Boundary};
///
/// let ring = Axis { n: 128, length: 22.0, boundary: Boundary::Periodic };
/// assert_eq!(ring.cells(), 128);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// The field is 0 at both ends.
    Dirichlet,
    /// The two ends are the same point.
    Periodic,
    /// Nothing passes the ends.
    ZeroFlux,
}

/// Grid points along one axis.
///
/// ```
/// use cinoc_pde::{Axis, Boundary};
///
/// let rod = Axis { n: 5, length: 2.0, boundary: Boundary::Dirichlet };
/// assert_eq!(rod.points(), [0.0, 0.5, 1.0, 1.5, 2.0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// Number of points.
    pub n: usize,
    /// Length of the interval.
    pub length: f64,
    /// Boundary condition.
    pub boundary: Boundary,
}

impl Axis {
    /// Number of intervals between neighbouring points.
    pub fn cells(&self) -> usize {
        match self.boundary {
            Boundary::Dirichlet | Boundary::ZeroFlux => self.n - 1,
            Boundary::Periodic => self.n,
        }
    }

    /// Distance between neighbouring points, `h`.
    pub fn spacing(&self) -> f64 {
        self.length / self.cells() as f64
    }

    /// The points `x_j`.
    pub fn points(&self) -> Vec<f64> {
        (0..self.n).map(|j| j as f64 * self.length / self.cells() as f64).collect()
    }

    /// Distance after which the axis repeats, if it does.
    pub fn period(&self) -> Option<f64> {
        (self.boundary == Boundary::Periodic).then_some(self.length)
    }
}

/// The grid of a field: one axis or two.
///
/// ```
/// use cinoc_pde::{Axis, Boundary, Grid};
///
/// let x = Axis { n: 32, length: 1.0, boundary: Boundary::ZeroFlux };
/// let box_2d = Grid::rectangle(x, Axis { n: 40, length: 1.25, ..x });
/// assert_eq!((box_2d.dims(), box_2d.shape()), (2, (32, 40)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// The first axis, along the rows of a field.
    pub x: Axis,
    /// The second axis, along the columns, if there is one.
    pub y: Option<Axis>,
}

impl Grid {
    /// An interval.
    pub fn line(x: Axis) -> Grid {
        Grid { x, y: None }
    }

    /// A rectangle.
    pub fn rectangle(x: Axis, y: Axis) -> Grid {
        Grid { x, y: Some(y) }
    }

    /// The axes, x first.
    pub fn axes(&self) -> impl Iterator<Item = Axis> {
        [Some(self.x), self.y].into_iter().flatten()
    }

    /// Number of axes.
    pub fn dims(&self) -> usize {
        self.axes().count()
    }

    /// Rows and columns of a field.
    pub fn shape(&self) -> (usize, usize) {
        (self.x.n, self.y.map_or(1, |y| y.n))
    }

    /// Number of points.
    pub fn size(&self) -> usize {
        self.axes().map(|axis| axis.n).product()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_points_unless_they_are_one_point() {
        for boundary in [Boundary::Dirichlet, Boundary::ZeroFlux] {
            let line = Axis { n: 5, length: 2.0, boundary };
            assert_eq!(line.points(), [0.0, 0.5, 1.0, 1.5, 2.0]);
            assert_eq!(line.period(), None);
        }
        let ring = Axis { n: 4, length: 2.0, boundary: Boundary::Periodic };
        assert_eq!(ring.points(), [0.0, 0.5, 1.0, 1.5]);
        assert_eq!(ring.spacing(), 0.5);
        assert_eq!(ring.period(), Some(2.0));
    }

    #[test]
    fn a_line_is_a_column_and_a_rectangle_a_matrix() {
        let x = Axis { n: 5, length: 1.0, boundary: Boundary::Dirichlet };
        let y = Axis { n: 7, ..x };
        let (line, rectangle) = (Grid::line(x), Grid::rectangle(x, y));
        assert_eq!((line.dims(), line.shape(), line.size()), (1, (5, 1), 5));
        assert_eq!((rectangle.dims(), rectangle.shape(), rectangle.size()), (2, (5, 7), 35));
        assert!(rectangle.axes().eq([x, y]));
    }
}
