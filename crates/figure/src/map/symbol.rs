//! What the overlays of maps look like in the legend of a figure.

use super::overlay::Overlay;
use super::plane::{Contours, Disc, Dots, Tail};
use crate::ColourMap;
use crate::axis::{Axis, Frame, Range, Scale};
use crate::draw::drawing::Drawing;
use crate::draw::geometry::Rect;

/// An overlay of a map, to be explained by the legend of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Symbol {
    /// A dot with this shade, or without shades.
    Dot(Option<f64>),
    /// A trail.
    Tail,
    /// A contour line of this level; a negative one is dashed.
    Contour(f64),
    /// A disc.
    Disc,
    /// A disc with the dashed ring around it.
    DiscWithMargin,
}

impl Symbol {
    /// Draws it in a rectangle, on a colour of the map on which it is visible.
    pub(crate) fn draw(self, drawing: &mut Drawing, place: Rect, map: ColourMap) {
        let background = match map {
            ColourMap::Sequential => map.colour(0.25),
            ColourMap::Diverging => map.colour(0.5),
        };
        drawing.fill(place, background, 1.0);
        let axis = |length: f64| Range { low: 0.0, high: length };
        let frame = Frame {
            plot: place,
            x: Axis::horizontal(Scale::Linear, axis(place.width), place.width).bare(),
            y: Axis::vertical(Scale::Linear, axis(place.height), place.height).bare(),
        };
        let (width, middle) = (place.width, place.height / 2.0);
        let centre = [width / 2.0, middle];
        let overlay = match self {
            Symbol::Dot(shade) => Overlay::Dots(Dots {
                points: vec![centre],
                radius: 0.32 * place.height,
                shades: shade.map(|shade| vec![shade]),
            }),
            Symbol::Tail => {
                let points = (0..=8).map(|i| [width * f64::from(i) / 8.0, middle]).collect();
                Overlay::Tail(Tail { points })
            }
            // a slope from below the level to above it
            Symbol::Contour(level) => Overlay::Contours(Contours {
                values: [[level - 1.0; 9], [level + 1.0; 9]].concat(),
                rows: 2,
                columns: 9,
                levels: vec![level],
            }),
            Symbol::Disc => Overlay::Disc(Disc { centre, radius: 0.4 * place.height, margin: 0.0 }),
            Symbol::DiscWithMargin => {
                Overlay::Disc(Disc { centre, radius: 0.28 * place.height, margin: 0.2 * place.height })
            }
        };
        drawing.clipped(place, |drawing| overlay.draw(drawing, &frame, map));
    }
}
