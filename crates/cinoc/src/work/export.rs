//! A policy in a format of others.

use std::path::Path;

use cinoc_learn::onnx::{Model, Part};
use cinoc_learn::policy_file::PolicyFile;

use super::subject::changed;
use crate::failure::Failure;

/// Writes a part of a policy, as it is used with some settings changed, into an ONNX file.
pub fn export_onnx(policy: &PolicyFile, sets: &[String], part: Part, path: &Path) -> Result<Model, Failure> {
    let config = changed(&policy.config, sets)?;
    let model = Model::new(policy, &config, part)?;
    model.write(path).map_err(|error| Failure::Run(error.to_string()))?;
    Ok(model)
}
