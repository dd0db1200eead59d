//! Line charts on the page.

use super::legend::{self, BAND_OPACITY, Entry, Sample};
use super::series::Band;
use super::{Legend, Lines, Reference, Series};
use crate::Colour;
use crate::axis::{Axis, Frame, Range, Scale};
use crate::draw::drawing::{Drawing, Fill, Stroke};
use crate::draw::font::text_width;
use crate::draw::geometry::{Margins, Rect, Size};
use crate::draw::polyline::{Point, sample, thin};
use crate::draw::style::{AXIS_WIDTH, CURVE_WIDTH, GAP, INK, REFERENCE, TICK_TEXT, line_height};
use crate::panel::Draw;

/// Distance between the points that sample the curves.
const INK_SPACING: f64 = 2.0;
/// Gap between the axis and a legend below it.
const LEGEND_GAP: f64 = 4.0;
/// A triangle on the x axis.
const AXIS_MARK: Size = Size { width: 5.0, height: 6.0 };

impl Draw for Lines {
    fn margins(&self, cell: Size, plot: Size) -> Margins {
        let mut margins = self.frame(Rect::at_origin(plot)).margins(&self.labels);
        if self.legend_is_below(cell) {
            margins.bottom += LEGEND_GAP + legend::rows_height(&self.entries(), plot.width);
        }
        margins
    }

    fn draw(&self, drawing: &mut Drawing, cell: Size, plot: Rect) {
        let frame = self.frame(plot);
        frame.draw_grid(drawing);
        drawing.clipped(plot, |drawing| {
            self.draw_curves(drawing, &frame);
            self.draw_axis_marks(drawing, &frame);
        });
        let axis = Stroke::straight(INK, AXIS_WIDTH);
        drawing.line((plot.x, plot.y), (plot.x, plot.bottom()), axis);
        drawing.line((plot.x, plot.bottom()), (plot.right(), plot.bottom()), axis);
        frame.draw_axes(drawing, &self.labels);

        let mut ink = self.ink(&frame);
        if let Some(place) = self.reference_label(&frame, &ink) {
            let label = self.reference.as_ref().map_or("", |reference| &reference.label);
            let baseline = (place.x + GAP, place.bottom() - 0.3 * TICK_TEXT);
            drawing.haloed_text(label, baseline, TICK_TEXT, REFERENCE);
            ink.extend(grid_of(place));
        }
        let entries = self.entries();
        if self.legend_is_below(cell) {
            let top = plot.bottom() + frame.margins(&self.labels).bottom + LEGEND_GAP;
            legend::draw_rows(drawing, &entries, plot, top);
        } else if !entries.is_empty() {
            let (place, _) = legend::best_place(plot, legend::column_size(&entries), &ink);
            legend::draw_column(drawing, &entries, place);
        }
        frame.draw_title(drawing, &self.labels.title);
    }
}

impl Lines {
    fn frame(&self, plot: Rect) -> Frame {
        Frame {
            plot,
            x: Axis::horizontal(self.x_scale, self.x_range(), plot.width),
            y: Axis::vertical(self.y_scale, self.y_range(), plot.height),
        }
    }

    fn x_range(&self) -> Range {
        let scale = self.x_scale;
        let limits = self.x_limits.and_then(|(low, high)| Range::checked(low, high, scale));
        let xs = self.series.iter().flat_map(|series| series.xs.iter().copied());
        // a logarithmic x axis has few points with markers: the markers need space at the ends
        let found = Range::of(xs, scale).map(|range| match scale {
            Scale::Linear => range,
            Scale::Log => range.padded(0.03, scale),
        });
        limits.or(found).unwrap_or(Range::empty(scale))
    }

