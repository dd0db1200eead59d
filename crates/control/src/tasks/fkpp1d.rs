//! `fkpp1d`: reaction and diffusion of a density on an interval; mobile agents track a target profile.

use cinoc_pde::{Boundary, Fkpp, RandomField};

use super::presets;
use crate::config::ConfigError;
use crate::data::families::profiles;
use crate::task::{Field, Task};

pub(super) fn task() -> Task {
    let (preset, paper) = presets!("fkpp1d");
    let task = Task::new(
        "fkpp1d",
        Boundary::Dirichlet,
        "",
        |config| {
            let [nu, rho] = ["nu", "rho"].map(|key| config.physics.number(key));
            Fkpp::new(config.domain().x, nu, rho, config.time.dt)
        },
        |config, draw| profiles(config, draw, RandomField::density),
    )
    .titled("Fisher-KPP reaction-diffusion: mobile agents track a target profile")
    .with_fields([Field::new("z").positive()])
    .checked(|config| {
        let (dt, rho) = (config.time.dt, config.physics.number("rho"));
        ConfigError::unless(dt * rho <= 0.5, "time.dt", dt, || {
            format!("at most {:?} (0.5 / physics.rho), or the explicit reaction step overshoots", 0.5 / rho)
        })
    });
    Task { preset, paper, published: Some("fkpp"), ..task }
}
