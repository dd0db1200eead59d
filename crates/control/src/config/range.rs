//! Which values a setting may have: the test, and the words for it.

use std::fmt;

use toml::Value;

/// Which values a setting may have.
///
/// ```
/// use cinoc_control::config::Range;
///
/// assert_eq!(Range::AtLeast(1).to_string(), "1 or more");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// True or false, a seed, or something that other keys decide.
    Any,
    /// A whole number from this one on.
    AtLeast(i64),
    /// Above 0.
    Positive,
    /// 0 or more.
    NonNegative,
    /// From the first to the second number, both included.
    Within(f64, f64),
    /// One of these words.
    Words(&'static [&'static str]),
    /// Two numbers above 0, the smaller one first.
    Interval,
    /// One or more whole numbers from 1 to this one.
    Counts(i64),
    /// Any number of whole numbers above 0, each larger than the one before.
    Increasing,
}

impl Range {
    /// Whether a value is in it.
    pub(super) fn holds(self, value: &Value) -> bool {
        let number = || value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
        let finite = |holds: fn(f64) -> bool| number().is_some_and(|x| x.is_finite() && holds(x));
        match self {
            Range::Any => true,
            Range::AtLeast(least) => value.as_integer().is_some_and(|x| x >= least),
            Range::Positive => finite(|x| x > 0.0),
            Range::NonNegative => finite(|x| x >= 0.0),
            Range::Within(low, high) => number().is_some_and(|x| (low..=high).contains(&x)),
            Range::Words(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Range::Interval => {
                let numbers: Vec<f64> =
                    value.as_array().into_iter().flatten().filter_map(Value::as_float).collect();
                matches!(numbers[..], [low, high] if 0.0 < low && low <= high && high.is_finite())
            }
            Range::Counts(most) => {
                let list = value.as_array().map_or(&[][..], Vec::as_slice);
                let count = |x: &Value| x.as_integer().is_some_and(|x| (1..=most).contains(&x));
                !list.is_empty() && list.iter().all(count)
            }
            Range::Increasing => {
                let list = value.as_array().map_or(&[][..], Vec::as_slice);
                let numbers: Vec<i64> = list.iter().filter_map(Value::as_integer).collect();
                numbers.first().is_none_or(|&first| first > 0) && numbers.is_sorted_by(|a, b| a < b)
            }
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Range::Any => write!(f, "any"),
            Range::AtLeast(least) => write!(f, "{least} or more"),
            Range::Positive => write!(f, "above 0 and finite"),
            Range::NonNegative => write!(f, "0 or more, and finite"),
            Range::Within(low, high) => write!(f, "from {low} to {high}"),
            Range::Words(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
                write!(f, "one of {}", quoted.join(", "))
            }
            Range::Interval => write!(f, "two numbers above 0, the smaller one first"),
            Range::Counts(most) => write!(f, "one or more whole numbers from 1 to {most}"),
            Range::Increasing => write!(f, "increasing whole numbers above 0"),
        }
    }
}
