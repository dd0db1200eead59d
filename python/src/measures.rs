//! What a policy does: rollouts, evaluations, sweeps; and whether gradients are right.

use std::path::PathBuf;

use cinoc::adjoint::Threads;
use cinoc::control::Config;
use cinoc::learn::team::Team;
use cinoc::work::subject::{CasesFrom, Circumstances, resolve};
use cinoc::work::{Device, evaluation, gradients, sweep, threads};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{array, tensors};
use crate::errors::{raised, wrong};
use crate::observer::work;
use crate::policy::{Policy, settings};
use crate::tasks::{config_of, sets_of, task_of};

/// Under which circumstances Python uses a policy.
fn circumstances(
    cases: &Bound<'_, PyAny>,
    agents: Option<i64>,
    fail: Option<String>,
    config: Option<&Bound<'_, PyDict>>,
    asked: Option<i64>,
    device: &str,
) -> PyResult<Circumstances> {
    let (py, mut sets) = (cases.py(), sets_of(config)?);
    sets.extend(agents.map(|agents| format!("agents={agents}")));
    let cases = match (cases.cast::<PyDict>(), cases.extract::<i64>(), cases.extract::<PathBuf>()) {
        (Ok(arrays), _, _) => CasesFrom::Given(tensors(arrays)?),
        (_, Ok(count), _) => {
            at_least_one("cases", count)?;
            CasesFrom::Named(count.to_string())
        }
        (_, _, Ok(name)) => CasesFrom::Named(name.to_string_lossy().into_owned()),
        _ => {
            return Err(wrong(
                "cases: give a number, \"test:N\", \"paper\", a file, or a dictionary of arrays (z0, zt, \
                 xi0)",
            ));
        }
    };
    // the number of agents is a setting like the others
    Ok(Circumstances { agents: None, sets, fail, cases, threads: thread_pool(py, asked, device)? })
}

fn at_least_one(name: &str, count: i64) -> PyResult<usize> {
    match usize::try_from(count) {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(wrong(format!("{name}={count}: must be at least 1"))),
    }
}

/// Threads to use: what was asked for, or all there are. Programs run on the device.
pub fn thread_pool(py: Python<'_>, asked: Option<i64>, device: &str) -> PyResult<Threads> {
    let asked = asked.map(|asked| at_least_one("threads", asked)).transpose()?;
    let device = device_of(device)?;
    py.detach(|| threads(asked, device)).map_err(raised)
}

/// The device of a name of the command line.
pub fn device_of(name: &str) -> PyResult<Device> {
    name.parse().map_err(|reason: String| wrong(reason))
}

/// A seed.
pub fn seed_of(seed: i64) -> PyResult<u64> {
    u64::try_from(seed).map_err(|_| wrong(format!("seed={seed}: must be at least 0")))
}

/// Runs cases with and without control; the arrays by name.
#[pyfunction]
fn rollout<'py>(
    py: Python<'py>,
    policy: &Bound<'py, Policy>,
    cases: &Bound<'py, PyAny>,
    agents: Option<i64>,
    fail: Option<String>,
    seed: i64,
    config: Option<&Bound<'py, PyDict>>,
    threads: Option<i64>,
    device: &str,
    watch: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let file = policy.get().file.clone();
    let (asked, seed) = (circumstances(cases, agents, fail, config, threads, device)?, seed_of(seed)?);
    let (subject, controlled, uncontrolled) = work(py, watch, |observer| {
        let subject = resolve(&file.config, &asked, observer)?;
        let [controlled, uncontrolled] = evaluation::roll_out(&file, &subject, seed, observer)?;
        Ok((subject, controlled, uncontrolled))
    })?;
    let (config, cases) = (&subject.config, &subject.cases);
    let (count, steps, field) = (cases.count, config.time.steps, field_shape(config));
    let in_time = |shape: &[usize]| [&[count, steps], shape].concat();
    let vectors = [config.task.dims, config.agents];
    let vectors = &vectors[2 - config.task.dims..];
    let found = PyDict::new(py);
    found.set_item("z", array(py, &in_time(&field), controlled.z)?)?;
    let one = [config.agents];
    for (name, shape, values) in
        [("xi", vectors, controlled.xi), ("u", &one[..], controlled.u), ("v", vectors, controlled.v)]
    {
        let values = values.filter(|values| !values.is_empty());
        found.set_item(name, values.map(|values| array(py, &in_time(shape), values)).transpose()?)?;
    }
    found.set_item("error", array(py, &in_time(&[]), controlled.error)?)?;
    found.set_item("uncontrolled_z", array(py, &in_time(&field), uncontrolled.z)?)?;
    found.set_item("uncontrolled_error", array(py, &in_time(&[]), uncontrolled.error)?)?;
    let shape = [&[count], &field[..]].concat();
    let single = |values: &[f64]| values.iter().map(|&x| x as f32).collect::<Vec<f32>>();
    found.set_item("z0", array(py, &shape, single(&cases.z0))?)?;
    found.set_item("target", array(py, &shape, single(&cases.zt))?)?;
    let domain = config.domain();
    let axes: Vec<_> = domain.axes().map(|axis| axis.points()).collect();
    let axes: PyResult<Vec<_>> = axes.into_iter().map(|points| array(py, &[points.len()], points)).collect();
    found.set_item("axes", axes?)?;
    found.set_item("field", config.task.shown())?;
    found.set_item("dt", config.control_dt())?;
    found.set_item("cases_from", &subject.cases_label)?;
    found.set_item("settings", settings(config))?;
    Ok(found)
}

