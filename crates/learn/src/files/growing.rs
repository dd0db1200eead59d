//! A safetensors file whose arrays are written part by part, for contents that do not fit into memory.

use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::atomic::Replacement;
use super::bytes;
use super::error::FileError;

/// Arrays in single precision that share their first axis and grow along it together. The file appears when
/// it is finished. It has no checksum, because that would have to stand in front of what is not known yet.
pub struct GrowingTensors {
    replacement: Replacement,
    path: PathBuf,
    arrays: Vec<Array>,
}

struct Array {
    name: String,
    /// Where its next number goes, and where its last one ends, in bytes.
    next: u64,
    end: u64,
}

impl GrowingTensors {
    /// A file for arrays of these names and shapes, the first extent of each being the final one.
    pub fn begin(
        path: &Path,
        shapes: &[(&str, Vec<usize>)],
        metadata: &[(&str, &str)],
    ) -> Result<GrowingTensors, FileError> {
        let replacement = Replacement::begin(path)?;
        let header = bytes::header_of_singles(shapes, metadata);
        replacement.file().write_all(&header).map_err(|error| FileError::io("write", path, error))?;
        let mut next = header.len() as u64;
        let arrays = shapes.iter().map(|(name, shape)| {
            let begin = next;
            next += 4 * shape.iter().map(|&extent| extent as u64).product::<u64>();
            Array { name: name.to_string(), next: begin, end: next }
        });
        Ok(GrowingTensors { arrays: arrays.collect(), replacement, path: path.to_path_buf() })
    }

    /// Adds numbers to an array.
    ///
    /// # Panics
    /// If there is no such array, or it would become longer than announced.
    pub fn append(&mut self, name: &str, values: &[f32]) -> Result<(), FileError> {
        let array = self.arrays.iter_mut().find(|array| array.name == name).expect("an announced array");
        let begin = array.next;
        array.next += 4 * values.len() as u64;
        assert!(array.next <= array.end, "more numbers in {name} than announced");
        let write = || -> io::Result<()> {
            let mut file = BufWriter::new(self.replacement.file());
            file.seek(SeekFrom::Start(begin))?;
            for value in values {
                file.write_all(&value.to_le_bytes())?;
            }
            file.flush()
        };
        write().map_err(|error| FileError::io("write", &self.path, error))
    }

    /// Puts the file in its place.
    ///
    /// # Panics
    /// If an array is shorter than announced.
    pub fn finish(self) -> Result<(), FileError> {
        for array in &self.arrays {
            assert_eq!(array.next, array.end, "end of {}", array.name);
        }
        self.replacement.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Tensors;
    use super::*;

    #[test]
    fn parts_come_back_as_one_array() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.safetensors");
        let shapes = [("z", vec![3, 2]), ("u", vec![3])];
        let mut file = GrowingTensors::begin(&path, &shapes, &[("task", "heat1d")]).unwrap();
        file.append("z", &[1.0, 2.0]).unwrap();
        file.append("u", &[7.0]).unwrap();
        file.append("z", &[3.0, 4.0, 5.0, 6.0]).unwrap();
        file.append("u", &[8.0, 9.0]).unwrap();
        assert!(!path.exists(), "nothing is seen of a file that is not complete");
        file.finish().unwrap();
        let read = Tensors::read(&path).unwrap();
        assert_eq!(read.values::<f32>("z").unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(
            (read.tensor("z").unwrap().shape.clone(), read.values::<f32>("u").unwrap()),
            (vec![3, 2], &[7.0, 8.0, 9.0][..])
        );
        assert_eq!(read.metadata["task"], "heat1d");
    }

    #[test]
    fn a_file_that_is_given_up_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.safetensors");
        drop(GrowingTensors::begin(&path, &[("z", vec![1])], &[]).unwrap());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
