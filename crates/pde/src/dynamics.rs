//! What a PDE has to say to be simulated and controlled: its grid and one time step.
//!
//! A step is split in two, because forcing enters every scheme here linearly:
//! `z_{t+1} = step(z_t, response(f))`. With actuators that do not move, the response to each of them is then worked
//! out once per rollout instead of once per step.

use crate::grid::Grid;
use adjoint::Var;

/// A PDE `z_t = F(z) + f` with a time-stepping scheme. Written forward only: the engine differentiates it.
pub trait Dynamics: Send + Sync {
    /// Where the field lives.
    fn grid(&self) -> Grid;

    /// Length of a time step.
    fn dt(&self) -> f64;

    /// Order of the scheme in time: halving the time step divides the error by `2^order`.
    fn order(&self) -> u32;

    /// What a forcing field adds to one step, linear in `f`: by default an explicit step of it. Columns are independent fields.
    fn response<'t>(&self, f: Var<'t>) -> Var<'t> {
        self.dt() * f
    }

    /// The field after one time step, from the field `z` (`[n][1]`) and the [`Dynamics::response`] to the forcing.
    fn step<'t>(&self, z: Var<'t>, response: Var<'t>) -> Var<'t>;
}
