//! A run directory: what a training leaves behind, safe against interruption at any moment.
//!
//! | file | what |
//! |---|---|
//! | `config.toml` | the resolved config |
//! | `metrics.jsonl` | a line per update |
//! | `events.out.tfevents.cinoc` | the same for TensorBoard |
//! | `checkpoint.safetensors` | where the training stands |
//! | `policy.safetensors` | the policy, once it is finished |
//!
//! Files are replaced, never written in place; metrics that a killed run wrote after its last checkpoint are cut off when it goes
//! on, since it will write them again. A directory belongs to one process at a time, which holds a lock on the config.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use cinoc_control::{Cases, Config, Tasks};
use serde_json::json;
use thiserror::Error;

use crate::checkpoint::Checkpoint;
use crate::events::EventWriter;
use crate::files::{FileError, write_atomically};
use crate::learner::{Learner, learner};
use crate::policy_file::{PolicyError, PolicyFile};
use crate::train::{Diverged, Update};

/// Name of the finished policy in a run directory.
pub const POLICY: &str = "policy.safetensors";
/// Name of the metrics in a run directory.
pub const METRICS: &str = "metrics.jsonl";
const CONFIG: &str = "config.toml";
const CHECKPOINT: &str = "checkpoint.safetensors";

/// Why a run could not be started or finished.
#[derive(Debug, Error)]
pub enum RunError {
    /// The directory holds a run already.
    #[error("{0} holds a run already; continue it with --resume or choose another --out")]
    Exists(String),
    /// Another process trains there.
    #[error("another process is training in {0}; wait for it, or choose another --out")]
    InUse(String),
    /// Nothing to go on with.
    #[error("{0} holds no run to resume; start one without --resume")]
    NothingToResume(String),
    /// The run there was another one.
    #[error(
        "{folder} holds a run with other settings ({difference}); resume it with the same ones, or choose another --out"
    )]
    OtherRun {
        /// The directory.
        folder: String,
        /// First line that differs.
        difference: String,
    },
    /// A file cannot be written or read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A checkpoint cannot be used.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The training left the finite numbers.
    #[error(transparent)]
    Diverged(#[from] Diverged),
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// All updates are done; the policy is in its file.
    Finished(PathBuf),
    /// It was asked to stop after this many updates; a checkpoint is saved.
    Stopped(usize),
}

/// A run directory that is ready to train in.
///
/// ```
/// use cinoc_adjoint::Threads;
/// use cinoc_control::{Cases, Config, Pool};
/// use cinoc_learn::run::{Ended, Run};
///
/// let sets = ["train.updates=2", "train.batch=2", "time.steps=3", "data.pool=4"].map(String::from);
/// let config = Config::preset("heat1d").unwrap().with_sets(&sets).unwrap();
/// let pool = Cases::draw(&config, 0, Pool::Training, 4, &Threads::new(1), &|_, _| {});
/// let folder = tempfile::tempdir().unwrap();
/// let run = Run::create(&folder.path().join("run"), &config).unwrap();
/// let ended = run.train(pool, 1, |update| println!("loss {}", update.loss), || true).unwrap();
/// assert!(matches!(ended, Ended::Finished(path) if path.ends_with("policy.safetensors")));
/// ```
pub struct Run {
    folder: PathBuf,
    config: Config,
    /// Where to go on, if the run was begun before.
    checkpoint: Option<Checkpoint>,
    /// Keeps other processes out as long as it is open.
    _claim: File,
}

impl Run {
    /// Claims a new directory for a run.
    pub fn create(folder: &Path, config: &Config) -> Result<Run, RunError> {
        if folder.join(CONFIG).exists() {
            return Err(RunError::Exists(folder.display().to_string()));
        }
        fs::create_dir_all(folder).map_err(|error| FileError::io("create", folder, error))?;
        write_atomically(&folder.join(CONFIG), |file| file.write_all(config.to_toml().as_bytes()))?;
        let claim = claim(folder)?;
        Ok(Run { folder: folder.to_path_buf(), config: config.clone(), checkpoint: None, _claim: claim })
    }

    /// Opens the directory of an interrupted run, which must have been started with the same config, but for what decides only its speed.
    pub fn resume(folder: &Path, config: &Config) -> Result<Run, RunError> {
        let path = folder.join(CONFIG);
        if !path.exists() {
            return Err(RunError::NothingToResume(folder.display().to_string()));
        }
        let saved = fs::read_to_string(&path).map_err(|error| FileError::io("read", &path, error))?;
        // what cannot be read is compared as it stands, and told as a difference
        let tasks = Tasks::only(&config.task);
        let begun = tasks.read_config(&saved).map_or(saved, |begun| begun.regardless_of_speed().to_toml());
        if let Some(difference) = first_difference(&begun, &config.regardless_of_speed().to_toml()) {
            return Err(RunError::OtherRun { folder: folder.display().to_string(), difference });
        }
        let claim = claim(folder)?;
        let path = folder.join(CHECKPOINT);
        // a run killed before its first checkpoint starts again from its seed: the same bits
        let checkpoint = if path.exists() { Some(Checkpoint::read(&path, &tasks)?) } else { None };
        Ok(Run { folder: folder.to_path_buf(), config: config.clone(), checkpoint, _claim: claim })
    }

