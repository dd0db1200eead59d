//! Common colours, sizes and labels of all figures.

use cinoc_control::Config;
use cinoc_figure::{Colour, ColourMap};

/// Width of a figure in points: the column of a report.
pub(super) const WIDTH: f64 = 760.0;

/// Colour of results with the policy.
pub(super) const CONTROLLED: Colour = Colour::palette(0);
/// Colour of results without control.
pub(super) const UNCONTROLLED: Colour = Colour::GREY;
/// Colour of the target.
pub(super) const TARGET: Colour = Colour::palette(1);

/// Axis label of the metric; the target of a stabilisation task is 0.
pub(super) const METRIC: &str = "mean (z − z*)²";

/// Colours of the field: densities are never negative, other fields have both signs.
pub(super) fn field_colours(config: &Config) -> ColourMap {
    if config.task.fields[config.task.shown()].positive {
        ColourMap::Sequential
    } else {
        ColourMap::Diverging
    }
}

/// A time with at most four significant digits, without rounding noise.
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
