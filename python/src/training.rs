//! Trainings: new ones, and runs that go on.

use std::path::{Path, PathBuf};

use cinoc::Failure;
use cinoc::control::Tasks;
use cinoc::control::config::Preset;
use cinoc::learn::files::Tensors;
use cinoc::learn::run::{CONFIG, Ended, METRICS, RunError};
use cinoc::learn::team::Team;
use cinoc::view::library::shipped;
use cinoc::work::training::{Training, Wanted, default_folder, resumed};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::tensors;
use crate::errors::{raised, wrong};
use crate::measures::{seed_of, thread_pool};
use crate::observer::work;
use crate::policy::{Policy, tasks_with};
use crate::tasks::{preset_of, sets_of, task_of};

/// Trains a policy; the run directory, and whether all updates are done.
#[pyfunction]
fn train(
    py: Python<'_>,
    task: &Bound<'_, PyAny>,
    preset: &str,
    method: String,
    seed: Option<i64>,
    config: Option<&Bound<'_, PyDict>>,
    out: Option<PathBuf>,
    init: Option<&Bound<'_, PyAny>>,
    cases: Option<&Bound<'_, PyAny>>,
    validation: Option<&Bound<'_, PyAny>>,
    threads: Option<i64>,
    device: &str,
    watch: Option<Py<PyAny>>,
) -> PyResult<(PathBuf, bool)> {
    let tasks = tasks_with(Some(task))?;
    let preset: Preset = preset_of(preset)?;
    let seed = seed.map(seed_of).transpose()?;
    let wanted = Wanted { preset, method, file: None, sets: sets_of(config)?, seed, updates: None };
    let config = wanted.config(task_of(task)?.as_ref()).map_err(raised)?;
    let folder = out.unwrap_or_else(|| unused(default_folder(&config)));
    let threads = thread_pool(py, threads, device)?;
    let mut given = Given::new(&folder);
    let ran = given.init(init).and_then(|init| {
        let (cases, validation) = (given.cases(cases, "cases")?, given.cases(validation, "validation")?);
        let training = Training {
            config,
            folder: folder.clone(),
            resume: false,
            init,
            cases,
            validation,
            threads,
            team: Team::alone(),
        };
        run(py, &training, &tasks, watch)
    });
    if ran.is_err() {
        given.take_back();
    }
    ran
}

/// Goes on with a run; the run directory, and whether all updates are done.
#[pyfunction]
fn resume(
    py: Python<'_>,
    folder: PathBuf,
    updates: Option<i64>,
    task: Option<&Bound<'_, PyAny>>,
    threads: Option<i64>,
    device: &str,
    watch: Option<Py<PyAny>>,
) -> PyResult<(PathBuf, bool)> {
    let tasks = tasks_with(task)?;
    let updates = updates
        .map(|updates| {
            usize::try_from(updates).map_err(|_| wrong(format!("updates={updates}: must be at least 1")))
        })
        .transpose()?;
    let config = resumed(&folder, &[], updates, &tasks).map_err(raised)?;
    let threads = thread_pool(py, threads, device)?;
    let (init, cases, validation) = (None, None, None);
    let training =
        Training { config, folder, resume: true, init, cases, validation, threads, team: Team::alone() };
    run(py, &training, &tasks, watch)
}

fn run(
    py: Python<'_>,
    training: &Training,
    tasks: &Tasks,
    watch: Option<Py<PyAny>>,
) -> PyResult<(PathBuf, bool)> {
    let finished = work(py, watch, |observer| {
        let trained = training.run(tasks, observer)?;
        match trained.ended {
            Ended::Finished(_) => Ok(true),
            Ended::Stopped(_) if observer.asked_to_stop() => Ok(false),
            Ended::Stopped(done) => Err(Failure::Interrupted(format!(
                "after {done} of {} updates; continue with cinoc.resume({:?})",
                trained.config.train.updates, training.folder
            ))),
        }
    });
    let finished = finished.map_err(|error| before_the_first_update(py, error, &training.folder))?;
    Ok((training.folder.clone(), finished))
}

