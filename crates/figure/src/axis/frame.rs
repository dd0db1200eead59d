//! A plotting rectangle with its two axes: what line charts and maps have in common.

use super::{Axis, drawing};
use crate::draw::drawing::{Anchor, Drawing, Stroke};
use crate::draw::font::{fitting_size, text_width};
use crate::draw::geometry::{Margins, Rect};
use crate::draw::polyline::{Point, thin};
use crate::draw::style::{GAP, GRID, GRID_WIDTH, TICK_TEXT, TITLE_TEXT, line_height};

/// The texts around a panel; empty ones take no space.
#[derive(Clone, Debug, Default)]
pub(crate) struct Labels {
    pub title: String,
    pub x: String,
    pub y: String,
}

/// A rectangle on the page with two axes.
pub(crate) struct Frame {
    pub plot: Rect,
    pub x: Axis,
    pub y: Axis,
}

impl Frame {
    /// The page position of a data point, if it can be drawn.
    pub fn point(&self, x: f64, y: f64) -> Option<Point> {
        Some((self.across(x)?, self.height(y)?))
    }

    /// The page position of a value on the x axis, if it can be drawn.
    pub fn across(&self, x: f64) -> Option<f64> {
        Some(self.plot.x + self.x.fraction(x)? * self.plot.width)
    }

    /// The page height of a value on the y axis, if it can be drawn.
    pub fn height(&self, y: f64) -> Option<f64> {
        Some(self.plot.bottom() - self.y.fraction(y)? * self.plot.height)
    }

    /// A curve on the page, split into pieces at values that cannot be drawn.
    pub fn curve(&self, xs: &[f64], ys: &[f64]) -> Vec<Vec<Point>> {
        let points: Vec<Option<Point>> = xs.iter().zip(ys).map(|(&x, &y)| self.point(x, y)).collect();
        let runs = points.split(Option::is_none).filter(|run| !run.is_empty());
        runs.map(|run| thin(&run.iter().copied().flatten().collect::<Vec<_>>())).collect()
    }

    /// The space that axes and title need around the plot.
    pub fn margins(&self, labels: &Labels) -> Margins {
        let title_height = if labels.title.is_empty() { 0.0 } else { line_height(TITLE_TEXT) };
        Margins {
            left: drawing::vertical_axis_width(&self.y, &labels.y),
            right: drawing::horizontal_overhang(&self.x, self.plot.width),
            top: self.title_offset(&labels.title) + title_height,
            bottom: drawing::horizontal_axis_height(&self.x, &labels.x),
        }
    }

    /// From the top of the plot to the bottom of the title: space for half a tick label, and for the common
    /// factor of the y axis if the title does not leave enough space beside it.
    fn title_offset(&self, title: &str) -> f64 {
        let beside = (self.plot.width - text_width(title, self.title_size(title))) / 2.0;
        let factor = self.y.ticks.factor.as_deref().unwrap_or_default();
        let collide = title.is_empty() || text_width(factor, TICK_TEXT) + GAP > beside;
        TICK_TEXT / 2.0 + if collide { drawing::factor_height(&self.y) } else { 0.0 }
    }

    /// A title may reach over the tick labels of its own panel, but not into the next one.
    fn title_size(&self, title: &str) -> f64 {
        fitting_size(title, TITLE_TEXT, self.plot.width + 8.0 * GAP)
    }

    /// Ticks, tick labels and names of both axes.
    pub fn draw_axes(&self, drawing: &mut Drawing, labels: &Labels) {
        drawing::draw_left(drawing, &self.y, self.plot, &labels.y);
        drawing::draw_bottom(drawing, &self.x, self.plot, &labels.x);
    }

    /// The title above the plot.
    pub fn draw_title(&self, drawing: &mut Drawing, title: &str) {
        if !title.is_empty() {
            let size = self.title_size(title);
            let y = self.plot.y - self.title_offset(title) - 0.15 * TITLE_TEXT;
            drawing.text(title, (self.plot.centre().0, y), size, Anchor::Middle);
        }
    }

    /// Light lines at the labelled ticks.
    pub fn draw_grid(&self, drawing: &mut Drawing) {
        let grid = Stroke::straight(GRID, GRID_WIDTH);
        let Rect { x: left, y: top, .. } = self.plot;
        for x in self.x.ticks.major.iter().filter_map(|(value, _)| self.across(*value)) {
            drawing.line((x, top), (x, self.plot.bottom()), grid);
        }
        for y in self.y.ticks.major.iter().filter_map(|(value, _)| self.height(*value)) {
            drawing.line((left, y), (self.plot.right(), y), grid);
        }
    }
}
