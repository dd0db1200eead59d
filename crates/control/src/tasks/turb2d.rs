//! `turb2d`: decaying turbulence on a torus, as vorticity; static agents bring the flow to rest.

use std::f64::consts::TAU;

use cinoc_pde::{Boundary, Vorticity};

use super::presets;
use crate::data::families::{rectangle, spun_up};
use crate::task::{Field, Task};

pub(super) fn task() -> Task {
    let (preset, paper) = presets!("turb2d");
    let task = Task::new(
        "turb2d",
        Boundary::Periodic,
        "",
        |config| {
            let [x, y] = rectangle(config);
            Vorticity::new(x, y, config.physics.number("nu"), config.time.dt)
        },
        |config, draw| {
            let ([x, y], data) = (rectangle(config), &config.data.values);
            // less viscous than the task itself, so that small vortices survive until it begins
            let free = Vorticity::new(x, y, data.number("spin_up_nu"), data.number("spin_up_dt"));
            let waves = TAU / x.length * data.number("waves");
            let first = Vorticity::new(x, y, 0.0, config.time.dt);
            spun_up(config, draw, &free, |rng| first.random_state(waves, data.number("energy"), rng))
        },
    )
    .titled("decaying turbulence: static agents bring the flow to rest")
    .with_fields([Field::new("w")]);
    Task { preset, paper, unit: 7.0, peak_on_grid: true, ..task.in_2d().with_static_agents().to_rest() }
}
