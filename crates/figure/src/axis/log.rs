//! Ticks of a logarithmic axis: decades where there are enough, else 1-2-5, else linear ones.

use super::number::power_of_ten;
use super::{Range, Ticks, linear};

/// With more decades than this there is no space for minor ticks.
const MOST_DECADES_WITH_MINOR: i32 = 9;

/// Values from 1 up to this are written in full.
const PLAIN_BELOW: f64 = 1e5;

/// About `most` ticks inside `range`, which is positive.
pub(super) fn ticks(range: Range, most: usize) -> Ticks {
    let inside = |value: f64| (range.low..=range.high).contains(&value);
    let (first, last) = (range.low.log10().floor() as i32, range.high.log10().ceil() as i32);
    let multiples = |mantissas: &'static [i32]| {
        (first..=last)
            .flat_map(move |exponent| mantissas.iter().map(move |&mantissa| (mantissa, exponent)))
            .filter(move |&(mantissa, exponent)| inside(value(mantissa, exponent)))
    };
    // counts are easier to read in full than as powers
    let plain = range.low > 0.1 && range.high < PLAIN_BELOW && range.high > 10.0;
    let labelled = |(mantissa, exponent)| {
        let value = value(mantissa, exponent);
        (value, if plain { value.to_string() } else { label(mantissa, exponent) })
    };
    let minor = || multiples(&[2, 3, 4, 5, 6, 7, 8, 9]).map(|(m, e)| value(m, e)).collect();

    let decades = multiples(&[1]).count();
    if decades >= 2 {
        let stride = decades.div_ceil(most.max(1)) as i32;
        let major = multiples(&[1]).filter(|(_, exponent)| exponent % stride == 0).map(labelled).collect();
        let minor = match stride {
            1 if last - first <= MOST_DECADES_WITH_MINOR => minor(),
            1 => Vec::new(),
            _ => multiples(&[1]).filter(|(_, e)| e % stride != 0).map(|(m, e)| value(m, e)).collect(),
        };
        return Ticks { major, minor, factor: None };
    }
    // 1-2-5, or 1-3 where that would be too many
    for mantissas in [&[1, 2, 5][..], &[1, 3]] {
        if (2..=most + 1).contains(&multiples(mantissas).count()) {
            return Ticks {
                major: multiples(mantissas).map(labelled).collect(),
                minor: minor(),
                factor: None,
            };
        }
    }
    linear::ticks(range, most)
}

fn value(mantissa: i32, exponent: i32) -> f64 {
    f64::from(mantissa) * 10f64.powi(exponent)
}

fn label(mantissa: i32, exponent: i32) -> String {
    let power = power_of_ten(exponent);
    if mantissa == 1 { power } else { format!("{mantissa}×{power}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(low: f64, high: f64, most: usize) -> Vec<String> {
        ticks(Range { low, high }, most).major.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn decades_one_two_five_and_linear() {
        assert_eq!(labels(1e-3, 1.0, 6), ["10⁻³", "10⁻²", "10⁻¹", "10⁰"]);
        assert_eq!(labels(0.8e-6, 1.0, 4), ["10⁻⁶", "10⁻⁴", "10⁻²", "10⁰"]);
        assert_eq!(labels(4.0, 2000.0, 6), ["10", "100", "1000"]);
        assert_eq!(labels(15.0, 70.0, 6), ["20", "50"]);
        assert_eq!(labels(0.15, 0.9, 6), ["2×10⁻¹", "5×10⁻¹"]);
        assert_eq!(labels(0.11, 9.0, 3), ["3×10⁻¹", "10⁰", "3×10⁰"]);
        assert_eq!(labels(1.1, 1.3, 5), ["1.10", "1.15", "1.20", "1.25", "1.30"]);
    }

    #[test]
    fn minor_ticks_fill_the_decades() {
        assert_eq!(ticks(Range { low: 1.0, high: 100.0 }, 6).minor.len(), 16);
        assert!(ticks(Range { low: 1e-30, high: 1e30 }, 6).minor.len() < 70);
    }

    proptest! {
        #[test]
        fn every_range_has_ticks_inside_it(low in -280.0..280.0f64, decades in 1e-3..18.0f64, most in 3..10usize) {
            let range = Range { low: 10f64.powf(low), high: 10f64.powf(low + decades) };
            let ticks = ticks(range, most);
            prop_assert!((1..=most + 1).contains(&ticks.major.len()), "{:?}", ticks.major);
            for value in ticks.major.iter().map(|tick| tick.0).chain(ticks.minor) {
                prop_assert!(value > range.low * 0.999 && value < range.high * 1.001);
            }
        }
    }
}
