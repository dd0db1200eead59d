//! Environments for RL libraries: copies of a task, stepped together.
//!
//! The classes that RL libraries know are written in Python (`cinoc/gym.py`, `cinoc/marl.py`). They hold one
//! [`Environments`] each. Every array that leaves this file is new: nothing changes it later.

use cinoc::work::Device;
use std::process;
use std::sync::{Arc, Mutex, TryLockError};

use cinoc::control::{Config, Pool, policy};
use cinoc::learn::memory::Needs;
use cinoc::learn::pool::{cache_folder, cached};
use cinoc::learn::rl::episodes::Episodes;
use cinoc::prelude::{Tasks, Threads};
use numpy::ndarray::{Array2, Array3};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{IntoPyObjectExt, intern};

use crate::autoreset::{Autoreset, Copies, Stepped};
use crate::errors::{RunError, guarded, raised, wrong};
use crate::measures::device_of;
use crate::tasks::{config_of, task_of};

/// Copies of the physics per chunk, as the RL baselines have it.
const TOGETHER: usize = 16;

/// Numbers in the fields of all copies that keep a thread busy. With fewer, waking it takes longer than its
/// work.
const WORTH_A_THREAD: usize = 8192;

/// Cases whose first cost is the unit of rewards: the same for any number of copies.
const UNIT_CASES: usize = 32;

/// Largest number of copies. A larger one is a mistake.
const MOST_COPIES: usize = 1 << 20;

/// Copies of a task.
#[pyclass(frozen, module = "cinoc._native")]
pub struct Environments {
    config: Config,
    shapes: Shapes,
    /// Factors from actions of the user to units of their bounds, one per row of an action.
    units: Vec<f32>,
    steps: usize,
    hold: usize,
    /// The process that made it: threads do not survive a fork.
    process: u32,
    copies: Mutex<Option<Copies>>,
}

/// Shapes of what is handed out and taken.
struct Shapes {
    copies: usize,
    /// Of the observation of a copy.
    observation: Vec<usize>,
    /// Of the action of a copy.
    action: Vec<usize>,
}

