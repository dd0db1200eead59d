//! Moments of a density on a grid: mass, centroid and spread.
//!
//! `m = sum rho`, `mu = sum rho x / m`, `s = sqrt(sum rho |x - mu|^2 / m)`: sums over grid points, x in units
//! of the domain. Two densities are `W = |mu - mu*| + |s - s*| / 2` apart.
//!
//! One pass over the field is enough: the sums of `rho`, `rho x` and `rho x^2` along x give a number per
//! point of the other axis, and everything follows from those. Positions are measured from the middle of the
//! domain, where `E[x^2] - E[x]^2` loses least.

use crate::config::Config;
use cinoc_adjoint::{Sparse, Var};

/// Coordinates of the grid points a density lives on.
pub struct Coordinates<'t> {
    /// Sums along x of a density, its first and its second moment: `[3][n_x]`.
    sums: Sparse,
    /// Positions along y and their squares, `[1][n_y]`.
    y: Var<'t>,
    y_squared: Var<'t>,
    /// Where positions are measured from, `[2][1]`.
    middle: Var<'t>,
}

/// Mass, centroid (`[2][1]`) and spread of a density, per case.
#[derive(Clone, Copy)]
pub struct Moments<'t> {
    /// Sum over the grid points.
    pub mass: Var<'t>,
    /// Mean position.
    pub centroid: Var<'t>,
    /// Root of the mean square distance to the centroid.
    pub spread: Var<'t>,
}

impl<'t> Coordinates<'t> {
    /// Those of a 2D task, in the trace of `like`.
    pub fn new(config: &Config, like: Var<'t>) -> Coordinates<'t> {
        let tracer = like.tracer();
        let points = crate::data::families::rectangle(config).map(|axis| axis.points());
        let middle = points.each_ref().map(|points| points.iter().sum::<f64>() / points.len() as f64);
        let [x, y] = [0, 1].map(|axis| points[axis].iter().map(|p| p - middle[axis]).collect::<Vec<_>>());
        let power = |k: i32| x.iter().enumerate().map(|(i, x)| (i, x.powi(k))).collect();
        let y_squared = y.iter().map(|y| y * y).collect();
        Coordinates {
            sums: Sparse::from_rows(x.len(), vec![power(0), power(1), power(2)]),
            y_squared: tracer.constant(1, y.len(), y_squared),
            y: tracer.constant(1, y.len(), y),
            middle: tracer.constant(2, 1, middle.to_vec()),
        }
    }

    /// All moments of a density `[n_x][n_y]`.
    pub fn moments(&self, density: Var<'t>) -> Moments<'t> {
        let along_x = density.linear(&self.sums);
        let [per_y, first, second] = [0, 1, 2].map(|row| along_x.slice(row..row + 1));
        let mass = per_y.sum();
        let mean = first.sum().stack((per_y * self.y).sum()) / mass;
        let mean_square = (second + per_y * self.y_squared).sum() / mass;
        // of a single point it is 0, which rounding may miss
        let variance = (mean_square - mean.square().sum()).relu();
        Moments { mass, centroid: mean + self.middle, spread: variance.sqrt() }
    }
}

impl<'t> Moments<'t> {
    /// `W`: how far two densities are apart.
    pub fn distance(self, other: Moments<'t>) -> Var<'t> {
        (self.centroid - other.centroid).length() + 0.5 * (self.spread - other.spread).abs()
    }
}
