//! Which equation a task runs.

use crate::config::{Config, Equation, Transport};
use cinoc_pde::density::{Density, Medium};
use cinoc_pde::{
    Axis, Dynamics, Fkpp, Grid, Heat, Heat2d, KuramotoSivashinsky, KuramotoSivashinsky2d, Vorticity,
};

/// The axes of a task's domain.
pub fn axes(config: &Config) -> Vec<Axis> {
    let axis = |axis: &crate::config::Axis| Axis { n: axis.n, length: axis.length, boundary: axis.boundary };
    config.axes().iter().map(axis).collect()
}

/// The grid of a task.
pub fn grid(config: &Config) -> Grid {
    match axes(config)[..] {
        [x] => Grid::line(x),
        [x, y] => Grid::rectangle(x, y),
        _ => unreachable!("domains have one or two axes"),
    }
}

/// Coordinates of the grid points along both axes of a 2D task.
///
/// # Panics
/// If the task is not two-dimensional.
pub fn coordinates(config: &Config) -> [Vec<f64>; 2] {
    let points: Vec<_> = axes(config).iter().map(Axis::points).collect();
    points.try_into().expect("a 2D task")
}

/// The equation of a task with its scheme and time step.
///
/// # Panics
/// If the config lacks a coefficient every preset of its task has.
pub fn dynamics(config: &Config) -> Box<dyn Dynamics> {
    let (grid, dt, physics) = (grid(config), config.time.dt, &config.physics);
    let (x, y) = (grid.x, || grid.y.expect("a second axis"));
    let nu = || physics.nu.expect("a diffusivity");
    match config.equation() {
        Equation::Fkpp => Box::new(Fkpp::new(x, nu(), physics.rho.expect("a growth rate"), dt)),
        Equation::Heat1d => Box::new(Heat::new(x, nu(), dt)),
        Equation::KuramotoSivashinsky1d => Box::new(KuramotoSivashinsky::new(x.n, x.length, dt)),
        Equation::Heat2d => Box::new(Heat2d::new(x, y(), nu(), dt)),
        Equation::KuramotoSivashinsky2d => Box::new(KuramotoSivashinsky2d::new(x, y(), dt)),
        Equation::Vorticity => Box::new(Vorticity::new(x, y(), nu(), dt)),
        Equation::Density => {
            let transport = match physics.transport.expect("a transport") {
                Transport::Advective => cinoc_pde::density::Transport::Advective,
                Transport::Conservative => cinoc_pde::density::Transport::Conservative,
            };
            let medium = Medium {
                drift: [0.0, physics.drift.expect("a drift")],
                limit: physics.limit.expect("a limit"),
                diffusion: physics.diffusion.expect("a diffusion"),
            };
            Box::new(Density::new(x, y(), dt, transport, medium))
        }
    }
}
