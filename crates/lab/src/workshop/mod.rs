//! Runs experiments: trains policies and measures points, each only once.
//!
//! An experiment lists the [`Point`]s it needs. The workshop takes every policy from the shipped ones or from
//! earlier trainings, or trains it. It measures every point that was not measured before. Policies and
//! measurements are kept in a folder, so an interrupted experiment can resume, and experiments share common
//! parts.

mod cost;
mod ledger;
mod measured;
mod point;
mod policies;
mod spread;

pub use cost::work;
pub use measured::{Measured, PerCase};
pub use point::{Point, Sample, failure, noise, refined};
pub(crate) use policies::Outcome;
pub use policies::Trained;
pub use spread::follow;

use std::cell::RefCell;
use std::path::PathBuf;

use cinoc_adjoint::Threads;
use cinoc_control::config::ConfigError;
use cinoc_learn::files::{FileError, fnv1a};
use cinoc_learn::memory::TooLarge;
use cinoc_learn::policy_file::PolicyError;
use cinoc_learn::run::RunError;
use cinoc_learn::team::Team;
use thiserror::Error;

use crate::results::ResultsError;
use crate::sweep::SweepError;
use ledger::Ledger;

/// Size of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// As large as published, or larger.
    Full,
    /// All parts, but very small: a test that it works. Its numbers mean nothing.
    Quick,
}

impl Size {
    /// One of two values.
    pub fn pick<T>(self, full: T, quick: T) -> T {
        match self {
            Size::Full => full,
            Size::Quick => quick,
        }
    }
}

/// Receives progress and can stop the work.
pub trait Watch {
    /// Work starts; its amount is in units of [`work`].
    fn begin(&self, what: &str, work: f64);
    /// A part of the work is done.
    fn done(&self, work: f64);
    /// The current activity.
    fn now(&self, what: &str);
    /// Whether to continue.
    fn keep_going(&self) -> bool;
}

/// Runs experiments in a folder.
pub struct Workshop<'a> {
    /// Size of the experiments.
    pub size: Size,
    /// Threads.
    pub threads: Threads,
    /// Processes that help.
    pub team: Team,
    /// Number of seeds of compared trainings; `None` for the default of the experiment.
    pub seeds: Option<usize>,
    /// Methods that are compared; `None` for all.
    pub methods: Option<Vec<String>>,
    /// Tasks that methods are compared on; `None` for all.
    pub tasks: Option<Vec<String>>,
    /// Rows of the main table; `None` for all.
    pub rows: Option<Vec<String>>,
    /// Folder of runs and measurements.
    pub folder: PathBuf,
    /// Folder of shipped policies.
    pub shipped: PathBuf,
    /// Receives progress.
    pub watch: &'a dyn Watch,
    ledger: RefCell<Ledger>,
}

/// Why an experiment could not be finished.
#[derive(Debug, Error)]
pub enum LabError {
    /// It was stopped; finished parts are kept.
    #[error("finished parts are kept; continue with the same command")]
    Stopped,
    /// There is no experiment with this name.
    #[error("no experiment is called {name}; there are {known}, and all")]
    Unknown {
        /// The given name.
        name: String,
        /// The known names.
        known: String,
    },
    /// Ranks have no folder in common.
    #[error(
        "rank {rank} does not see {folder}, where trainings and measurements are kept; name a folder with \
         --runs \
         that all machines share"
    )]
    NotShared {
        /// The first rank that does not see it.
        rank: usize,
        /// The folder of the leader.
        folder: String,
    },
    /// A policy cannot be measured along an axis.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// A measurement does not fit into memory.
    #[error(transparent)]
    Memory(#[from] TooLarge),
    /// Settings with which the policy cannot run.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A training failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A policy cannot be used.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Results cannot be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

impl<'a> Workshop<'a> {
    /// A workshop that keeps runs and measurements in `folder` and uses the policies in `shipped`.
    pub fn new(
        size: Size,
        threads: Threads,
        seeds: Option<usize>,
        folder: PathBuf,
        shipped: PathBuf,
        watch: &'a dyn Watch,
    ) -> Workshop<'a> {
        Workshop {
            size,
            threads,
            team: Team::alone(),
            seeds,
            methods: None,
            tasks: None,
            rows: None,
            folder,
            shipped,
            watch,
            ledger: RefCell::default(),
        }
    }

    /// Seeds of compared trainings.
    pub fn seeds(&self, full: u64) -> std::ops::Range<u64> {
        0..self.seeds.map_or(self.size.pick(full, 1), |seeds| seeds as u64)
    }

    /// Whether a method is compared.
    pub fn has_method(&self, name: &str) -> bool {
        self.methods.as_ref().is_none_or(|chosen| chosen.iter().any(|method| method == name))
    }

    /// Whether a task was chosen.
    pub fn has_task(&self, name: &str) -> bool {
        self.tasks.as_ref().is_none_or(|chosen| chosen.iter().any(|task| task == name))
    }

    /// Whether a row of the main table was chosen.
    pub fn has_row(&self, name: &str) -> bool {
        self.rows.as_ref().is_none_or(|chosen| chosen.iter().any(|row| row == name))
    }

    /// An error if the work was stopped.
    pub fn check(&self) -> Result<(), LabError> {
        if self.watch.keep_going() { Ok(()) } else { Err(LabError::Stopped) }
    }
}

/// A short name of a long text, the same on every machine.
fn fingerprint(text: &str) -> String {
    format!("{:016x}", fnv1a(text.as_bytes()))
}