    fn y_range(&self) -> Range {
        let scale = self.y_scale;
        if let Some(limits) = self.y_limits.and_then(|(low, high)| Range::checked(low, high, scale)) {
            return limits;
        }
        let curves = self.series.iter().flat_map(|series| series.ys.iter());
        // A lower edge near zero would add empty decades to a logarithmic axis.
        let lower = self.bands().filter(|_| scale == Scale::Linear).flat_map(|(_, band)| band.lower.iter());
        let upper = self.bands().flat_map(|(_, band)| band.upper.iter());
        let reference = self.reference.iter().map(|reference| &reference.value);
        let values = curves.chain(lower).chain(upper).chain(reference).copied();
        Range::of(values, scale).map_or(Range::empty(scale), |range| range.padded(0.05, scale))
    }

    fn bands(&self) -> impl Iterator<Item = (usize, &Band)> {
        self.series.iter().enumerate().filter_map(|(i, series)| Some((i, series.band.as_ref()?)))
    }

    fn colour(&self, i: usize) -> Colour {
        self.series[i].colour.unwrap_or(Colour::palette(i))
    }

    fn draw_curves(&self, drawing: &mut Drawing, frame: &Frame) {
        for (i, band) in self.bands() {
            for outline in band_outlines(&self.series[i], band, frame) {
                drawing.polygon(outline, Fill { colour: self.colour(i), opacity: BAND_OPACITY }, None);
            }
        }
        if let Some(y) = self.reference.as_ref().and_then(|reference| frame.height(reference.value)) {
            let stroke = Stroke::straight(REFERENCE, 0.9).dashed_if(true);
            drawing.line((frame.plot.x, y), (frame.plot.right(), y), stroke);
        }
        for (i, series) in self.series.iter().enumerate() {
            if series.dots {
                let points = series.xs.iter().zip(&series.ys).filter_map(|(&x, &y)| frame.point(x, y));
                points.for_each(|point| drawing.circle(point, 1.5 * CURVE_WIDTH, self.colour(i), None));
            }
            let curve = frame.curve(&series.xs, &series.ys);
            // A point between two gaps has no line: without a dot it would be invisible.
            for lone in curve.iter().filter(|piece| piece.len() == 1) {
                drawing.circle(lone[0], CURVE_WIDTH, self.colour(i), None);
            }
            drawing.lines(curve, Stroke::curve(self.colour(i), CURVE_WIDTH).dashed_if(series.dashed));
        }
    }

    fn draw_axis_marks(&self, drawing: &mut Drawing, frame: &Frame) {
        let Size { width, height } = AXIS_MARK;
        let foot = frame.plot.bottom();
        for x in self.axis_marks.iter().filter_map(|&x| frame.across(x)) {
            let corners = vec![(x - width / 2.0, foot), (x + width / 2.0, foot), (x, foot - height)];
            let rim = Stroke::straight(Colour::WHITE, 0.5);
            drawing.polygon(corners, Fill { colour: INK, opacity: 1.0 }, Some(rim));
        }
    }

