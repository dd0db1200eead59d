//! Maps on the page.

use super::colour_bar::ColourBar;
use super::{Map, field};
use crate::axis::{Axis, Frame, Scale};
use crate::draw::drawing::{Drawing, Stroke};
use crate::draw::geometry::{Margins, Rect, Size};
use crate::draw::style::{AXIS_WIDTH, INK};
use crate::panel::Draw;

impl Draw for Map {
    fn margins(&self, _cell: Size, plot: Size) -> Margins {
        let frame = self.frame(Rect::at_origin(plot));
        let mut margins = frame.margins(&self.labels);
        if let Some(bar) = self.bar() {
            margins.right = margins.right.max(bar.width(frame.plot.height));
            margins.top = margins.top.max(bar.headroom(frame.plot.height));
        }
        margins
    }

    fn draw(&self, drawing: &mut Drawing, _cell: Size, plot: Rect) {
        let frame = self.frame(plot);
        if !self.values.is_empty() {
            let image = field::image(&self.values, self.columns, self.colour_map, self.colour_range());
            drawing.image(frame.plot, image, self.smooth);
        }
        drawing.clipped(frame.plot, |drawing| {
            for overlay in &self.overlays {
                overlay.draw(drawing, &frame, self.colour_map);
            }
        });
        drawing.outline(frame.plot.corners(), Stroke::straight(INK, AXIS_WIDTH));
        frame.draw_axes(drawing, &self.labels);
        frame.draw_title(drawing, &self.labels.title);
        if let Some(bar) = self.bar() {
            bar.draw(drawing, frame.plot);
        }
    }

    fn outline(&self, plot: Rect) -> Rect {
        self.frame(plot).plot
    }

    fn aspect(&self) -> Option<f64> {
        let (x, y) = (self.x_range(), self.y_range());
        self.equal_aspect.then_some((y.high - y.low) / (x.high - x.low))
    }
}

impl Map {
    fn frame(&self, plot: Rect) -> Frame {
        let plot = if self.equal_aspect { self.with_equal_units(plot) } else { plot };
        let x = Axis::horizontal(Scale::Linear, self.x_range(), plot.width);
        let y = Axis::vertical(Scale::Linear, self.y_range(), plot.height);
        let [x_ticks, y_ticks] = self.ticks;
        Frame { plot, x: if x_ticks { x } else { x.bare() }, y: if y_ticks { y } else { y.bare() } }
    }

    /// The largest rectangle in the middle of `plot` in which a unit of x is as long as a unit of y.
    fn with_equal_units(&self, plot: Rect) -> Rect {
        let (x, y) = (self.x_range(), self.y_range());
        let (units_across, units_up) = (x.high - x.low, y.high - y.low);
        let unit = (plot.width / units_across).min(plot.height / units_up);
        let (width, height) = (unit * units_across, unit * units_up);
        if !(unit.is_finite() && width >= 1.0 && height >= 1.0) {
            return plot; // too long and thin to be visible
        }
        let (x, y) = plot.centre();
        Rect { x: x - width / 2.0, y: y - height / 2.0, width, height }
    }

    fn bar(&self) -> Option<ColourBar> {
        let label = self.colour_bar.clone()?;
        let (limits, values) = (self.colour_range(), self.value_range());
        Some(ColourBar { label, map: self.colour_map, limits, values })
    }
}
