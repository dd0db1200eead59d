//! A run directory: what a training leaves behind, safe against interruption at any moment.
//!
//! | file | what |
//! |---|---|
//! | `config.toml` | the resolved config |
//! | `inputs.json` | files that the training was given, with hashes; if there are any |
//! | `metrics.jsonl` | a line per update |
//! | `events.out.tfevents.cinoc` | the same for TensorBoard |
//! | `checkpoint.safetensors` | where the training stands |
//! | `latest.safetensors` | the policy of the moment, of a method that keeps no checkpoint |
//! | `best.safetensors` | the policy with the lowest validation loss so far |
//! | `policy.safetensors` | the policy, once it is finished |
//! | `policy-N.safetensors` | the policy after N updates, of a training that was extended |
//!
//! Files are replaced, never written in place. Metrics that a killed run wrote after its last checkpoint are
//! cut off when it goes on, since it will write them again. A directory belongs to one process at a time,
//! which holds a lock on the config.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Instant;

use cinoc_adjoint::Threads;
use cinoc_control::config::ConfigError;
use cinoc_control::{Cases, Config, Tasks};
use thiserror::Error;

use crate::checkpoint::Checkpoint;
use crate::files::{FileError, write_atomically};
use crate::inputs::Inputs;
use crate::learner::{Learner, learner, through_physics};
pub use crate::metrics::METRICS;
use crate::metrics::Metrics;
use crate::policy_file::{PolicyError, PolicyFile};
use crate::team::Team;
use crate::train::{Diverged, Update};
use crate::validation::{Validated, Validation};
use cinoc_adjoint::optimiser::Adam;

/// Name of the finished policy in a run directory.
pub const POLICY: &str = "policy.safetensors";
/// Name of the policy with the lowest validation loss.
pub const BEST: &str = "best.safetensors";
/// Name of the checkpoint.
pub const CHECKPOINT: &str = "checkpoint.safetensors";
/// Name of the policy of the moment, of a method that keeps no checkpoint.
pub const LATEST: &str = "latest.safetensors";
/// Name of the config.
pub const CONFIG: &str = "config.toml";

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
        "{folder} holds a run with other settings ({difference}); resume it with the same ones, or choose \
         another --out"
    )]
    OtherRun {
        /// The directory.
        folder: String,
        /// First line that differs.
        difference: String,
    },
    /// The run there began with other files.
    #[error(
        "{folder} holds a run with other files ({difference}); resume it with the same ones, or choose \
         another \
         --out"
    )]
    OtherInputs {
        /// The directory.
        folder: String,
        /// First file that differs.
        difference: String,
    },
    /// Fewer updates than the run has.
    #[error(
        "{folder} holds a run of {updates} updates; train.updates is the new total: give {updates} or more"
    )]
    Fewer {
        /// The directory.
        folder: String,
        /// Updates of the run.
        updates: usize,
    },
    /// An extended run cannot be described.
    #[error(transparent)]
    Config(#[from] ConfigError),
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

/// What a training has done.
#[derive(Clone, Copy, Debug)]
pub enum Done<'a> {
    /// Some parts of what its first update needs.
    Prepared {
        /// Parts that are done.
        parts: usize,
        /// Parts that there are.
        of: usize,
    },
    /// An update, with its validation if there was one.
    Updated(&'a Update, Option<&'a Validated>),
}

/// What a run begins with, beside its config.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// Files it was given.
    pub inputs: Inputs,
    /// Its first parameters; drawn from the seed if there are none.
    pub params: Option<Vec<f32>>,
}

/// A run directory that is ready to train in.
///
/// ```
/// use cinoc_adjoint::Threads;
/// use cinoc_control::{Cases, Config, Pool};
/// use cinoc_learn::run::{Done, Ended, Run, Start};
///
/// let sets = ["train.updates=2", "train.batch=2", "time.steps=3", "data.pool=4"].map(String::from);
/// let config = Config::preset("heat1d").unwrap().with_sets(&sets).unwrap();
/// let pool = Cases::draw(&config, 0, Pool::Training, 4, &Threads::one(), &|_, _| {});
/// let folder = tempfile::tempdir().unwrap();
/// let run = Run::create(&folder.path().join("run"), &config, Start::default()).unwrap();
/// let watch = |done: Done| {
///     if let Done::Updated(update, _) = done {
///         println!("loss {}", update.loss);
///     }
/// };
/// let ended = run.train(pool, None, &Threads::one(), watch, || true).unwrap();
/// assert!(matches!(ended, Ended::Finished(path) if path.ends_with("policy.safetensors")));
/// ```
pub struct Run {
    folder: PathBuf,
    config: Config,
    /// Where to go on, if the run was begun before or begins with given parameters.
    checkpoint: Option<Checkpoint>,
    /// Who helps.
    team: Team,
    /// Keeps other processes out as long as it is open.
    _claim: File,
}

