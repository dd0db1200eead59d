//! Errors of the library as Python exceptions, with the texts of the command line.
//!
//! The classes are written in Python (`cinoc/errors.py`), because they have two parents each.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use cinoc::Failure;
use cinoc::cuda::DeviceError;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::import_exception;
use pyo3::prelude::*;

use crate::pde::cause_of;

import_exception!(cinoc.errors, ConfigError);
import_exception!(cinoc.errors, RunError);

/// The exception of a failure.
pub fn raised(failure: impl Into<Failure>) -> PyErr {
    match failure.into() {
        Failure::Request(message) => {
            let cause = cause_of(&message);
            let error = ConfigError::new_err(message);
            Python::attach(|py| error.set_cause(py, cause));
            error
        }
        Failure::Run(message) => RunError::new_err(message),
        Failure::Interrupted(message) => PyKeyboardInterrupt::new_err(message),
    }
}

/// The exception of a wrong argument.
pub fn wrong(message: impl Into<String>) -> PyErr {
    ConfigError::new_err(message.into())
}

/// An exception of the user's code on its way through code that cannot fail.
struct Thrown(PyErr);

/// Carries an exception of the user's code (how cases are drawn, say) out of code that cannot fail, to
/// [`guarded`].
pub fn throw(error: PyErr) -> ! {
    // not a panic: nothing is printed
    resume_unwind(Box::new(Thrown(error)))
}

/// Does something that may [`throw`], whose device may fail, or that may panic by a mistake of ours: all of
/// these become exceptions.
pub fn guarded<R>(work: impl FnOnce() -> R) -> PyResult<R> {
    catch_unwind(AssertUnwindSafe(work)).map_err(unwound)
}

/// The exception of work that was unwound.
pub fn unwound(payload: Box<dyn Any + Send>) -> PyErr {
    let payload = match payload.downcast::<Thrown>() {
        Ok(thrown) => return thrown.0,
        Err(payload) => payload,
    };
    match payload.downcast::<DeviceError>() {
        Ok(error) => raised(*error),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
            RunError::new_err(format!("a defect of cinoc: {text}"))
        }
    }
}
