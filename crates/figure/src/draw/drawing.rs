//! A drawing: shapes and texts; later ones cover earlier ones.

use super::geometry::Rect;
use super::image::Image;
use super::polyline::Point;
use super::style::{DASH, FINE_DASH, INK};
use crate::colour::Colour;

/// Which part of a text stands at its point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stroke {
    pub colour: Colour,
    pub width: f64,
    pub opacity: f64,
    /// Lengths of a dash and of the gap after it; `None` is solid.
    pub dash: Option<[f64; 2]>,
    /// Round ends and corners, for curves; otherwise the ends are flat.
    pub round: bool,
}

impl Stroke {
    /// For straight lines: axes, ticks, borders.
    pub const fn straight(colour: Colour, width: f64) -> Self {
        Stroke { colour, width, opacity: 1.0, dash: None, round: false }
    }

    /// For curves through data.
    pub const fn curve(colour: Colour, width: f64) -> Self {
        Stroke { round: true, ..Stroke::straight(colour, width) }
    }

    /// Dashed if `dashed`. Round ends would fill the gaps, so dashes have flat ends.
    pub const fn dashed_if(self, dashed: bool) -> Self {
        if dashed { self.dashes(DASH) } else { self }
    }

    /// As `dashed_if`, with short dashes for small shapes.
    pub const fn finely_dashed_if(self, dashed: bool) -> Self {
        if dashed { self.dashes(FINE_DASH) } else { self }
    }

    const fn dashes(self, dash: [f64; 2]) -> Self {
        Stroke { dash: Some(dash), round: false, ..self }
    }

    pub const fn opacity(self, opacity: f64) -> Self {
        Stroke { opacity, ..self }
    }
}

/// How an area is filled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fill {
    pub colour: Colour,
    pub opacity: f64,
}

/// A line of text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Text {
    pub text: String,
    pub at: Point,
    pub size: f64,
    pub anchor: Anchor,
    pub colour: Colour,
    /// Rotated by 90 degrees to read upwards.
    pub upward: bool,
    /// With a white outline that keeps it readable over lines.
    pub halo: bool,
}

/// Width of the white outline of a text.
pub(crate) const HALO_WIDTH: f64 = 2.5;

/// One element of a drawing.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    /// Polylines, closed if they bound an area.
    Path {
        lines: Vec<Vec<Point>>,
        closed: bool,
        fill: Option<Fill>,
        stroke: Option<Stroke>,
    },
    Circle {
        centre: Point,
        radius: f64,
        fill: Option<Fill>,
        stroke: Option<Stroke>,
    },
    Text(Text),
    /// An image stretched over `rect`. Pixels are sharp cells unless it is smooth.
    Image {
        rect: Rect,
        image: Image,
        smooth: bool,
    },
    /// Items clipped to `rect`.
    Clipped {
        rect: Rect,
        items: Vec<Item>,
    },
}

/// A list of items; later ones cover earlier ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drawing {
    pub items: Vec<Item>,
}

impl Drawing {
    /// A text whose baseline starts, is centred, or ends at `at`.
    pub fn text(&mut self, text: &str, at: Point, size: f64, anchor: Anchor) {
        let text = text.to_owned();
        self.items.push(Item::Text(Text { text, at, size, anchor, colour: INK, upward: false, halo: false }));
    }

    /// A text in another colour, readable over lines.
    pub fn haloed_text(&mut self, text: &str, at: Point, size: f64, colour: Colour) {
        let (text, anchor) = (text.to_owned(), Anchor::Start);
        self.items.push(Item::Text(Text { text, at, size, anchor, colour, upward: false, halo: true }));
    }

    /// A text that reads upwards, centred at `at`.
    pub fn upward_text(&mut self, text: &str, at: Point, size: f64) {
        let (text, anchor) = (text.to_owned(), Anchor::Middle);
        self.items.push(Item::Text(Text { text, at, size, anchor, colour: INK, upward: true, halo: false }));
    }

    /// Several polylines as one shape, so that translucent lines do not add up; lines with one point are
    /// skipped.
    pub fn lines(&mut self, mut lines: Vec<Vec<Point>>, stroke: Stroke) {
        lines.retain(|line| line.len() > 1);
        if !lines.is_empty() {
            self.items.push(Item::Path { lines, closed: false, fill: None, stroke: Some(stroke) });
        }
    }

    /// One straight line.
    pub fn line(&mut self, from: Point, to: Point, stroke: Stroke) {
        self.lines(vec![vec![from, to]], stroke);
    }

    /// A filled polygon, with an optional outline.
    pub fn polygon(&mut self, corners: Vec<Point>, fill: Fill, stroke: Option<Stroke>) {
        self.items.push(Item::Path { lines: vec![corners], closed: true, fill: Some(fill), stroke });
    }

    /// A filled circle, with an optional outline.
    pub fn circle(&mut self, centre: Point, radius: f64, colour: Colour, stroke: Option<Stroke>) {
        self.items.push(Item::Circle { centre, radius, fill: Some(Fill { colour, opacity: 1.0 }), stroke });
    }

    /// The outline of a circle, optionally filled.
    pub fn ring(&mut self, centre: Point, radius: f64, fill: Option<Fill>, stroke: Stroke) {
        self.items.push(Item::Circle { centre, radius, fill, stroke: Some(stroke) });
    }

    /// A filled rectangle.
    pub fn fill(&mut self, rect: Rect, colour: Colour, opacity: f64) {
        self.polygon(rect.corners(), Fill { colour, opacity }, None);
    }

    /// A closed line.
    pub fn outline(&mut self, corners: Vec<Point>, stroke: Stroke) {
        self.items.push(Item::Path { lines: vec![corners], closed: true, fill: None, stroke: Some(stroke) });
    }

    /// An image stretched over `rect`, with sharp cells or interpolated colours.
    pub fn image(&mut self, rect: Rect, image: Image, smooth: bool) {
        self.items.push(Item::Image { rect, image, smooth });
    }

    /// Draws with clipping to `rect`.
    pub fn clipped(&mut self, rect: Rect, draw: impl FnOnce(&mut Drawing)) {
        let mut inside = Drawing::default();
        draw(&mut inside);
        self.items.push(Item::Clipped { rect, items: inside.items });
    }
}
