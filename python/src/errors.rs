//! Errors of the library as Python exceptions, with the texts of the command line.
//!
//! The classes are written in Python (`cinoc/errors.py`), because they have two parents each.

use cinoc::Failure;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::import_exception;
use pyo3::prelude::*;

import_exception!(cinoc.errors, ConfigError);
import_exception!(cinoc.errors, RunError);

/// The exception of a failure.
pub fn raised(failure: impl Into<Failure>) -> PyErr {
    match failure.into() {
        Failure::Request(message) => ConfigError::new_err(message),
        Failure::Run(message) => RunError::new_err(message),
        Failure::Interrupted(message) => PyKeyboardInterrupt::new_err(message),
    }
}

/// The exception of a wrong argument.
pub fn wrong(message: impl Into<String>) -> PyErr {
    ConfigError::new_err(message.into())
}
