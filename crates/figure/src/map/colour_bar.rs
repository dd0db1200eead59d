//! The colour bar, right of a map or of all panels.

use super::{field, spanned};
use crate::axis::{Axis, Range, Scale, draw_factor, draw_right, factor_height, vertical_axis_width};
use crate::colour::ColourMap;
use crate::draw::drawing::{Drawing, Fill, Stroke};
use crate::draw::geometry::Rect;
use crate::draw::polyline::Point;
use crate::draw::style::{AXIS_WIDTH, INK};

const GAP: f64 = 6.0;
const WIDTH: f64 = 8.0;
/// Height of the pointed ends that mark values beyond the limits.
const POINT: f64 = 6.0;

/// A vertical bar of colours with an axis.
#[derive(Clone, Debug)]
pub struct ColourBar {
    pub(super) label: String,
    pub(super) map: ColourMap,
    pub(super) limits: Range,
    /// The values on the maps, which may lie beyond the limits.
    pub(super) values: Option<Range>,
}

impl ColourBar {
    /// A bar for maps with these colours and limits. Limits that are not finite or not increasing become 0
    /// and 1.
    pub fn new(label: impl Into<String>, map: ColourMap, low: f64, high: f64) -> Self {
        let limits = Range::checked(low, high, Scale::Linear).unwrap_or(Range::empty(Scale::Linear));
        ColourBar { label: label.into(), map, limits: spanned(map, limits), values: None }
    }

    /// The same bar for maps with these values: an end is pointed if values lie beyond its limit.
    pub(crate) fn of_values(&self, values: Option<Range>) -> Self {
        ColourBar { values, ..self.clone() }
    }

    /// The heights of the lower and the upper pointed end.
    fn points(&self) -> (f64, f64) {
        let below = self.values.is_some_and(|values| values.low < self.limits.low);
        let above = self.values.is_some_and(|values| values.high > self.limits.high);
        (if below { POINT } else { 0.0 }, if above { POINT } else { 0.0 })
    }

    /// The height of the bar without its pointed ends; together they are as high as the plot.
    fn bar_height(&self, plot_height: f64) -> f64 {
        let (foot, head) = self.points();
        (plot_height - foot - head).max(1.0)
    }

    fn axis(&self, plot_height: f64) -> Axis {
        Axis::vertical(Scale::Linear, self.limits, self.bar_height(plot_height))
    }

    /// The width it needs right of a plot of this height.
    pub(crate) fn width(&self, plot_height: f64) -> f64 {
        GAP + WIDTH + vertical_axis_width(&self.axis(plot_height), &self.label)
    }

    /// The space it needs above a plot of this height.
    pub(crate) fn headroom(&self, plot_height: f64) -> f64 {
        factor_height(&self.axis(plot_height)) + GAP
    }

    /// Draws the bar beside `plot`.
    pub(crate) fn draw(&self, drawing: &mut Drawing, plot: Rect) {
        let (foot, head) = self.points();
        let (x, y, height) = (plot.right() + GAP, plot.y + head, self.bar_height(plot.height));
        let bar = Rect { x, y, width: WIDTH, height };
        let outline = outline(bar, foot, head);

        // The pointed ends have the end colours. They overlap the bar, so that no gap is visible between
        // them.
        for (corners, end) in [(&outline[..3], 1.0), (&outline[3..], 0.0)] {
            let mut point = corners.to_vec();
            point.push(bar.centre());
            drawing.polygon(point, Fill { colour: self.map.colour(end), opacity: 1.0 }, None);
        }
        let ramp: Vec<f64> = (0..255).map(|i| f64::from(i) / 254.0).collect();
        drawing.image(bar, field::image(&ramp, 1, self.map, Range { low: 0.0, high: 1.0 }), false);
        drawing.outline(outline, Stroke::straight(INK, AXIS_WIDTH));

        let axis = self.axis(plot.height);
        draw_right(drawing, &axis, bar, &self.label);
        draw_factor(drawing, &axis, (bar.x, plot.y));
    }
}

/// The bar with its pointed ends: upper left, upper tip, upper right, lower right, lower tip, lower left.
fn outline(bar: Rect, foot: f64, head: f64) -> Vec<Point> {
    let middle = bar.centre().0;
    vec![
        (bar.x, bar.y),
        (middle, bar.y - head),
        (bar.right(), bar.y),
        (bar.right(), bar.bottom()),
        (middle, bar.bottom() + foot),
        (bar.x, bar.bottom()),
    ]
}
