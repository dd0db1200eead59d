//! Anything that learns a policy, one update at a time.

use cinoc_adjoint::Threads;
use cinoc_control::config::Algorithm;
use cinoc_control::{Cases, Config, Targets};
use thiserror::Error;

use crate::checkpoint::Checkpoint;
use crate::rl::Baseline;
use crate::team::Team;
use crate::train::{Diverged, Trainer, Update};

/// A training in progress.
pub trait Learner {
    /// Updates done.
    fn updates(&self) -> usize;
    /// Parameters of the policy as they are now.
    fn params(&self) -> &[f32];
    /// Does a part of what the first update needs, where that takes as long as many updates; returns how many
    /// parts are done and how many there are, `None` if none is left. An update does what is left by itself.
    fn prepare(&mut self) -> Option<(usize, usize)> {
        None
    }
    /// One update. Without finite numbers, nothing is changed.
    fn update(&mut self) -> Result<Update, Diverged>;
    /// Everything needed to go on from here; `None` if that is more than is worth keeping: such a training
    /// starts again from its seed, with the same result.
    fn checkpoint(&self) -> Option<Checkpoint>;
}

/// An RL method is asked to train on targets that move.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{0} trains on fixed targets: its state knows one target per episode, and those of these cases move; \
     give zt as [cases][grid], or train with --method cinoc or dpc"
)]
pub struct MovingTargets(String);

/// Refuses cases that the method of a config cannot train on.
pub fn check_targets(config: &Config, pool: &Cases) -> Result<(), MovingTargets> {
    match (through_physics(config), pool.targets()) {
        (false, Targets::Moving) => Err(MovingTargets(config.method_name().to_string())),
        _ => Ok(()),
    }
}

/// Whether a method differentiates through the physics.
pub(crate) fn through_physics(config: &Config) -> bool {
    config.method.as_ref().is_none_or(|method| method.name == Algorithm::Dpc)
}

/// The training a config describes, from its start or from a checkpoint. Followers of the team help with it
/// if its method differentiates through the physics.
///
/// # Panics
/// If [`check_targets`] refuses the pool.
pub fn learner(
    config: &Config,
    checkpoint: Option<Checkpoint>,
    pool: Cases,
    threads: &Threads,
    team: &Team,
) -> Box<dyn Learner> {
    if !through_physics(config) {
        return Box::new(Baseline::new(config, pool, threads));
    }
    let checkpoint = checkpoint.unwrap_or_else(|| Checkpoint::first(config));
    Box::new(Trainer::leading(checkpoint, pool, threads, team))
}
