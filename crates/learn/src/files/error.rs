//! What can go wrong with a file, each in one line.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a file could not be written or read.
#[derive(Debug, Error)]
pub enum FileError {
    /// The operating system refused.
    #[error("cannot {action} {}: {reason}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason, and the remedy for the frequent ones.
        reason: String,
        /// The kind of the reason, for programs.
        kind: io::ErrorKind,
    },
    /// The file was read, but what is in it is wrong.
    #[error("cannot use {}: {error}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: TensorError,
    },
}

impl FileError {
    /// Explains an error of the operating system.
    pub fn io(action: &'static str, path: &Path, error: io::Error) -> FileError {
        let kind = error.kind();
        let reason = match kind {
            io::ErrorKind::NotFound if action == "read" => "not found; check the path".to_string(),
            io::ErrorKind::NotFound => "its directory does not exist; create it first".to_string(),
            io::ErrorKind::PermissionDenied => {
                "permission denied; check who may access the file and its directory".to_string()
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "no space left; free some and try again".to_string()
            }
            io::ErrorKind::FileTooLarge => {
                "files may not be as large here; raise the limit (ulimit -f) and try again".to_string()
            }
            _ => error.to_string(),
        };
        FileError::Io { action, path: path.to_path_buf(), reason, kind }
    }
}

/// What is wrong with the contents of a tensor file.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum TensorError {
    /// The file ends too early, or its header says so.
    #[error("cut short ({0}); copy it again or use an older one")]
    Truncated(String),
    /// The header makes no sense.
    #[error("damaged header, or not a safetensors file ({0}); copy it again or use an older one")]
    Header(String),
    /// The contents are not those that were written.
    #[error("damaged: its checksum is {computed}, not {stored}; copy it again or use an older one")]
    Checksum {
        /// In the file.
        stored: String,
        /// Of the contents.
        computed: String,
    },
    /// There is no such tensor.
    #[error("no tensor {name:?}; there are {known}")]
    Missing {
        /// What was asked for.
        name: String,
        /// All names, separated by commas.
        known: String,
    },
    /// A tensor with numbers of another type.
    #[error("tensor {name:?} has dtype {found}, must be {wanted}")]
    Dtype {
        /// The tensor.
        name: String,
        /// Its type.
        found: String,
        /// The type it should have.
        wanted: &'static str,
    },
    /// A number that is infinite or not a number.
    #[error("tensor {name:?} is {value} at index {index}, must be finite; the run that wrote it diverged")]
    NotFinite {
        /// The tensor.
        name: String,
        /// Index into its numbers, in row-major order.
        index: usize,
        /// The number.
        value: f64,
    },
}
