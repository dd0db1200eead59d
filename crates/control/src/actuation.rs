//! What agents do to the field: `f(x) = sum_i u_i b(x, xi_i)` with the Gaussian
//! `b = exp(-|x - xi|^2 / (2 sigma^2))`.
//!
//! The kernel has height 1 (`normalization = "peak"`; where the task says so, on the grid) or unit integral
//! (`"mass"`); on a periodic domain the distance is that to the nearest image. The forcing is the plain sum
//! over agents, never divided by their number. In 2D the kernel is a product of one factor per axis. Agents
//! that stir give the field a velocity instead, `q = gain sum_i v_i b(x, xi_i)`.
//!
//! Differentiated in `u`, `v` and `xi`. The kernel stands at the positions before the move.

use crate::config::{Config, Normalization};
use crate::policy::Action;
use cinoc_adjoint::{Bump, Var};
use cinoc_pde::Dynamics;
use std::f64::consts::TAU;

/// The actuators of a task.
pub struct Actuation {
    /// One factor of the kernel per axis.
    bumps: Vec<Bump>,
    /// Whether the largest value on the grid is what counts as the peak.
    peak_on_grid: bool,
    /// Velocity of the field per velocity of an agent, where agents stir.
    gain: Option<f64>,
    mobile: bool,
}

impl Actuation {
    /// The actuators that `config.actuation` describes.
    pub fn new(config: &Config) -> Actuation {
        let actuation = &config.actuation;
        let height = match actuation.normalization {
            Normalization::Peak => 1.0,
            Normalization::Mass => 1.0 / (TAU.sqrt() * actuation.sigma),
        };
        let bump = |axis: &cinoc_pde::Axis| Bump {
            points: axis.points(),
            sigma: actuation.sigma,
            period: axis.period(),
            height,
        };
        Actuation {
            bumps: config.domain().axes().map(|axis| bump(&axis)).collect(),
            peak_on_grid: config.task.peak_on_grid && actuation.normalization == Normalization::Peak,
            gain: actuation.gain,
            mobile: config.mobile(),
        }
    }

    /// What agents at `xi` (`[dims][agents]`) do to the field: a forcing field, or the two components of a
    /// velocity, one above the other.
    pub fn forcing<'t>(&self, xi: Var<'t>, action: Action<'t>) -> Var<'t> {
        let kernels = if self.bumps.len() == 1 { Vec::new() } else { self.kernels(xi) };
        let splat = |weight: Var<'t>| match kernels[..] {
            [x, y] => (x * weight).outer(y),
            _ => xi.gaussian_sum(weight, self.bumps[0].clone()),
        };
        match (self.gain, action.v, action.u) {
            (Some(gain), Some(v), _) => gain * splat(v.slice(0..1)).stack(splat(v.slice(1..2))),
            (_, _, Some(u)) => splat(u),
            _ => unreachable!("a checked config has agents that act by intensity or by stirring"),
        }
    }

    /// What that forcing adds to one time step. In 1D the response to every agent that stays where it is is
    /// the same in every step: it is worked out before the intensities come in.
    pub fn response<'t>(&self, dynamics: &dyn Dynamics, xi: Var<'t>, action: Action<'t>) -> Var<'t> {
        match (self.bumps.len(), self.mobile, action.u) {
            (1, false, Some(u)) => dynamics.response(self.kernels(xi)[0]).contract(u),
            _ => dynamics.response(self.forcing(xi, action)),
        }
    }

    /// The factors of the kernel, `[points][agents]` per axis.
    fn kernels<'t>(&self, xi: Var<'t>) -> Vec<Var<'t>> {
        let kernel = |(axis, bump): (usize, &Bump)| {
            let kernel = xi.slice(axis..axis + 1).gaussian(bump.clone());
            if self.peak_on_grid { kernel.peak_one() } else { kernel }
        };
        self.bumps.iter().enumerate().map(kernel).collect()
    }
}
