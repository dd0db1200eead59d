//! The native half of the Python package `cinoc`.

mod arrays;
mod autoreset;
mod environment;
mod errors;
mod measures;
mod observer;
mod pde;
mod physics;
mod policy;
mod recording;
mod tasks;
mod training;
mod view;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    cinoc::work::silence_device_errors();
    tasks::register(module)?;
    pde::register(module)?;
    physics::register(module)?;
    policy::register(module)?;
    environment::register(module)?;
    measures::register(module)?;
    training::register(module)?;
    view::register(module)
}
