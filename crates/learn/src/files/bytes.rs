//! The bytes of a tensor file: safetensors, with a fixed order and a checksum.
//!
//! A file is the length of the header (u64, little-endian), the header (JSON: type, shape and place of every
//! tensor, and `__metadata__`, a map of text), and the numbers. The safetensors crate writes the metadata in
//! the order of a hash map, which changes from run to run; so we write the header ourselves and use the crate
//! to read.
//!
//! The format has no checksum. Ours is the metadata entry `checksum`, 16 hexadecimal digits: FNV-1a (64 bits)
//! of all other metadata, in the order of their keys, then of all tensors, in the order of their names. Each
//! text is preceded by its length, each tensor is name, type, number of axes, extents, numbers; all integers
//! are u64, little-endian. Every step of FNV-1a is a bijection of its state, so one changed byte always
//! changes the result.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use safetensors::tensor::{SafeTensorError, TensorView};
use safetensors::{Dtype, SafeTensors};
use serde::Serialize;

use super::error::TensorError;
use super::tensors::{Data, Tensor, Tensors};

const METADATA: &str = "__metadata__";
const CHECKSUM: &str = "checksum";

/// An entry of the header.
#[derive(Serialize)]
#[serde(untagged)]
enum Entry<'a> {
    Metadata(BTreeMap<&'a str, &'a str>),
    Tensor { dtype: &'a str, shape: &'a [usize], data_offsets: [usize; 2] },
}

pub(super) fn encode(contents: &Tensors) -> Vec<u8> {
    assert!(!contents.metadata.contains_key(CHECKSUM), "the metadata key {CHECKSUM:?} is reserved");
    assert!(!contents.tensors.contains_key(METADATA), "the tensor name {METADATA:?} is reserved");
    let checksum = checksum(contents);
    let mut metadata: BTreeMap<_, _> =
        contents.metadata.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    metadata.insert(CHECKSUM, &checksum);
    let mut header = BTreeMap::from([(METADATA, Entry::Metadata(metadata))]);

    // Wide types first: every tensor is then aligned for readers that map the file into memory.
    let mut tensors: Vec<_> = contents.tensors.iter().collect();
    tensors.sort_by_key(|(name, tensor)| (Reverse(width(&tensor.data)), *name));
    let mut size = 0;
    for (name, Tensor { shape, data }) in &tensors {
        let (begin, end) = (size, size + width(data) * data.len());
        header.insert(name, Entry::Tensor { dtype: data.dtype(), shape, data_offsets: [begin, end] });
        size = end;
    }

    // the numbers may be most of the memory: they are copied once
    let mut file = head(&header);
    file.reserve_exact(size);
    tensors.iter().for_each(|(_, tensor)| append(&mut file, &tensor.data));
    file
}

/// What stands before the numbers of arrays in single precision, which follow one another in the order given.
pub(super) fn header_of_singles(shapes: &[(&str, Vec<usize>)], metadata: &[(&str, &str)]) -> Vec<u8> {
    let mut header = BTreeMap::from([(METADATA, Entry::Metadata(metadata.iter().copied().collect()))]);
    let mut begin = 0;
    for (name, shape) in shapes {
        let end = begin + 4 * shape.iter().product::<usize>();
        header.insert(name, Entry::Tensor { dtype: "F32", shape, data_offsets: [begin, end] });
        begin = end;
    }
    head(&header)
}

/// Length of the header, and the header.
fn head(header: &BTreeMap<&str, Entry<'_>>) -> Vec<u8> {
    let mut header = serde_json::to_vec(header).expect("text and integers are always JSON");
    header.resize(header.len().next_multiple_of(8), b' ');
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header);
    file
}

pub(super) fn decode(bytes: &[u8]) -> Result<Tensors, TensorError> {
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(unreadable)?;
    let views = SafeTensors::deserialize(bytes).map_err(unreadable)?;
    let mut contents = Tensors::default();
    contents.metadata.extend(header.metadata().clone().unwrap_or_default());
    for (name, view) in views.iter() {
        let tensor = Tensor { shape: view.shape().to_vec(), data: numbers(name, &view)? };
        contents.tensors.insert(name.to_string(), tensor);
    }
    if let Some(stored) = contents.metadata.remove(CHECKSUM) {
        let computed = checksum(&contents);
        if stored != computed {
            return Err(TensorError::Checksum { stored, computed });
        }
    }
    Ok(contents)
}

fn unreadable(error: SafeTensorError) -> TensorError {
    let reason = error.to_string().replace('\n', " ");
    match error {
        SafeTensorError::HeaderTooSmall
        | SafeTensorError::InvalidHeaderLength
        | SafeTensorError::MetadataIncompleteBuffer => TensorError::Truncated(reason),
        _ => TensorError::Header(reason),
    }
}