    /// The directory.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Trains to the end, or until `keep_going` says no. `watch` sees every update.
    pub fn train(
        self,
        pool: Cases,
        threads: usize,
        mut watch: impl FnMut(&Update),
        keep_going: impl Fn() -> bool,
    ) -> Result<Ended, RunError> {
        let (updates, every) = (self.config.train.updates, self.config.train.checkpoint_every);
        let mut trainer = learner(&self.config, self.checkpoint, pool, threads);
        let save = |trainer: &dyn Learner| match trainer.checkpoint() {
            Some(checkpoint) => checkpoint.write(&self.folder.join(CHECKPOINT)),
            None => Ok(()),
        };
        let mut metrics = Metrics::open(&self.folder, trainer.updates())?;
        while trainer.updates() < updates {
            if !keep_going() {
                metrics.flush()?;
                save(trainer.as_ref())?;
                return Ok(Ended::Stopped(trainer.updates()));
            }
            let start = Instant::now();
            let update = match trainer.update() {
                Ok(update) => update,
                Err(diverged) => {
                    metrics.flush()?;
                    save(trainer.as_ref())?;
                    return Err(diverged.into());
                }
            };
            metrics.write(&update, start.elapsed().as_secs_f64())?;
            watch(&update);
            if update.update % every == 0 || update.update == updates {
                metrics.flush()?;
                save(trainer.as_ref())?;
            }
        }
        let path = self.folder.join(POLICY);
        PolicyFile { config: self.config, params: trainer.params().to_vec() }.write(&path)?;
        Ok(Ended::Finished(path))
    }
}

/// Takes a run directory for this process until the file is closed, which the system does for a killed process too.
fn claim(folder: &Path) -> Result<File, RunError> {
    let path = folder.join(CONFIG);
    let file = File::open(&path).map_err(|error| FileError::io("read", &path, error))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(RunError::InUse(folder.display().to_string())),
        // a file system without locks is no reason not to train
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

fn first_difference(saved: &str, wanted: &str) -> Option<String> {
    if saved == wanted {
        return None;
    }
    let differs = saved.lines().zip(wanted.lines()).find(|(a, b)| a != b);
    Some(differs.map_or("their length".to_string(), |(a, b)| format!("{a} there, {b} here")))
}

/// `metrics.jsonl` and the TensorBoard events.
struct Metrics {
    path: PathBuf,
    lines: Vec<u8>,
    events: EventWriter,
}

impl Metrics {
    /// Opens both, cut to the first `done` updates.
    fn open(folder: &Path, done: usize) -> Result<Metrics, RunError> {
        let path = folder.join(METRICS);
        let old = fs::read_to_string(&path).unwrap_or_default();
        let kept: String = old.split_inclusive('\n').take(done).collect();
        write_atomically(&path, |file| file.write_all(kept.as_bytes()))?;
        Ok(Metrics { path, lines: Vec::new(), events: EventWriter::append(folder, done as u64 + 1)? })
    }

    fn write(&mut self, update: &Update, seconds: f64) -> Result<(), RunError> {
        let terms: serde_json::Map<_, _> =
            update.terms.iter().map(|(name, value)| (name.to_string(), json!(value))).collect();
        let line = json!({
            "update": update.update, "loss": update.loss, "terms": terms, "gradient_norm": update.gradient_norm,
            "parameter_norm": update.parameter_norm, "lr": update.rate, "steps": update.steps, "updates_per_s": 1.0 / seconds,
        });
        self.lines.extend_from_slice(line.to_string().as_bytes());
        self.lines.push(b'\n');
        let step = update.update as u64;
        for (tag, value) in [
            ("loss/total", update.loss),
            ("gradient_norm", update.gradient_norm),
            ("parameter_norm", update.parameter_norm),
            ("lr", update.rate),
            ("updates_per_s", 1.0 / seconds),
        ] {
            self.events.scalar(tag, step, value)?;
        }
        for (name, value) in &update.terms {
            self.events.scalar(&format!("loss/{name}"), step, *value)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), RunError> {
        let append = || {
            let mut file = fs::OpenOptions::new().append(true).open(&self.path)?;
            file.write_all(&self.lines)
        };
        append().map_err(|error| FileError::io("write", &self.path, error))?;
        self.lines.clear();
        Ok(self.events.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_resumed_with_more_memory_but_not_with_another_rate() {
        let with = |set: &str| Config::resolve("heat1d", None, &[set.to_string()]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        drop(Run::create(folder.path(), &with("train.memory_mb=24")).unwrap());
        assert!(Run::resume(folder.path(), &with("train.memory_mb=80")).is_ok());
        let Err(RunError::OtherRun { difference, .. }) = Run::resume(folder.path(), &with("train.lr=0.5"))
        else {
            panic!("another training went on in this folder");
        };
        assert_eq!(difference, "lr = 0.002 there, lr = 0.5 here");
    }

    #[test]
    fn a_directory_belongs_to_one_run_at_a_time() {
        let config = Config::resolve("heat1d", None, &[]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let first = Run::create(folder.path(), &config).unwrap();
        assert!(matches!(Run::resume(folder.path(), &config), Err(RunError::InUse(_))));
        drop(first);
        assert!(Run::resume(folder.path(), &config).is_ok());
    }
}
