//! Damaged tensor files: cut short, or with any one bit wrong.

use std::fs;

use super::*;

fn small() -> Tensors {
    let mut contents = Tensors::default();
    contents.insert("branch.w", &[2, 3], vec![0.5_f32, -1.0, 2.0, 1e-20, f32::MAX, 0.0]);
    contents.insert("empty", &[0, 3], Vec::<f32>::new());
    contents.insert("mean", &[1], vec![0.1_f64]);
    contents.insert("rng", &[4], vec![1_u8, 2, 3, 255]);
    contents.insert("step", &[], vec![u64::MAX]);
    contents.metadata.insert("config".to_string(), "task = \"heat1d\"\nagents = 8\n".to_string());
    contents.metadata.insert("kind".to_string(), "policy".to_string());
    contents
}

#[test]
fn a_file_holds_what_was_written_and_always_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.safetensors");
    small().write(&path).unwrap();
    assert_eq!(Tensors::read(&path).unwrap(), small());
    assert_eq!(fs::read(&path).unwrap(), small().to_bytes());
    assert_eq!(Tensors::from_bytes(&Tensors::default().to_bytes()).unwrap(), Tensors::default());
}

#[test]
fn every_truncation_is_an_error() {
    let bytes = small().to_bytes();
    for length in 0..bytes.len() {
        let error = Tensors::from_bytes(&bytes[..length]).unwrap_err();
        assert!(matches!(error, TensorError::Truncated(_)), "at {length}: {error:?}");
        assert!(error.to_string().starts_with("cut short ("), "{error}");
    }
    let longer = [bytes, vec![0]].concat();
    assert!(Tensors::from_bytes(&longer).is_err());
}

#[test]
fn every_flipped_bit_is_an_error_or_harmless() {
    let (contents, bytes) = (small(), small().to_bytes());
    let header_end = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut harmless = 0;
    for bit in 0..8 * bytes.len() {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        match Tensors::from_bytes(&damaged) {
            Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{error}"),
            Ok(read) => {
                // Only the name of the checksum entry may be hit: the rest is then read unchecked, but
                // undamaged.
                assert_eq!(read.tensors, contents.tensors, "bit {bit}");
                assert!(contents.metadata.iter().all(|(key, value)| read.metadata.get(key) == Some(value)));
                assert!(bit / 8 < header_end);
                harmless += 1;
            }
        }
    }
    assert!(harmless <= 8 * "checksum".len(), "{harmless} flips went unnoticed");
}

#[test]
fn errors_name_the_file_and_the_kind_of_damage() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("policy.safetensors");
    let bytes = small().to_bytes();
    let mut damaged_data = bytes.clone();
    *damaged_data.last_mut().unwrap() ^= 1;
    let mut damaged_header = bytes.clone();
    damaged_header[8] ^= 1;
    for (contents, kind) in [
        (&bytes[..bytes.len() / 2], "cut short ("),
        (&damaged_data, "damaged: its checksum is "),
        (&damaged_header, "damaged header, or not a safetensors file ("),
        (b"[train]\nlr = 3\n", "damaged header, or not a safetensors file ("),
    ] {
        fs::write(&path, contents).unwrap();
        let message = Tensors::read(&path).unwrap_err().to_string();
        assert!(message.starts_with(&format!("cannot use {}: {kind}", path.display())), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}
