//! Overlays of a map, drawn in two tones so that they are visible on every colour; this file has paths and
//! points.

use super::plane::{Contours, Disc, Dots, Tail};
use crate::axis::Frame;
use crate::colour::{Colour, ColourMap};
use crate::draw::drawing::{Drawing, Fill, Stroke};
use crate::draw::polyline::Point;

/// The shape of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A disc.
    Circle,
    /// A square.
    Square,
    /// A triangle that points upwards.
    Triangle,
    /// A diagonal cross.
    Cross,
}

/// One overlay of a map.
#[derive(Clone, Debug)]
pub(super) enum Overlay {
    Path(Path),
    Points(Points),
    Disc(Disc),
    Contours(Contours),
    Tail(Tail),
    Dots(Dots),
}

impl Overlay {
    pub fn draw(&self, drawing: &mut Drawing, frame: &Frame, map: ColourMap) {
        match self {
            Overlay::Path(path) => path.draw(drawing, frame, map),
            Overlay::Points(points) => points.draw(drawing, frame, map),
            Overlay::Disc(disc) => disc.draw(drawing, frame),
            Overlay::Contours(contours) => contours.draw(drawing, frame, map),
            Overlay::Tail(tail) => tail.draw(drawing, frame, map),
            Overlay::Dots(dots) => dots.draw(drawing, frame, map),
        }
    }
}

/// A line through points.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub xs: Vec<f64>,
    pub ys: Vec<f64>,
}

/// Points drawn with the same marker.
#[derive(Clone, Debug)]
pub(super) struct Points {
    pub xs: Vec<f64>,
    pub ys: Vec<f64>,
    pub marker: Marker,
}

const RADIUS: f64 = 2.6;

/// The colour of an overlay and that of its outline. The first contrasts with most of the map, the second
/// with the first.
pub(super) fn tones(map: ColourMap) -> (Colour, Colour) {
    match map {
        ColourMap::Sequential => (Colour::WHITE, Colour::BLACK),
        ColourMap::Diverging => (Colour::BLACK, Colour::WHITE),
    }
}

impl Path {
    pub fn draw(&self, drawing: &mut Drawing, frame: &Frame, map: ColourMap) {
        let (colour, rim) = tones(map);
        let pieces = frame.curve(&self.xs, &self.ys);
        drawing.lines(pieces.clone(), Stroke::curve(rim, 1.3).opacity(0.45));
        drawing.lines(pieces, Stroke::curve(colour, 0.6).opacity(0.9));
    }
}

impl Points {
    pub fn draw(&self, drawing: &mut Drawing, frame: &Frame, map: ColourMap) {
        for (&x, &y) in self.xs.iter().zip(&self.ys) {
            if let Some(at) = frame.point(x, y) {
                draw_marker(drawing, self.marker, at, map);
            }
        }
    }
}

fn draw_marker(drawing: &mut Drawing, marker: Marker, (x, y): Point, map: ColourMap) {
    let (colour, rim) = tones(map);
    let fill = Fill { colour, opacity: 1.0 };
    let outline = Some(Stroke::straight(rim, 0.8));
    let corners = |offsets: &[(f64, f64)]| -> Vec<Point> {
        offsets.iter().map(|(dx, dy)| (x + dx * RADIUS, y + dy * RADIUS)).collect()
    };
    match marker {
        Marker::Circle => drawing.circle((x, y), RADIUS, colour, outline),
        Marker::Square => {
            let square = corners(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]);
            drawing.polygon(square, fill, outline);
        }
        Marker::Triangle => {
            let triangle = corners(&[(0.0, -1.4), (1.25, 0.9), (-1.25, 0.9)]);
            drawing.polygon(triangle, fill, outline);
        }
        Marker::Cross => {
            let bars = vec![corners(&[(-1.0, -1.0), (1.0, 1.0)]), corners(&[(-1.0, 1.0), (1.0, -1.0)])];
            drawing.lines(bars.clone(), Stroke::curve(rim, 2.8));
            drawing.lines(bars, Stroke::curve(colour, 1.4));
        }
    }
}
