//! Figures of runs on a rectangle.

mod animation;
mod panels_2d;
mod picture;
mod resample;
mod snapshots_2d;

pub use animation::{animation, save_animation};
pub use panels_2d::panels_2d;
pub use snapshots_2d::snapshots_2d;
