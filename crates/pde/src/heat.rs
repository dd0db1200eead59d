//! Heat equation `z_t = nu z_xx + f` on `[0, L]`, z = 0 at both ends.
//!
//! Crank-Nicolson in time, second-order differences in space:
//! `(I - dt nu/2 D2) z_{t+1} = (I + dt nu/2 D2) z_t + dt f` on the interior, `z_{t+1} = 0` at the ends.
//!
//! Everything is linear, so the derivative with respect to `z` and `f` is exact. `nu`, `dt` and the grid are
//! constants.

use crate::dynamics::Dynamics;
use crate::grid::{Axis, Grid};
use crate::operators::{explicit_diffusion, implicit_diffusion, interior};
use cinoc_adjoint::{Sparse, Tridiagonal, Var};

/// The heat equation, ready to step.
pub struct Heat {
    x: Axis,
    dt: f64,
    explicit: Sparse,
    implicit: Tridiagonal,
    /// `dt` on the interior, 0 at the ends.
    forcing: Vec<f64>,
}

impl Heat {
    /// Diffusivity `nu`, time step `dt`.
    pub fn new(x: Axis, nu: f64, dt: f64) -> Heat {
        Heat {
            x,
            dt,
            explicit: explicit_diffusion(&x, dt * nu / 2.0),
            implicit: implicit_diffusion(&x, dt * nu / 2.0),
            forcing: interior(&x).iter().map(|inside| dt * inside).collect(),
        }
    }
}

impl Dynamics for Heat {
    fn grid(&self) -> Grid {
        Grid::line(self.x)
    }

    fn dt(&self) -> f64 {
        self.dt
    }

    fn order(&self) -> u32 {
        2
    }

    fn response<'t>(&self, f: Var<'t>) -> Var<'t> {
        f * f.tracer().constant(self.x.n, 1, self.forcing.clone())
    }

    fn step<'t>(&self, z: Var<'t>, response: Var<'t>) -> Var<'t> {
        (z.linear(&self.explicit) + response).solve(&self.implicit)
    }
}