#[pymethods]
impl Environments {
    #[new]
    #[pyo3(signature = (task, copies, *, agents=None, hold=1, steps=None, preset="default", config=None,
        autoreset="Disabled", local=false, normalized=false, threads=None, device="cpu"))]
    fn new(
        py: Python<'_>,
        task: &Bound<'_, PyAny>,
        copies: usize,
        agents: Option<usize>,
        hold: usize,
        steps: Option<usize>,
        preset: &str,
        config: Option<&Bound<'_, PyDict>>,
        autoreset: &str,
        local: bool,
        normalized: bool,
        threads: Option<usize>,
        device: &str,
    ) -> PyResult<Environments> {
        if copies == 0 || copies > MOST_COPIES {
            return Err(wrong(format!("{copies} environments were asked for; use 1 to {MOST_COPIES}")));
        }
        if threads == Some(0) {
            return Err(wrong("threads = 0; use 1 or more, or leave it out"));
        }
        let device = device_of(device)?;
        let autoreset = Autoreset::named(autoreset).map_err(wrong)?;
        let settings = match config {
            Some(config) => config.copy()?,
            None => PyDict::new(py),
        };
        if let Some(agents) = agents {
            settings.set_item("agents", agents)?;
        }
        if let Some(steps) = steps {
            settings.set_item("time.steps", steps.saturating_mul(hold))?;
        }
        let config = config_of(&*task_of(task)?, preset, "cinoc", Some(&settings))?.plain();
        if hold == 0 || hold > config.time.steps {
            let steps = config.time.steps;
            return Err(wrong(format!("hold = {hold}; an action is held for 1 to {steps} control steps")));
        }
        Needs::environments(&config, copies).check().map_err(raised)?;

        // the cases of a PDE written in Python are drawn by Python
        let started = guarded(|| py.detach(|| start(&config, copies, hold, threads, device)))?
            .map(|episodes| Copies::new(episodes, autoreset, local))
            .map_err(raised)?;
        let (rows, agents) = (policy::actions(&config), config.agents);
        let bounds = &config.actuation;
        let mut units = vec![bounds.v_max.unwrap_or(0.0) as f32; rows];
        if let Some(u_max) = bounds.u_max {
            units[0] = u_max as f32;
        }
        let shapes = Shapes {
            copies,
            observation: match local {
                true => vec![agents, policy::view_size(&config)],
                false => vec![policy::state_size(&config)],
            },
            action: if normalized { vec![rows * agents] } else { vec![rows, agents] },
        };
        Ok(Environments {
            units: if normalized { vec![1.0; rows] } else { units },
            steps: config.time.steps / hold,
            copies: Mutex::new(Some(started)),
            process: process::id(),
            config,
            shapes,
            hold,
        })
    }

    /// Begins episodes. `seeds` are one per copy, or None: the copy goes on with its next episode. `mask`
    /// chooses the copies, or all.
    fn reset<'py>(
        &self,
        py: Python<'py>,
        seeds: Vec<Option<u64>>,
        mask: Vec<bool>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
        let seen =
            self.with(|copies| py.detach(|| copies.reset(&seeds, &mask)).map_err(RunError::new_err))?;
        let info = PyDict::new(py);
        report(&info, seen.errors, seen.efforts, &mask)?;
        Ok((self.observations(py, seen.observations)?, info))
    }

    /// One decision in all copies: observations, rewards, terminations, truncations, info.
    fn step<'py>(&self, py: Python<'py>, actions: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        let actions = self.actions(actions)?;
        let Stepped { seen, rewards, terminated, truncated, last } =
            self.with(|copies| py.detach(|| copies.step(&actions)).map_err(RunError::new_err))?;
        let info = PyDict::new(py);
        report(&info, seen.errors, seen.efforts, &vec![true; self.shapes.copies])?;
        if let Some(last) = last {
            let ended: Vec<bool> = terminated.iter().zip(&truncated).map(|(a, b)| *a || *b).collect();
            let size = last.observations.len() / self.shapes.copies;
            let rows = last.observations.chunks_exact(size).zip(&ended);
            let row = |(row, ended): (&[f32], &bool)| match ended {
                true => self.one(py, row.to_vec()),
                false => Ok(py.None()),
            };
            let rows = rows.map(row).collect::<PyResult<Vec<Py<PyAny>>>>()?;
            let final_info = PyDict::new(py);
            report(&final_info, last.errors, last.efforts, &ended)?;
            info.set_item(intern!(py, "final_obs"), rows.into_pyarray(py))?;
            info.set_item(intern!(py, "_final_obs"), PyArray1::from_slice(py, &ended))?;
            info.set_item(intern!(py, "final_info"), final_info)?;
            info.set_item(intern!(py, "_final_info"), PyArray1::from_slice(py, &ended))?;
        }
        (
            self.observations(py, seen.observations)?,
            rewards.into_pyarray(py),
            terminated.into_pyarray(py),
            truncated.into_pyarray(py),
            info,
        )
            .into_pyobject(py)
    }

    /// The current states, `[copies][state_size]`.
    fn states<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let states = self.with(|copies| Ok(copies.states()))?;
        let shape = (self.shapes.copies, policy::state_size(&self.config));
        Ok(Array2::from_shape_vec(shape, states).expect("states of all copies").into_pyarray(py))
    }

    /// Which agents are at work, `[copies][agents]`.
    fn alive<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<bool>>> {
        let alive = self.with(|copies| Ok(copies.alive()))?;
        let alive: Vec<bool> = alive.into_iter().map(|alive| alive > 0.0).collect();
        let shape = (self.shapes.copies, self.config.agents);
        Ok(Array2::from_shape_vec(shape, alive).expect("agents of all copies").into_pyarray(py))
    }

    /// Where the agents are when an episode begins, `[dims][agents]`.
    fn start_positions<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f32>> {
        let places = cinoc::control::agents::start_positions(&self.config);
        let places: Vec<f32> = places.into_iter().map(|x| x as f32).collect();
        let shape = (self.config.task.dims, self.config.agents);
        Array2::from_shape_vec(shape, places).expect("a position per agent").into_pyarray(py)
    }

    /// Frees its memory. It cannot be used afterwards.
    fn close(&self) {
        if let Ok(mut copies) = self.copies.try_lock() {
            *copies = None;
        }
    }

    /// Name of the task.
    #[getter]
    fn task(&self) -> &str {
        &self.config.task.name
    }
    /// All settings, as a TOML text.
    #[getter]
    fn settings(&self) -> String {
        self.config.to_toml()
    }
    #[getter]
    fn agents(&self) -> usize {
        self.config.agents
    }
    /// Decisions in an episode.
    #[getter]
    fn steps(&self) -> usize {
        self.steps
    }
    /// Duration of a decision.
    #[getter]
    fn duration(&self) -> f64 {
        self.config.control_dt() * self.hold as f64
    }
    #[getter]
    fn observation_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shapes.observation)
    }
    #[getter]
    fn action_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shapes.action)
    }
    /// Bounds of the rows of an action: the intensity, then the components of the velocity.
    #[getter]
    fn action_bounds(&self) -> Vec<f32> {
        self.units.clone()
    }
    /// Lengths of the domain, by axis.
    #[getter]
    fn lengths(&self) -> Vec<f64> {
        self.config.axes().iter().map(|axis| axis.length).collect()
    }
    /// Shape of the field in a state: fields, rows, columns.
    #[getter]
    fn field_shape(&self) -> (usize, usize, usize) {
        let (rows, cols) = self.config.shape();
        (self.config.task.fields.len(), rows, cols)
    }
    /// The field that pictures show.
    #[getter]
    fn shown(&self) -> usize {
        self.config.task.shown()
    }
    /// A typical size of the field.
    #[getter]
    fn unit(&self) -> f64 {
        self.config.task.unit
    }
    /// Whether the field that pictures show is never negative.
    #[getter]
    fn positive(&self) -> bool {
        self.config.task.fields[self.config.task.shown()].positive
    }
    /// Whether the field has a target other than 0.
    #[getter]
    fn tracks(&self) -> bool {
        self.config.task.tracks
    }
    /// Whether agents move.
    #[getter]
    fn mobile(&self) -> bool {
        self.config.mobile()
    }
}

