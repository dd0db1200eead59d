//! `heat2d`: the heat equation in a square; mobile agents track a target field.

use cinoc_pde::{Boundary, Heat2d};

use super::presets;
use crate::data::families::{rectangle, surfaces};
use crate::task::Task;

pub(super) fn task() -> Task {
    let (preset, paper) = presets!("heat2d");
    let task = Task::new(
        "heat2d",
        Boundary::Dirichlet,
        "",
        |config| {
            let [x, y] = rectangle(config);
            Heat2d::new(x, y, config.physics.number("nu"), config.time.dt)
        },
        surfaces,
    );
    let title = "heat in a square: mobile agents track a target field";
    Task { preset, paper, ..task.in_2d().titled(title) }
}
