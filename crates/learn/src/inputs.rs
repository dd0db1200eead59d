//! Files that a training was given beside its settings: a policy to start from, cases to train and to
//! validate on.
//!
//! The run directory records them with their hashes (`inputs.json`), so that a training does not go on with
//! others.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::files::{FileError, fnv1a, write_atomically};

const INPUTS: &str = "inputs.json";

/// The files of a training; all of them may be missing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Inputs {
    /// The policy whose parameters it started with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub init: Option<InputFile>,
    /// The cases it trains on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cases: Option<InputFile>,
    /// The cases it is validated on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<InputFile>,
}

/// A file and a hash of its contents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputFile {
    /// Its path, as it was given.
    pub file: PathBuf,
    /// Hash of its contents.
    pub hash: String,
}

impl InputFile {
    /// Of a file as it is now.
    pub fn of(file: &Path) -> Result<InputFile, FileError> {
        let bytes = fs::read(file).map_err(|error| FileError::io("read", file, error))?;
        Ok(InputFile { file: file.to_path_buf(), hash: format!("{:016x}", fnv1a(&bytes)) })
    }
}

impl Inputs {
    /// What a run directory recorded; nothing where there is no record.
    pub fn read(folder: &Path) -> Result<Inputs, FileError> {
        let path = folder.join(INPUTS);
        if !path.exists() {
            return Ok(Inputs::default());
        }
        let text = fs::read_to_string(&path).map_err(|error| FileError::io("read", &path, error))?;
        serde_json::from_str(&text).map_err(|error| FileError::io("read", &path, error.into()))
    }

    /// Records them in a run directory that holds no run yet; without files there is no record.
    pub fn write(&self, folder: &Path) -> Result<(), FileError> {
        if *self == Inputs::default() {
            // left behind by a run that was killed while it began
            let _ = fs::remove_file(folder.join(INPUTS));
            return Ok(());
        }
        let text = serde_json::to_string_pretty(self).expect("paths and hashes are text");
        write_atomically(&folder.join(INPUTS), |file| file.write_all(text.as_bytes()))
    }

    /// Every file with the option that gives it.
    pub fn options(&self) -> [(&'static str, Option<&InputFile>); 3] {
        [
            ("--init", self.init.as_ref()),
            ("--cases", self.cases.as_ref()),
            ("--validation", self.validation.as_ref()),
        ]
    }

    /// The first way in which these differ from what a run began with, as a sentence.
    pub(crate) fn difference(&self, begun: &Inputs) -> Option<String> {
        let both = self.options().into_iter().zip(begun.options());
        both.filter_map(|((option, now), (_, then))| match (now, then) {
            (None, None) => None,
            (Some(now), Some(then)) if now.hash == then.hash => None,
            (Some(now), Some(_)) => {
                Some(format!("{option} {}: its contents have changed", now.file.display()))
            }
            (Some(now), None) => Some(format!("it began without {option} {}", now.file.display())),
            (None, Some(then)) => Some(format!("it began with {option} {}", then.file.display())),
        })
        .next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_back_and_knows_a_changed_file() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Inputs::read(folder.path()).unwrap(), Inputs::default());
        let path = folder.path().join("cases");
        fs::write(&path, "one").unwrap();
        let begun = Inputs { cases: Some(InputFile::of(&path).unwrap()), ..Inputs::default() };
        begun.write(folder.path()).unwrap();
        assert_eq!(Inputs::read(folder.path()).unwrap(), begun);
        assert_eq!(begun.difference(&begun), None);
        fs::write(&path, "two").unwrap();
        let changed = Inputs { cases: Some(InputFile::of(&path).unwrap()), ..Inputs::default() };
        assert!(changed.difference(&begun).unwrap().contains("have changed"));
        assert!(changed.difference(&Inputs::default()).unwrap().contains("without --cases"));
        assert!(Inputs::default().difference(&begun).unwrap().contains("with --cases"));
    }
}
