//! `checkpoint.safetensors`: where a training stands, exactly.
//!
//! Parameters, both moments of the optimiser, the number of updates done and, where rollouts go on (`train.hold`), where those of the last
//! update ended. Random numbers need no state of their own:
//! what an update draws is a stream numbered by the update. A resumed run therefore repeats the bits of one that was
//! never interrupted.

use std::path::Path;

use cinoc_control::rollout::Ends;
use cinoc_control::{Config, Tasks};

use crate::files::{FileError, Tensors};
use crate::optimiser::Adam;
use crate::policy_file::{PolicyError, collect_params, insert_params, read_config};

const FORMAT: &str = "cinoc checkpoint 1";

/// State of a training between two updates.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The run's config.
    pub config: Config,
    /// Parameters of the policy.
    pub params: Vec<f32>,
    /// The optimiser; its step is the number of updates done.
    pub adam: Adam,
    /// Where the rollouts of the last update ended, if the next one goes on from there.
    pub ends: Option<Ends<f32>>,
}

impl Checkpoint {
    /// Writes the file, completely or not at all.
    pub fn write(&self, path: &Path) -> Result<(), FileError> {
        let mut file = Tensors::default();
        file.metadata.insert("format".into(), FORMAT.into());
        file.metadata.insert("config".into(), self.config.to_toml());
        file.insert("updates", &[1], vec![self.adam.step]);
        insert_params(&mut file, "", &self.config, &self.params);
        insert_params(&mut file, "adam.m.", &self.config, &self.adam.m);
        insert_params(&mut file, "adam.v.", &self.config, &self.adam.v);
        if let Some(Ends { z, xi }) = &self.ends {
            let batch = self.config.train.batch;
            file.insert("ends.z", &[batch, z.len() / batch], z.clone());
            file.insert("ends.xi", &[batch, xi.len() / batch], xi.clone());
        }
        file.write(path)
    }

    /// Reads a checkpoint of one of these tasks; refuses damaged files and numbers that are not finite.
    pub fn read(path: &Path, tasks: &Tasks) -> Result<Checkpoint, PolicyError> {
        let file = Tensors::read(path)?;
        let inner = || -> Result<Checkpoint, String> {
            let config = read_config(&file, FORMAT, tasks)?;
            file.check_finite().map_err(|error| error.to_string())?;
            let step = file.values::<u64>("updates").map_err(|error| error.to_string())?[0];
            let params = collect_params(&file, "", &config)?;
            let (m, v) =
                (collect_params(&file, "adam.m.", &config)?, collect_params(&file, "adam.v.", &config)?);
            let ends = match config.train.hold > 0.0 && step > 0 {
                true => Some(Ends { z: end(&file, "ends.z")?, xi: end(&file, "ends.xi")? }),
                false => None,
            };
            Ok(Checkpoint { config, params, adam: Adam { m, v, step }, ends })
        };
        inner().map_err(|reason| PolicyError::content(path, reason))
    }
}

fn end(file: &Tensors, name: &str) -> Result<Vec<f32>, String> {
    file.values::<f32>(name).map(<[f32]>::to_vec).map_err(|error| error.to_string())
}