/// Says how to go on with a run that was interrupted while its cases were drawn.
fn before_the_first_update(py: Python<'_>, error: PyErr, folder: &Path) -> PyErr {
    let untold = error.is_instance_of::<PyKeyboardInterrupt>(py) && error.value(py).to_string().is_empty();
    if untold && folder.join(CONFIG).exists() && !folder.join(METRICS).exists() {
        let message = format!("before the first update; continue with cinoc.resume({folder:?})");
        return PyKeyboardInterrupt::new_err(message);
    }
    error
}

/// The folder itself, or with a number if there is a run in it.
fn unused(folder: PathBuf) -> PathBuf {
    let numbered = |number: usize| match number {
        1 => folder.clone(),
        _ => PathBuf::from(format!("{}-{number}", folder.display())),
    };
    (1..).map(numbered).find(|folder| !folder.exists()).expect("numbers do not end")
}

/// What a training is given from memory: it is written into the run directory, where `cinoc.resume` finds it.
struct Given<'a> {
    folder: &'a Path,
    existed: bool,
    written: Vec<PathBuf>,
}

impl Given<'_> {
    fn new(folder: &Path) -> Given<'_> {
        Given { folder, existed: folder.exists(), written: Vec::new() }
    }

    /// A policy to start from: a file, a policy, or the name of a shipped one.
    fn init(&mut self, init: Option<&Bound<'_, PyAny>>) -> PyResult<Option<PathBuf>> {
        let Some(init) = init.filter(|init| !init.is_none()) else { return Ok(None) };
        if let Ok(policy) = init.cast::<Policy>() {
            return self.write("init", &policy.get().file.to_tensors()).map(Some);
        }
        let path: PathBuf = init
            .extract()
            .map_err(|_| wrong("init: give a policy, a file, or the name of a shipped policy"))?;
        match path.to_str().filter(|_| !path.exists()).and_then(shipped) {
            Some(bytes) => {
                let tensors = Tensors::from_bytes(bytes).map_err(|error| wrong(error.to_string()))?;
                self.write("init", &tensors).map(Some)
            }
            None => Ok(Some(path)),
        }
    }

    /// Cases: a file, or arrays.
    fn cases(&mut self, given: Option<&Bound<'_, PyAny>>, name: &str) -> PyResult<Option<PathBuf>> {
        let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(None) };
        match given.cast::<PyDict>() {
            Ok(arrays) => self.write(name, &tensors(arrays)?).map(Some),
            Err(_) => given.extract().map(Some).map_err(|_| {
                wrong(format!("{name}: give a file, or a dictionary of the arrays z0, zt and optionally xi0"))
            }),
        }
    }

    fn write(&mut self, name: &str, tensors: &Tensors) -> PyResult<PathBuf> {
        let folder = self.folder.display();
        if self.folder.join(CONFIG).exists() {
            return Err(raised(RunError::Exists(folder.to_string())));
        }
        std::fs::create_dir_all(self.folder)
            .map_err(|error| wrong(format!("cannot create {folder}: {error}; choose another out")))?;
        let path = self.folder.join(format!("{name}.safetensors"));
        tensors.write(&path).map_err(|error| wrong(error.to_string()))?;
        self.written.push(path.clone());
        Ok(path)
    }

    /// A request that was refused leaves nothing behind.
    fn take_back(&self) {
        if self.folder.join(CONFIG).exists() {
            return;
        }
        // what cannot be removed does no harm
        self.written.iter().for_each(|path| drop(std::fs::remove_file(path)));
        if !self.existed && !self.written.is_empty() {
            drop(std::fs::remove_dir(self.folder));
        }
    }
}

/// Adds them to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(train, module)?)?;
    module.add_function(wrap_pyfunction!(resume, module)?)
}
