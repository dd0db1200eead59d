//! The native half of the Python package `cinoc`.

mod errors;
mod tasks;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    tasks::register(module)
}
