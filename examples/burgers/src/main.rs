//! Viscous Burgers, `z_t + z z_x = nu z_xx + f` on `[0, L]` with `z = 0` at both ends: mobile agents track a
//! target.
//!
//! This file is all that a PDE of your own needs. It has every command of `cinoc`:
//!
//! ```sh
//! cargo run --release -- train burgers           # train, evaluate, report
//! cargo run --release -- eval runs/burgers-0 --agents 20
//! cargo run --release -- check-gradients burgers
//! cargo run --release -- train burgers --method ppo --updates 5
//! ```

use cinoc::pde::RandomField;
use cinoc::pde::operators::{implicit_diffusion, interior};
use cinoc::prelude::*;
use std::process::ExitCode;

/// The equation with its scheme: explicit Euler for advection in conservation form and for the forcing, then
/// backward Euler for diffusion.
///
/// ```text
/// (I - dt nu D2) z_{t+1} = z_t - dt D1 (z_t^2 / 2) + dt f   inside,   z_{t+1} = 0 at the ends
/// ```
struct Burgers {
    x: Axis,
    dt: f64,
    /// `-dt/2 D1`, central differences.
    advection: Sparse,
    /// `I - dt nu D2`.
    implicit: Tridiagonal,
}

impl Burgers {
    fn new(x: Axis, nu: f64, dt: f64) -> Burgers {
        let c = dt / (4.0 * x.spacing());
        let at_an_end = |j: usize| j == 0 || j == x.n - 1;
        let row = |j: usize| if at_an_end(j) { vec![] } else { vec![(j - 1, c), (j + 1, -c)] };
        let advection = Sparse::from_rows(x.n, (0..x.n).map(row).collect());
        Burgers { x, dt, advection, implicit: implicit_diffusion(&x, dt * nu) }
    }
}

/// Forward code on symbolic values. The engine derives the reverse of it.
impl Dynamics for Burgers {
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
        let inside = z.tracer().constant(self.x.n, 1, interior(&self.x));
        (inside * (z + z.square().linear(&self.advection) + response)).solve(&self.implicit)
    }
}

/// What differs from the settings that 1D tasks have in common, and the keys of this one.
const PRESET: &str = "
agents = 8
[physics]
nu = 0.02
[data]
length = 0.3
[train]
updates = 200
";

fn burgers() -> Task {
    Task::new(
        "burgers",
        Boundary::Dirichlet,
        PRESET,
        |config| Burgers::new(config.domain().x, config.physics.number("nu"), config.time.dt),
        // starts and targets: independent random fields that are 0 at both ends
        |config, draw| {
            let x = config.domain().x.points();
            let field = RandomField::new(&x, config.data.values.number("length"), 1.0);
            draw.each(|draw| [draw.normals(x.len()), draw.normals(x.len())].map(|n| field.bridged(&n)))
        },
    )
    .titled("viscous Burgers: mobile agents track a target profile")
    .with_keys([Key::new("data.length", "L", Range::Positive, "correlation length of the random fields")])
}

fn main() -> ExitCode {
    cinoc::command_line([burgers()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use cinoc::pde::evolve;
    use std::f64::consts::PI;

    /// A solution of `z_t + z z_x = nu z_xx` that is 0 at 0 and 1, by the Cole-Hopf transformation.
    fn exact(x: f64, t: f64, nu: f64) -> f64 {
        let decay = (-nu * PI * PI * t).exp();
        2.0 * nu * PI * (PI * x).sin() * decay / (2.0 + (PI * x).cos() * decay)
    }

    #[test]
    fn the_scheme_converges_to_an_exact_solution() {
        let (nu, time) = (0.1, 0.5);
        // the time step shrinks with the square of the spacing, so that the error in both falls by the same
        // factor
        let error = |cells: usize, steps: usize| {
            let x = Axis { n: cells + 1, length: 1.0, boundary: Boundary::Dirichlet };
            let at = |t: f64| x.points().iter().map(|&x| exact(x, t, nu)).collect::<Vec<_>>();
            let scheme = Burgers::new(x, nu, time / steps as f64);
            let z = evolve(&scheme, &at(0.0), None, steps, &Threads::one());
            z.iter().zip(at(time)).map(|(z, exact)| (z - exact).abs()).fold(0.0, f64::max)
        };
        let order = (error(32, 64) / error(64, 256)).log2();
        assert!((order - 2.0).abs() < 0.1, "{order}");
    }
}
