//! Provenance of a results file: code, policies, settings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cinoc_learn::files::{FileError, fnv1a};
use serde::{Deserialize, Serialize};

/// Identity of the numbers that this code computes. Code that trains and measures the same bits has the same
/// identity, however it is written (`tests/numerics.rs`). Presets are not part of it: every measurement is
/// identified by all its settings.
pub fn numerics() -> &'static str {
    let key = "identity = \"";
    let line = include_str!("../../numerics.toml").lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|rest| rest.strip_suffix('"')).expect("numerics.toml names an identity")
}

/// Provenance of results. Hashes are FNV-1a, 64 bits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The code: version of the project and identity of its numbers ([`numerics`]).
    pub version: String,
    /// Versions that produced the parts kept from an earlier file.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub earlier: BTreeSet<String>,
    /// Hash of all settings of all trainings and measurements.
    pub settings: String,
    /// Hash of every policy file that was used, by name.
    pub policies: BTreeMap<String, String>,
}

/// Whether results were produced by this code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// By this code.
    Current,
    /// At least partly by other code.
    Stale,
    /// Produced before this was recorded.
    Unrecorded,
}

/// What marks a policy of the project among the policies of a results file.
const SHIPPED: &str = " (shipped)";

/// The name of a task's shipped policy in results.
pub(crate) fn shipped_name(task: &str) -> String {
    format!("{task}{SHIPPED}")
}

/// Hash of a file's contents.
pub(crate) fn file_hash(path: &Path) -> Result<String, FileError> {
    let bytes = std::fs::read(path).map_err(|error| FileError::io("read", path, error))?;
    Ok(format!("{:016x}", fnv1a(&bytes)))
}

/// The name of this code in results.
pub fn version() -> String {
    format!("{}+{}", env!("CARGO_PKG_VERSION"), numerics())
}

impl Provenance {
    /// The provenance of new results together with parts kept from an earlier file.
    pub(super) fn beside(mut self, earlier: Option<Provenance>) -> Provenance {
        let Some(earlier) = earlier else {
            self.earlier.insert("code before versions were recorded".to_string());
            return self;
        };
        self.earlier.extend(earlier.earlier);
        if earlier.version != self.version {
            self.earlier.insert(earlier.version);
        }
        for (name, hash) in earlier.policies {
            self.policies.entry(name).or_insert(hash);
        }
        for settings in earlier.settings.split(", ") {
            if !self.settings.contains(settings) {
                self.settings = format!("{}, {settings}", self.settings);
            }
        }
        self
    }

    pub(super) fn state(&self) -> State {
        let current = version();
        let same = self.version == current && self.earlier.iter().all(|earlier| *earlier == current);
        if same { State::Current } else { State::Stale }
    }

    /// Tasks whose policy in the folder `shipped` is not the one that was measured.
    pub(super) fn replaced(&self, shipped: &Path) -> Vec<&str> {
        let measured =
            self.policies.iter().filter_map(|(name, hash)| Some((name.strip_suffix(SHIPPED)?, hash)));
        let replaced = measured.filter(|(task, hash)| {
            file_hash(&shipped.join(format!("{task}.safetensors"))).is_ok_and(|now| now != **hash)
        });
        replaced.map(|(task, _)| task).collect()
    }

    /// As a sentence of the page.
    pub(super) fn told(&self) -> String {
        let parts = match self.earlier.len() {
            0 => String::new(),
            _ => format!(
                " (parts of it by {})",
                self.earlier.iter().map(String::as_str).collect::<Vec<_>>().join(" and ")
            ),
        };
        let policies = match self.policies.len() {
            0 => "no policies".to_string(),
            1 => "one policy".to_string(),
            count => format!("{count} policies"),
        };
        format!(
            "Made by version {}{parts}, settings {}, {policies} (hashes in the JSON file).",
            self.version, self.settings
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(version: &str) -> Provenance {
        Provenance { version: version.to_string(), settings: "1".to_string(), ..Provenance::default() }
    }

    #[test]
    fn results_of_other_code_are_stale_also_in_part() {
        assert_eq!(made(&version()).state(), State::Current);
        assert_eq!(made("0.0.1+0").state(), State::Stale);
        let in_part = made(&version()).beside(Some(made("0.0.1+0")));
        assert_eq!(in_part.state(), State::Stale);
        assert!(in_part.told().contains("(parts of it by 0.0.1+0)"), "{}", in_part.told());
        assert_eq!(made(&version()).beside(Some(made(&version()))).state(), State::Current);
        assert_eq!(made(&version()).beside(None).state(), State::Stale);
        // partly stale results stay stale when another part is measured again
        assert_eq!(made(&version()).beside(Some(in_part)).state(), State::Stale);
    }

    #[test]
    fn a_replaced_policy_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("heat1d.safetensors");
        std::fs::write(&file, "one").unwrap();
        let mut provenance = made(&version());
        provenance.policies.insert(shipped_name("heat1d"), file_hash(&file).unwrap());
        provenance.policies.insert(shipped_name("not here"), "0".to_string());
        provenance.policies.insert("heat1d-1-00".to_string(), "0".to_string());
        assert!(provenance.replaced(folder.path()).is_empty());
        std::fs::write(&file, "another").unwrap();
        assert_eq!(provenance.replaced(folder.path()), ["heat1d"]);
    }

    #[test]
    fn the_numbers_have_an_identity() {
        assert!(
            numerics().len() == 16 && numerics().chars().all(|c| c.is_ascii_hexdigit()),
            "{}",
            numerics()
        );
    }
}
