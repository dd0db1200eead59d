//! What agents do to the field: `f(x) = sum_i u_i b(x, xi_i)` with the Gaussian `b = exp(-|x - xi|^2 / (2 sigma^2))`.
//!
//! The kernel has height 1 (`normalization = "peak"`) or unit integral (`"mass"`); on a periodic domain the distance is that to
//! the nearest image. The forcing is the plain sum over agents, never divided by their number.
//!
//! Differentiated in `u` and `xi`. The kernel stands at the positions before the move.

use crate::config::{Config, Normalization};
use crate::physics;
use adjoint::{Bump, Var};
use pde::Dynamics;
use std::f64::consts::TAU;

/// The actuators of a task.
pub struct Actuation {
    bump: Bump,
    mobile: bool,
}

impl Actuation {
    /// The actuators that `config.actuation` describes.
    pub fn new(config: &Config) -> Actuation {
        let (x, sigma) = (physics::grid(config).x, config.actuation.sigma);
        let height = match config.actuation.normalization {
            Normalization::Peak => 1.0,
            Normalization::Mass => 1.0 / (TAU.sqrt() * sigma),
        };
        let bump = Bump { points: x.points(), sigma, period: x.period(), height };
        Actuation { bump, mobile: config.mobile() }
    }

    /// The forcing field `[n][1]` of agents at `xi` with intensities `u`, both `[1][agents]`.
    pub fn forcing<'t>(&self, xi: Var<'t>, u: Var<'t>) -> Var<'t> {
        xi.gaussian(self.bump.clone()).contract(u)
    }

    /// What that forcing adds to one time step. Both ways of writing it are equal; for agents that stay where they are,
    /// the response to each of them is the same in every step.
    pub fn response<'t>(&self, dynamics: &dyn Dynamics, xi: Var<'t>, u: Var<'t>) -> Var<'t> {
        if self.mobile {
            dynamics.response(self.forcing(xi, u))
        } else {
            dynamics.response(xi.gaussian(self.bump.clone())).contract(u)
        }
    }
}
