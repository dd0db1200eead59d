//! One panel of a figure.

use crate::draw::drawing::Drawing;
use crate::draw::geometry::{Margins, Rect, Size};
use crate::{Lines, Map};

/// The content of a cell of a figure.
#[derive(Clone, Debug)]
pub enum Panel {
    /// A line chart.
    Lines(Lines),
    /// A map.
    Map(Map),
}

impl From<Lines> for Panel {
    fn from(lines: Lines) -> Self {
        Panel::Lines(lines)
    }
}

impl From<Map> for Panel {
    fn from(map: Map) -> Self {
        Panel::Map(map)
    }
}

impl Panel {
    /// The text above the panel.
    pub(crate) fn title_mut(&mut self) -> &mut String {
        match self {
            Panel::Lines(lines) => &mut lines.labels.title,
            Panel::Map(map) => &mut map.labels.title,
        }
    }
}

/// The interface of a panel for the layout. `cell` is the panel's share of the figure, known before the
/// layout.
pub(crate) trait Draw {
    /// The space needed around a plotting rectangle of the size `plot`.
    fn margins(&self, cell: Size, plot: Size) -> Margins;

    /// Draws the panel with its plotting rectangle at `plot`.
    fn draw(&self, drawing: &mut Drawing, cell: Size, plot: Rect);

    /// The part of its plotting rectangle that the panel uses.
    fn outline(&self, plot: Rect) -> Rect {
        plot
    }

    /// Height over width, if it is fixed.
    fn aspect(&self) -> Option<f64> {
        None
    }
}

impl Draw for Panel {
    fn margins(&self, cell: Size, plot: Size) -> Margins {
        match self {
            Panel::Lines(lines) => lines.margins(cell, plot),
            Panel::Map(map) => map.margins(cell, plot),
        }
    }

    fn draw(&self, drawing: &mut Drawing, cell: Size, plot: Rect) {
        match self {
            Panel::Lines(lines) => lines.draw(drawing, cell, plot),
            Panel::Map(map) => map.draw(drawing, cell, plot),
        }
    }

    fn outline(&self, plot: Rect) -> Rect {
        match self {
            Panel::Lines(lines) => lines.outline(plot),
            Panel::Map(map) => map.outline(plot),
        }
    }

    fn aspect(&self) -> Option<f64> {
        match self {
            Panel::Lines(lines) => lines.aspect(),
            Panel::Map(map) => map.aspect(),
        }
    }
}
