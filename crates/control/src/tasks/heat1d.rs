//! `heat1d`: the heat equation on an interval; mobile agents track a target profile.

use cinoc_pde::{Boundary, Heat, RandomField};

use super::presets;
use crate::data::families::profiles;
use crate::task::Task;

pub(super) fn task() -> Task {
    let (preset, paper) = presets!("heat1d");
    let task = Task::new(
        "heat1d",
        Boundary::Dirichlet,
        "",
        |config| Heat::new(config.domain().x, config.physics.number("nu"), config.time.dt),
        |config, draw| profiles(config, draw, RandomField::bridged),
    );
    let title = "heat equation: mobile agents track a target profile";
    Task { preset, paper, published: Some("heat"), ..task.titled(title) }
}
