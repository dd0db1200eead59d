//! Where experiments are done: policies are trained, points are measured, and nothing is done twice.
//!
//! An experiment says which [`Point`]s it needs. The workshop finds every policy among the shipped ones or
//! among those it trained before, else trains it; it measures every point it has not measured before. Both
//! are kept in a folder, so that an experiment that was interrupted goes on where it was, and experiments
//! share what they have in common.

mod cost;
mod ledger;
mod measured;
mod point;
mod policies;

pub use cost::work;
pub use measured::{Measured, PerCase};
pub use point::{Point, Sample, failure, noise, refined};
pub(crate) use policies::Outcome;
pub use policies::Trained;

use std::cell::RefCell;
use std::path::PathBuf;

use cinoc_control::config::ConfigError;
use cinoc_learn::files::{FileError, fnv1a};
use cinoc_learn::policy_file::PolicyError;
use cinoc_learn::run::RunError;
use thiserror::Error;

use crate::results::ResultsError;
use ledger::Ledger;

/// How much is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// As published, or more.
    Full,
    /// Everything, but little of it: to see that it works. Its numbers mean nothing.
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

/// Who is told what goes on, and may ask to stop.
pub trait Watch {
    /// Work is about to begin: how much of it, in units of [`work`].
    fn begin(&self, what: &str, work: f64);
    /// Some of it is done.
    fn done(&self, work: f64);
    /// What is being done now.
    fn now(&self, what: &str);
    /// Whether to go on.
    fn keep_going(&self) -> bool;
}

/// A place to do experiments in.
pub struct Workshop<'a> {
    /// How much is done.
    pub size: Size,
    /// Threads.
    pub threads: usize,
    /// Seeds of every training that is compared; `None` for what the experiment asks for.
    pub seeds: Option<usize>,
    /// Methods that are compared; `None` for all.
    pub methods: Option<Vec<String>>,
    /// Tasks that methods are compared on; `None` for all.
    pub tasks: Option<Vec<String>>,
    /// Folder of runs and measurements.
    pub folder: PathBuf,
    /// Folder of shipped policies.
    pub shipped: PathBuf,
    /// Who watches.
    pub watch: &'a dyn Watch,
    ledger: RefCell<Ledger>,
}

/// Why an experiment could not be finished.
#[derive(Debug, Error)]
pub enum LabError {
    /// It was asked to stop; what is done is kept.
    #[error("what is done is kept; go on with the same command")]
    Stopped,
    /// Nothing is called that.
    #[error("no experiment is called {name}; there are {known}, and all")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A circumstance that the policy cannot be in.
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
    /// A workshop that keeps runs and measurements in `folder` and knows the policies in `shipped`.
    pub fn new(
        size: Size,
        threads: usize,
        seeds: Option<usize>,
        folder: PathBuf,
        shipped: PathBuf,
        watch: &'a dyn Watch,
    ) -> Workshop<'a> {
        Workshop {
            size,
            threads,
            seeds,
            methods: None,
            tasks: None,
            folder,
            shipped,
            watch,
            ledger: RefCell::default(),
        }
    }

    /// Seeds of a training that is compared.
    pub fn seeds(&self, full: u64) -> std::ops::Range<u64> {
        0..self.seeds.map_or(self.size.pick(full, 1), |seeds| seeds as u64)
    }

    /// Whether a method is one of those compared.
    pub fn has_method(&self, name: &str) -> bool {
        self.methods.as_ref().is_none_or(|chosen| chosen.iter().any(|method| method == name))
    }

    /// Whether a task is one of those asked for.
    pub fn has_task(&self, name: &str) -> bool {
        self.tasks.as_ref().is_none_or(|chosen| chosen.iter().any(|task| task == name))
    }

    /// Goes on unless somebody asked to stop.
    pub fn check(&self) -> Result<(), LabError> {
        if self.watch.keep_going() { Ok(()) } else { Err(LabError::Stopped) }
    }
}

/// A short name of something long, the same on every machine.
fn fingerprint(text: &str) -> String {
    format!("{:016x}", fnv1a(text.as_bytes()))
}
