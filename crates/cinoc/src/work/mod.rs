//! What a front end asks for: a training, a policy under given circumstances, an evaluation, a sweep.
//!
//! The command line and the Python package do the same work with these functions. Each front end reads its
//! own arguments, and hears of the work through a [`Watcher`].

pub mod evaluation;
pub mod gradients;
pub mod subject;
pub mod sweep;
pub mod training;
mod watcher;

pub use watcher::Watcher;

/// Threads to use: what was asked for, or all there are.
pub fn threads(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}
