//! Arrays between NumPy and the library.

use cinoc::learn::array_file::Array;
use cinoc::learn::files::Tensors;
use numpy::{Element, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use crate::errors::wrong;

/// Networks take squares of what they see, and those must be finite in single precision.
pub const LARGEST: f64 = 1e15;

/// Numbers of an argument: an array of any real type and any layout, or nested lists.
pub fn read(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Array> {
    let (shape, values) = match (given.cast::<PyArrayDyn<f32>>(), given.cast::<PyArrayDyn<f64>>()) {
        (Ok(single), _) => (single.shape().to_vec(), numbers(name, single, f64::from)?),
        (_, Ok(double)) => (double.shape().to_vec(), numbers(name, double, |x| x)?),
        _ => {
            let double = as_double(name, given)?;
            (double.shape().to_vec(), numbers(name, &double, |x| x)?)
        }
    };
    Array::within(shape, values, LARGEST).map_err(|reason| wrong(format!("cannot use {name}: {reason}")))
}

/// The same where the argument may be left out.
pub fn read_some(name: &str, given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Array>> {
    given.filter(|given| !given.is_none()).map(|given| read(name, given)).transpose()
}

fn numbers<T: Element + Copy>(
    name: &str,
    array: &Bound<'_, PyArrayDyn<T>>,
    convert: impl Fn(T) -> f64,
) -> PyResult<Vec<f64>> {
    let array = array.try_readonly().map_err(|_| {
        wrong(format!("cannot use {name}: another thread is writing into it; wait for it, or give a copy"))
    })?;
    // a slice is in the order of memory, which of a Fortran array is not that of its indices
    Ok(match array.as_slice() {
        Ok(values) if array.is_c_contiguous() => values.iter().map(|&x| convert(x)).collect(),
        _ => array.as_array().iter().map(|&x| convert(x)).collect(),
    })
}

/// What is no array of floats, as one.
fn as_double<'py>(name: &str, given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    static AS_ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let as_array = AS_ARRAY.import(given.py(), "numpy", "asarray")?;
    let refused = |reason: &str| wrong(format!("cannot use {name}: {reason}"));
    let array = as_array.call1((given,)).map_err(|error| {
        refused(&format!(
            "it is no array of numbers ({}); give a NumPy array of floats",
            error.value(given.py())
        ))
    })?;
    let dtype = array.getattr("dtype")?;
    let kind: String = dtype.getattr("kind")?.extract()?;
    if !["f", "i", "u", "b"].contains(&kind.as_str()) {
        return Err(refused(&format!("it has dtype {}, must be float32 or float64", dtype.str()?)));
    }
    let options = PyDict::new(given.py());
    options.set_item("dtype", "float64")?;
    Ok(as_array.call((array,), Some(&options))?.cast_into::<PyArrayDyn<f64>>()?)
}

/// Numbers as a new NumPy array of this shape, without a copy.
pub fn array<'py, T: Element>(
    py: Python<'py>,
    shape: &[usize],
    values: Vec<T>,
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    numpy::PyArray1::from_vec(py, values).reshape(shape)
}

/// The same with a copy, which for few numbers takes less time.
pub fn small_array<'py, T: Element + Copy>(
    py: Python<'py>,
    shape: &[usize],
    values: &[T],
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    let line = numpy::PyArray1::from_slice(py, values);
    if shape.len() == 1 { Ok(line.to_dyn().clone()) } else { line.reshape(shape) }
}

/// Arrays by name, as a file of cases holds them.
pub fn tensors(given: &Bound<'_, PyDict>) -> PyResult<Tensors> {
    let mut tensors = Tensors::default();
    for (name, values) in given {
        let name = name.str()?.to_string_lossy().into_owned();
        if !["z0", "zt", "xi0"].contains(&name.as_str()) {
            return Err(wrong(format!("cases have no array {name:?}; give z0, zt and optionally xi0")));
        }
        let Array { shape, values } = read(&name, &values)?;
        tensors.insert(&name, &shape, values);
    }
    Ok(tensors)
}