impl Run {
    /// Claims a new directory for a run.
    pub fn create(folder: &Path, config: &Config, start: Start) -> Result<Run, RunError> {
        if folder.join(CONFIG).exists() {
            return Err(RunError::Exists(folder.display().to_string()));
        }
        fs::create_dir_all(folder).map_err(|error| FileError::io("create", folder, error))?;
        start.inputs.write(folder)?;
        let checkpoint = start.params.map(|params| {
            let adam = Adam::new(params.len());
            Checkpoint { config: config.clone(), params, adam, ends: None }
        });
        // a run killed before its first update finds its first parameters here
        checkpoint.as_ref().map_or(Ok(()), |checkpoint| checkpoint.write(&folder.join(CHECKPOINT)))?;
        // last, because a directory with a config holds a run
        write_config(folder, config)?;
        let claim = claim(folder)?;
        let (folder, config) = (folder.to_path_buf(), config.clone());
        Ok(Run { folder, config, checkpoint, team: Team::alone(), _claim: claim })
    }

    /// Opens the directory of a run that was begun before. Config and files must be the same as then, but
    /// for what decides only its speed, and for `train.updates`: a larger total extends the run.
    pub fn resume(folder: &Path, config: &Config, inputs: &Inputs) -> Result<Run, RunError> {
        let path = folder.join(CONFIG);
        if !path.exists() {
            return Err(RunError::NothingToResume(folder.display().to_string()));
        }
        let saved = fs::read_to_string(&path).map_err(|error| FileError::io("read", &path, error))?;
        let tasks = Tasks::only(&config.task);
        let config = continued(folder, &saved, config, &tasks)?;
        if let Some(difference) = inputs.difference(&Inputs::read(folder)?) {
            return Err(RunError::OtherInputs { folder: folder.display().to_string(), difference });
        }
        let mut claimed = claim(folder)?;
        let path = folder.join(CHECKPOINT);
        // a run killed before its first checkpoint starts again from its seed: the same bits
        let checkpoint = match path.exists() {
            true => Some(Checkpoint { config: config.clone(), ..Checkpoint::read(&path, &tasks)? }),
            false => None,
        };
        if let Some(&before) = config.train.extended_at.last()
            && tasks.read_config(&saved).is_ok_and(|saved| saved.train.updates == before)
        {
            keep_earlier_policy(folder, before)?;
            write_config(folder, &config)?;
            // the new file has a lock of its own
            claimed = claim(folder)?;
        }
        let folder = folder.to_path_buf();
        Ok(Run { folder, config, checkpoint, team: Team::alone(), _claim: claimed })
    }

    /// Shares the work with the followers of a team.
    pub fn with_team(self, team: &Team) -> Run {
        Run { team: team.clone(), ..self }
    }