/// Extents of a state: one axis for the fields, if there are several.
fn field_shape(config: &Config) -> Vec<usize> {
    let several = Some(config.task.fields.len()).filter(|&fields| fields > 1);
    several.into_iter().chain(config.axes().iter().map(|axis| axis.n)).collect()
}

/// What `cinoc eval --json` prints.
#[pyfunction]
fn evaluate(
    py: Python<'_>,
    policy: &Bound<'_, Policy>,
    cases: &Bound<'_, PyAny>,
    agents: Option<i64>,
    fail: Option<String>,
    seed: i64,
    config: Option<&Bound<'_, PyDict>>,
    threads: Option<i64>,
    device: &str,
    watch: Option<Py<PyAny>>,
) -> PyResult<String> {
    let file = policy.get().file.clone();
    let (asked, seed) = (circumstances(cases, agents, fail, config, threads, device)?, seed_of(seed)?);
    work(py, watch, |observer| {
        let subject = resolve(&file.config, &asked, observer)?;
        let evaluated = evaluation::evaluate(&file, &subject, seed, observer, |_| Ok(()))?;
        Ok(serde_json::to_string(&evaluated).expect("an evaluation is plain data"))
    })
}

/// What `cinoc sweep --json` prints.
#[pyfunction]
fn sweep_along(
    py: Python<'_>,
    policy: &Bound<'_, Policy>,
    axis: &str,
    values: Option<Vec<String>>,
    cases: i64,
    out: Option<PathBuf>,
    threads: Option<i64>,
    device: &str,
    watch: Option<Py<PyAny>>,
) -> PyResult<String> {
    let file = policy.get().file.clone();
    let (cases, threads) = (at_least_one("cases", cases)?, thread_pool(py, threads, device)?);
    work(py, watch, |observer| {
        let results =
            sweep::measure(&file, axis, values.as_deref(), cases, threads, &Team::alone(), observer)?;
        if let Some(out) = out {
            results.write(&out).map_err(cinoc::lab::workshop::LabError::from)?;
        }
        Ok(serde_json::to_string(&results).expect("results are plain data"))
    })
}

/// Gradients against central differences, as JSON.
#[pyfunction]
fn check_gradients(
    py: Python<'_>,
    task: &Bound<'_, PyAny>,
    preset: &str,
    config: Option<&Bound<'_, PyDict>>,
    device: &str,
) -> PyResult<String> {
    let config = config_of(task_of(task)?.as_ref(), preset, "cinoc", config)?;
    let device = device_of(device)?;
    work(py, None, |_| {
        let found = gradients::measure(&config, &device.with(Threads::one())?)?;
        gradients::check(&found)?;
        Ok(serde_json::to_string(&found).expect("a check is plain data"))
    })
}

/// Adds them to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(rollout, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(sweep_along, module)?)?;
    module.add_function(wrap_pyfunction!(check_gradients, module)?)
}
