//! `checkpoint.safetensors`: where a training stands, exactly.
//!
//! Parameters, both moments of the optimiser, the number of updates done and, where rollouts go on
//! (`train.hold`), where those of the last update ended. Random numbers need no state of their own: what an
//! update draws is a stream numbered by the update. A resumed run therefore repeats the bits of one that was
//! never interrupted.

use std::path::Path;

use cinoc_control::policy::initial_params;
use cinoc_control::random::{Purpose, stream};
use cinoc_control::rollout::Ends;
use cinoc_control::{Config, Tasks};

use crate::files::{FileError, Tensors};
use crate::policy_file::{PolicyError, collect_params, insert_params, read_config};
use crate::train::cast;
use cinoc_adjoint::optimiser::Adam;

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
    /// Before the first update: the parameters of the config's seed.
    pub fn first(config: &Config) -> Checkpoint {
        let params = initial_params(config, &mut stream(config.train.seed, Purpose::Parameters, 0));
        let adam = Adam::new(params.len());
        Checkpoint { config: config.clone(), params: cast(&params), adam, ends: None }
    }

    /// Writes the file, completely or not at all.
    pub fn write(&self, path: &Path) -> Result<(), FileError> {
        self.arrays().write(path)
    }

    /// All of it as arrays and text.
    pub(crate) fn arrays(&self) -> Tensors {
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
        file
    }

    /// Reads a checkpoint of one of these tasks; refuses damaged files and numbers that are not finite.
    pub fn read(path: &Path, tasks: &Tasks) -> Result<Checkpoint, PolicyError> {
        let file = Tensors::read(path)?;
        Checkpoint::of_arrays(&file, tasks).map_err(|reason| PolicyError::content(path, reason))
    }

    pub(crate) fn of_arrays(file: &Tensors, tasks: &Tasks) -> Result<Checkpoint, String> {
        let config = read_config(file, FORMAT, tasks)?;
        file.check_finite().map_err(|error| error.to_string())?;
        let step = file.values::<u64>("updates").map_err(|error| error.to_string())?[0];
        let params = collect_params(file, "", &config)?;
        let (m, v) = (collect_params(file, "adam.m.", &config)?, collect_params(file, "adam.v.", &config)?);
        let ends = match config.train.hold > 0.0 && step > 0 {
            true => Some(Ends { z: end(file, "ends.z")?, xi: end(file, "ends.xi")? }),
            false => None,
        };
        Ok(Checkpoint { config, params, adam: Adam { m, v, step }, ends })
    }
}

fn end(file: &Tensors, name: &str) -> Result<Vec<f32>, String> {
    file.values::<f32>(name).map(<[f32]>::to_vec).map_err(|error| error.to_string())
}
