//! Fisher-KPP equation `z_t = nu z_xx + rho z (1 - z) + f` on `[0, L]`, z = 0 at both ends, `0 <= z <= 1`.
//!
//! Explicit Euler for reaction and forcing, then backward Euler for diffusion:
//! `(I - dt nu D2) z_{t+1} = z_t + dt (rho z_t (1 - z_t) + f)` on the interior, `z_{t+1} = 0` at the ends;
//! the result is clipped to `[0, 1]`.
//!
//! Differentiable with respect to `z` and `f`; clipped points pass no gradient. `nu`, `rho`, `dt` and the
//! grid are constants.

use crate::dynamics::Dynamics;
use crate::grid::{Axis, Grid};
use crate::operators::{implicit_diffusion, interior};
use cinoc_adjoint::{Tridiagonal, Var};

/// The Fisher-KPP equation, ready to step.
pub struct Fkpp {
    x: Axis,
    dt: f64,
    rho: f64,
    implicit: Tridiagonal,
    inside: Vec<f64>,
}

impl Fkpp {
    /// Diffusivity `nu`, growth rate `rho`, time step `dt`.
    pub fn new(x: Axis, nu: f64, rho: f64, dt: f64) -> Fkpp {
        Fkpp { x, dt, rho, implicit: implicit_diffusion(&x, dt * nu), inside: interior(&x) }
    }

    fn inside<'t>(&self, field: Var<'t>) -> Var<'t> {
        field * field.tracer().constant(self.x.n, 1, self.inside.clone())
    }
}

impl Dynamics for Fkpp {
    fn grid(&self) -> Grid {
        Grid::line(self.x)
    }

    fn dt(&self) -> f64 {
        self.dt
    }

    fn order(&self) -> u32 {
        1
    }

    fn step<'t>(&self, z: Var<'t>, response: Var<'t>) -> Var<'t> {
        let growth = self.dt * self.rho;
        let reacted = z * (1.0 + growth - growth * z);
        self.inside(reacted + response).solve(&self.implicit).clamp(0.0, 1.0)
    }
}