impl Environments {
    /// Does something to the copies, which nobody else may use at the same time.
    fn with<R>(&self, f: impl FnOnce(&mut Copies) -> PyResult<R>) -> PyResult<R> {
        if self.process != process::id() {
            return Err(RunError::new_err(
                "the environment was made before this process was forked; make a new one in this process",
            ));
        }
        let mut copies = match self.copies.try_lock() {
            Ok(copies) => copies,
            Err(TryLockError::WouldBlock) => {
                return Err(RunError::new_err(
                    "the environment is in use by another thread; give every thread an environment of its \
                     own",
                ));
            }
            Err(TryLockError::Poisoned(_)) => {
                return Err(RunError::new_err("the environment failed in an earlier step; make a new one"));
            }
        };
        match copies.as_mut() {
            Some(copies) => f(copies),
            None => Err(RunError::new_err("the environment is closed; make a new one")),
        }
    }

    /// Actions of all copies in units of their bounds.
    fn actions(&self, given: &Bound<'_, PyAny>) -> PyResult<Vec<f32>> {
        let converted;
        let array = match given.cast::<PyArrayDyn<f32>>() {
            Ok(array) => array,
            Err(_) => {
                converted = single(given)?;
                converted.cast::<PyArrayDyn<f32>>()?
            }
        };
        let wanted = || std::iter::once(&self.shapes.copies).chain(&self.shapes.action);
        if !array.shape().iter().eq(wanted()) {
            let wanted: Vec<usize> = wanted().copied().collect();
            return Err(wrong(format!(
                "the actions have shape {:?}; they must have shape {wanted:?}, copies first",
                array.shape()
            )));
        }
        let array = array.readonly();
        let mut actions = match array.as_slice() {
            Ok(actions) => actions.to_vec(),
            Err(_) => array.as_array().iter().copied().collect(),
        };
        if let Some(at) = actions.iter().position(|x| !x.is_finite()) {
            let copy = at * self.shapes.copies / actions.len();
            return Err(wrong(format!(
                "an action of copy {copy} is {}; actions must be finite numbers",
                actions[at]
            )));
        }
        for (row, actions) in actions.chunks_exact_mut(self.config.agents).enumerate() {
            let unit = self.units[row % self.units.len()];
            actions.iter_mut().for_each(|x| *x = if unit > 0.0 { *x / unit } else { 0.0 });
        }
        Ok(actions)
    }

