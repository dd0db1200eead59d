//! Arrays as text: lines of numbers, or nested lists in JSON.

use serde_json::Value;

use super::Array;

/// Lines of numbers, separated by commas or by spaces: `[lines][numbers]`. Empty lines and those that begin
/// with # are skipped.
pub(super) fn parse_lines(bytes: &[u8]) -> Result<Array, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "not text".to_string())?;
    // some spreadsheets mark the beginning of a file
    let text = text.trim_start_matches('\u{feff}');
    let (mut values, mut lines, mut width) = (Vec::new(), 0, 0);
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let cells: Vec<&str> = match line.contains(',') {
            true => line.split(',').map(str::trim).collect(),
            false => line.split_whitespace().collect(),
        };
        for cell in &cells {
            values.push(cell.parse::<f64>().map_err(|_| {
                format!("line {}: {cell:?} is not a number; begin headings with #", number + 1)
            })?);
        }
        let found = cells.len();
        if lines > 0 && found != width {
            return Err(format!("line {} has {found} numbers, those before it {width}", number + 1));
        }
        (lines, width) = (lines + 1, found);
    }
    if lines == 0 {
        return Err("there are no numbers in it".to_string());
    }
    Ok(Array { shape: vec![lines, width], values })
}

/// Numbers in lists, all lists of one depth equally long.
pub(super) fn parse_json(bytes: &[u8]) -> Result<Array, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| format!("not JSON: {error}"))?;
    let mut shape = Vec::new();
    let mut inner = &value;
    while let Value::Array(items) = inner {
        shape.push(items.len());
        match items.first() {
            Some(first) => inner = first,
            None => return Err("there are no numbers in it".to_string()),
        }
    }
    let mut values = Vec::new();
    collect(&value, &shape, &mut values)?;
    Ok(Array { shape, values })
}

fn collect(value: &Value, shape: &[usize], values: &mut Vec<f64>) -> Result<(), String> {
    match (value, shape) {
        (Value::Array(items), [extent, rest @ ..]) if items.len() == *extent => {
            items.iter().try_for_each(|item| collect(item, rest, values))
        }
        (Value::Number(number), []) => {
            values.push(number.as_f64().expect("numbers of JSON are numbers"));
            Ok(())
        }
        (Value::Array(_), _) | (Value::Number(_), _) => {
            Err(format!("its lists differ in length or depth after {} numbers", values.len()))
        }
        _ => Err(format!("after {} numbers there is something else; must be lists of numbers", values.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Result<Array, String> {
        parse_lines(text.as_bytes())
    }

    fn json(text: &str) -> Result<Array, String> {
        parse_json(text.as_bytes())
    }

    #[test]
    fn lines_of_numbers() {
        let array = lines("# x, y\n1, 2.5\r\n\n-3e-1,4\n").unwrap();
        assert_eq!(array, Array { shape: vec![2, 2], values: vec![1.0, 2.5, -0.3, 4.0] });
        assert_eq!(lines("\u{feff}1 2\t3").unwrap().shape, [1, 3]);
        assert_eq!(lines("1\n2\n3").unwrap().shape, [3, 1]);
    }

    #[test]
    fn bad_lines_are_named() {
        assert_eq!(lines("x,y\n1,2").unwrap_err(), "line 1: \"x\" is not a number; begin headings with #");
        assert!(lines("1,2\n3,,4").unwrap_err().starts_with("line 2: \"\" is not a number"));
        assert_eq!(lines("1 2\n3").unwrap_err(), "line 2 has 1 numbers, those before it 2");
        assert_eq!(lines("\n# nothing\n").unwrap_err(), "there are no numbers in it");
        assert_eq!(parse_lines(&[0xff, 0xfe]).unwrap_err(), "not text");
    }

    #[test]
    fn nested_lists() {
        let array = json("[[1, 2.5, 3], [4, 5, 6e1]]").unwrap();
        assert_eq!(array, Array { shape: vec![2, 3], values: vec![1.0, 2.5, 3.0, 4.0, 5.0, 60.0] });
        assert!(json("[[1, 2], [3]]").unwrap_err().contains("after 2 numbers"));
        assert!(json("[1, [2]]").unwrap_err().contains("depth"));
        assert!(json("[1, null]").unwrap_err().contains("something else"));
        assert!(json("{\"z\": [1]}").unwrap_err().contains("lists of numbers"));
        assert!(json("[[], []]").unwrap_err().contains("no numbers"));
        assert!(json("[1, ").unwrap_err().contains("not JSON"));
        let deep = "[".repeat(100_000);
        assert!(json(&deep).unwrap_err().contains("not JSON"));
    }
}
