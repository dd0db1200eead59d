//! Second-order finite differences along an [`Axis`], as constant matrices for the engine.
//!
//! `D2 z_j = (z_{j-1} - 2 z_j + z_{j+1}) / h^2`. At the ends:
//!
//! | ends | rows of the end points |
//! |---|---|
//! | Dirichlet | none: the end values are fixed, and the matrices of a diffusion step give 0 there |
//! | periodic | as any other, with wrapped neighbours |
//! | zero flux | the missing neighbour equals the end value: columns of `D2` sum to 0, the total is conserved |

use crate::grid::{Axis, Boundary};
use cinoc_adjoint::{Sparse, Tridiagonal, Var};

/// The second derivative `D2`; with Dirichlet ends its first and last row are 0.
pub fn laplacian(axis: &Axis) -> Sparse {
    Sparse::from_rows(axis.n, (0..axis.n).map(|j| laplacian_row(axis, j, 1.0)).collect())
}

/// `I + weight D2`, 0 at Dirichlet ends: the explicit part of a diffusion step.
pub fn explicit_diffusion(axis: &Axis, weight: f64) -> Sparse {
    let row = |j: usize| {
        let mut row = laplacian_row(axis, j, weight);
        if let Some(own) = row.iter_mut().find(|(i, _)| *i == j) {
            own.1 += 1.0;
        }
        row
    };
    Sparse::from_rows(axis.n, (0..axis.n).map(row).collect())
}

/// `I - weight D2`, the identity at Dirichlet ends: the implicit part of a diffusion step. With Dirichlet
/// ends the right-hand side must be 0 there.
///
/// # Panics
/// If the axis is periodic: the system is then not tridiagonal.
pub fn implicit_diffusion(axis: &Axis, weight: f64) -> Tridiagonal {
    assert_ne!(axis.boundary, Boundary::Periodic, "a tridiagonal system needs ends");
    let r = weight / axis.spacing().powi(2);
    let (outside, own) = match axis.boundary {
        Boundary::ZeroFlux => (-r, 1.0 + r),
        Boundary::Dirichlet | Boundary::Periodic => (0.0, 1.0),
    };
    let band = |inside: f64, end: f64| {
        let mut band = vec![inside; axis.n];
        (band[0], band[axis.n - 1]) = (end, end);
        band
    };
    Tridiagonal::new(band(-r, outside), band(1.0 + 2.0 * r, own), band(-r, outside))
}

/// 1 at every point, but 0 at Dirichlet ends.
pub fn interior(axis: &Axis) -> Vec<f64> {
    let mut inside = vec![1.0; axis.n];
    if axis.boundary == Boundary::Dirichlet {
        (inside[0], inside[axis.n - 1]) = (0.0, 0.0);
    }
    inside
}

/// Row `j` of `weight D2` as `(column, value)`.
fn laplacian_row(axis: &Axis, j: usize, weight: f64) -> Vec<(usize, f64)> {
    let (n, d) = (axis.n, weight * axis.spacing().powi(-2));
    let at_an_end = j == 0 || j == n - 1;
    match axis.boundary {
        Boundary::Dirichlet if at_an_end => Vec::new(),
        Boundary::ZeroFlux if at_an_end => vec![(j, -d), (if j == 0 { 1 } else { n - 2 }, d)],
        Boundary::Dirichlet | Boundary::ZeroFlux => vec![(j - 1, d), (j, -2.0 * d), (j + 1, d)],
        Boundary::Periodic => vec![((j + n - 1) % n, d), (j, -2.0 * d), ((j + 1) % n, d)],
    }
}

/// `I + weight D2` along the second axis of a rectangle, for a field `[nx][ny]` as one column. The result is
/// 0 where either axis has a Dirichlet end, and no value there is read.
pub fn explicit_diffusion_along_y(x: &Axis, y: &Axis, weight: f64) -> Sparse {
    let (inside_x, inside_y) = (interior(x), interior(y));
    let row = |i: usize, j: usize| {
        if inside_x[i] * inside_y[j] == 0.0 {
            return Vec::new();
        }
        let mut row = vec![(i * y.n + j, 1.0)];
        row.extend(laplacian_row(y, j, weight).into_iter().map(|(k, d)| (i * y.n + k, d * inside_y[k])));
        row
    };
    Sparse::from_rows(x.n * y.n, (0..x.n * y.n).map(|k| row(k / y.n, k % y.n)).collect())
}

/// Cell faces between neighbouring points along one axis of a rectangle, for a field `[nx][ny]` as one
/// column.
pub struct Faces {
    points: usize,
    /// The points before and after every face.
    sides: Vec<[usize; 2]>,
}

impl Faces {
    /// Faces across the first axis.
    pub fn along_x(nx: usize, ny: usize) -> Faces {
        Faces { points: nx * ny, sides: (0..(nx - 1) * ny).map(|k| [k, k + ny]).collect() }
    }

    /// Faces across the second axis.
    pub fn along_y(nx: usize, ny: usize) -> Faces {
        let inner = (0..nx * ny).filter(|k| k % ny + 1 < ny);
        Faces { points: nx * ny, sides: inner.map(|k| [k, k + 1]).collect() }
    }

    /// `before` times the value before a face plus `after` times the value after it.
    pub fn across(&self, before: f64, after: f64) -> Sparse {
        let rows = self.sides.iter().map(|&[a, b]| vec![(a, before), (b, after)]);
        Sparse::from_rows(self.points, rows.collect())
    }

    /// The value before every face.
    pub fn before(&self) -> Sparse {
        Sparse::from_rows(self.points, self.sides.iter().map(|side| vec![(side[0], 1.0)]).collect())
    }

    /// The value after every face.
    pub fn after(&self) -> Sparse {
        Sparse::from_rows(self.points, self.sides.iter().map(|side| vec![(side[1], 1.0)]).collect())
    }

    /// The gain of every point from a flux through the faces, which is positive from before to after. One
    /// point gains what another loses, and nothing passes the walls.
    pub fn gain(&self) -> Sparse {
        self.across(-1.0, 1.0).transpose()
    }
}

/// `weight` times the sum of the differences to the neighbours of every point of a rectangle, for a field
/// `[nx][ny]` as one column: the five-point Laplacian in cell units, with zero flux at the walls.
pub fn five_point(nx: usize, ny: usize, weight: f64) -> Sparse {
    let mut rows: Vec<Vec<(usize, f64)>> = (0..nx * ny).map(|k| vec![(k, 0.0)]).collect();
    for faces in [Faces::along_x(nx, ny), Faces::along_y(nx, ny)] {
        for [a, b] in faces.sides {
            for (from, to) in [(a, b), (b, a)] {
                rows[to][0].1 -= weight;
                rows[to].push((from, weight));
            }
        }
    }
    Sparse::from_rows(nx * ny, rows)
}

/// A constant matrix applied to a field `[rows][cols]` as one column; the result keeps its shape where the
/// matrix is square.
pub fn on_plane<'t>(field: Var<'t>, matrix: &Sparse) -> Var<'t> {
    let (rows, cols) = (field.rows(), field.cols());
    let result = field.reshape(rows * cols, 1).linear(matrix);
    if result.rows() == rows * cols { result.reshape(rows, cols) } else { result }
}
