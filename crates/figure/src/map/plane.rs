//! Overlays of 2D fields: discs with a margin, contour lines of another field, moving dots and their trails.

use super::contour::level_lines;
use super::overlay::tones;
use crate::axis::Frame;
use crate::colour::{Colour, ColourMap};
use crate::draw::drawing::{Drawing, Fill, Stroke};
use crate::draw::polyline::{Point, thin};
use crate::draw::style::INK;

/// A disc with a dashed ring around it.
#[derive(Clone, Debug)]
pub(super) struct Disc {
    pub centre: [f64; 2],
    pub radius: f64,
    pub margin: f64,
}

/// Contour lines of a matrix with the same extent as the map.
#[derive(Clone, Debug)]
pub(super) struct Contours {
    pub values: Vec<f64>,
    pub rows: usize,
    pub columns: usize,
    pub levels: Vec<f64>,
}

/// Positions from the oldest to the newest.
#[derive(Clone, Debug)]
pub(super) struct Tail {
    pub points: Vec<[f64; 2]>,
}

/// Dots, plain or each in its own shade.
#[derive(Clone, Debug)]
pub(super) struct Dots {
    pub points: Vec<[f64; 2]>,
    pub radius: f64,
    pub shades: Option<Vec<f64>>,
}

impl Disc {
    pub fn draw(&self, drawing: &mut Drawing, frame: &Frame) {
        let [x, y] = self.centre;
        let edge = frame.point(x + self.radius, y);
        let (Some(centre), Some(edge)) = (frame.point(x, y), edge) else { return };
        let radius = edge.0 - centre.0;
        if radius <= 0.0 {
            return;
        }
        drawing.ring(centre, radius, Some(Fill { colour: DISC, opacity: 0.92 }), Stroke::straight(INK, 0.8));
        if let Some(outer) = frame.point(x + self.radius + self.margin, y).filter(|_| self.margin > 0.0) {
            drawing.ring(centre, outer.0 - centre.0, None, Stroke::straight(INK, 0.7).finely_dashed_if(true));
        }
    }
}

/// A grey that is fainter than the colours of a field and differs from that of missing values.
const DISC: Colour = Colour::rgb(0xdc, 0xdc, 0xd8);

impl Contours {
    pub fn draw(&self, drawing: &mut Drawing, frame: &Frame, map: ColourMap) {
        let (colour, rim) = tones(map);
        let plot = frame.plot;
        let (across, down) = (plot.width / self.columns as f64, plot.height / self.rows as f64);
        let on_page = |&(x, y): &Point| (plot.x + x * across, plot.bottom() - y * down);
        for &level in &self.levels {
            let lines = level_lines(&self.values, self.columns, level).into_iter();
            let lines: Vec<Vec<Point>> =
                lines.map(|line| thin(&line.iter().map(on_page).collect::<Vec<_>>())).collect();
            let dashed = level < 0.0;
            drawing.lines(lines.clone(), Stroke::curve(rim, 1.3).opacity(0.3));
            drawing.lines(lines, Stroke::curve(colour, 0.65).opacity(0.8).finely_dashed_if(dashed));
        }
    }
}

impl Tail {
    /// Older pieces are fainter and thinner.
    pub fn draw(&self, drawing: &mut Drawing, frame: &Frame, map: ColourMap) {
        let (colour, _) = tones(map);
        let count = self.points.len() as f64;
        for (i, pair) in self.points.windows(2).enumerate() {
            let ends = (frame.point(pair[0][0], pair[0][1]), frame.point(pair[1][0], pair[1][1]));
            let (Some(from), Some(to)) = ends else { continue };
            let youth = (i as f64 + 1.0) / count;
            let stroke = Stroke::straight(colour, 0.5 + 0.9 * youth).opacity(0.1 + 0.75 * youth);
            drawing.line(from, to, stroke);
        }
    }
}

impl Dots {
    pub fn draw(&self, drawing: &mut Drawing, frame: &Frame, map: ColourMap) {
        for (i, &[x, y]) in self.points.iter().enumerate() {
            let Some(at) = frame.point(x, y) else { continue };
            let (colour, rim) = match &self.shades {
                Some(shades) => shade(shades[i]),
                None => tones(map),
            };
            drawing.circle(at, self.radius, colour, Some(Stroke::straight(rim, 0.25 * self.radius)));
        }
    }
}

/// From white for -1 over grey to black for 1, with a contrasting outline; grey for NaN.
fn shade(value: f64) -> (Colour, Colour) {
    let value = if value.is_nan() { 0.0 } else { value.clamp(-1.0, 1.0) };
    let level = (127.5 * (1.0 - value)).round() as u8;
    (Colour::rgb(level, level, level), if level < 128 { Colour::WHITE } else { Colour::BLACK })
}