    /// The directory.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The config it trains with; it says at which updates the run was extended.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Trains to the end, or until `keep_going` says no. `watch` sees every update.
    pub fn train(
        self,
        pool: Cases,
        validation: Option<Validation>,
        threads: &Threads,
        mut watch: impl FnMut(Done<'_>),
        keep_going: impl Fn() -> bool,
    ) -> Result<Ended, RunError> {
        let (updates, every) = (self.config.train.updates, self.config.train.checkpoint_every);
        let mut trainer = learner(&self.config, self.checkpoint, pool, threads, &self.team);
        let policy = |trainer: &dyn Learner| PolicyFile {
            config: self.config.clone(),
            params: trainer.params().to_vec(),
        };
        let save = |trainer: &dyn Learner| match trainer.checkpoint() {
            Some(checkpoint) => checkpoint.write(&self.folder.join(CHECKPOINT)),
            None => policy(trainer).write(&self.folder.join(LATEST)),
        };
        let mut metrics = Metrics::open(&self.folder, trainer.updates())?;
        let mut start = Instant::now();
        while trainer.updates() < updates {
            if !keep_going() {
                metrics.flush()?;
                save(trainer.as_ref())?;
                return Ok(Ended::Stopped(trainer.updates()));
            }
            if let Some((parts, of)) = trainer.prepare() {
                watch(Done::Prepared { parts, of });
                continue;
            }
            let update = match trainer.update() {
                Ok(update) => update,
                Err(diverged) => {
                    metrics.flush()?;
                    save(trainer.as_ref())?;
                    return Err(diverged.into());
                }
            };
            let seconds = start.elapsed().as_secs_f64();
            let due = validation.as_ref().filter(|validation| validation.is_due(update.update, updates));
            let validated = due.map(|validation| validation.measure(trainer.params()));
            if let Some(validated) = validated.filter(|validated| validated.loss < metrics.best) {
                metrics.best = validated.loss;
                policy(trainer.as_ref()).write(&self.folder.join(BEST))?;
            }
            metrics.write(&update, seconds, validated.as_ref())?;
            watch(Done::Updated(&update, validated.as_ref()));
            if update.update % every == 0 || update.update == updates {
                metrics.flush()?;
                save(trainer.as_ref())?;
            }
            start = Instant::now();
        }
        let path = self.folder.join(POLICY);
        policy(trainer.as_ref()).write(&path)?;
        Ok(Ended::Finished(path))
    }
}

/// Whether a method can start from the parameters of another training, and go on from a checkpoint.
pub fn keeps_checkpoints(config: &Config) -> bool {
    through_physics(config)
}

fn write_config(folder: &Path, config: &Config) -> Result<(), FileError> {
    write_atomically(&folder.join(CONFIG), |file| file.write_all(config.to_toml().as_bytes()))
}

/// The policy of the updates before an extension is kept under another name: the directory holds no finished
/// policy until the extension is finished.
fn keep_earlier_policy(folder: &Path, updates: usize) -> Result<(), FileError> {
    let (from, to) = (folder.join(POLICY), folder.join(format!("policy-{updates}.safetensors")));
    if !from.exists() {
        return Ok(());
    }
    fs::rename(&from, &to).map_err(|error| FileError::io("write", &to, error))
}

/// The config to go on with: the one asked for, with the total of `saved` noted if it asks for more updates.
fn continued(folder: &Path, saved: &str, asked: &Config, tasks: &Tasks) -> Result<Config, RunError> {
    let mut config = asked.clone();
    let without_speed = |config: &Config| {
        let mut config = config.clone();
        config.train.memory_mb = 0;
        config
    };
    let (mut compared, mut begun) = (without_speed(asked), saved.to_string());
    // what cannot be read is compared as it stands, and told as a difference
    if let Ok(saved) = tasks.read_config(saved) {
        let (train, updates) = (&mut config.train, saved.train.updates);
        if train.extended_at.is_empty() {
            train.extended_at = saved.train.extended_at.clone();
        }
        if train.updates > updates && train.extended_at.last() != Some(&updates) {
            train.extended_at.push(updates);
        }
        if train.updates < updates {
            return Err(RunError::Fewer { folder: folder.display().to_string(), updates });
        }
        compared.train.updates = updates;
        compared.train.extended_at = saved.train.extended_at.clone();
        begun = without_speed(&saved).to_toml();
    }
    if let Some(difference) = first_difference(&begun, &compared.to_toml()) {
        return Err(RunError::OtherRun { folder: folder.display().to_string(), difference });
    }
    config.validate()?;
    Ok(config)
}

/// Takes a run directory for this process until the file is closed, which the system does for a killed
/// process too.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_resumed_with_more_memory_but_not_with_another_rate() {
        let with = |set: &str| Config::resolve("heat1d", None, &[set.to_string()]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        drop(Run::create(folder.path(), &with("train.memory_mb=24"), Start::default()).unwrap());
        assert!(Run::resume(folder.path(), &with("train.memory_mb=80"), &Inputs::default()).is_ok());
        let Err(RunError::OtherRun { difference, .. }) =
            Run::resume(folder.path(), &with("train.lr=0.5"), &Inputs::default())
        else {
            panic!("another training went on in this folder");
        };
        assert_eq!(difference, "lr = 0.003 there, lr = 0.5 here");
    }

    #[test]
    fn a_directory_belongs_to_one_run_at_a_time() {
        let config = Config::resolve("heat1d", None, &[]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let first = Run::create(folder.path(), &config, Start::default()).unwrap();
        assert!(matches!(Run::resume(folder.path(), &config, &Inputs::default()), Err(RunError::InUse(_))));
        drop(first);
        assert!(Run::resume(folder.path(), &config, &Inputs::default()).is_ok());
    }

    #[test]
    fn more_updates_extend_a_run_and_fewer_are_refused() {
        let with =
            |updates: usize| Config::resolve("heat1d", None, &[format!("train.updates={updates}")]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let resume = |updates: usize| Run::resume(folder.path(), &with(updates), &Inputs::default());
        let parts = |run: Run| run.config().train.extended_at.clone();
        drop(Run::create(folder.path(), &with(10), Start::default()).unwrap());
        fs::write(folder.path().join(POLICY), "finished").unwrap();
        assert_eq!(parts(resume(10).unwrap()), [0; 0]);
        assert_eq!(parts(resume(15).unwrap()), [10]);
        assert!(folder.path().join("policy-10.safetensors").exists());
        assert!(!folder.path().join(POLICY).exists());
        // the same command again goes on with the extension
        assert_eq!(parts(resume(15).unwrap()), [10]);
        assert_eq!(parts(resume(20).unwrap()), [10, 15]);
        assert!(matches!(resume(12), Err(RunError::Fewer { updates: 20, .. })));
    }
}
