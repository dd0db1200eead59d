//! Second-order finite differences along an [`Axis`], as constant matrices for the engine.
//!
//! `D2 z_j = (z_{j-1} - 2 z_j + z_{j+1}) / h^2`. What it is at the ends:
//!
//! | ends | rows of the end points |
//! |---|---|
//! | Dirichlet | none: the end values are held, and the matrices of a diffusion step answer 0 there |
//! | periodic | as any other, neighbours wrapped |
//! | zero flux | the missing neighbour equals the end value: columns of `D2` sum to 0, nothing is lost or gained |

use crate::grid::{Axis, Boundary};
use adjoint::{Sparse, Tridiagonal};

/// The second derivative `D2`; with held ends its first and last row are 0.
pub fn laplacian(axis: &Axis) -> Sparse {
    scaled_laplacian(axis, 1.0)
}

/// `weight D2`.
pub fn scaled_laplacian(axis: &Axis, weight: f64) -> Sparse {
    Sparse::from_rows(axis.n, (0..axis.n).map(|j| laplacian_row(axis, j, weight)).collect())
}

/// `I + weight D2`, 0 at held ends: the explicit part of a diffusion step.
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

/// `I - weight D2`, the identity at held ends: the implicit part of a diffusion step. With held ends it is to be solved
/// for a right-hand side that is 0 there.
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

/// 1, but 0 at held ends.
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
