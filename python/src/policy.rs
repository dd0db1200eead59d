//! A policy: decisions about fields, rollouts, evaluations.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use cinoc::Failure;
use cinoc::control::agents::start_positions;
use cinoc::control::{Config, Controller, Decision, Tasks};
use cinoc::learn::array_file::Array;
use cinoc::learn::files::Tensors;
use cinoc::learn::memory::Needs;
use cinoc::learn::onnx::Part;
use cinoc::learn::policy_file::PolicyFile;
use cinoc::learn::situation::{Arrays, Situation};
use cinoc::work::export::export_onnx;
use cinoc::work::subject::{changed, load_policy};
use numpy::{PyArray1, PyArrayDyn, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict};

use crate::arrays::{LARGEST, array, read, read_some, small_array};
use crate::errors::{raised, wrong};
use crate::observer::work;
use crate::pde::known_tasks;
use crate::tasks::{Task, sets_of, task_of};
use cinoc::view::library::shipped;

/// Decisions that are kept compiled.
const KEPT: usize = 8;
/// A decision with fewer numbers takes microseconds: giving the interpreter to another thread would take
/// longer.
const LONG: usize = 20_000;

/// A trained policy.
#[pyclass(subclass, frozen, module = "cinoc._native")]
pub struct Policy {
    /// Parameters, and how they were trained.
    pub file: Arc<PolicyFile>,
    path: Option<PathBuf>,
    /// Compiled decisions that nobody uses right now. The lock is held only together with that of the
    /// interpreter, so that a fork never copies it locked.
    ready: Mutex<Vec<Ready>>,
}

/// A compiled decision for a grid and a number of agents.
struct Ready {
    /// Extents of the field.
    extents: Vec<usize>,
    /// Agents that were asked for; `None` for those of the training.
    agents: Option<usize>,
    /// Boxed, because decisions change hands at every call.
    config: Box<Config>,
    /// Where it steers now.
    target: Vec<f32>,
    controller: Controller<f32>,
}

impl Policy {
    fn of(file: PolicyFile, path: Option<PathBuf>) -> Policy {
        Policy { file: Arc::new(file), path, ready: Mutex::new(Vec::new()) }
    }

    fn taken(&self, extents: &[usize], agents: Option<usize>) -> Option<Ready> {
        let mut ready = self.ready.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let fits = |known: &Ready| known.agents == agents && known.extents == extents;
        let place = ready.iter().rposition(fits)?;
        Some(ready.remove(place))
    }

    fn give_back(&self, used: Ready) {
        let mut ready = self.ready.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if ready.len() == KEPT {
            ready.remove(0);
        }
        ready.push(used);
    }

    /// Compiles a decision about such arrays.
    fn prepared(&self, arrays: &Arrays, extents: &[usize], agents: Option<usize>) -> Result<Ready, Failure> {
        let trained = &self.file.config;
        let config = changed(trained, &arrays.settings(trained)?).map_err(|failure| match failure {
            Failure::Request(reason) => {
                Failure::Request(format!("cannot use z: its shape is {extents:?}; {reason}"))
            }
            other => other,
        })?;
        Needs::decisions(&config, 1).check()?;
        let target = vec![0.0; config.state_size()];
        let controller = Decision::<f32>::new(&config).controller(&self.file.params, &target);
        Ok(Ready { extents: extents.to_vec(), agents, config: Box::new(config), target, controller })
    }
}

impl Ready {
    /// Decides; actions of the agents are appended, `[agents]` or `[agents][dims]`.
    fn decide(&mut self, z: &[f32], xi: &[f32], target: &[f32], actions: &mut Actions) {
        if target != self.target {
            self.controller.aim(target);
            self.target = target.to_vec();
        }
        let decided = self.controller.decide(z, xi);
        let (agents, velocities) = (self.config.agents, decided.v.unwrap_or_default());
        let axes = velocities.len() / agents;
        actions.agents = agents;
        actions.u.extend_from_slice(decided.u.unwrap_or_default());
        actions.v.extend((0..velocities.len()).map(|i| velocities[i % axes * agents + i / axes]));
    }

    /// Whether it can use a field, positions and a target as they are; if not, somebody else says why.
    fn takes(&self, z: &[f32], xi: &[f32], target: &[f32]) -> bool {
        let limit = LARGEST as f32;
        let usable = |values: &[f32]| values.iter().all(|x| (-limit..=limit).contains(x));
        let inside = 0.0..=self.config.grid.length as f32;
        usable(z) && usable(target) && xi.iter().all(|xi| inside.contains(xi))
    }
}

/// What the agents of some fields are told.
#[derive(Default)]
struct Actions {
    u: Vec<f32>,
    v: Vec<f32>,
    agents: usize,
}

