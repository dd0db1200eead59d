//! Trainings: new ones, and runs that go on.

use std::path::{Path, PathBuf};

use cinoc::Failure;
use cinoc::control::Tasks;
use cinoc::control::config::Preset;
use cinoc::learn::run::{CONFIG, Ended, RunError};
use cinoc::work::training::{Training, Wanted, default_folder, resumed};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::tensors;
use crate::errors::{raised, wrong};
use crate::measures::{seed_of, thread_count};
use crate::observer::work;
use crate::policy::tasks_with;
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
    init: Option<PathBuf>,
    cases: Option<&Bound<'_, PyAny>>,
    validation: Option<&Bound<'_, PyAny>>,
    threads: Option<i64>,
    watch: Option<Py<PyAny>>,
) -> PyResult<(PathBuf, bool)> {
    let tasks = tasks_with(Some(task))?;
    let preset: Preset = preset_of(preset)?;
    let seed = seed.map(seed_of).transpose()?;
    let wanted = Wanted { preset, method, file: None, sets: sets_of(config)?, seed, updates: None };
    let config = wanted.config(task_of(task)?.as_ref()).map_err(raised)?;
    let folder = out.unwrap_or_else(|| unused(default_folder(&config)));
    let training = Training {
        cases: own_cases(cases, &folder, "cases")?,
        validation: own_cases(validation, &folder, "validation")?,
        threads: thread_count(threads)?,
        config,
        folder,
        resume: false,
        init,
    };
    run(py, &training, &tasks, watch)
}

/// Goes on with a run; the run directory, and whether all updates are done.
#[pyfunction]
fn resume(
    py: Python<'_>,
    folder: PathBuf,
    updates: Option<i64>,
    task: Option<&Bound<'_, PyAny>>,
    threads: Option<i64>,
    watch: Option<Py<PyAny>>,
) -> PyResult<(PathBuf, bool)> {
    let tasks = tasks_with(task)?;
    let updates = updates
        .map(|updates| {
            usize::try_from(updates).map_err(|_| wrong(format!("updates={updates}: must be at least 1")))
        })
        .transpose()?;
    let config = resumed(&folder, &[], updates, &tasks).map_err(raised)?;
    let threads = thread_count(threads)?;
    let (init, cases, validation) = (None, None, None);
    let training = Training { config, folder, resume: true, init, cases, validation, threads };
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
    if untold && folder.join(CONFIG).exists() {
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

/// A file of cases: the one that is given, or arrays that are written into the run directory.
fn own_cases(given: Option<&Bound<'_, PyAny>>, folder: &Path, name: &str) -> PyResult<Option<PathBuf>> {
    let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(None) };
    let Ok(arrays) = given.cast::<PyDict>() else {
        return given.extract().map(Some).map_err(|_| {
            wrong(format!("{name}: give a file, or a dictionary of the arrays z0, zt and optionally xi0"))
        });
    };
    if folder.join(CONFIG).exists() {
        return Err(raised(RunError::Exists(folder.display().to_string())));
    }
    let path = folder.join(format!("{name}.safetensors"));
    let tensors = tensors(arrays)?;
    std::fs::create_dir_all(folder)
        .map_err(|error| wrong(format!("cannot create {}: {error}; choose another out", folder.display())))?;
    tensors.write(&path).map_err(|error| wrong(error.to_string()))?;
    Ok(Some(path))
}

/// Adds them to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(train, module)?)?;
    module.add_function(wrap_pyfunction!(resume, module)?)
}
