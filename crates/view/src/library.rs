//! The policies that a viewer offers, one of which may still be in training.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::SystemTime;

use cinoc_control::Tasks;
use cinoc_learn::checkpoint::Checkpoint;
use cinoc_learn::policy_file::{PolicyError, PolicyFile};
use cinoc_learn::run::{CHECKPOINT, LATEST, METRICS, POLICY};
use serde_json::Value;

use crate::protocol::Learning;

/// Most points of a learning curve.
const CURVE: usize = 300;

/// A policy under the name that the page shows.
pub struct Offered {
    /// Its name: the task of a shipped policy, else the path that was given.
    pub name: String,
    policy: RwLock<Arc<PolicyFile>>,
    followed: Option<Followed>,
}

/// A run whose parameters change.
struct Followed {
    folder: PathBuf,
    tasks: Tasks,
    /// The file that the parameters are from, when it was written, and after how many updates.
    read: Mutex<(Option<(PathBuf, SystemTime)>, usize)>,
}

impl Offered {
    /// A policy that stays as it is.
    pub fn new(name: String, policy: PolicyFile) -> Offered {
        Offered { name, policy: RwLock::new(Arc::new(policy)), followed: None }
    }

    /// The policy of a run in training, with the parameters it starts from.
    pub fn in_training(name: String, first: PolicyFile, folder: &Path, tasks: &Tasks) -> Offered {
        let followed =
            Followed { folder: folder.to_path_buf(), tasks: tasks.clone(), read: Mutex::default() };
        Offered { followed: Some(followed), ..Offered::new(name, first) }
    }

    /// The policy of the moment.
    pub fn policy(&self) -> Arc<PolicyFile> {
        // a reader that panicked has changed nothing
        self.policy.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How far its training is, with the newest parameters taken over; `None` for a policy that stays as it
    /// is.
    pub fn learning(&self) -> Option<Learning> {
        let followed = self.followed.as_ref()?;
        let mut read = followed.read.lock().unwrap_or_else(PoisonError::into_inner);
        let metrics = std::fs::read_to_string(followed.folder.join(METRICS)).unwrap_or_default();
        let (mut learning, done) = curve(&metrics);
        let path =
            [POLICY, LATEST].map(|name| followed.folder.join(name)).into_iter().find(|path| path.exists());
        let path = path.unwrap_or_else(|| followed.folder.join(CHECKPOINT));
        let written = std::fs::metadata(&path).and_then(|file| file.modified()).ok();
        let written = written.map(|when| (path.clone(), when));
        if written.is_some() && written != read.0 {
            // a file that cannot be read now is read the next time
            if let Some((policy, updates)) = followed.parameters(&path, done) {
                *self.policy.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
                *read = (written, updates);
            }
        }
        (learning.policy, learning.shown) = (self.name.clone(), read.1);
        learning.of = self.policy().config.train.updates;
        Some(learning)
    }
}

impl Followed {
    /// The parameters in a file, and after how many updates they were written, of `done` by now.
    fn parameters(&self, path: &Path, done: usize) -> Option<(PolicyFile, usize)> {
        if path.ends_with(CHECKPOINT) {
            let Checkpoint { config, params, adam, .. } = Checkpoint::read(path, &self.tasks).ok()?;
            return Some((PolicyFile { config, params }, adam.step as usize));
        }
        let policy = PolicyFile::read(path, &self.tasks).ok()?;
        let train = &policy.config.train;
        let updates = match path.ends_with(POLICY) {
            true => train.updates,
            // it does not say so itself, but it is written together with checkpoints
            false => done / train.checkpoint_every * train.checkpoint_every,
        };
        Some((policy, updates))
    }
}

/// The learning curve in the metrics of a run, and its updates; half a line at the end is left out.
fn curve(metrics: &str) -> (Learning, usize) {
    let lines: Vec<Value> = metrics.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let every = lines.len().div_ceil(CURVE).max(1);
    let point = |line: &Value, loss: &Value| Some([line["update"].as_f64()?, loss.as_f64()?]);
    let learning = Learning {
        loss: lines.iter().step_by(every).filter_map(|line| point(line, &line["loss"])).collect(),
        validation: lines.iter().filter_map(|line| point(line, &line["validation"]["loss"])).collect(),
        ..Learning::default()
    };
    (learning, lines.last().and_then(|line| line["update"].as_u64()).unwrap_or(0) as usize)
}

/// All policies of a viewer. Nothing else can be reached from a page.
pub struct Library {
    /// The policies, the first one to begin with.
    pub offered: Vec<Offered>,
}

macro_rules! files {
    ($($name:literal),*) => {
        [$(($name, include_bytes!(concat!("../policies/", $name, ".safetensors")) as &[u8])),*]
    };
}

/// Name and file of every policy that is part of the program, in the order in which a page offers them.
const SHIPPED: [(&str, &[u8]); 8] =
    files!("fkpp1d", "heat1d", "ks1d", "heat2d", "heat2d-obstacles", "density2d", "ks2d", "turb2d");

/// The file of a policy that is part of the program.
pub fn shipped(name: &str) -> Option<&'static [u8]> {
    SHIPPED.iter().find(|(known, _)| *known == name).map(|(_, bytes)| *bytes)
}

impl Library {
    /// The shipped policies, with those of the command line before them.
    pub fn new(given: Vec<Offered>) -> Result<Library, PolicyError> {
        let mut offered = given;
        for (name, bytes) in SHIPPED {
            let policy = PolicyFile::from_bytes(bytes, name.as_ref(), Tasks::built_in())?;
            offered.push(Offered::new(name.to_string(), policy));
        }
        Ok(Library { offered })
    }

    /// The policy of a name.
    pub fn find(&self, name: &str) -> Option<&Offered> {
        self.offered.iter().find(|offered| offered.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cinoc_control::Config;
    use cinoc_control::policy::param_count;

    #[test]
    fn a_run_in_training_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let config = Config::preset("heat1d").unwrap();
        let of =
            |value: f32| PolicyFile { config: config.clone(), params: vec![value; param_count(&config)] };
        let offered = Offered::in_training("run".into(), of(0.0), folder.path(), Tasks::built_in());
        let before = offered.learning().unwrap();
        assert_eq!((before.shown, before.loss.len(), before.of), (0, 0, config.train.updates));
        let every = config.train.checkpoint_every;
        std::fs::write(folder.path().join(METRICS), format!("{{\"update\":{},\"loss\":1.0}}\n", every + 1))
            .unwrap();
        of(0.5).write(&folder.path().join(LATEST)).unwrap();
        assert_eq!((offered.learning().unwrap().shown, offered.policy().params[0]), (every, 0.5));
        std::fs::write(
            folder.path().join(METRICS),
            "{\"update\":1,\"loss\":0.5}\n{\"update\":2,\"loss\":0.25,\"validation\":{\"loss\":0.3}}\n{\"upd",
        )
        .unwrap();
        of(1.0).write(&folder.path().join(POLICY)).unwrap();
        let after = offered.learning().unwrap();
        assert_eq!((after.loss, after.validation), (vec![[1.0, 0.5], [2.0, 0.25]], vec![[2.0, 0.3]]));
        assert_eq!((after.shown, offered.policy().params[0]), (config.train.updates, 1.0));
    }
}