    /// Observations of all copies, as an array.
    fn observations<'py>(&self, py: Python<'py>, all: Vec<f32>) -> PyResult<Bound<'py, PyAny>> {
        let copies = self.shapes.copies;
        match self.shapes.observation[..] {
            [size] => Array2::from_shape_vec((copies, size), all)
                .expect("observations of all copies")
                .into_pyarray(py)
                .into_bound_py_any(py),
            _ => {
                let (agents, size) = (self.shapes.observation[0], self.shapes.observation[1]);
                Array3::from_shape_vec((copies, agents, size), all)
                    .expect("observations of all agents")
                    .into_pyarray(py)
                    .into_bound_py_any(py)
            }
        }
    }

    /// The observation of one copy, as an array.
    fn one(&self, py: Python<'_>, observation: Vec<f32>) -> PyResult<Py<PyAny>> {
        match self.shapes.observation[..] {
            [agents, size] => Array2::from_shape_vec((agents, size), observation)
                .expect("observations of all agents")
                .into_pyarray(py)
                .into_py_any(py),
            _ => observation.into_pyarray(py).into_py_any(py),
        }
    }
}

/// Draws the cases, measures the unit of rewards, and makes the copies.
fn start(
    config: &Config,
    copies: usize,
    hold: usize,
    asked: Option<usize>,
    device: Device,
) -> Result<Episodes, cinoc::Failure> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    // the cases of a PDE written in Python change with its code, which the cache does not know
    let known = Tasks::built_in().find(&config.task.name).is_ok_and(|task| Arc::ptr_eq(task, &config.task));
    let folder = cache_folder().filter(|_| known);
    let (seed, pool) = (config.train.seed, config.data.pool);
    let drawing = cinoc::work::threads(asked, Device::Cpu)?;
    let cases = cached(config, seed, Pool::Training, pool, &drawing, folder.as_deref(), &|_, _| {});
    cases.check_finite(config)?;
    let cases = Arc::new(cases);
    let threads = |copies: usize| {
        let worth = copies * config.state_size() / WORTH_A_THREAD;
        Threads::new(asked.unwrap_or(worth.clamp(1, processors)).min(copies.div_ceil(TOGETHER)))
    };
    let first = UNIT_CASES.min(pool);
    // the unit of rewards is the same whatever the device
    let mut measured = Episodes::new(config, cases.clone(), first, hold, TOGETHER, &threads(first)?);
    (0..first).for_each(|copy| measured.begin(copy, seed, copy as u64));
    let unit = measured.first_cost();
    drop(measured);
    let mut episodes = Episodes::new(config, cases, copies, hold, TOGETHER, &device.with(threads(copies)?)?);
    episodes.set_cost_unit(unit);
    Ok(episodes)
}

/// Adds errors and efforts to an info, each with a mask that says which copies they are of, as Gymnasium has
/// it.
fn report(info: &Bound<'_, PyDict>, errors: Vec<f64>, efforts: Vec<f64>, mask: &[bool]) -> PyResult<()> {
    let py = info.py();
    info.set_item(intern!(py, "error"), errors.into_pyarray(py))?;
    info.set_item(intern!(py, "_error"), PyArray1::from_slice(py, mask))?;
    info.set_item(intern!(py, "effort"), efforts.into_pyarray(py))?;
    info.set_item(intern!(py, "_effort"), PyArray1::from_slice(py, mask))
}

/// Anything that holds real numbers, as an array in single precision.
fn single<'py>(given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let numpy = given.py().import("numpy")?;
    let array = numpy
        .call_method1("asarray", (given,))
        .map_err(|_| wrong("the actions are no array of numbers; use an array of float32"))?;
    let dtype = array.getattr("dtype")?;
    if !"fiu".contains(&dtype.getattr("kind")?.extract::<String>()?) {
        return Err(wrong(format!(
            "the actions have dtype {}; use real numbers, best float32",
            dtype.str()?.to_string_lossy()
        )));
    }
    array.call_method1("astype", ("float32",))
}

/// Adds it to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Environments>()
}
