//! The physics of a task as a function of fields, positions and actions, and its derivatives.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cinoc::adjoint::{Real, Threads};
use cinoc::control::agents::start_positions;
use cinoc::control::physics::{Driven, Path};
use cinoc::control::{Cases, Config, Pool};
use cinoc::learn::train::chunk;
use cinoc::work::Device;
use numpy::{
    Element, PyArray1, PyArrayDescrMethods, PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods,
    ToPyArray,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{RunError, guarded, raised, throw, wrong};
use crate::measures::device_of;
use crate::tasks::{config_of, task_of};

type Programs<T> = Mutex<HashMap<usize, Arc<cinoc::control::physics::Physics<T>>>>;

/// The physics of a task. Arrays are flat here; `cinoc.Physics` gives them their shapes.
#[pyclass(frozen, module = "cinoc")]
pub struct Physics {
    config: Config,
    /// Where programs run.
    device: Device,
    /// How many threads; the process that has them, and themselves.
    count: usize,
    threads: Mutex<(u32, Threads)>,
    single: Programs<f32>,
    double: Programs<f64>,
}

/// A precision, and where its programs are kept.
trait Precision: Real + Element {
    fn programs(physics: &Physics) -> &Programs<Self>;
}

impl Precision for f32 {
    fn programs(physics: &Physics) -> &Programs<f32> {
        &physics.single
    }
}

impl Precision for f64 {
    fn programs(physics: &Physics) -> &Programs<f64> {
        &physics.double
    }
}

/// Flat arrays of one precision: field, positions, intensities, velocities, then adjoints of field and
/// positions.
struct Arrays<'py, T: Element>(Vec<Option<PyReadonlyArray1<'py, T>>>);

impl<'py, T: Element> Arrays<'py, T> {
    fn new(given: &[Option<Bound<'py, PyAny>>]) -> PyResult<Arrays<'py, T>> {
        let array = |one: &Option<Bound<'py, PyAny>>| one.as_ref().map(|one| one.extract()).transpose();
        Ok(Arrays(given.iter().map(array).collect::<PyResult<_>>()?))
    }

    fn slice(&self, index: usize) -> PyResult<Option<&[T]>> {
        let array = self.0.get(index).and_then(Option::as_ref);
        array.map(|array| array.as_slice().map_err(|_| wrong("an array is not contiguous"))).transpose()
    }
}

#[pymethods]
impl Physics {
    #[new]
    fn new(
        py: Python<'_>,
        task: &Bound<'_, PyAny>,
        settings: Option<&Bound<'_, PyDict>>,
        preset: &str,
        threads: Option<usize>,
        device: &str,
    ) -> PyResult<Physics> {
        let mut config = config_of(task_of(task)?.as_ref(), preset, "cinoc", settings)?.plain();
        (config.noise.sensor, config.noise.actuator, config.failure.share) = (0.0, 0.0, 0.0);
        if threads == Some(0) {
            return Err(wrong("threads = 0: must be 1 or more"));
        }
        let device = device_of(device)?;
        let threads = py.detach(|| cinoc::work::threads(threads, device)).map_err(raised)?;
        let count = threads.count();
        let threads = Mutex::new((std::process::id(), threads));
        Ok(Physics { config, device, count, threads, single: Mutex::default(), double: Mutex::default() })
    }

    /// What the wrapper needs to know.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (config, facts) = (&self.config, PyDict::new(py));
        facts.set_item("task", &config.task.name)?;
        facts.set_item("fields", config.task.fields.len())?;
        facts.set_item("grid", config.axes().iter().map(|axis| axis.n).collect::<Vec<_>>())?;
        facts.set_item("lengths", config.axes().iter().map(|axis| axis.length).collect::<Vec<_>>())?;
        facts.set_item("agents", config.agents)?;
        facts.set_item("dims", config.task.dims)?;
        facts.set_item("u_max", config.actuation.u_max)?;
        facts.set_item("v_max", config.actuation.v_max)?;
        facts.set_item("steps", config.time.steps)?;
        facts.set_item("dt", config.control_dt())?;
        facts.set_item("start", start_positions(config))?;
        Ok(facts)
    }

    /// Starts and targets, flat.
    fn cases<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        seed: u64,
        pool: &str,
    ) -> PyResult<[Bound<'py, PyArray1<f64>>; 2]> {
        let pool = match pool {
            "training" => Pool::Training,
            "validation" => Pool::Validation,
            "test" => Pool::Test,
            other => {
                let known = "\"training\", \"validation\" or \"test\"";
                return Err(wrong(format!("pool {other:?} is not known; use {known}")));
            }
        };
        let draw = || Cases::draw(&self.config, seed, pool, count, &self.threads(), &|_, _| {});
        let cases = guarded(|| py.detach(draw))?;
        cases.check_finite(&self.config).map_err(raised)?;
        Ok([cases.z0.to_pyarray(py), cases.zt.to_pyarray(py)])
    }

