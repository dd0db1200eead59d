//! The native half of the Python package `cinoc`.

mod errors;
mod pde;
mod physics;
mod recording;
mod tasks;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    tasks::register(module)?;
    pde::register(module)?;
    physics::register(module)
}
