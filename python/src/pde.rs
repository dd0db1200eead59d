//! Tasks whose equations are written in Python.
//!
//! An equation is instantiated and traced when a configuration is made: its check does it, so that mistakes
//! in the user's code come out there, as exceptions. What was traced is kept. Runs take it from there and
//! need no Python; only drawing cases calls the user's code again.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cinoc::control::config::{ConfigError, Key, Range};
use cinoc::control::{Config, Draw, Field, Fields};
use cinoc::learn::train::chunk;
use cinoc::prelude::{ClosedLoop, Tasks};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rand::RngCore;

use crate::errors::{guarded, throw, wrong};
use crate::recording::{Recorded, Recording, Shared, boundary_of};
use crate::tasks::{Task, config_of, task_of};

/// Traced equations that are kept; a configuration that comes back later is traced again.
const KEPT: usize = 64;

/// Tasks that were defined in Python, the last one of every name.
static DEFINED: Mutex<Vec<Arc<cinoc::control::Task>>> = Mutex::new(Vec::new());

thread_local! {
    /// The last exception of an equation, with the message it was refused with.
    static CAUSE: RefCell<Option<(String, PyErr)>> = const { RefCell::new(None) };
}

/// The tasks that come with the package, and those that were defined in Python.
pub fn known_tasks() -> Tasks {
    let all = Tasks::built_in()
        .iter()
        .chain(lock(&DEFINED).iter())
        .map(|task| (**task).clone())
        .collect::<Vec<_>>();
    Tasks::new(all)
}

