//! Which equation a task runs.

use crate::config::Config;
use pde::{Axis, Boundary, Dynamics, Fkpp, Grid, Heat, KuramotoSivashinsky};

/// The grid of a task.
pub fn grid(config: &Config) -> Grid {
    let boundary = if config.periodic() { Boundary::Periodic } else { Boundary::Dirichlet };
    Grid::line(Axis { n: config.grid.n, length: config.grid.length, boundary })
}

/// The equation of a task with its scheme and time step.
///
/// # Panics
/// If the task is not one of [`crate::config::tasks`], or lacks a coefficient every preset of it has.
pub fn dynamics(config: &Config) -> Box<dyn Dynamics> {
    let (x, dt) = (grid(config).x, config.time.dt);
    let nu = || config.physics.nu.expect("a diffusivity");
    let rho = || config.physics.rho.expect("a growth rate");
    match config.task.as_str() {
        "fkpp1d" => Box::new(Fkpp::new(x, nu(), rho(), dt)),
        "heat1d" => Box::new(Heat::new(x, nu(), dt)),
        "ks1d" => Box::new(KuramotoSivashinsky::new(x.n, x.length, dt)),
        task => panic!("no equation for task {task:?}"),
    }
}
