//! Second-order finite differences on a [`Grid`], as constant matrices for the engine.
//!
//! `D2 z_j = (z_{j-1} - 2 z_j + z_{j+1}) / h^2`. With held ends, `D2` has no rows for the two end points, and the
//! matrices of a diffusion step answer 0 there: whatever stood in the end values is forgotten, not spread.

use crate::grid::{Boundary, Grid};
use adjoint::{Sparse, Tridiagonal};

/// The second derivative; on a domain with held ends its first and last row are 0.
pub fn laplacian(grid: &Grid) -> Sparse {
    Sparse::from_rows(grid.n, (0..grid.n).map(|j| laplacian_row(grid, j)).collect())
}

/// `I + weight D2` on the interior and 0 at both ends: the explicit part of a diffusion step.
///
/// # Panics
/// If the grid has no ends.
pub fn explicit_diffusion(grid: &Grid, weight: f64) -> Sparse {
    assert_eq!(grid.boundary, Boundary::Dirichlet, "diffusion with held ends needs ends");
    let row = |j: usize| {
        let mut row: Vec<_> = laplacian_row(grid, j).into_iter().map(|(i, d)| (i, weight * d)).collect();
        if let Some(own) = row.iter_mut().find(|(i, _)| *i == j) {
            own.1 += 1.0;
        }
        row
    };
    Sparse::from_rows(grid.n, (0..grid.n).map(row).collect())
}

/// `I - weight D2` on the interior and the identity at both ends: the implicit part of a diffusion step, to be solved
/// for a right-hand side that is 0 at both ends.
///
/// # Panics
/// If the grid has no ends.
pub fn implicit_diffusion(grid: &Grid, weight: f64) -> Tridiagonal {
    assert_eq!(grid.boundary, Boundary::Dirichlet, "diffusion with held ends needs ends");
    let r = weight / grid.spacing().powi(2);
    let band = |inside: f64, end: f64| {
        let mut band = vec![inside; grid.n];
        (band[0], band[grid.n - 1]) = (end, end);
        band
    };
    Tridiagonal::new(band(-r, 0.0), band(1.0 + 2.0 * r, 1.0), band(-r, 0.0))
}

/// 1 on the interior and 0 at both ends.
pub fn interior(grid: &Grid) -> Vec<f64> {
    let mut inside = vec![1.0; grid.n];
    if grid.boundary == Boundary::Dirichlet {
        (inside[0], inside[grid.n - 1]) = (0.0, 0.0);
    }
    inside
}

fn laplacian_row(grid: &Grid, j: usize) -> Vec<(usize, f64)> {
    let (n, d) = (grid.n, grid.spacing().powi(-2));
    match grid.boundary {
        Boundary::Dirichlet if j == 0 || j == n - 1 => Vec::new(),
        Boundary::Dirichlet => vec![(j - 1, d), (j, -2.0 * d), (j + 1, d)],
        Boundary::Periodic => vec![((j + n - 1) % n, d), (j, -2.0 * d), ((j + 1) % n, d)],
    }
}
