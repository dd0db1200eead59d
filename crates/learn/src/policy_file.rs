//! `policy.safetensors`: a trained policy and all that is needed to use it anywhere.
//!
//! Every parameter is a tensor of its own name; the metadata holds the complete config of the run that
//! trained it. The number of agents in that config is the one it was trained with, not a property of the
//! policy.

use std::path::Path;

use cinoc_control::config::Around;
use cinoc_control::policy::layers;
use cinoc_control::{Config, Tasks};
use serde_json::json;
use thiserror::Error;

use crate::files::{FileError, TensorError, Tensors};

const FORMAT: &str = "cinoc policy 1";

/// A policy as it is stored.
///
/// ```
/// use cinoc_control::policy::param_count;
/// use cinoc_control::{Config, Tasks};
/// use cinoc_learn::policy_file::PolicyFile;
///
/// let config = Config::preset("heat1d").unwrap();
/// let policy = PolicyFile { params: vec![0.0; param_count(&config)], config };
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("policy.safetensors");
/// policy.write(&path).unwrap();
/// assert_eq!(PolicyFile::read(&path, Tasks::built_in()).unwrap(), policy);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyFile {
    /// How it was trained.
    pub config: Config,
    /// Its parameters, in the order of [`layers`].
    pub params: Vec<f32>,
}

