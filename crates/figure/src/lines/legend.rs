//! The legend: its look, and the place where it hides the least.

use crate::draw::drawing::{Anchor, Drawing, Stroke};
use crate::draw::font::text_width;
use crate::draw::geometry::{Rect, Size};
use crate::draw::polyline::Point;
use crate::draw::style::{CURVE_WIDTH, TICK_TEXT};
use crate::{Colour, ColourMap, Symbol};

/// Position of a chart's legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Legend {
    /// Inside at a place where it covers no curve; if there is none, below the chart.
    Auto,
    /// Inside, where it covers the least.
    Inside,
    /// Below the chart.
    Below,
    /// Below all panels of the figure, once for all charts with this setting.
    Shared,
    /// No legend.
    Hidden,
}

/// One line of the legend.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub label: &'a str,
    pub sample: Sample,
}

/// What stands before the label.
#[derive(Clone, Copy)]
pub(crate) enum Sample {
    /// A curve of a chart.
    Curve { colour: Colour, dashed: bool, band: bool },
    /// An overlay of maps with these colours.
    Symbol(Symbol, ColourMap),
}

const SAMPLE: f64 = 18.0;
const SAMPLE_GAP: f64 = 4.0;
const ENTRY_GAP: f64 = 12.0;
const ROW: f64 = 11.5;
const PADDING: f64 = 3.5;
/// Gap between a legend inside the plot and the border of the plot.
const INSET: f64 = 4.0;

impl Entry<'_> {
    fn width(&self) -> f64 {
        SAMPLE + SAMPLE_GAP + text_width(self.label, TICK_TEXT)
    }

    /// Draws the entry with its left end at `x` and its middle at the height `y`.
    fn draw(&self, drawing: &mut Drawing, x: f64, y: f64) {
        let place = |height: f64| Rect { x, y: y - height / 2.0, width: SAMPLE, height };
        match self.sample {
            Sample::Curve { colour, dashed, band } => {
                if band {
                    drawing.fill(place(7.0), colour, BAND_OPACITY);
                }
                let stroke = Stroke::straight(colour, CURVE_WIDTH).dashed_if(dashed);
                drawing.line((x, y), (x + SAMPLE, y), stroke);
            }
            Sample::Symbol(symbol, map) => symbol.draw(drawing, place(10.0), map),
        }
        drawing.text(self.label, (x + SAMPLE + SAMPLE_GAP, y + 0.36 * TICK_TEXT), TICK_TEXT, Anchor::Start);
    }
}

/// Opacity of a shaded band, in the chart and in the legend.
pub(super) const BAND_OPACITY: f64 = 0.2;

/// The size of a legend with one entry per row.
pub(super) fn column_size(entries: &[Entry]) -> Size {
    let widest = entries.iter().map(Entry::width).fold(0.0, f64::max);
    Size { width: widest + 2.0 * PADDING, height: ROW * entries.len() as f64 + 2.0 * PADDING }
}

/// The place inside `plot` where a box of this size covers the fewest `ink` points, and their number. Corners
/// come first: among equally good places, readers look there first.
pub(super) fn best_place(plot: Rect, size: Size, ink: &[Point]) -> (Rect, usize) {
    let left = plot.x + INSET;
    let right = plot.right() - INSET - size.width;
    let top = plot.y + INSET;
    let bottom = plot.bottom() - INSET - size.height;
    let (centre, middle) = ((left + right) / 2.0, (top + bottom) / 2.0);
    let corners = [(right, top), (left, top), (left, bottom), (right, bottom)];
    let sides = [(right, middle), (left, middle), (centre, top), (centre, bottom)];
    let places = corners.into_iter().chain(sides).map(|(x, y)| {
        let place = Rect { x, y, width: size.width, height: size.height };
        (place, ink.iter().filter(|&&point| place.contains(point)).count())
    });
    places.min_by_key(|&(_, hidden)| hidden).expect("there are eight places")
}

/// Draws one entry per row, on a translucent background that keeps the text readable over a curve.
pub(super) fn draw_column(drawing: &mut Drawing, entries: &[Entry], place: Rect) {
    drawing.fill(place, Colour::WHITE, 0.85);
    for (i, entry) in entries.iter().enumerate() {
        entry.draw(drawing, place.x + PADDING, place.y + PADDING + (i as f64 + 0.5) * ROW);
    }
}

/// The height of a legend laid out in rows of at most this width.
pub(crate) fn rows_height(entries: &[Entry], width: f64) -> f64 {
    ROW * rows(entries, width).len() as f64
}

/// Draws rows of entries, each centred below `plot`, the first starting at the height `top`.
pub(crate) fn draw_rows(drawing: &mut Drawing, entries: &[Entry], plot: Rect, top: f64) {
    let rows = rows(entries, plot.width);
    for (i, row) in rows.iter().enumerate() {
        let mut x = plot.centre().0 - row_width(row) / 2.0;
        for entry in *row {
            entry.draw(drawing, x, top + (i as f64 + 0.5) * ROW);
            x += entry.width() + ENTRY_GAP;
        }
    }
}

fn row_width(row: &[Entry]) -> f64 {
    row.iter().map(Entry::width).sum::<f64>() + ENTRY_GAP * row.len().saturating_sub(1) as f64
}

/// Breaks the entries into rows, as text is broken into lines.
fn rows<'a, 'b>(entries: &'a [Entry<'b>], width: f64) -> Vec<&'a [Entry<'b>]> {
    let mut rows = Vec::new();
    let mut start = 0;
    for end in 1..=entries.len() {
        if end == entries.len() || row_width(&entries[start..=end]) > width {
            rows.push(&entries[start..end]);
            start = end;
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLOT: Rect = Rect { x: 0.0, y: 0.0, width: 200.0, height: 100.0 };

    fn entry(label: &str) -> Entry<'_> {
        Entry { label, sample: Sample::Curve { colour: Colour::BLACK, dashed: false, band: false } }
    }

    #[test]
    fn the_legend_avoids_the_ink() {
        let size = Size { width: 50.0, height: 30.0 };
        assert_eq!(best_place(PLOT, size, &[]), (Rect { x: 146.0, y: 4.0, width: 50.0, height: 30.0 }, 0));
        let rising: Vec<Point> = (0..100).map(|i| (2.0 * i as f64, 100.0 - i as f64)).collect();
        let (place, hidden) = best_place(PLOT, size, &rising);
        assert_eq!((place.x, place.y, hidden), (4.0, 4.0, 0));
    }

    #[test]
    fn rows_hold_every_entry_once_and_fit() {
        let labels = ["one", "two", "a somewhat longer label", "three", "four"];
        let entries: Vec<Entry> = labels.iter().map(|label| entry(label)).collect();
        let rows = rows(&entries, 150.0);
        assert!(rows.len() > 1);
        assert!(rows.iter().all(|row| !row.is_empty() && row_width(row) <= 150.0));
        let held: Vec<&str> = rows.iter().flat_map(|row| row.iter().map(|entry| entry.label)).collect();
        assert_eq!(held, labels);
    }

    #[test]
    fn an_entry_wider_than_the_chart_still_gets_its_row() {
        let entries = [entry("a"), entry("wide"), entry("b")];
        assert_eq!(rows(&entries, 1.0).len(), 3);
        assert!(rows(&[], 1.0).is_empty());
    }
}
