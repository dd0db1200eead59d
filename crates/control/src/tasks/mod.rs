//! The tasks of this library, one file each: what a task is made of, and nothing about it anywhere else.

mod density2d;
mod fkpp1d;
mod heat1d;
mod heat2d;
mod heat2d_obstacles;
mod ks1d;
mod ks2d;
mod turb2d;

use std::sync::OnceLock;

use crate::task::Tasks;

/// All of them, in alphabetical order.
pub(crate) fn all() -> &'static Tasks {
    static ALL: OnceLock<Tasks> = OnceLock::new();
    ALL.get_or_init(|| {
        Tasks::new([
            density2d::task(),
            fkpp1d::task(),
            heat1d::task(),
            heat2d::task(),
            heat2d_obstacles::task(),
            ks1d::task(),
            ks2d::task(),
            turb2d::task(),
        ])
    })
}

/// The complete preset of a task and what the published form has otherwise.
macro_rules! presets {
    ($task:literal) => {
        (
            crate::task::Settings::Complete(include_str!(concat!("../../presets/", $task, ".toml"))),
            Some(include_str!(concat!("../../presets/paper/", $task, ".toml"))),
        )
    };
}
use presets;
