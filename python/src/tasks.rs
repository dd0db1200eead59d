//! What can be controlled, and with which settings.

use std::sync::Arc;

use cinoc::control::Config;
use cinoc::control::config::Preset;
use cinoc::prelude::Tasks;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString, PyTuple};

use crate::errors::{raised, wrong};
use crate::pde::known_tasks;

/// A field with its equation, its cases, and its presets.
#[pyclass(frozen, module = "cinoc")]
pub struct Task {
    /// The task of the library.
    pub task: Arc<cinoc::control::Task>,
}

#[pymethods]
impl Task {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.task.name
    }

    fn __repr__(&self) -> String {
        format!("cinoc.Task({:?})", self.task.name)
    }
}

/// The task that a user names, or gives as an object: one of ours, or one with an attribute `task` (a PDE
/// written in Python).
pub fn task_of(given: &Bound<'_, PyAny>) -> PyResult<Arc<cinoc::control::Task>> {
    if let Ok(name) = given.cast::<PyString>() {
        return Ok(known_tasks().find(&name.to_string_lossy()).map_err(raised)?.clone());
    }
    let held = given.getattr_opt("task")?;
    let object = held.as_ref().unwrap_or(given);
    match object.cast::<Task>() {
        Ok(task) => Ok(task.get().task.clone()),
        Err(_) => Err(wrong(format!(
            "{} is no task; give one of the names {}, or a PDE",
            given.get_type().name()?,
            Tasks::built_in().names()
        ))),
    }
}

/// Settings of a task: those of a preset and a method, overridden by those of a dictionary such as
/// `{"train.updates": 300, "noise": {"sensor": 0.02}}`.
pub fn config_of(
    task: &cinoc::control::Task,
    preset: &str,
    method: &str,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<Config> {
    task.resolve(preset_of(preset)?, method, None, &sets_of(settings)?).map_err(raised)
}

/// The preset of a name.
pub fn preset_of(name: &str) -> PyResult<Preset> {
    match name {
        "default" => Ok(Preset::Default),
        "paper" => Ok(Preset::Paper),
        other => Err(wrong(format!("preset {other:?} is not known; use \"default\" or \"paper\""))),
    }
}

/// Settings of a dictionary as `key=value` texts of the command line; dictionaries inside it are sections.
pub fn sets_of(settings: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<String>> {
    let mut sets = Vec::new();
    if let Some(settings) = settings {
        flatten(settings, "", &mut sets)?;
    }
    Ok(sets)
}

fn flatten(settings: &Bound<'_, PyDict>, section: &str, sets: &mut Vec<String>) -> PyResult<()> {
    for (key, value) in settings {
        let key = format!("{section}{}", key.str()?.to_string_lossy());
        match value.cast::<PyDict>() {
            Ok(inner) => flatten(inner, &format!("{key}."), sets)?,
            Err(_) => sets.push(format!("{key}={}", text(&value)?)),
        }
    }
    Ok(())
}

/// A value as the command line has it.
fn text(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if value.is_instance_of::<PyBool>() {
        return Ok(if value.is_truthy()? { "true" } else { "false" }.to_string());
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items: Vec<String> = value.try_iter()?.map(|item| text(&item?)).collect::<PyResult<_>>()?;
        return Ok(format!("[{}]", items.join(", ")));
    }
    Ok(value.str()?.to_string_lossy().into_owned())
}

/// Names of the tasks that come with the package.
#[pyfunction]
fn tasks() -> Vec<String> {
    Tasks::built_in().iter().map(|task| task.name.to_string()).collect()
}

/// Adds them to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Task>()?;
    module.add_function(wrap_pyfunction!(tasks, module)?)
}
