//! How a front end hears of some work, and stops it.

use cinoc_learn::train::Update;
use cinoc_learn::validation::Validated;

/// Receives progress and warnings, and can stop the work.
pub trait Watcher: Sync {
    /// Work of so many steps begins; what came before it has ended.
    fn begin(&self, what: &str, steps: usize);
    /// So many steps of it are done.
    fn reached(&self, step: usize);
    /// It has ended.
    fn end(&self);
    /// Something that the user should know, in one line.
    fn warn(&self, message: &str);
    /// A training did an update; also what its validation found, if there was one.
    fn updated(&self, update: &Update, _validated: Option<&Validated>) {
        self.reached(update.update);
    }
    /// Whether to go on. Asked before every update of a training and every part of an evaluation.
    fn keep_going(&self) -> bool;
}
