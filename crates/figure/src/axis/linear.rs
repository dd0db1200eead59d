//! Ticks of a linear axis: multiples of 1, 2, 2.5 or 5 times a power of ten.

use super::number::{decimal, power_of_ten};
use super::{Range, Ticks};

/// A step of `mantissa` times ten to the `exponent`. Keeping both as integers makes every tick the number
/// nearest to its decimal label (0.3, not 0.30000000000000004).
#[derive(Clone, Copy)]
struct Step {
    mantissa: i32,
    exponent: i32,
}

impl Step {
    fn multiple(self, i: i64) -> f64 {
        let units = i as f64 * f64::from(self.mantissa);
        if self.exponent < 0 { units / 10f64.powi(-self.exponent) } else { units * 10f64.powi(self.exponent) }
    }

    /// The whole multiples of this step inside `range`, ends included.
    fn multiples(self, range: Range) -> std::ops::RangeInclusive<i64> {
        // A limit such as 0.3 may differ from the intended tick by a rounding error.
        let tolerance = 1e-6;
        let step = self.multiple(1);
        (range.low / step - tolerance).ceil() as i64..=(range.high / step + tolerance).floor() as i64
    }
}

/// At most `most` ticks inside `range`, and at least two if `most` is three or more.
pub(super) fn ticks(range: Range, most: usize) -> Ticks {
    let start = ((range.high - range.low) / most as f64).log10().floor() as i32 - 1;
    let steps = (start..).flat_map(|exponent| {
        [(1, exponent), (2, exponent), (25, exponent - 1), (5, exponent)]
            .map(|(mantissa, exponent)| Step { mantissa, exponent })
    });
    let count = |step: &Step| {
        let multiples = step.multiples(range);
        multiples.end() - multiples.start() + 1
    };
    let step = steps.into_iter().find(|step| count(step) <= most as i64);
    step.map(|step| labelled(step, range)).unwrap_or_default()
}

fn labelled(step: Step, range: Range) -> Ticks {
    let values: Vec<f64> = step.multiples(range).map(|i| step.multiple(i)).collect();
    let largest = values.iter().fold(0.0, |largest: f64, v| largest.max(v.abs()));
    let factor = common_exponent(largest);
    let decimals = (factor - step.exponent).max(0) as usize;
    let label = |value: f64| {
        // Dividing by a positive power and multiplying by a negative one keeps both powers exact.
        let scaled = if factor > 0 { value / 10f64.powi(factor) } else { value * 10f64.powi(-factor) };
        decimal(scaled, decimals)
    };
    Ticks {
        major: values.iter().map(|&value| (value, label(value))).collect(),
        minor: Vec::new(),
        factor: (factor != 0).then(|| format!("×{}", power_of_ten(factor))),
    }
}

/// The power of ten to factor out of the labels if the `largest` is too long to write in full.
fn common_exponent(largest: f64) -> i32 {
    if largest == 0.0 || (1e-3..1e5).contains(&largest) { 0 } else { largest.log10().floor() as i32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(low: f64, high: f64, most: usize) -> Vec<String> {
        ticks(Range { low, high }, most).major.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn familiar_ranges() {
        assert_eq!(labels(0.0, 1.0, 6), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(0.0, 1.0, 5), ["0.00", "0.25", "0.50", "0.75", "1.00"]);
        assert_eq!(labels(0.0, 0.3, 4), ["0.0", "0.1", "0.2", "0.3"]);
        assert_eq!(labels(-1.0, 1.0, 3), ["−1", "0", "1"]);
        assert_eq!(labels(0.0, 2500.0, 6), ["0", "500", "1000", "1500", "2000", "2500"]);
    }

    #[test]
    fn awkward_numbers_share_a_power_of_ten() {
        let small = ticks(Range { low: 0.0, high: 4.2e-5 }, 5);
        assert_eq!(small.factor.as_deref(), Some("×10⁻⁵"));
        assert_eq!(small.major[2].1, "2");
        let large = ticks(Range { low: 0.0, high: 3e6 }, 7);
        assert_eq!(large.factor.as_deref(), Some("×10⁶"));
        assert_eq!(large.major[1].1, "0.5");
    }

    proptest! {
        #[test]
        fn ticks_are_few_even_and_honest(
            low in -1.0..1.0f64, length in 1e-6..1.0f64, exponent in -200..200i32, most in 3..12usize,
        ) {
            let unit = 10f64.powi(exponent);
            let range = Range { low: low * unit, high: (low + length) * unit };
            let span = range.high - range.low;
            let ticks = ticks(range, most);
            let values: Vec<f64> = ticks.major.iter().map(|tick| tick.0).collect();
            prop_assert!((2..=most).contains(&values.len()), "{values:?}");
            prop_assert!(values[0] >= range.low - 1e-5 * span && values[values.len() - 1] <= range.high + 1e-5 * span);
            let step = values[1] - values[0];
            prop_assert!(values.windows(2).all(|v| (v[1] - v[0] - step).abs() < 1e-6 * step));
            // One more tick at either end would lie outside: the ticks cover the whole axis.
            prop_assert!(values[0] - step < range.low && values[values.len() - 1] + step > range.high);
            let factor = if ticks.factor.is_some() {
                10f64.powi(values.iter().fold(0.0f64, |m, v| m.max(v.abs())).log10().floor() as i32)
            } else {
                1.0
            };
            for (value, label) in &ticks.major {
                let read: f64 = label.replace('−', "-").parse().unwrap();
                prop_assert!((read * factor - value).abs() < 1e-6 * step, "{label} is not {value}");
            }
        }
    }
}
