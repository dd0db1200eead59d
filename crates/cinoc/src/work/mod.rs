//! What a front end asks for: a training, a policy under given circumstances, an evaluation, a sweep.
//!
//! The command line and the Python package do the same work with these functions. Each front end reads its
//! own arguments, and hears of the work through a [`Watcher`].

mod device;
pub mod evaluation;
pub mod export;
pub mod gradients;
pub mod subject;
pub mod sweep;
pub mod training;
mod watcher;

pub use device::{Device, bearing_device_errors, silence_device_errors};
pub use watcher::Watcher;

use crate::failure::Failure;
use cinoc_adjoint::Threads;

/// The threads of a front end: as many as were asked for, or one per core. Programs run on the device.
pub fn threads(asked: Option<usize>, device: Device) -> Result<Threads, Failure> {
    device.with(asked.map_or_else(Threads::all, Threads::new)?)
}
