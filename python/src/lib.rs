//! The native half of the Python package `cinoc`.

mod arrays;
mod errors;
mod measures;
mod observer;
mod policy;
mod tasks;
mod training;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    tasks::register(module)?;
    policy::register(module)?;
    measures::register(module)?;
    training::register(module)
}
