//! Common colours, sizes and labels of all figures.

use cinoc_control::Config;
use cinoc_figure::{Colour, ColourMap, Figure, Panel};

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

/// As many columns as fit at this least width of a panel and leave no cell empty.
pub(super) fn columns(panels: usize, width: f64, least: f64) -> usize {
    let most = ((width / least) as usize).clamp(1, panels);
    (1..=most).rev().find(|columns| panels.is_multiple_of(*columns)).unwrap_or(1)
}

/// A figure of panels row by row, with letters. Rows are `height` points high, or less in a narrow figure.
pub(super) fn in_rows(panels: Vec<impl Into<Panel>>, columns: usize, width: f64, height: f64) -> Figure {
    let (rows, height) = (panels.len().div_ceil(columns), height.min(0.75 * width));
    let figure = Figure::new(rows, columns).size(width, height * rows as f64);
    panels
        .into_iter()
        .enumerate()
        .fold(figure, |figure, (i, panel)| figure.panel(i / columns, i % columns, panel))
        .lettered()
}

/// A time with at most four significant digits, without rounding noise.
pub(super) fn short(time: f64) -> String {
    format!("{time:.3e}").parse::<f64>().expect("a number that was just written").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_left_empty() {
        let of = |panels: usize| [760.0, 510.0, 240.0].map(|width| columns(panels, width, 160.0));
        assert_eq!([of(1), of(2), of(3), of(4)], [[1, 1, 1], [2, 2, 1], [3, 3, 1], [4, 2, 1]]);
    }

    #[test]
    fn times_are_short() {
        assert_eq!([0.0, 66.0 * 0.05, 30.0 * 0.001, 10.0].map(short), ["0", "3.3", "0.03", "10"]);
    }
}
