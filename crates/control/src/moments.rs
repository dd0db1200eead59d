//! Moments of a density on a grid: mass, centroid and spread.
//!
//! `m = sum rho`, `mu = sum rho x / m`, `s = sqrt(sum rho |x - mu|^2 / m)`: sums over grid points, x in units of the domain.
//! Two densities are `W = |mu - mu*| + |s - s*| / 2` apart.

use crate::config::Config;
use crate::physics;
use adjoint::Var;

/// Coordinates of the grid points a density lives on.
pub struct Coordinates<'t> {
    /// `[n_x][1]`.
    x: Var<'t>,
    /// `[1][n_y]`.
    y: Var<'t>,
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
        let [x, y] = physics::coordinates(config);
        let tracer = like.tracer();
        Coordinates { x: tracer.constant(x.len(), 1, x), y: tracer.constant(1, y.len(), y) }
    }

    /// Mean position of a density and its mass.
    pub fn centroid(&self, density: Var<'t>) -> (Var<'t>, Var<'t>) {
        let mass = density.sum();
        let centroid = ((density * self.x).sum()).stack((density * self.y).sum()) / mass;
        (centroid, mass)
    }

    /// All moments of a density `[n_x][n_y]`.
    pub fn moments(&self, density: Var<'t>) -> Moments<'t> {
        let (centroid, mass) = self.centroid(density);
        let (dx, dy) = (self.x - centroid.slice(0..1), self.y - centroid.slice(1..2));
        let variance = ((density * dx.square()).sum() + (density * dy.square()).sum()) / mass;
        Moments { mass, centroid, spread: variance.sqrt() }
    }
}

impl<'t> Moments<'t> {
    /// `W`: how far two densities are apart.
    pub fn distance(self, other: Moments<'t>) -> Var<'t> {
        (self.centroid - other.centroid).length() + 0.5 * (self.spread - other.spread).abs()
    }
}