    /// The entries of the chart's own legend.
    fn entries(&self) -> Vec<Entry<'_>> {
        match self.legend {
            Legend::Hidden | Legend::Shared => Vec::new(),
            Legend::Auto | Legend::Inside | Legend::Below => self.labelled(),
        }
    }

    /// The entries that it adds to the legend of the figure.
    pub(crate) fn shared_entries(&self) -> Vec<Entry<'_>> {
        if self.legend == Legend::Shared { self.labelled() } else { Vec::new() }
    }

    fn labelled(&self) -> Vec<Entry<'_>> {
        let labelled = self.series.iter().enumerate().filter(|(_, series)| !series.label.is_empty());
        labelled
            .map(|(i, series)| Entry {
                label: &series.label,
                sample: Sample::Curve {
                    colour: self.colour(i),
                    dashed: series.dashed,
                    band: series.band.is_some(),
                },
            })
            .collect()
    }

    /// Decided from the size of the cell alone: the margins depend on the answer, so it must not depend on
    /// them.
    fn legend_is_below(&self, cell: Size) -> bool {
        let entries = self.entries();
        if entries.is_empty() {
            return false;
        }
        match self.legend {
            Legend::Below => true,
            Legend::Inside | Legend::Shared | Legend::Hidden => false,
            Legend::Auto => {
                let plot = Rect { x: 0.0, y: 0.0, width: 0.75 * cell.width, height: 0.7 * cell.height };
                let size = legend::column_size(&entries);
                let ink = self.ink(&self.frame(plot));
                let (_, hidden) = legend::best_place(plot, size, &ink);
                hidden > 0 || size.width > 0.6 * plot.width || size.height > 0.6 * plot.height
            }
        }
    }

    /// Points of everything that a legend should not cover.
    fn ink(&self, frame: &Frame) -> Vec<Point> {
        let mut ink = Vec::new();
        for series in &self.series {
            let mut trace = |ys: &[f64]| {
                for piece in frame.curve(&series.xs, ys) {
                    ink.extend(sample(&piece, INK_SPACING));
                }
            };
            trace(&series.ys);
            if let Some(band) = &series.band {
                trace(&band.lower);
                trace(&band.upper);
            }
        }
        if let Some(y) = self.reference.as_ref().and_then(|reference| frame.height(reference.value)) {
            ink.extend(sample(&[(frame.plot.x, y), (frame.plot.right(), y)], INK_SPACING));
        }
        for x in self.axis_marks.iter().filter_map(|&x| frame.across(x)) {
            ink.push((x, frame.plot.bottom() - AXIS_MARK.height));
        }
        ink
    }

    /// The place of the reference line's label: at the left or right end, above or below, where it covers the
    /// least.
    fn reference_label(&self, frame: &Frame, ink: &[Point]) -> Option<Rect> {
        let Reference { value, label } =
            self.reference.as_ref().filter(|reference| !reference.label.is_empty())?;
        let y = frame.height(*value).filter(|&y| frame.plot.contains((frame.plot.x, y)))?;
        let (width, height) = (text_width(label, TICK_TEXT) + 2.0 * GAP, line_height(TICK_TEXT));
        let places = [y - height - 1.0, y + 1.0].into_iter().flat_map(|top| {
            [frame.plot.right() - width, frame.plot.x].map(|x| Rect { x, y: top, width, height })
        });
        places
            .filter(|place| place.y >= frame.plot.y && place.bottom() <= frame.plot.bottom())
            .min_by_key(|place| ink.iter().filter(|&&point| place.contains(point)).count())
    }
}

/// The outlines of a band, one for every run of points whose two edges can be drawn.
fn band_outlines(series: &Series, band: &Band, frame: &Frame) -> Vec<Vec<Point>> {
    // On a logarithmic axis, an edge that is not positive lies below every value that can be shown.
    let lower: Vec<f64> =
        band.lower.iter().map(|&y| if y <= 0.0 { y.max(frame.y.low()) } else { y }).collect();
    let both = |i: usize| {
        let (x, low, high) = (series.xs[i], lower[i], band.upper[i]);
        Some((frame.point(x, high)?, frame.point(x, low)?))
    };
    let edges: Vec<Option<(Point, Point)>> = (0..series.xs.len()).map(both).collect();
    let runs = edges.split(Option::is_none).filter(|run| run.len() > 1);
    runs.map(|run| {
        let upper: Vec<Point> = run.iter().flatten().map(|edge| edge.0).collect();
        let lower: Vec<Point> = run.iter().flatten().map(|edge| edge.1).collect();
        let mut outline = thin(&upper);
        outline.extend(thin(&lower).into_iter().rev());
        outline
    })
    .collect()
}

/// Points that represent a filled rectangle.
fn grid_of(rect: Rect) -> impl Iterator<Item = Point> {
    let columns = (rect.width / INK_SPACING) as usize;
    let rows = (rect.height / INK_SPACING) as usize;
    (0..=columns).flat_map(move |i| {
        (0..=rows).map(move |j| (rect.x + INK_SPACING * i as f64, rect.y + INK_SPACING * j as f64))
    })
}
