//! Lengths on the page, in points; y grows downwards, as in SVG.

use super::polyline::Point;

/// Width and height.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Size {
    pub width: f64,
    pub height: f64,
}

/// A rectangle given by its top left corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rect {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Rect {
    pub fn at_origin(size: Size) -> Self {
        Rect { x: 0.0, y: 0.0, width: size.width, height: size.height }
    }

    pub fn size(&self) -> Size {
        Size { width: self.width, height: self.height }
    }

    pub fn right(&self) -> f64 {
        self.x + self.width
    }

    pub fn bottom(&self) -> f64 {
        self.y + self.height
    }

    pub fn centre(&self) -> Point {
        (self.x + self.width / 2.0, self.y + self.height / 2.0)
    }

    /// The four corners, clockwise from the top left.
    pub fn corners(&self) -> Vec<Point> {
        vec![(self.x, self.y), (self.right(), self.y), (self.right(), self.bottom()), (self.x, self.bottom())]
    }

    pub fn contains(&self, (x, y): Point) -> bool {
        (self.x..=self.right()).contains(&x) && (self.y..=self.bottom()).contains(&y)
    }
}

/// Space around a plotting rectangle for tick labels, titles and colour bars.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Margins {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}