/// Why a policy or checkpoint cannot be used.
#[derive(Debug, Error)]
pub enum PolicyError {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file holds something else.
    #[error("cannot use {path}: {reason}")]
    Content {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl PolicyError {
    pub(crate) fn content(path: &Path, reason: impl ToString) -> PolicyError {
        PolicyError::Content { path: path.display().to_string(), reason: reason.to_string() }
    }
}

/// Name and shape of every parameter tensor.
pub(crate) fn tensor_shapes(config: &Config) -> Vec<(String, Vec<usize>)> {
    layers(config)
        .iter()
        .flat_map(|layer| {
            [
                (format!("{}.w", layer.name), vec![layer.inputs, layer.outputs]),
                (format!("{}.b", layer.name), vec![layer.outputs]),
            ]
        })
        .collect()
}

/// Adds a parameter-like vector as one tensor per parameter, each name behind `prefix`.
pub(crate) fn insert_params(file: &mut Tensors, prefix: &str, config: &Config, params: &[f32]) {
    let mut rest = params;
    for (name, shape) in tensor_shapes(config) {
        let (these, others) = rest.split_at(shape.iter().product());
        file.insert(&format!("{prefix}{name}"), &shape, these.to_vec());
        rest = others;
    }
}

/// Collects what [`insert_params`] wrote.
pub(crate) fn collect_params(file: &Tensors, prefix: &str, config: &Config) -> Result<Vec<f32>, String> {
    let mut params = Vec::new();
    for (name, shape) in tensor_shapes(config) {
        let name = format!("{prefix}{name}");
        let describe = |error: TensorError| error.to_string();
        let found = &file.tensor(&name).map_err(describe)?.shape;
        if *found != shape {
            return Err(format!("tensor {name:?} has shape {found:?}, its config asks for {shape:?}"));
        }
        params.extend_from_slice(file.values::<f32>(&name).map_err(describe)?);
    }
    Ok(params)
}

/// The config in a file's metadata, if the file is of the wanted format.
pub(crate) fn read_config(file: &Tensors, format: &str, tasks: &Tasks) -> Result<Config, String> {
    let entry = |key: &str| file.metadata.get(key).map(String::as_str);
    if entry("format") != Some(format) {
        let found = entry("format").unwrap_or("something else");
        return Err(format!("it holds {found}, must be {format}"));
    }
    let text = entry("config").ok_or("its metadata has no config")?;
    tasks.read_config(text).map_err(|error| format!("its config: {error}"))
}

/// Settings that decide the sizes of a network, where two configs have different ones: `KEY is A there, B
/// here`.
fn network_differences(there: &Config, here: &Config) -> Vec<String> {
    let of_network = |config: &Config| {
        let (observe, policy) = (&config.observe, &config.policy);
        let mut keys = vec![
            ("the number of axes", json!(config.task.dims)),
            ("the number of fields", json!(config.task.fields.len())),
            ("whether agents move", json!(config.mobile())),
            ("the method", json!(config.method_name())),
            ("method.hidden", json!(config.method.as_ref().map(|method| &method.hidden))),
            ("observe.gradient", json!(observe.gradient)),
            ("observe.target", json!(observe.target)),
            ("observe.crowd", json!(observe.crowd)),
            ("policy.fusion", json!(policy.fusion)),
            ("policy.trunk_base", json!(policy.trunk_base)),
            ("policy.conv", json!(policy.conv)),
        ];
        keys.extend(match observe.around {
            Around::Window { points, .. } => vec![("observe.points", json!(points))],
            Around::Patch { patch, view } => {
                vec![("observe.patch", json!(patch)), ("observe.view", json!(view))]
            }
        });
        if config.centralised() {
            keys.extend([("agents", json!(config.agents)), ("grid.n", json!(config.grid.n))]);
        }
        keys
    };
    let (there, here) = (of_network(there), of_network(here));
    let value = |key: &str| here.iter().find(|(name, _)| *name == key).map(|(_, value)| value);
    there
        .iter()
        .filter_map(|(key, there)| Some((key, there, value(key)?)))
        .filter(|(_, there, here)| there != here)
        .map(|(key, there, here)| format!("{key} is {there} there, {here} here"))
        .collect()
}

impl PolicyFile {
    /// The bytes of the file; the same policy always gives the same bytes.
    pub fn to_tensors(&self) -> Tensors {
        let mut file = Tensors::default();
        file.metadata.insert("format".into(), FORMAT.into());
        file.metadata.insert("config".into(), self.config.to_toml());
        insert_params(&mut file, "", &self.config, &self.params);
        file
    }

    /// Its parameters as those of another config, whose network must have the same sizes. The error says
    /// which settings make the difference.
    pub fn params_for(&self, config: &Config) -> Result<Vec<f32>, String> {
        if tensor_shapes(&self.config) == tensor_shapes(config) {
            return Ok(self.params.clone());
        }
        let differing = network_differences(&self.config, config);
        Err(match differing.is_empty() {
            false => differing.join(", "),
            true => format!("it is for {}, this is {}", self.config.task, config.task),
        })
    }

    /// Writes the file, completely or not at all.
    pub fn write(&self, path: &Path) -> Result<(), FileError> {
        self.to_tensors().write(path)
    }

    /// Reads a policy for one of these tasks; refuses damaged files and parameters that are not finite.
    pub fn read(path: &Path, tasks: &Tasks) -> Result<PolicyFile, PolicyError> {
        PolicyFile::of_tensors(&Tensors::read(path)?, path, tasks)
    }

    /// The same from memory; errors call it `path`.
    pub fn from_bytes(bytes: &[u8], path: &Path, tasks: &Tasks) -> Result<PolicyFile, PolicyError> {
        let file =
            Tensors::from_bytes(bytes).map_err(|error| PolicyError::content(path, error.to_string()))?;
        PolicyFile::of_tensors(&file, path, tasks)
    }

    /// The same of the contents of a file, which errors call `path`.
    pub fn of_tensors(file: &Tensors, path: &Path, tasks: &Tasks) -> Result<PolicyFile, PolicyError> {
        let inner = || -> Result<PolicyFile, String> {
            let config = read_config(file, FORMAT, tasks)?;
            file.check_finite().map_err(|error| error.to_string())?;
            let params = collect_params(file, "", &config)?;
            Ok(PolicyFile { config, params })
        };
        inner().map_err(|reason| PolicyError::content(path, reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cinoc_control::policy::initial_params;
    use cinoc_control::random::{Purpose, stream};

    fn policy(task: &str) -> PolicyFile {
        let config = Config::preset(task).unwrap();
        let params = initial_params(&config, &mut stream(1, Purpose::Parameters, 0))
            .iter()
            .map(|&p| p as f32)
            .collect();
        PolicyFile { config, params }
    }

    #[test]
    fn a_policy_survives_its_file() {
        let folder = tempfile::tempdir().unwrap();
        for task in ["fkpp1d", "ks1d"] {
            let path = folder.path().join(task);
            policy(task).write(&path).unwrap();
            assert_eq!(PolicyFile::read(&path, Tasks::built_in()).unwrap(), policy(task));
        }
    }

    #[test]
    fn other_files_are_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p");
        let mut wrong = policy("fkpp1d").to_tensors();
        wrong.metadata.remove("format");
        wrong.write(&path).unwrap();
        assert!(
            PolicyFile::read(&path, Tasks::built_in())
                .unwrap_err()
                .to_string()
                .contains("must be cinoc policy")
        );

        let mut nan = policy("fkpp1d");
        nan.params[7] = f32::NAN;
        nan.write(&path).unwrap();
        assert!(PolicyFile::read(&path, Tasks::built_in()).unwrap_err().to_string().contains("index 7"));

        let mut shape = policy("fkpp1d").to_tensors();
        shape.insert("head.b", &[3], vec![0.0f32; 3]);
        shape.write(&path).unwrap();
        assert!(PolicyFile::read(&path, Tasks::built_in()).unwrap_err().to_string().contains("head.b"));
    }
}
