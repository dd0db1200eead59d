//! NumPy's `.npy`: a magic string, a version, the length of a header, the header, the numbers.
//!
//! The header is a Python dictionary in ASCII (UTF-8 from version 3 on), such as `{'descr': '<f8',
//! 'fortran_order': False, 'shape': (32, 32), }`. Its length is two bytes in version 1 and four in later
//! ones, little-endian. Single and double precision, little-endian and in C order are read; everything else
//! is refused with the line of Python that makes it readable.

use super::Array;

const MAGIC: &[u8] = b"\x93NUMPY";

pub(super) fn parse(bytes: &[u8]) -> Result<Array, String> {
    let cut = || "cut short; save it again".to_string();
    let rest = bytes.strip_prefix(MAGIC).ok_or("not a file of numpy.save, or a damaged one")?;
    let (&[major, _minor], rest) = rest.split_first_chunk().ok_or_else(cut)?;
    let (length, rest) = match major {
        1 => rest.split_first_chunk().map(|(length, rest)| (u64::from(u16::from_le_bytes(*length)), rest)),
        2 | 3 => {
            rest.split_first_chunk().map(|(length, rest)| (u64::from(u32::from_le_bytes(*length)), rest))
        }
        _ => return Err(format!("version {major} of the .npy format, must be 1, 2 or 3")),
    }
    .ok_or_else(cut)?;
    let length = usize::try_from(length).map_err(|_| cut())?;
    let (header, data) = rest.split_at_checked(length).ok_or_else(cut)?;
    let header = std::str::from_utf8(header).map_err(|_| "its header is not text".to_string())?;
    let entry = |key: &str| value_of(header, key).ok_or_else(|| format!("its header has no {key:?}"));

    match entry("fortran_order")? {
        "False" => {}
        "True" => {
            return Err("its numbers are in Fortran order; save numpy.ascontiguousarray(array)".to_string());
        }
        other => return Err(format!("its header has fortran_order {other}, must be False")),
    }
    let shape = shape(entry("shape")?)?;
    let count = shape.iter().try_fold(1usize, |all, &extent| all.checked_mul(extent));
    let values: Vec<f64> = match entry("descr")?.trim_matches(['\'', '"']) {
        "<f8" => numbers(data, f64::from_le_bytes),
        "<f4" => numbers(data, |bytes| f64::from(f32::from_le_bytes(bytes))),
        other => {
            return Err(format!("its numbers are {other}, must be <f4 or <f8; save array.astype(\"<f8\")"));
        }
    }
    .ok_or_else(cut)?;
    if count != Some(values.len()) {
        return Err(format!(
            "it has {} numbers, its shape {shape:?} needs others; save it again",
            values.len()
        ));
    }
    Ok(Array { shape, values })
}

/// All of the data as numbers of `N` bytes, unless some bytes are left over.
fn numbers<const N: usize>(data: &[u8], number: impl Fn([u8; N]) -> f64) -> Option<Vec<f64>> {
    let (whole, rest) = data.as_chunks();
    rest.is_empty().then(|| whole.iter().map(|&bytes| number(bytes)).collect())
}

/// The text after `'key':`, up to the comma or brace that ends it; a tuple with its parentheses.
fn value_of<'h>(header: &'h str, key: &str) -> Option<&'h str> {
    let (_, rest) =
        ['\'', '"'].iter().find_map(|quote| header.split_once(&format!("{quote}{key}{quote}:")))?;
    let rest = rest.trim_start();
    let end = match rest.starts_with('(') {
        true => rest.find(')')? + 1,
        false => rest.find([',', '}'])?,
    };
    Some(rest[..end].trim())
}

/// `(32, 32)`, `(100,)` or `()`.
fn shape(text: &str) -> Result<Vec<usize>, String> {
    let inside = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    let bad = || format!("its header has shape {text}, must be whole numbers in parentheses");
    let extents = inside.ok_or_else(bad)?.split(',').map(str::trim).filter(|extent| !extent.is_empty());
    extents.map(|extent| extent.parse().map_err(|_| bad())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
        let length = match version {
            1 => (header.len() as u16).to_le_bytes().to_vec(),
            _ => (header.len() as u32).to_le_bytes().to_vec(),
        };
        [MAGIC, &[version, 0], &length, header.as_bytes(), data].concat()
    }

    fn header(descr: &str, fortran: &str, shape: &str) -> String {
        format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}   \n")
    }

    #[test]
    fn both_precisions_and_all_versions_are_read() {
        let double = [1.0f64, -2.5, 3.0, 4.0, 5.0, 6.0].map(f64::to_le_bytes).concat();
        let single = [1.0f32, -2.5, 3.0, 4.0, 5.0, 6.0].map(f32::to_le_bytes).concat();
        for version in 1..=3 {
            for (descr, data) in [("<f8", &double), ("<f4", &single)] {
                let array = parse(&file(version, &header(descr, "False", "(2, 3)"), data)).unwrap();
                assert_eq!(array.shape, [2, 3]);
                assert_eq!(array.values, [1.0, -2.5, 3.0, 4.0, 5.0, 6.0]);
            }
        }
        let line = parse(&file(1, &header("<f8", "False", "(6,)"), &double)).unwrap();
        assert_eq!(line.shape, [6]);
        let one = parse(&file(1, &header("<f8", "False", "()"), &double[..8])).unwrap();
        assert_eq!((one.shape.len(), one.values.as_slice()), (0, &[1.0][..]));
    }

    /// As `numpy.save` of NumPy 2.3 writes `numpy.array([[0.5], [1.5]])`.
    #[test]
    fn a_file_of_numpy_is_read() {
        let header = format!("{:117}\n", "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1), }");
        let bytes = file(1, &header, &[0.5f64, 1.5].map(f64::to_le_bytes).concat());
        assert_eq!(bytes.len(), 128 + 16);
        assert_eq!(parse(&bytes).unwrap(), Array { shape: vec![2, 1], values: vec![0.5, 1.5] });
    }

    #[test]
    fn what_cannot_be_read_is_named_with_the_remedy() {
        let data = [1.0f64, 2.0].map(f64::to_le_bytes).concat();
        let error = |version, header: &str, data: &[u8]| parse(&file(version, header, data)).unwrap_err();
        let whole = header("<f8", "False", "(2,)");
        assert!(error(1, &header("<i8", "False", "(2,)"), &data).contains("astype"));
        assert!(error(1, &header(">f8", "False", "(2,)"), &data).contains(">f8"));
        assert!(error(1, &header("<f8", "True", "(2,)"), &data).contains("ascontiguousarray"));
        assert!(error(1, &header("<f8", "False", "(3,)"), &data).contains("2 numbers"));
        assert!(error(1, &header("<f8", "False", "(99999999999, 99999999999)"), &data).contains("shape"));
        assert!(error(1, &header("<f8", "False", "(-2,)"), &data).contains("whole numbers"));
        assert!(error(1, &whole, &data[..15]).contains("cut short"));
        assert!(error(9, &whole, &data).contains("version 9"));
        assert!(error(1, "{'descr': '<f8'}", &data).contains("fortran_order"));
        assert!(parse(b"hello").unwrap_err().contains("numpy.save"));
        // wherever a file ends too early, it is refused
        let bytes = file(2, &whole, &data);
        assert!((0..bytes.len()).all(|end| parse(&bytes[..end]).is_err()));
    }
}
