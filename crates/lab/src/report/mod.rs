//! `report.md`: what was trained, how good it is, and how to reproduce it.
//!
//! A report contains no date, no timing of the evaluation, and paths only as they were given in a command:
//! the same command gives the same text.

mod commands;
mod plates;
mod tables;
mod text;

pub use commands::{shell_word, training_command};

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cinoc_control::{Cases, Config};
use cinoc_learn::evaluate::{Evaluation, Rollouts};
use cinoc_learn::files::{FileError, write_atomically};
use cinoc_learn::inputs::Inputs;
use cinoc_learn::policy_file::PolicyFile;
use thiserror::Error;

use crate::figures::{self, Format, SaveError};
use crate::training_log::TrainingLog;
use plates::Plate;

/// Name of a report in its folder.
pub const REPORT: &str = "report.md";
/// Folder of the figures, in that of the report.
const FIGURES: &str = "figures";

/// Why a report could not be written.
#[derive(Debug, Error)]
pub enum ReportError {
    /// A folder cannot be made or a file cannot be read.
    #[error("cannot {action} {}: {error}", path.display())]
    Io {
        /// The failed action, as a verb.
        action: &'static str,
        /// The folder or file.
        path: PathBuf,
        /// The reason of the operating system.
        error: io::Error,
    },
    /// The report cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A figure cannot be drawn or written.
    #[error(transparent)]
    Figure(#[from] SaveError),
}

/// Which parameters of a run a policy has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parameters {
    /// Those of the last update.
    #[default]
    Last,
    /// Those with the lowest validation loss.
    Best,
    /// Those of the checkpoint of a run that is not finished, after so many updates.
    Checkpoint(usize),
    /// Those of a run that is not finished, of a method that keeps no checkpoint.
    Latest,
}

/// The content of a report.
pub struct Report<'a> {
    /// The policy, with the config it was trained with.
    pub policy: &'a PolicyFile,
    /// The config it was evaluated with: other numbers of agents, other grids, noise or failures.
    pub config: &'a Config,
    /// Summary of the rollouts.
    pub evaluation: &'a Evaluation,
    /// Every rollout.
    pub rollouts: &'a Rollouts,
    /// The cases that were rolled out.
    pub cases: &'a Cases,
    /// Description of the cases, such as "100 held-out cases".
    pub cases_label: &'a str,
    /// `metrics.jsonl` of the training, if it exists.
    pub metrics: Option<&'a Path>,
    /// Size and resolution of the figures.
    pub format: Format,
    /// The commands that make the report again, in their order.
    pub commands: &'a [String],
    /// Which parameters of the run these are.
    pub parameters: Parameters,
    /// Files that the training was given.
    pub inputs: &'a Inputs,
}

impl Report<'_> {
    /// Writes `report.md` and its figures into a folder, which is created if necessary. Returns the path of
    /// the report.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, ReportError> {
        let log = match self.metrics {
            Some(path) => TrainingLog::read(path).map_err(|error| io_error("read", path, error))?,
            None => TrainingLog::default(),
        };
        let plates = self.write_figures(&folder.join(FIGURES), &log)?;
        let text = self.text(&log, &plates);
        let path = folder.join(REPORT);
        write_atomically(&path, |file| file.write_all(text.as_bytes()))?;
        Ok(path)
    }

    fn write_figures(&self, folder: &Path, log: &TrainingLog) -> Result<Vec<Plate>, ReportError> {
        fs::create_dir_all(folder).map_err(|error| io_error("create", folder, error))?;
        let plates = self.plates(log);
        for plate in &plates {
            figures::save(&plate.figure, folder, plate.name, self.format.dpi)?;
        }
        Ok(plates)
    }
}

fn io_error(action: &'static str, path: &Path, error: io::Error) -> ReportError {
    ReportError::Io { action, path: path.to_path_buf(), error }
}
