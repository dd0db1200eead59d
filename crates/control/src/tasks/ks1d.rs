//! `ks1d`: the Kuramoto-Sivashinsky equation on a ring; static agents bring chaos to rest.

use cinoc_pde::{Boundary, KuramotoSivashinsky};

use super::presets;
use crate::config::ConfigError;
use crate::data::families::{small_noise, spun_up};
use crate::task::Task;

pub(super) fn task() -> Task {
    let (preset, paper) = presets!("ks1d");
    let task = Task::new(
        "ks1d",
        Boundary::Periodic,
        "",
        |config| KuramotoSivashinsky::new(config.grid.n, config.grid.length, config.time.dt),
        |config, draw| {
            let amplitude = config.data.values.number("amplitude");
            let noise = |rng: &mut _| small_noise(rng, amplitude, config.grid.n);
            spun_up(config, draw, config.dynamics().as_ref(), noise)
        },
    )
    .titled("Kuramoto-Sivashinsky: static agents bring chaos to rest")
    .with_static_agents()
    .to_rest()
    .checked(|config| {
        // the growth rate k^2 - k^4 is at most 1/4, at k^2 = 1/2, and the step divides by 1 - dt (k^2 - k^4)
        // / 2
        ConfigError::unless(config.time.dt < 8.0, "time.dt", config.time.dt, || {
            "below 8, or the implicit step is singular".to_string()
        })
    });
    Task { preset, paper, ..task }
}