impl Actions {
    /// As arrays of a batch, or of one field.
    fn told<'py>(self, py: Python<'py>, batch: Option<usize>) -> PyResult<Bound<'py, PyAny>> {
        let Actions { u, v, agents } = self;
        let shape = |values: usize| -> Vec<usize> {
            let axes = values / (batch.unwrap_or(1) * agents);
            batch.into_iter().chain([agents]).chain((axes > 1).then_some(axes)).collect()
        };
        let told = |values: Vec<f32>| match values.is_empty() {
            true => Ok(None),
            false => small_array(py, &shape(values.len()), &values).map(Some),
        };
        static ACTION: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        ACTION.import(py, "cinoc.policy", "Action")?.call1((told(u)?, told(v)?))
    }
}

#[pymethods]
impl Policy {
    /// Reads the policy of a file or a run directory, a shipped one by its name, or the bytes of a file.
    #[new]
    #[pyo3(signature = (source, *, task=None, best=false))]
    fn new(
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        task: Option<&Bound<'_, PyAny>>,
        best: bool,
    ) -> PyResult<Policy> {
        let tasks = tasks_with(task)?;
        if let Ok(bytes) = source.cast::<PyBytes>() {
            return Policy::of_bytes(bytes.as_bytes(), Path::new("the bytes"), &tasks);
        }
        let source: PathBuf = source.extract().map_err(|_| {
            wrong("a policy is given by the name of a shipped one, a path, or the bytes of a file")
        })?;
        let name = source.to_str().filter(|_| !best && !source.exists());
        if let Some(bytes) = name.and_then(shipped) {
            return Policy::of_bytes(bytes, &source, &tasks);
        }
        if let Some(name) = name.filter(|name| !name.contains(['/', '\\', '.'])) {
            return Err(wrong(format!(
                "no policy is called {name:?} and there is no such file; shipped are {}",
                Tasks::built_in().names()
            )));
        }
        let loaded = work(py, None, |observer| load_policy(&source, best, &tasks, observer))?;
        Ok(Policy::of(loaded.policy, Some(loaded.path)))
    }

    /// The task it controls.
    #[getter]
    fn task(&self) -> Task {
        Task { task: self.file.config.task.clone() }
    }

    /// The file it was read from; `None` for a shipped policy.
    #[getter]
    fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Number of agents in its training.
    #[getter]
    fn agents(&self) -> usize {
        self.file.config.agents
    }

    /// All its parameters, as one array.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        array(py, &[self.file.params.len()], self.file.params.clone())
    }

    /// All settings of its training, as JSON.
    fn _config(&self) -> String {
        settings(&self.file.config)
    }

    /// The bytes of its file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.file.to_tensors().to_bytes())
    }

    /// Writes it, or its network alone, into an ONNX file.
    #[pyo3(signature = (path, inner, config))]
    fn _export_onnx(
        &self,
        py: Python<'_>,
        path: PathBuf,
        inner: bool,
        config: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let (sets, part) = (sets_of(config)?, if inner { Part::Network } else { Part::Decision });
        work(py, None, |_| export_onnx(&self.file, &sets, part, &path).map(|_| ()))
    }

    /// Where its agents start, for any number of them.
    #[pyo3(signature = (agents=None))]
    fn start_positions<'py>(
        &self,
        py: Python<'py>,
        agents: Option<i64>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        let sets: Vec<String> = agents.map(|agents| format!("agents={agents}")).into_iter().collect();
        let config = changed(&self.file.config, &sets).map_err(raised)?;
        let (agents, dims) = (config.agents, config.task.dims);
        let places = start_positions(&config);
        let places = (0..places.len()).map(|i| places[i % dims * agents + i / dims] as f32).collect();
        array(py, &[agents, dims][..dims], places)
    }

    /// Decides what every agent does about one field or a batch of fields.
    #[pyo3(signature = (z, xi=None, target=None))]
    fn act<'py>(
        &self,
        py: Python<'py>,
        z: &Bound<'py, PyAny>,
        xi: Option<&Bound<'py, PyAny>>,
        target: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let (Some(xi), Some(target)) = (xi, target)
            && let Some(actions) = self.act_in_place(z, xi, target)
        {
            return actions.told(py, None);
        }
        let (z, xi, target) = (read("z", z)?, read_some("xi", xi)?, read_some("target", target)?);
        let config = &self.file.config;
        let axes = config.task.dims + usize::from(config.task.fields.len() > 1);
        let batch = (z.shape.len() == axes + 1).then(|| z.shape[0]);
        let mut actions = Actions::default();
        if let Some(count) = batch {
            if count == 0 {
                return Err(wrong("cannot use z: it has shape [0, ...], must hold at least one field"));
            }
            let z = parts("z", z, axes, count)?;
            let xi = xi.map(|xi| parts("xi", xi, config.task.dims, count)).transpose()?;
            let target = target.map(|target| parts("target", target, axes, count)).transpose()?;
            let of = |all: &Option<Vec<Array>>, i: usize| all.as_ref().map(|all| all[i % all.len()].clone());
            for (i, z) in z.into_iter().enumerate() {
                self.act_once(py, z, of(&xi, i), of(&target, i), &mut actions)?;
                py.check_signals()?;
            }
        } else {
            self.act_once(py, z, xi, target, &mut actions)?;
        }
        actions.told(py, batch)
    }

    fn __repr__(&self) -> String {
        let config = &self.file.config;
        format!(
            "cinoc.Policy({}, trained with {} agents, {} parameters)",
            config.task,
            config.agents,
            self.file.params.len()
        )
    }
}

