//! Axes on the page: the space they need, their ticks, labels and names.

use super::Axis;
use crate::draw::drawing::{Anchor, Drawing, Stroke};
use crate::draw::font::{fitting_size, text_width};
use crate::draw::geometry::Rect;
use crate::draw::polyline::Point;
use crate::draw::style::{
    AXIS_WIDTH, GAP, INK, LABEL_TEXT, MINOR_TICK_LENGTH, TICK_LENGTH, TICK_TEXT, line_height,
};

/// From the middle of a line of digits down to its baseline, as a fraction of the text size.
const MIDDLE_TO_BASELINE: f64 = 0.36;

const AXIS: Stroke = Stroke::straight(INK, AXIS_WIDTH);

/// Width of a vertical axis, left of a plot or right of a colour bar.
pub(crate) fn vertical_axis_width(axis: &Axis, name: &str) -> f64 {
    let widest = axis.ticks.major.iter().map(|(_, label)| text_width(label, TICK_TEXT)).fold(0.0, f64::max);
    let name = if name.is_empty() { 0.0 } else { GAP + line_height(LABEL_TEXT) };
    let ticks = if axis.ticks.major.is_empty() { 0.0 } else { TICK_LENGTH + GAP + widest };
    ticks + name
}

/// Height of a horizontal axis.
pub(super) fn horizontal_axis_height(axis: &Axis, name: &str) -> f64 {
    let name =
        if name.is_empty() && axis.ticks.factor.is_none() { 0.0 } else { line_height(LABEL_TEXT) + 1.0 };
    let ticks = if axis.ticks.major.is_empty() { 0.0 } else { TICK_LENGTH + GAP + line_height(TICK_TEXT) };
    ticks + name
}

/// How far the last label of a horizontal axis reaches beyond the plot.
pub(super) fn horizontal_overhang(axis: &Axis, width: f64) -> f64 {
    let reach = |(value, label): &(f64, String)| {
        axis.fraction(*value).unwrap_or(0.0) * width + text_width(label, TICK_TEXT) / 2.0 - width
    };
    axis.ticks.major.last().map_or(0.0, reach).max(0.0)
}

/// The common factor of a vertical axis, above its top end at `end`.
pub(crate) fn draw_factor(drawing: &mut Drawing, axis: &Axis, end: Point) {
    if let Some(factor) = &axis.ticks.factor {
        drawing.text(factor, (end.0, end.1 - GAP - 1.0), TICK_TEXT, Anchor::Start);
    }
}

/// Height of the line above the plot that the common factor of a vertical axis needs.
pub(crate) fn factor_height(axis: &Axis) -> f64 {
    if axis.ticks.factor.is_some() { line_height(TICK_TEXT) } else { 0.0 }
}

/// The vertical axis at the left border of `plot`.
pub(super) fn draw_left(drawing: &mut Drawing, axis: &Axis, plot: Rect, name: &str) {
    draw_vertical(drawing, axis, plot, plot.x, -1.0);
    draw_factor(drawing, axis, (plot.x, plot.y));
    if !name.is_empty() {
        // The name stands at the outer end of the space of the axis.
        let x = plot.x - vertical_axis_width(axis, name) + 0.8 * LABEL_TEXT;
        drawing.upward_text(name, (x, plot.centre().1), fitting_size(name, LABEL_TEXT, plot.height));
    }
}

/// The vertical axis at the right border of a colour `bar`.
pub(crate) fn draw_right(drawing: &mut Drawing, axis: &Axis, bar: Rect, name: &str) {
    draw_vertical(drawing, axis, bar, bar.right(), 1.0);
    if !name.is_empty() {
        let x = bar.right() + vertical_axis_width(axis, name) - 0.25 * LABEL_TEXT;
        drawing.upward_text(name, (x, bar.centre().1), fitting_size(name, LABEL_TEXT, bar.height));
    }
}

/// Ticks and labels on the vertical line at `x`; `side` is -1 for the left, 1 for the right.
fn draw_vertical(drawing: &mut Drawing, axis: &Axis, plot: Rect, x: f64, side: f64) {
    let anchor = if side < 0.0 { Anchor::End } else { Anchor::Start };
    let height = |value: f64| axis.fraction(value).map(|fraction| plot.bottom() - fraction * plot.height);
    for y in axis.ticks.minor.iter().copied().filter_map(height) {
        drawing.line((x, y), (x + side * MINOR_TICK_LENGTH, y), AXIS);
    }
    for (value, label) in &axis.ticks.major {
        if let Some(y) = height(*value) {
            drawing.line((x, y), (x + side * TICK_LENGTH, y), AXIS);
            let at = (x + side * (TICK_LENGTH + GAP), y + MIDDLE_TO_BASELINE * TICK_TEXT);
            drawing.text(label, at, TICK_TEXT, anchor);
        }
    }
}

/// The horizontal axis at the lower border of `plot`.
pub(super) fn draw_bottom(drawing: &mut Drawing, axis: &Axis, plot: Rect, name: &str) {
    let bottom = plot.bottom();
    let labels_at = bottom + TICK_LENGTH + GAP + 0.75 * TICK_TEXT;
    for fraction in axis.ticks.minor.iter().filter_map(|&value| axis.fraction(value)) {
        let x = plot.x + fraction * plot.width;
        drawing.line((x, bottom), (x, bottom + MINOR_TICK_LENGTH), AXIS);
    }
    for (value, label) in &axis.ticks.major {
        if let Some(fraction) = axis.fraction(*value) {
            let x = plot.x + fraction * plot.width;
            drawing.line((x, bottom), (x, bottom + TICK_LENGTH), AXIS);
            drawing.text(label, (x, labels_at), TICK_TEXT, Anchor::Middle);
        }
    }
    let names_at = bottom + horizontal_axis_height(axis, name) - 0.25 * LABEL_TEXT;
    if !name.is_empty() {
        let size = fitting_size(name, LABEL_TEXT, plot.width);
        drawing.text(name, (plot.centre().0, names_at), size, Anchor::Middle);
    }
    if let Some(factor) = &axis.ticks.factor {
        drawing.text(factor, (plot.right(), names_at), TICK_TEXT, Anchor::End);
    }
}
