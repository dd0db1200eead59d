//! The policy of a config: shipped, trained before, or trained now.

use std::path::Path;
use std::time::Instant;

use adjoint::Threads;
use control::{Config, Pool};
use learn::policy_file::PolicyFile;
use learn::pool::{cache_folder, cached};
use learn::run::{Ended, METRICS, POLICY, Run};

use super::cost::training_work;
use super::{LabError, Workshop, fingerprint};
use crate::training_log::TrainingLog;

/// A policy and what its training took.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The policy.
    pub policy: PolicyFile,
    /// Seconds of its training; `None` for a shipped one.
    pub seconds: Option<f64>,
}

impl Workshop<'_> {
    /// The policy that training with this config gives.
    pub fn policy(&self, config: &Config) -> Result<Trained, LabError> {
        let shipped = self.shipped.join(format!("{}.safetensors", config.task));
        if shipped.exists() {
            let policy = PolicyFile::read(&shipped)?;
            if policy.config == *config {
                return Ok(Trained { policy, seconds: None });
            }
        }
        let seed = config.train.seed;
        let name = format!("{}-{seed}-{}", config.task, fingerprint(&config.to_toml()));
        let folder = self.folder.join(&name);
        if !folder.join(POLICY).exists() {
            let start = Instant::now();
            self.train(config, &folder)?;
            self.book_training_now(start.elapsed().as_secs_f64());
        }
        let policy = PolicyFile::read(&folder.join(POLICY))?;
        let seconds = TrainingLog::read(&folder.join(METRICS)).map_or(0.0, |log| log.total_seconds());
        self.book_training(&name, seconds);
        Ok(Trained { policy, seconds: Some(seconds) })
    }

    /// Whether asking for the policy means training it.
    pub(crate) fn is_trained(&self, config: &Config) -> bool {
        let shipped = self.shipped.join(format!("{}.safetensors", config.task));
        let name = format!("{}-{}-{}", config.task, config.train.seed, fingerprint(&config.to_toml()));
        self.folder.join(name).join(POLICY).exists()
            || PolicyFile::read(&shipped).is_ok_and(|policy| policy.config == *config)
    }

    fn train(&self, config: &Config, folder: &Path) -> Result<(), LabError> {
        let begun = folder.join("config.toml").exists();
        let run = if begun { Run::resume(folder, config)? } else { Run::create(folder, config)? };
        let (task, seed, updates) = (&config.task, config.train.seed, config.train.updates);
        self.watch.now(&format!("drawing cases of {task}"));
        let threads = Threads::new(self.threads);
        let cases = cached(
            config,
            seed,
            Pool::Training,
            config.data.pool,
            &threads,
            cache_folder().as_deref(),
            &|_, _| {},
        );
        let share = training_work(config) / updates as f64;
        let watch = |update: &learn::train::Update| {
            self.watch.now(&format!("training {task}, seed {seed}: {} of {updates}", update.update));
            self.watch.done(share);
        };
        match run.train(cases, self.threads, watch, || self.watch.keep_going())? {
            Ended::Finished(_) => Ok(()),
            Ended::Stopped(_) => Err(LabError::Stopped),
        }
    }
}
