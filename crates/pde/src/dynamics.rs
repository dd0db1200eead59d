//! The interface of a PDE for simulation and control: its grid and one time step.
//!
//! A step is split in two, because forcing enters every scheme here linearly:
//! `z_{t+1} = step(z_t, response(f))`. With static actuators, the response to each of them is then computed
//! once per rollout instead of once per step.

use crate::grid::Grid;
use cinoc_adjoint::Var;

/// A PDE `z_t = F(z, f)` with a time-stepping scheme. Written forward only: the engine differentiates it.
///
/// ```
/// use cinoc_adjoint::Var;
/// use cinoc_pde::{Axis, Dynamics, Grid};
///
/// /// Decay at every point, `z_t = -rate z + f`, with Euler's scheme.
/// struct Decay {
///     x: Axis,
///     rate: f64,
///     dt: f64,
/// }
///
/// impl Dynamics for Decay {
///     fn grid(&self) -> Grid {
///         Grid::line(self.x)
///     }
///     fn dt(&self) -> f64 {
///         self.dt
///     }
///     fn order(&self) -> u32 {
///         1
///     }
///     fn step<'t>(&self, z: Var<'t>, response: Var<'t>) -> Var<'t> {
///         z - self.dt * self.rate * z + response
///     }
/// }
/// ```
pub trait Dynamics: Send + Sync {
    /// The grid of the field.
    fn grid(&self) -> Grid;

    /// Length of a time step.
    fn dt(&self) -> f64;

    /// Order of the scheme in time: halving the time step divides the error by `2^order`.
    fn order(&self) -> u32;

    /// How many fields the state has, stacked along the rows of `z`: `[fields n_x][n_y]`.
    fn fields(&self) -> usize {
        1
    }

    /// How many fields drive the equation, stacked along the rows of `f`: one forcing, or the components of a
    /// velocity.
    fn forcing_fields(&self) -> usize {
        1
    }

    /// The contribution of the driving fields to one step, linear in `f`; by default `dt f`. In 1D the
    /// columns of `f` are independent fields.
    fn response<'t>(&self, f: Var<'t>) -> Var<'t> {
        self.dt() * f
    }

    /// The state after one time step, from the state `z` and the [`Dynamics::response`] to what drives it.
    fn step<'t>(&self, z: Var<'t>, response: Var<'t>) -> Var<'t>;

    /// The field after `substeps` time steps with the same response. A scheme that works on another
    /// representation of the field, such as its Fourier coefficients, overrides this method to transform once
    /// and not in every step.
    fn interval<'t>(&self, z: Var<'t>, response: Var<'t>, substeps: usize) -> Var<'t> {
        (0..substeps).fold(z, |z, _| self.step(z, response))
    }
}
