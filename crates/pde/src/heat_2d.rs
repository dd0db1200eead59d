//! Heat equation `z_t = nu (z_xx + z_yy) + f` on a rectangle, z = 0 on its boundary.
//!
//! Alternating directions (Peaceman-Rachford), second order in time and space. With `Dx`, `Dy` the second
//! differences along the axes and `c = nu dt/2`:
//!
//! ```text
//! (I - c Dx) z*      = (I + c Dy) z_t + dt/2 f
//! (I - c Dy) z_{t+1} = (I + c Dx) z*  + dt/2 f
//! ```
//!
//! on the interior, 0 on the boundary. The first line gives `(I + c Dx) z* = 2 z* - (I - c Dx) z* = 2 z* -
//! (I + c Dy) z_t - dt/2 f`, so the second needs no differences along x:
//! `(I - c Dy) z_{t+1} = 2 z* - (I + c Dy) z_t`.
//!
//! Boundary values are neither read nor kept. Everything is linear, so the derivative with respect to `z` and
//! `f` is exact. `nu`, `dt` and the grid are constants.

use crate::dynamics::Dynamics;
use crate::grid::{Axis, Boundary, Grid};
use crate::operators::{explicit_diffusion_along_y, implicit_diffusion, interior, on_plane};
use cinoc_adjoint::{Sparse, Tridiagonal, Var};

/// The heat equation on a rectangle, ready to step.
pub struct Heat2d {
    x: Axis,
    y: Axis,
    dt: f64,
    explicit_y: Sparse,
    implicit_x: Tridiagonal,
    implicit_y: Tridiagonal,
    /// `dt/2` on the interior, 0 on the boundary.
    forcing: Vec<f64>,
}

impl Heat2d {
    /// Diffusivity `nu`, time step `dt`.
    ///
    /// # Panics
    /// If an axis is not Dirichlet.
    pub fn new(x: Axis, y: Axis, nu: f64, dt: f64) -> Heat2d {
        for axis in [x, y] {
            assert_eq!(axis.boundary, Boundary::Dirichlet, "the boundary is held at 0");
        }
        let (c, inside_y) = (nu * dt / 2.0, interior(&y));
        let forcing =
            interior(&x).iter().flat_map(|a| inside_y.iter().map(move |b| dt / 2.0 * a * b)).collect();
        Heat2d {
            x,
            y,
            dt,
            explicit_y: explicit_diffusion_along_y(&x, &y, c),
            implicit_x: implicit_diffusion(&x, c),
            implicit_y: implicit_diffusion(&y, c),
            forcing,
        }
    }
}

impl Dynamics for Heat2d {
    fn grid(&self) -> Grid {
        Grid::rectangle(self.x, self.y)
    }

    fn dt(&self) -> f64 {
        self.dt
    }

    fn order(&self) -> u32 {
        2
    }

    fn response<'t>(&self, f: Var<'t>) -> Var<'t> {
        f * f.tracer().constant(self.x.n, self.y.n, self.forcing.clone())
    }

    fn step<'t>(&self, z: Var<'t>, response: Var<'t>) -> Var<'t> {
        let explicit = on_plane(z, &self.explicit_y);
        let half = (explicit + response).solve(&self.implicit_x);
        (2.0 * half - explicit).transpose().solve(&self.implicit_y).transpose()
    }
}
