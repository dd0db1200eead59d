//! Anything that learns a policy, one update at a time.

use cinoc_adjoint::Threads;
use cinoc_control::config::Algorithm;
use cinoc_control::{Cases, Config};

use crate::checkpoint::Checkpoint;
use crate::rl::Baseline;
use crate::train::{Diverged, Trainer, Update};

/// A training in progress.
pub trait Learner {
    /// Updates done.
    fn updates(&self) -> usize;
    /// Parameters of the policy as they are now.
    fn params(&self) -> &[f32];
    /// One update. Without finite numbers, nothing is changed.
    fn update(&mut self) -> Result<Update, Diverged>;
    /// Everything needed to go on from here; `None` if that is more than is worth keeping: such a training starts again from its
    /// seed, with the same result.
    fn checkpoint(&self) -> Option<Checkpoint>;
}

/// The training a config describes, from its start or from a checkpoint.
pub fn learner(
    config: &Config,
    checkpoint: Option<Checkpoint>,
    pool: Cases,
    threads: &Threads,
) -> Box<dyn Learner> {
    let algorithm = config.method.as_ref().map(|method| method.name);
    match (algorithm, checkpoint) {
        (None | Some(Algorithm::Dpc), Some(checkpoint)) => Box::new(Trainer::at(checkpoint, pool, threads)),
        (None | Some(Algorithm::Dpc), None) => Box::new(Trainer::new(config, pool, threads)),
        _ => Box::new(Baseline::new(config, pool, threads)),
    }
}
