//! What a front end asks for: a training, a policy under given circumstances, an evaluation, a sweep.
//!
//! The command line and the Python package do the same work with these functions. Each front end reads its
//! own arguments, and hears of the work through a [`Watcher`].

pub mod evaluation;
pub mod export;
pub mod gradients;
pub mod subject;
pub mod sweep;
pub mod training;
mod watcher;

pub use watcher::Watcher;

use crate::failure::Failure;
use cinoc_adjoint::Threads;

/// The threads of a front end: as many as were asked for, or one per core.
pub fn threads(asked: Option<usize>) -> Result<Threads, Failure> {
    Ok(asked.map_or_else(Threads::all, Threads::new)?)
}