/// The exception of the user's code behind a message.
pub fn cause_of(message: &str) -> Option<PyErr> {
    let (text, error) = CAUSE.take()?;
    message.contains(&text).then_some(error)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An equation of one configuration: the user's object, and its step.
#[derive(Clone)]
struct Made {
    instance: Arc<Py<PyAny>>,
    recorded: Arc<Recorded>,
}

/// A class of the user, and the equations made of it.
struct Equations {
    class: Py<PyAny>,
    made: Mutex<HashMap<String, Made>>,
}

impl Equations {
    /// The equation of a configuration.
    fn of(&self, config: &Config) -> PyResult<Made> {
        let facts = facts(config);
        if let Some(made) = lock(&self.made).get(&facts) {
            return Ok(made.clone());
        }
        // not under the lock: the user's code may let other threads run
        let made = Python::attach(|py| {
            let instance = py.import("cinoc.pde")?.call_method1("_instance", (&self.class, &facts))?;
            let recording = instance.getattr("_recording")?.cast_into::<Recording>()?;
            PyResult::Ok(Made { instance: Arc::new(instance.unbind()), recorded: recording.get().0.clone() })
        })?;
        let mut all = lock(&self.made);
        if all.len() == KEPT {
            all.clear();
        }
        all.insert(facts, made.clone());
        Ok(made)
    }

    /// Refuses a configuration whose equation cannot be traced.
    fn check(&self, config: &Config) -> Result<(), ConfigError> {
        let Err(error) = self.of(config) else { return Ok(()) };
        let described = Python::attach(|py| {
            let described =
                py.import("cinoc.pde")?.call_method1("_described", (error.clone_ref(py).into_value(py),))?;
            described.extract::<String>()
        });
        let message = described.unwrap_or_else(|_| error.to_string());
        CAUSE.set(Some((message.clone(), error)));
        Err(ConfigError::Equation { task: config.task.name.clone(), message })
    }

    fn draw(&self, config: &Config, draw: &mut Draw<'_>) -> Fields {
        let made = self.of(config).unwrap_or_else(|error| throw(error));
        draw.each(|draw| {
            let seed = draw.rng.next_u64();
            let drawn = Python::attach(|py| {
                let case = py.import("cinoc.pde")?.call_method1("_case", (made.instance.bind(py), seed))?;
                let (start, target): (PyReadonlyArray1<'_, f64>, PyReadonlyArray1<'_, f64>) =
                    case.extract()?;
                PyResult::Ok([start.as_slice()?.to_vec(), target.as_slice()?.to_vec()])
            });
            drawn.unwrap_or_else(|error| throw(error))
        })
    }
}

/// All that an equation and its cases depend on, as JSON.
fn facts(config: &Config) -> String {
    let axes: Vec<_> = config.axes().iter().map(|axis| (axis.n, axis.length)).collect();
    let (dt, physics, data) = (config.time.dt, &config.physics, &config.data.values);
    serde_json::json!({"axes": axes, "dt": dt, "physics": physics, "data": data}).to_string()
}

/// The same of a task with some settings.
#[pyfunction]
fn pde_facts(task: &Bound<'_, PyAny>, settings: Option<&Bound<'_, PyDict>>) -> PyResult<String> {
    Ok(facts(&config_of(task_of(task)?.as_ref(), "default", "cinoc", settings)?))
}

/// A task of a class.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn pde_task(
    class_: Py<PyAny>,
    name: &str,
    title: &str,
    dims: usize,
    boundary: &str,
    fields: Vec<(String, bool, bool, bool)>,
    mobile: bool,
    tracks: bool,
    preset: &str,
    keys: Vec<(String, String, Bound<'_, PyAny>, String)>,
    version: String,
) -> PyResult<Task> {
    let usable = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(usable) {
        return Err(wrong(format!(
            "name {name:?}: must have letters, digits, - and _ only, because files are named after it"
        )));
    }
    if Tasks::built_in().find(name).is_ok() {
        return Err(wrong(format!("name {name:?}: cinoc has a task of this name; choose another one")));
    }
    if fields.is_empty() || !fields.iter().any(|field| field.1) {
        return Err(wrong(format!("fields of {name}: there must be at least one, and one that is tracked")));
    }
    let field = |(name, tracked, observed, positive): (String, bool, bool, bool)| Field {
        name,
        observed,
        tracked,
        positive,
    };
    let equations = Arc::new(Equations { class: class_, made: Mutex::default() });
    let (making, drawing) = (equations.clone(), equations.clone());
    let mut task = cinoc::control::Task::new(
        name,
        boundary_of(boundary)?,
        preset,
        move |config| Shared(making.of(config).unwrap_or_else(|error| throw(error)).recorded),
        move |config, draw| drawing.draw(config, draw),
    )
    .titled(title)
    .with_fields(fields.into_iter().map(field))
    .with_keys(keys.into_iter().map(key).collect::<PyResult<Vec<_>>>()?)
    .checked(move |config| equations.check(config));
    task.cases_version = version;
    task = match dims {
        1 => task,
        2 => task.in_2d(),
        _ => return Err(wrong(format!("dims = {dims}: must be 1 or 2"))),
    };
    task = if mobile { task } else { task.with_static_agents() };
    task = if tracks { task } else { task.to_rest() };
    let task = Arc::new(task);
    let mut defined = lock(&DEFINED);
    defined.retain(|other| other.name != task.name);
    defined.push(task.clone());
    Ok(Task { task })
}

fn key((name, unit, range, meaning): (String, String, Bound<'_, PyAny>, String)) -> PyResult<Key> {
    let known = "\"any\", \"positive\", \"non-negative\", a pair of numbers, or the least whole number";
    let range = match (range.extract::<String>(), range.extract::<i64>(), range.extract::<(f64, f64)>()) {
        (Ok(word), ..) if word == "any" => Range::Any,
        (Ok(word), ..) if word == "positive" => Range::Positive,
        (Ok(word), ..) if word == "non-negative" => Range::NonNegative,
        (_, Ok(least), _) => Range::AtLeast(least),
        (_, _, Ok((low, high))) => Range::Within(low, high),
        _ => return Err(wrong(format!("key {name}: the range {range} is not known; use {known}"))),
    };
    // a class is defined once in a program; its names live as long
    let kept = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
    Ok(Key::new(kept(name), kept(unit), range, kept(meaning)))
}

/// The control step of a task as the list of primitives that the engine runs.
#[pyfunction]
fn listing(
    py: Python<'_>,
    task: &Bound<'_, PyAny>,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<String> {
    let config = config_of(task_of(task)?.as_ref(), "default", "cinoc", settings)?;
    let traced = || ClosedLoop::<f32>::for_training(&config, chunk(&config)).program().listing().to_string();
    guarded(|| py.detach(traced))
}

/// Adds them to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Recording>()?;
    module.add_function(wrap_pyfunction!(pde_task, module)?)?;
    module.add_function(wrap_pyfunction!(pde_facts, module)?)?;
    module.add_function(wrap_pyfunction!(listing, module)?)
}
