//! Figures of 2D runs.

mod animation;
mod picture;
mod resample;
mod snapshots_2d;

pub use animation::{animation, save_animation};
pub use snapshots_2d::snapshots_2d;