    /// Field and positions after every step.
    #[allow(clippy::too_many_arguments)]
    fn run<'py>(
        &self,
        py: Python<'py>,
        samples: usize,
        steps: usize,
        z: Bound<'py, PyAny>,
        xi: Bound<'py, PyAny>,
        u: Option<Bound<'py, PyAny>>,
        v: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
        let double = is_double(&z)?;
        let given = [Some(z), Some(xi), u, v];
        if double {
            self.run_in::<f64>(py, samples, steps, &given)
        } else {
            self.run_in::<f32>(py, samples, steps, &given)
        }
    }

    /// Derivatives with respect to what [`Physics::run`] was given.
    #[allow(clippy::too_many_arguments)]
    fn pull_back<'py>(
        &self,
        py: Python<'py>,
        samples: usize,
        steps: usize,
        z: Bound<'py, PyAny>,
        xi: Bound<'py, PyAny>,
        u: Option<Bound<'py, PyAny>>,
        v: Option<Bound<'py, PyAny>>,
        z_adjoint: Bound<'py, PyAny>,
        xi_adjoint: Bound<'py, PyAny>,
    ) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
        let double = is_double(&z)?;
        let given = [Some(z), Some(xi), u, v, Some(z_adjoint), Some(xi_adjoint)];
        if double {
            self.pull_back_in::<f64>(py, samples, steps, &given)
        } else {
            self.pull_back_in::<f32>(py, samples, steps, &given)
        }
    }
}

impl Physics {
    /// The program for so many samples: few samples do not fill a chunk. A device has one for all numbers.
    fn program<T: Precision>(
        &self,
        samples: usize,
        threads: &Threads,
    ) -> Arc<cinoc::control::physics::Physics<T>> {
        let chunk = chunk(&self.config).min(samples.next_power_of_two());
        let chunk = threads.backend().map_or(chunk, |backend| backend.chunk(chunk));
        let mut programs = T::programs(self).lock().unwrap_or_else(PoisonError::into_inner);
        let make = || Arc::new(cinoc::control::physics::Physics::new(&self.config, chunk));
        programs.entry(chunk).or_insert_with(make).clone()
    }

    fn threads(&self) -> Threads {
        let mut held = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let here = std::process::id();
        if held.0 != here && self.device != Device::Cpu {
            throw(RunError::new_err(
                "a GPU cannot be used in a process that was forked after it was opened; start processes with \
                 \"spawn\"",
            ));
        }
        if held.0 != here {
            // threads are lost in a fork, and cannot be told to end
            let again = Threads::new(self.count).unwrap_or_else(|_| Threads::one());
            std::mem::forget(std::mem::replace(&mut *held, (here, again)));
        }
        held.1.clone()
    }

    /// What drives the samples, all lengths checked.
    fn driven<'a, T: Precision>(
        &self,
        samples: usize,
        steps: usize,
        arrays: &'a Arrays<'_, T>,
    ) -> PyResult<Driven<'a, T>> {
        let (config, all) = (&self.config, samples * steps);
        let (places, bounds) = (config.task.dims * config.agents, &config.actuation);
        let expect = |index: usize, name: &str, length: usize| match arrays.slice(index)? {
            Some(values) if values.len() == length => Ok(values),
            Some(values) => Err(wrong(format!("{name} has {} numbers, must have {length}", values.len()))),
            None => Err(wrong(format!("{name} is missing: the agents of {} need it", config.task))),
        };
        if all == 0 {
            return Err(wrong("there are no samples or no steps; give at least one of each"));
        }
        Ok(Driven {
            samples,
            steps,
            z: expect(0, "z", samples * config.state_size())?,
            xi: expect(1, "xi", samples * places)?,
            u: bounds.u_max.map(|_| expect(2, "u", all * config.agents)).transpose()?,
            v: bounds.v_max.map(|_| expect(3, "v", all * places)).transpose()?,
        })
    }

    fn run_in<'py, T: Precision>(
        &self,
        py: Python<'py>,
        samples: usize,
        steps: usize,
        given: &[Option<Bound<'py, PyAny>>],
    ) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
        let arrays = Arrays::<T>::new(given)?;
        let driven = self.driven(samples, steps, &arrays)?;
        let run = || {
            let threads = self.threads();
            self.program::<T>(samples, &threads).run(&driven, &threads)
        };
        let path = guarded(|| py.detach(run))?;
        Ok(vec![Some(path.z.to_pyarray(py).into_any()), Some(path.xi.to_pyarray(py).into_any())])
    }

    fn pull_back_in<'py, T: Precision>(
        &self,
        py: Python<'py>,
        samples: usize,
        steps: usize,
        given: &[Option<Bound<'py, PyAny>>],
    ) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
        let arrays = Arrays::<T>::new(given)?;
        let driven = self.driven(samples, steps, &arrays)?;
        let places = self.config.task.dims * self.config.agents;
        let adjoint = |index: usize, size: usize| match arrays.slice(index)? {
            Some(values) if values.len() == samples * steps * size => Ok(values.to_vec()),
            _ => Err(wrong("a cotangent has another shape than its value")),
        };
        let path = Path { z: adjoint(4, self.config.state_size())?, xi: adjoint(5, places)? };
        let pull = || {
            let threads = self.threads();
            self.program::<T>(samples, &threads).pull_back(&driven, &path, &threads)
        };
        let found = guarded(|| py.detach(pull))?;
        let array = |values: Vec<T>| values.to_pyarray(py).into_any();
        Ok(vec![Some(array(found.z)), Some(array(found.xi)), found.u.map(array), found.v.map(array)])
    }
}

fn is_double(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(array.cast::<PyUntypedArray>()?.dtype().num() == numpy::dtype::<f64>(array.py()).num())
}

/// Adds them to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Physics>()
}
