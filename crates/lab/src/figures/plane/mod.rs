//! Figures of runs on a rectangle.

mod animation;
mod picture;
mod resample;
mod snapshots_2d;

pub use animation::{animation, save_animation};
pub use snapshots_2d::snapshots_2d;
