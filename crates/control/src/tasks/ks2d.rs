//! `ks2d`: the Kuramoto-Sivashinsky equation on a torus; static agents bring chaos to rest.

use cinoc_pde::{Boundary, KuramotoSivashinsky2d};

use super::presets;
use crate::data::families::{rectangle, spun_up};
use crate::task::Task;

pub(super) fn task() -> Task {
    let (preset, paper) = presets!("ks2d");
    let task = Task::new(
        "ks2d",
        Boundary::Periodic,
        "",
        |config| {
            let [x, y] = rectangle(config);
            KuramotoSivashinsky2d::new(x, y, config.time.dt)
        },
        |config, draw| {
            let ([x, y], data) = (rectangle(config), &config.data.values);
            let free = KuramotoSivashinsky2d::new(x, y, data.number("spin_up_dt"));
            let first = KuramotoSivashinsky2d::new(x, y, config.time.dt);
            spun_up(config, draw, &free, |rng| first.random_state(data.number("amplitude"), rng))
        },
    )
    .titled("Kuramoto-Sivashinsky in 2D: static agents bring chaos to rest");
    Task { preset, paper, unit: 4.0, ..task.in_2d().with_static_agents().to_rest() }
}