impl Policy {
    fn of_bytes(bytes: &[u8], name: &Path, tasks: &Tasks) -> PyResult<Policy> {
        let unusable = |reason: String| wrong(format!("cannot use {}: {reason}", name.display()));
        let tensors = Tensors::from_bytes(bytes).map_err(|error| unusable(error.to_string()))?;
        Ok(Policy::of(PolicyFile::of_tensors(&tensors, name, tasks).map_err(raised)?, None))
    }

    fn act_once(
        &self,
        py: Python<'_>,
        z: Array,
        xi: Option<Array>,
        target: Option<Array>,
        actions: &mut Actions,
    ) -> PyResult<()> {
        // not by their shape: [1, 20] are 20 agents too
        let agents = xi.as_ref().map(|xi| xi.values.len() / self.file.config.task.dims);
        let extents = z.shape.clone();
        let arrays = Arrays::given(z, target, xi);
        let mut ready = match self.taken(&extents, agents) {
            Some(ready) => ready,
            None => work(py, None, |_| self.prepared(&arrays, &extents, agents))?,
        };
        let situation = match arrays.situation(&ready.config) {
            Ok(situation) => situation,
            Err(error) => {
                self.give_back(ready);
                return Err(raised(error));
            }
        };
        let single = |values: &[f64]| values.iter().map(|&x| x as f32).collect::<Vec<f32>>();
        let Situation { z, target, xi } = &situation;
        let mut decide = || ready.decide(&single(z), &single(xi), &single(target), actions);
        if self.file.config.points() * agents.unwrap_or(self.file.config.agents) > LONG {
            py.detach(decide);
        } else {
            decide();
        }
        self.give_back(ready);
        Ok(())
    }

    /// Decides without a copy about arrays that have the layout of the engine, if such a decision was made
    /// before.
    fn act_in_place(
        &self,
        z: &Bound<'_, PyAny>,
        xi: &Bound<'_, PyAny>,
        target: &Bound<'_, PyAny>,
    ) -> Option<Actions> {
        let config = &self.file.config;
        if config.task.dims != 1 || config.task.fields.len() != 1 {
            return None;
        }
        let (z, xi, target) = (line(z)?, line(xi)?, line(target)?);
        let (z, xi, target) = (z.as_slice().ok()?, xi.as_slice().ok()?, target.as_slice().ok()?);
        let fits = target.len() == z.len() && xi.len() * z.len() <= LONG;
        let mut ready = if fits { self.taken(&[z.len()], Some(xi.len()))? } else { return None };
        let mut actions = None;
        if ready.takes(z, xi, target) {
            ready.decide(z, xi, target, actions.insert(Actions::default()));
        }
        self.give_back(ready);
        actions
    }
}

/// An array of one axis whose numbers stand one after the other.
fn line<'py>(given: &Bound<'py, PyAny>) -> Option<PyReadonlyArray1<'py, f32>> {
    let line = given.cast::<PyArray1<f32>>().ok()?.try_readonly().ok()?;
    line.is_c_contiguous().then_some(line)
}

/// A batch as its parts: as many as there are fields, or one that all of them share.
fn parts(name: &str, all: Array, axes: usize, count: usize) -> PyResult<Vec<Array>> {
    let Array { shape, values } = all;
    if shape.len() != axes + 1 {
        return Ok(vec![Array { shape, values }]);
    }
    if shape[0] != count {
        return Err(wrong(format!(
            "cannot use {name}: it has shape {shape:?}, and there are {count} fields; give one per field, \
             or one \
             for all"
        )));
    }
    let size = values.len() / count;
    let part =
        |i: usize| Array { shape: shape[1..].to_vec(), values: values[i * size..(i + 1) * size].to_vec() };
    Ok((0..count).map(part).collect())
}

/// The tasks that come with the package, and one more.
pub fn tasks_with(task: Option<&Bound<'_, PyAny>>) -> PyResult<Tasks> {
    let Some(task) = task.filter(|task| !task.is_none()) else { return Ok(known_tasks()) };
    let task = task_of(task)?;
    let known = known_tasks();
    let others = known.iter().filter(|known| known.name != task.name);
    Ok(Tasks::new(others.chain([&task]).map(|task| task.as_ref().clone())))
}

/// All settings, as JSON.
pub fn settings(config: &Config) -> String {
    serde_json::to_string(config).expect("settings are plain data")
}

/// Adds them to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Policy>()
}
