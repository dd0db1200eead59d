//! Named arrays with text about them: what checkpoints, policies and recorded fields are made of.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::atomic::write_atomically;
use super::bytes;
use super::error::{FileError, TensorError};

/// Numbers of one type.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
    /// Bytes.
    U8(Vec<u8>),
    /// Counters and states of random generators.
    U64(Vec<u64>),
}

impl Data {
    /// How many numbers there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Data::F32(values) => values.len(),
            Data::F64(values) => values.len(),
            Data::U8(values) => values.len(),
            Data::U64(values) => values.len(),
        }
    }

    /// Their type, as safetensors spells it.
    pub(crate) fn dtype(&self) -> &'static str {
        match self {
            Data::F32(_) => f32::DTYPE,
            Data::F64(_) => f64::DTYPE,
            Data::U8(_) => u8::DTYPE,
            Data::U64(_) => u64::DTYPE,
        }
    }
}

/// A type of number that a tensor may hold.
pub trait Element: Sized {
    /// The type, as safetensors spells it.
    const DTYPE: &'static str;
    /// The numbers, if they are of this type.
    fn slice(data: &Data) -> Option<&[Self]>;
}

macro_rules! element {
    ($type:ty, $variant:ident, $dtype:literal) => {
        impl Element for $type {
            const DTYPE: &'static str = $dtype;
            fn slice(data: &Data) -> Option<&[Self]> {
                match data {
                    Data::$variant(values) => Some(values),
                    _ => None,
                }
            }
        }
        impl From<Vec<$type>> for Data {
            fn from(values: Vec<$type>) -> Data {
                Data::$variant(values)
            }
        }
    };
}
element!(f32, F32, "F32");
element!(f64, F64, "F64");
element!(u8, U8, "U8");
element!(u64, U64, "U64");

/// An array.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Extent of each axis.
    pub shape: Vec<usize>,
    /// The numbers, in row-major order.
    pub data: Data,
}

/// Arrays by name, and text by key.
///
/// The same contents always give the same bytes. The file carries a checksum, which is verified when it is
/// read; files of other programs, which have none, can be read too.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tensors {
    /// The arrays.
    pub tensors: BTreeMap<String, Tensor>,
    /// The text; the key `checksum` is reserved.
    pub metadata: BTreeMap<String, String>,
}

impl Tensors {
    /// Adds an array, or replaces the one of that name.
    ///
    /// # Panics
    /// If the shape does not fit the number of values.
    pub fn insert(&mut self, name: &str, shape: &[usize], data: impl Into<Data>) {
        let data = data.into();
        assert_eq!(shape.iter().product::<usize>(), data.len(), "shape {shape:?} of tensor {name:?}");
        self.tensors.insert(name.to_string(), Tensor { shape: shape.to_vec(), data });
    }

    /// The array of that name.
    pub fn tensor(&self, name: &str) -> Result<&Tensor, TensorError> {
        self.tensors.get(name).ok_or_else(|| {
            let known = self.tensors.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let known = if known.is_empty() { "none".to_string() } else { known };
            TensorError::Missing { name: name.to_string(), known }
        })
    }

    /// The numbers of an array, which must be of type `T`.
    pub fn values<T: Element>(&self, name: &str) -> Result<&[T], TensorError> {
        let data = &self.tensor(name)?.data;
        T::slice(data).ok_or_else(|| TensorError::Dtype {
            name: name.to_string(),
            found: data.dtype().to_string(),
            wanted: T::DTYPE,
        })
    }

    /// The checksum in the metadata of its file: 16 hexadecimal digits.
    pub fn checksum(&self) -> String {
        bytes::checksum(self)
    }

    /// Checks that no array holds a number that is infinite or not a number.
    pub fn check_finite(&self) -> Result<(), TensorError> {
        for (name, tensor) in &self.tensors {
            let bad = match &tensor.data {
                Data::F32(values) => {
                    values.iter().position(|x| !x.is_finite()).map(|i| (i, f64::from(values[i])))
                }
                Data::F64(values) => values.iter().position(|x| !x.is_finite()).map(|i| (i, values[i])),
                Data::U8(_) | Data::U64(_) => None,
            };
            if let Some((index, value)) = bad {
                return Err(TensorError::NotFinite { name: name.clone(), index, value });
            }
        }
        Ok(())
    }

    /// The contents as a safetensors file with a checksum.
    ///
    /// # Panics
    /// If the metadata has a key `checksum` or an array is named `__metadata__`: the format uses these names.
    pub fn to_bytes(&self) -> Vec<u8> {
        bytes::encode(self)
    }

    /// Reads a safetensors file from memory.
    pub fn from_bytes(bytes: &[u8]) -> Result<Tensors, TensorError> {
        bytes::decode(bytes)
    }

    /// Writes a safetensors file, completely or not at all.
    pub fn write(&self, path: &Path) -> Result<(), FileError> {
        write_atomically(path, |file| file.write_all(&self.to_bytes()))
    }

    /// Reads a safetensors file.
    pub fn read(path: &Path) -> Result<Tensors, FileError> {
        let bytes = fs::read(path).map_err(|error| FileError::io("read", path, error))?;
        Tensors::from_bytes(&bytes).map_err(|error| FileError::Content { path: path.to_path_buf(), error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_is_checked_by_name_and_type() {
        let mut tensors = Tensors::default();
        assert_eq!(tensors.tensor("w").unwrap_err().to_string(), "no tensor \"w\"; there are none");
        tensors.insert("w", &[2, 1], vec![1.0_f32, 2.0]);
        tensors.insert("step", &[], vec![7_u64]);
        assert_eq!(tensors.values::<f32>("w").unwrap(), [1.0, 2.0]);
        assert_eq!(tensors.tensor("w").unwrap().shape, [2, 1]);
        assert_eq!(tensors.values::<u64>("step").unwrap(), [7]);
        assert_eq!(
            tensors.values::<f64>("w").unwrap_err().to_string(),
            "tensor \"w\" has dtype F32, must be F64"
        );
        assert_eq!(tensors.values::<f32>("b").unwrap_err().to_string(), "no tensor \"b\"; there are step, w");
    }

    #[test]
    #[should_panic(expected = "shape [3] of tensor \"w\"")]
    fn shapes_must_fit() {
        Tensors::default().insert("w", &[3], vec![1.0_f32]);
    }

    #[test]
    fn the_first_number_that_is_not_finite_is_named() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut tensors = Tensors::default();
            tensors.insert("a", &[2], vec![255_u8, 0]);
            tensors.insert("b", &[3], vec![1.0_f32, 2.0, 3.0]);
            tensors.check_finite().unwrap();
            tensors.insert("b", &[3], vec![1.0_f32, bad as f32, bad as f32]);
            let message = tensors.check_finite().unwrap_err().to_string();
            assert!(
                message.starts_with(&format!("tensor \"b\" is {bad} at index 1, must be finite")),
                "{message}"
            );
            tensors.insert("b", &[1], vec![bad]);
            assert!(matches!(tensors.check_finite(), Err(TensorError::NotFinite { index: 0, .. })));
        }
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = Tensors::read(Path::new("/nowhere/policy.safetensors")).unwrap_err();
        assert_eq!(error.to_string(), "cannot read /nowhere/policy.safetensors: not found; check the path");
    }
}
