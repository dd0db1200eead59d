//! The range of values an axis shows.

use super::Scale;

/// Above this, padded ranges may overflow; below its inverse, powers of ten lose digits.
const LARGEST: f64 = 1e250;

/// Whether a value can be drawn on an axis: finite, not too large, and positive on a logarithmic axis.
pub(crate) fn is_drawable(value: f64, scale: Scale) -> bool {
    match scale {
        Scale::Linear => value.abs() < LARGEST,
        Scale::Log => value > 1.0 / LARGEST && value < LARGEST,
    }
}

/// A closed interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    pub low: f64,
    pub high: f64,
}

impl Range {
    /// The smallest range that contains all drawable values, if there are any.
    pub fn of(values: impl IntoIterator<Item = f64>, scale: Scale) -> Option<Self> {
        values.into_iter().filter(|&v| is_drawable(v, scale)).fold(None, |range, v| {
            let Range { low, high } = range.unwrap_or(Range { low: v, high: v });
            Some(Range { low: low.min(v), high: high.max(v) })
        })
    }

    /// The given limits, if they are valid for an axis.
    pub fn checked(low: f64, high: f64, scale: Scale) -> Option<Self> {
        let usable = is_drawable(low, scale) && is_drawable(high, scale) && low < high;
        usable.then_some(Range { low, high })
    }

    /// The range of an axis without data.
    pub fn empty(scale: Scale) -> Self {
        match scale {
            Scale::Linear => Range { low: 0.0, high: 1.0 },
            Scale::Log => Range { low: 0.1, high: 1.0 },
        }
    }

    /// Grown by this fraction of its length at both ends, so that curves do not touch the frame.
    pub fn padded(self, fraction: f64, scale: Scale) -> Self {
        let Range { low, high } = self.widened(scale);
        match scale {
            Scale::Linear => {
                let pad = fraction * (high - low);
                Range { low: low - pad, high: high + pad }
            }
            Scale::Log => {
                // The ratio of the ends may overflow, the difference of their logarithms does not.
                let pad = 10f64.powf(fraction * (high.log10() - low.log10()));
                Range { low: low / pad, high: high * pad }
            }
        }
    }

    /// This range, or a wider one if the ends are too close to distinguish ticks.
    pub fn widened(self, scale: Scale) -> Self {
        let Range { low, high } = self;
        let largest = low.abs().max(high.abs());
        let wide_enough = high - low > 1e-9 * largest && high - low > 1.0 / LARGEST;
        match scale {
            _ if wide_enough => self,
            Scale::Linear if largest <= 1.0 / LARGEST => Range { low: -1.0, high: 1.0 },
            Scale::Linear => Range { low: low - 0.5 * largest, high: high + 0.5 * largest },
            Scale::Log => Range { low: low / 2.0, high: high * 2.0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_drawable_values_count() {
        let values = [f64::NAN, 2.0, f64::INFINITY, -1.0, f64::MAX, 0.0];
        assert_eq!(Range::of(values, Scale::Linear), Some(Range { low: -1.0, high: 2.0 }));
        assert_eq!(Range::of(values, Scale::Log), Some(Range { low: 2.0, high: 2.0 }));
        assert_eq!(Range::of([f64::NAN], Scale::Linear), None);
    }

    #[test]
    fn unusable_limits_are_refused() {
        assert!(Range::checked(0.0, 1.0, Scale::Linear).is_some());
        assert!(Range::checked(1.0, 0.0, Scale::Linear).is_none());
        assert!(Range::checked(0.0, f64::NAN, Scale::Linear).is_none());
        assert!(Range::checked(0.0, 1.0, Scale::Log).is_none());
    }

    #[test]
    fn the_widest_ranges_stay_finite() {
        let widest = Range { low: 1.01 / LARGEST, high: 0.99 * LARGEST }.padded(0.05, Scale::Log);
        assert!(
            widest.low > 0.0
                && widest.low < 1.0 / LARGEST
                && widest.high > LARGEST
                && widest.high.is_finite()
        );
    }

    #[test]
    fn constant_data_gets_a_range_around_it() {
        for value in [0.0, 3.0, -2e-12, 1e200] {
            let Range { low, high } = Range { low: value, high: value }.widened(Scale::Linear);
            assert!(low < value && value < high);
        }
    }
}
