//! The native half of the Python package `cinoc`.

mod autoreset;
mod environment;
mod errors;
mod tasks;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    environment::register(module)?;
    tasks::register(module)
}
