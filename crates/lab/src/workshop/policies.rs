//! The policy of a config: shipped, trained before, or trained now.

use std::path::{Path, PathBuf};
use std::time::Instant;

use cinoc_control::{Config, Pool, Tasks};
use cinoc_learn::inputs::Inputs;
use cinoc_learn::policy_file::PolicyFile;
use cinoc_learn::pool::{cache_folder, cached};
use cinoc_learn::run::{Done, Ended, METRICS, POLICY, Run, RunError, Start};
use cinoc_learn::team::Team;

use super::cost::training_work;
use super::{LabError, Workshop, fingerprint};
use crate::results::{file_hash, numerics, shipped_name};
use crate::training_log::TrainingLog;

/// A policy and the duration of its training.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The policy.
    pub policy: PolicyFile,
    /// Seconds of its training; `None` for a shipped one.
    pub seconds: Option<f64>,
}

/// Outcome of a training.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// It finished.
    Finished(Box<TrainingLog>),
    /// It became infinite or NaN; the text is the error.
    Diverged(String),
}

impl Workshop<'_> {
    /// The policy of a training with this config.
    pub fn policy(&self, config: &Config) -> Result<Trained, LabError> {
        self.book_settings(&config.regardless_of_speed().to_toml());
        if let Some(policy) = self.shipped(config) {
            self.book_policy(&shipped_name(&config.task.name), file_hash(&self.shipped_path(config))?);
            return Ok(Trained { policy, seconds: None });
        }
        let name = run_name(config);
        let folder = self.folder.join(&name);
        if !folder.join(POLICY).exists() {
            let start = Instant::now();
            self.train(config, &folder, &self.team)?;
            self.book_training_now(start.elapsed().as_secs_f64());
        }
        let policy = PolicyFile::read(&folder.join(POLICY), Tasks::built_in())?;
        let seconds = TrainingLog::read(&folder.join(METRICS)).map_or(0.0, |log| log.total_seconds());
        self.book_training(&name, seconds);
        self.book_policy(&name, file_hash(&folder.join(POLICY))?);
        Ok(Trained { policy, seconds: Some(seconds) })
    }

    /// The shipped policy of a task, for any training config; `None` if there is none.
    pub(crate) fn shipped_policy(&self, task: &str) -> Option<Trained> {
        let policy =
            PolicyFile::read(&self.shipped.join(format!("{task}.safetensors")), Tasks::built_in()).ok()?;
        Some(Trained { policy, seconds: None })
    }

    /// Trains a config unless it was trained before, and returns the outcome. A diverged training is a result
    /// too.
    pub(crate) fn outcome(&self, config: &Config) -> Result<Outcome, LabError> {
        match self.policy(config) {
            Ok(_) => {
                let path = self.folder.join(run_name(config)).join(METRICS);
                Ok(Outcome::Finished(Box::new(TrainingLog::read(&path).unwrap_or_default())))
            }
            Err(LabError::Run(RunError::Diverged(diverged))) => Ok(Outcome::Diverged(diverged.to_string())),
            Err(error) => Err(error),
        }
    }

    /// Whether the policy exists already.
    pub(crate) fn is_trained(&self, config: &Config) -> bool {
        self.folder.join(run_name(config)).join(POLICY).exists() || self.shipped(config).is_some()
    }

    /// The shipped policy of the task, if it was trained with this config.
    fn shipped(&self, config: &Config) -> Option<PolicyFile> {
        PolicyFile::read(&self.shipped_path(config), Tasks::built_in())
            .ok()
            .filter(|policy| policy.config.regardless_of_speed() == config.regardless_of_speed())
    }

    fn shipped_path(&self, config: &Config) -> PathBuf {
        self.shipped.join(format!("{}.safetensors", config.task))
    }

    pub(super) fn train(&self, config: &Config, folder: &Path, team: &Team) -> Result<(), LabError> {
        let begun = folder.join("config.toml").exists();
        let run = match begun {
            true => Run::resume(folder, config, &Inputs::default())?,
            false => Run::create(folder, config, Start::default())?,
        };
        let (task, seed, updates) = (&config.task, config.train.seed, config.train.updates);
        self.watch.now(&format!("drawing cases of {task}"));
        let cases = cached(
            config,
            seed,
            Pool::Training,
            config.data.pool,
            &self.threads,
            cache_folder().as_deref(),
            &|_, _| {},
        );
        let method = config.method_name();
        let share = training_work(config) / updates as f64;
        let training = format!("training {task} ({method}), seed {seed}");
        let watch = |done: Done<'_>| match done {
            Done::Prepared { parts, of } => {
                self.watch.now(&format!("{training}: part {parts} of {of} before the first update"));
            }
            Done::Updated(update, _) => {
                self.watch.now(&format!("{training}: {} of {updates}", update.update));
                self.watch.done(share);
            }
        };
        // experiments measure finished policies: nothing is chosen by validation
        match run.with_team(team).train(cases, None, &self.threads, watch, || self.watch.keep_going())? {
            Ended::Finished(_) => Ok(()),
            Ended::Stopped(_) => Err(LabError::Stopped),
        }
    }
}

/// Name of a training's folder. Configs that give the same policy have the same name; trainings of other code
/// have another name.
pub(super) fn run_name(config: &Config) -> String {
    run_name_of(numerics(), config)
}

fn run_name_of(numerics: &str, config: &Config) -> String {
    let method = config.method.as_ref().map_or(String::new(), |_| format!("{}-", config.method_name()));
    let all = format!("{numerics} {}", config.regardless_of_speed().to_toml());
    format!("{}-{method}{}-{}", config.task, config.train.seed, fingerprint(&all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_training_is_found_again_by_the_same_code_only() {
        let config = Config::preset("heat1d").unwrap();
        let slower = config.with_sets(&["train.memory_mb=1".to_string()]).unwrap();
        assert_eq!(run_name(&config), run_name(&slower));
        assert_ne!(run_name(&config), run_name_of("0123456789abcdef", &config));
    }
}
