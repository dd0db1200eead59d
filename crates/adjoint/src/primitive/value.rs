//! A parameter of a primitive, as a value that can be read and printed.

use std::fmt;

/// A parameter of a primitive.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Count(usize),
    /// A real number.
    Number(f64),
    /// One of several variants.
    Word(&'static str),
    /// Some whole numbers; many are told as a table is.
    Counts(Vec<usize>),
    /// Constants: a matrix, a stencil, a grid. A printed listing tells their number and a hash.
    Table(Vec<f64>),
}

/// Lists up to this length are printed.
const SHORT: usize = 4;

/// FNV-1a of the bytes of some numbers.
fn hash(numbers: impl Iterator<Item = u64>) -> u64 {
    let bytes = numbers.flat_map(u64::to_le_bytes);
    bytes.fold(0xcbf29ce484222325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100000001b3))
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Flag(flag) => write!(f, "{flag}"),
            Value::Count(count) => write!(f, "{count}"),
            Value::Number(number) => write!(f, "{number}"),
            Value::Word(word) => write!(f, "{word}"),
            Value::Counts(counts) if counts.len() <= SHORT => write!(f, "{counts:?}"),
            Value::Counts(counts) => {
                let hash = hash(counts.iter().map(|&count| count as u64));
                write!(f, "[{} numbers, hash {hash:016x}]", counts.len())
            }
            Value::Table(numbers) if numbers.len() <= SHORT => write!(f, "{numbers:?}"),
            Value::Table(numbers) => {
                let hash = hash(numbers.iter().map(|number| number.to_bits()));
                write!(f, "[{} numbers, hash {hash:016x}]", numbers.len())
            }
        }
    }
}
