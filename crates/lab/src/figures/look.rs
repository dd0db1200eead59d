//! What means the same in every figure looks the same.

use cinoc_control::Config;
use cinoc_figure::{Colour, ColourMap};

/// Width of a figure in points: the column of a report.
pub(super) const WIDTH: f64 = 760.0;

/// With the policy.
pub(super) const CONTROLLED: Colour = Colour::palette(0);
/// Without control.
pub(super) const UNCONTROLLED: Colour = Colour::GREY;
/// What the field should become.
pub(super) const TARGET: Colour = Colour::palette(1);

/// The metric on an axis; the target of a stabilisation task is 0.
pub(super) const METRIC: &str = "mean (z − z*)²";

/// Colours of the field: densities are never negative, other fields have both signs.
pub(super) fn field_colours(config: &Config) -> ColourMap {
    if config.task.fields[config.task.shown()].positive {
        ColourMap::Sequential
    } else {
        ColourMap::Diverging
    }
}

/// A time with at most four significant digits, without the noise of its multiplication.
pub(super) fn short(time: f64) -> String {
    format!("{time:.3e}").parse::<f64>().expect("a number that was just written").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        assert_eq!([0.0, 66.0 * 0.05, 30.0 * 0.001, 10.0].map(short), ["0", "3.3", "0.03", "10"]);
    }
}