fn numbers(name: &str, view: &TensorView) -> Result<Data, TensorError> {
    let bytes = view.data();
    Ok(match view.dtype() {
        Dtype::F32 => Data::F32(bytes.as_chunks().0.iter().map(|&chunk| f32::from_le_bytes(chunk)).collect()),
        Dtype::F64 => Data::F64(bytes.as_chunks().0.iter().map(|&chunk| f64::from_le_bytes(chunk)).collect()),
        Dtype::U64 => Data::U64(bytes.as_chunks().0.iter().map(|&chunk| u64::from_le_bytes(chunk)).collect()),
        Dtype::U8 => Data::U8(bytes.to_vec()),
        other => {
            return Err(TensorError::Dtype {
                name: name.to_string(),
                found: format!("{other:?}"),
                wanted: "F32, F64, U8 or U64",
            });
        }
    })
}

fn append(bytes: &mut impl Extend<u8>, data: &Data) {
    match data {
        Data::F32(values) => bytes.extend(values.iter().flat_map(|value| value.to_le_bytes())),
        Data::F64(values) => bytes.extend(values.iter().flat_map(|value| value.to_le_bytes())),
        Data::U64(values) => bytes.extend(values.iter().flat_map(|value| value.to_le_bytes())),
        Data::U8(values) => bytes.extend(values.iter().copied()),
    }
}

/// Bytes of one number.
fn width(data: &Data) -> usize {
    match data {
        Data::F64(_) | Data::U64(_) => 8,
        Data::F32(_) => 4,
        Data::U8(_) => 1,
    }
}

pub(super) fn checksum(contents: &Tensors) -> String {
    let mut stream = Fnv1a::default();
    let text = |stream: &mut Fnv1a, text: &str| {
        stream.extend((text.len() as u64).to_le_bytes());
        stream.extend(text.bytes());
    };
    for (key, value) in &contents.metadata {
        text(&mut stream, key);
        text(&mut stream, value);
    }
    for (name, Tensor { shape, data }) in &contents.tensors {
        text(&mut stream, name);
        text(&mut stream, data.dtype());
        stream.extend((shape.len() as u64).to_le_bytes());
        stream.extend(shape.iter().flat_map(|&extent| (extent as u64).to_le_bytes()));
        append(&mut stream, data);
    }
    format!("{:016x}", stream.0)
}

/// FNV-1a, 64 bits.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    let mut hash = Fnv1a::default();
    hash.extend(bytes.iter().copied());
    hash.0
}

/// FNV-1a of bytes that come one after the other.
struct Fnv1a(u64);

impl Default for Fnv1a {
    fn default() -> Fnv1a {
        Fnv1a(0xcbf2_9ce4_8422_2325)
    }
}

impl Extend<u8> for Fnv1a {
    fn extend<I: IntoIterator<Item = u8>>(&mut self, bytes: I) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fnv1a_gives_the_published_values() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn the_layout_is_that_of_the_format_description() {
        let mut contents = Tensors::default();
        contents.insert("b", &[2], vec![1.0_f32, -2.0]);
        contents.insert("a", &[1, 2], vec![3_u8, 4]);
        contents.insert("c", &[], vec![5_u64]);
        contents.metadata.insert("task".to_string(), "heat1d".to_string());
        let bytes = contents.to_bytes();
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let header = std::str::from_utf8(&bytes[8..8 + length]).unwrap();
        // Worked out from the description above by another program: files of old versions must stay readable.
        let checksum = "51f4527eb1295dba";
        let expected = format!(
            "{{\"__metadata__\":{{\"checksum\":\"{checksum}\",\"task\":\"heat1d\"}},\
             \"a\":{{\"dtype\":\"U8\",\"shape\":[1,2],\"data_offsets\":[16,18]}},\
             \"b\":{{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]}},\
             \"c\":{{\"dtype\":\"U64\",\"shape\":[],\"data_offsets\":[0,8]}}}}"
        );
        assert_eq!(header.trim_end(), expected);
        assert_eq!(length % 8, 0);
        assert_eq!(bytes[8 + length..], [5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 63, 0, 0, 0, 192, 3, 4]);
    }

    #[test]
    fn files_of_other_programs_need_no_checksum() {
        let numbers = [1.5_f64, 2.5].map(f64::to_le_bytes).concat();
        let view = TensorView::new(Dtype::F64, vec![2], &numbers).unwrap();
        let bytes = safetensors::serialize([("x", view)], None).unwrap();
        let contents = Tensors::from_bytes(&bytes).unwrap();
        assert_eq!(contents.values::<f64>("x").unwrap(), [1.5, 2.5]);

        let view = TensorView::new(Dtype::I32, vec![4], &numbers).unwrap();
        let bytes = safetensors::serialize([("x", view)], None).unwrap();
        assert_eq!(
            Tensors::from_bytes(&bytes).unwrap_err().to_string(),
            "tensor \"x\" has dtype I32, must be F32, F64, U8 or U64"
        );
    }
}
