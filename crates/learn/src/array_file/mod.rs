//! Arrays of numbers as other programs write them: NumPy's `.npy`, text (`.csv`, `.txt`), nested lists
//! (`.json`), and named tensors (`.safetensors`).

mod npy;
mod text;

use std::path::Path;

use crate::files::{Data, FileError, TensorError, Tensors};
use crate::policy_file::PolicyError;

/// Networks take squares of what they see, and those must be finite.
const LARGEST: f64 = 1e100;

/// Numbers with the extents of their axes.
///
/// ```
/// use cinoc_learn::array_file::Array;
///
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("positions.csv");
/// std::fs::write(&path, "0.1, 0.2\n0.3, 0.4\n0.5, 0.6\n").unwrap();
/// assert_eq!(Array::read(&path, "xi").unwrap().shape, [3, 2]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Extent of each axis.
    pub shape: Vec<usize>,
    /// The numbers, in row-major order.
    pub values: Vec<f64>,
}

impl Array {
    /// Reads an array in the format that the file's extension names; of a safetensors file, the tensor
    /// `name`. Numbers that are not finite, or so large that a network would overflow, are refused.
    pub fn read(path: &Path, name: &str) -> Result<Array, PolicyError> {
        let format = Format::of(path)?;
        if format == Format::Safetensors {
            return Array::of_tensors(&Tensors::read(path)?, name)
                .map_err(|reason| PolicyError::content(path, reason));
        }
        let bytes = std::fs::read(path).map_err(|error| FileError::io("read", path, error))?;
        let array = match format {
            Format::Npy => npy::parse(&bytes),
            Format::Json => text::parse_json(&bytes),
            Format::Text | Format::Safetensors => text::parse_lines(&bytes),
        };
        array.and_then(Array::usable).map_err(|reason| PolicyError::content(path, reason))
    }

    /// Numbers that are in memory already, each at most `largest` in size.
    pub fn within(shape: Vec<usize>, values: Vec<f64>, largest: f64) -> Result<Array, String> {
        match values.iter().position(|x| !(-largest..=largest).contains(x)) {
            Some(index) => Err(format!(
                "the number at index {index} is {:?}, must be within ±{largest:?}",
                values[index]
            )),
            None => Ok(Array { shape, values }),
        }
    }

    /// A tensor of a file.
    pub fn of_tensors(file: &Tensors, name: &str) -> Result<Array, String> {
        let tensor = file.tensor(name).map_err(|error| error.to_string())?;
        let values = match &tensor.data {
            Data::F32(values) => values.iter().map(|&x| f64::from(x)).collect(),
            Data::F64(values) => values.clone(),
            other => return Err(dtype(name, other)),
        };
        Array { shape: tensor.shape.clone(), values }
            .usable()
            .map_err(|reason| format!("tensor {name:?}: {reason}"))
    }

    /// The same with axes of one point removed until `axes` are left, if there are as many: a column of text
    /// is a line too.
    pub fn with_axes(mut self, axes: usize) -> Array {
        while self.shape.len() > axes {
            let Some(single) = self.shape.iter().position(|&extent| extent == 1) else { break };
            self.shape.remove(single);
        }
        self
    }

    fn usable(self) -> Result<Array, String> {
        Array::within(self.shape, self.values, LARGEST)
    }
}

fn dtype(name: &str, data: &Data) -> String {
    let found = data.dtype().to_string();
    TensorError::Dtype { name: name.to_string(), found, wanted: "F32 or F64" }.to_string()
}

/// How an array is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Npy,
    Text,
    Json,
    Safetensors,
}

impl Format {
    /// The format that an extension names.
    pub fn of(path: &Path) -> Result<Format, PolicyError> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        Ok(match extension.as_deref() {
            Some("npy") => Format::Npy,
            Some("csv" | "txt") => Format::Text,
            Some("json") => Format::Json,
            Some("safetensors") => Format::Safetensors,
            _ => {
                let known = "its name must end in .npy, .csv, .txt, .json or .safetensors";
                return Err(PolicyError::content(path, format!("unknown format; {known}")));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_of_one_point_are_dropped_where_there_are_too_many() {
        let shape = |shape: &[usize], axes| {
            let values = vec![0.0; shape.iter().product()];
            Array { shape: shape.to_vec(), values }.with_axes(axes).shape
        };
        assert_eq!(shape(&[5, 1], 1), [5]);
        assert_eq!(shape(&[1, 5], 1), [5]);
        assert_eq!(shape(&[1, 1], 1), [1]);
        assert_eq!(shape(&[1, 4, 5], 2), [4, 5]);
        assert_eq!(shape(&[1, 5], 2), [1, 5]);
        assert_eq!(shape(&[2, 5], 1), [2, 5], "which of two lines is meant is not known");
    }

    #[test]
    fn tensors_are_found_by_name_and_type() {
        let mut file = Tensors::default();
        file.insert("z", &[2], vec![1.0f32, 2.0]);
        file.insert("xi", &[2], vec![1u8, 2]);
        file.insert("zt", &[2], vec![1.0, f64::NAN]);
        assert_eq!(Array::of_tensors(&file, "z").unwrap().values, [1.0, 2.0]);
        let error = |name| Array::of_tensors(&file, name).unwrap_err();
        assert_eq!(error("xi"), "tensor \"xi\" has dtype U8, must be F32 or F64");
        assert_eq!(error("zt"), "tensor \"zt\": the number at index 1 is NaN, must be within ±1e100");
        assert_eq!(error("u"), "no tensor \"u\"; there are xi, z, zt");
    }
}
