//! Maps: a matrix as colours, with paths, points and other overlays.

mod colour_bar;
mod contour;
mod drawing;
mod field;
mod overlay;
mod plane;
mod symbol;

pub use colour_bar::ColourBar;
pub use overlay::Marker;
pub use symbol::Symbol;

use crate::ColourMap;
use crate::axis::{Labels, Range, Scale};
use overlay::{Overlay, Path, Points};
use plane::{Contours, Disc, Dots, Tail};

/// A heat map of a matrix: columns along x, rows along y, row 0 at the bottom.
///
/// Infinite or NaN values are grey. Limits and extents that are not finite or not increasing are ignored.
/// Overlays are drawn in the order in which they were added.
#[derive(Clone, Debug)]
pub struct Map {
    pub(crate) labels: Labels,
    values: Vec<f64>,
    rows: usize,
    columns: usize,
    x_extent: Option<Range>,
    y_extent: Option<Range>,
    equal_aspect: bool,
    /// Whether the x axis and the y axis have ticks.
    ticks: [bool; 2],
    smooth: bool,
    colour_map: ColourMap,
    limits: Option<Range>,
    colour_bar: Option<String>,
    overlays: Vec<Overlay>,
}

impl Map {
    /// A map of the row-major matrix `values`, in sequential colours.
    ///
    /// # Panics
    ///
    /// If there are not `rows` x `columns` values.
    pub fn new(values: &[f64], rows: usize, columns: usize) -> Self {
        assert_eq!(values.len(), rows * columns, "a {rows} x {columns} matrix has as many values");
        Map {
            labels: Labels::default(),
            values: values.to_vec(),
            rows,
            columns,
            x_extent: None,
            y_extent: None,
            equal_aspect: false,
            ticks: [true; 2],
            smooth: false,
            colour_map: ColourMap::Sequential,
            limits: None,
            colour_bar: None,
            overlays: Vec::new(),
        }
    }

    /// The text above the map.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.labels.title = title.into();
        self
    }

    /// The names of the axes.
    pub fn labels(mut self, x: impl Into<String>, y: impl Into<String>) -> Self {
        (self.labels.x, self.labels.y) = (x.into(), y.into());
        self
    }

    /// The physical intervals that the matrix covers, from the outer edge of the first cell to that of the
    /// last. By default, cells have length one.
    pub fn extent(mut self, x: [f64; 2], y: [f64; 2]) -> Self {
        self.x_extent = Range::checked(x[0], x[1], Scale::Linear);
        self.y_extent = Range::checked(y[0], y[1], Scale::Linear);
        self
    }

    /// Gives x and y the same length per unit, as for a 2D field.
    pub fn equal_aspect(mut self) -> Self {
        self.equal_aspect = true;
        self
    }

    /// Whether the axes have ticks with labels. In rows of small pictures of the same domain, only those at
    /// the left and at the bottom need them.
    pub fn ticks(mut self, x: bool, y: bool) -> Self {
        self.ticks = [x, y];
        self
    }

    /// Interpolates the colours of neighbouring cells. Use it for cells hardly larger than a pixel: sharp
    /// cells of unequal width would show as stripes.
    pub fn smooth(mut self) -> Self {
        self.smooth = true;
        self
    }

    /// The colours.
    pub fn colour_map(mut self, colour_map: ColourMap) -> Self {
        self.colour_map = colour_map;
        self
    }

    /// The values at the ends of the colour map; by default, the smallest and largest value. Diverging
    /// colours always span a symmetric interval, so that zero is white: they use the larger of the two
    /// magnitudes.
    pub fn limits(mut self, low: f64, high: f64) -> Self {
        self.limits = Range::checked(low, high, Scale::Linear);
        self
    }

    /// Adds a colour bar with this label. An end is pointed if values lie beyond its limit.
    pub fn colour_bar(mut self, label: impl Into<String>) -> Self {
        self.colour_bar = Some(label.into());
        self
    }

    /// Draws a thin line through the points (`xs[i]`, `ys[i]`); a value that is not finite leaves a gap.
    ///
    /// # Panics
    ///
    /// If `xs` and `ys` differ in length.
    pub fn path(self, xs: &[f64], ys: &[f64]) -> Self {
        assert_eq!(xs.len(), ys.len(), "a path has as many xs as ys");
        self.with(Overlay::Path(Path { xs: xs.to_vec(), ys: ys.to_vec() }))
    }

    /// Draws a marker at every point (`xs[i]`, `ys[i]`).
    ///
    /// # Panics
    ///
    /// If `xs` and `ys` differ in length.
    pub fn points(self, xs: &[f64], ys: &[f64], marker: Marker) -> Self {
        assert_eq!(xs.len(), ys.len(), "points have as many xs as ys");
        self.with(Overlay::Points(Points { xs: xs.to_vec(), ys: ys.to_vec(), marker }))
    }

    /// Draws a grey disc, such as an obstacle. If `margin` is positive, a dashed ring is drawn `margin`
    /// outside its edge. The disc is round if x and y have the same length per unit.
    pub fn disc(self, centre: [f64; 2], radius: f64, margin: f64) -> Self {
        self.with(Overlay::Disc(Disc { centre, radius, margin }))
    }

    /// Draws the contour lines of another row-major matrix, over the same extent, at the `levels`. Negative
    /// levels are dashed. Around infinite or NaN values there are no lines.
    ///
    /// # Panics
    ///
    /// If there are not `rows` x `columns` values.
    pub fn contours(self, values: &[f64], rows: usize, columns: usize, levels: &[f64]) -> Self {
        assert_eq!(values.len(), rows * columns, "a {rows} x {columns} matrix has as many values");
        let (values, levels) = (values.to_vec(), levels.to_vec());
        self.with(Overlay::Contours(Contours { values, rows, columns, levels }))
    }

    /// Draws a trail: a line through `points`, oldest first, that fades towards the oldest.
    pub fn tail(self, points: &[[f64; 2]]) -> Self {
        self.with(Overlay::Tail(Tail { points: points.to_vec() }))
    }

    /// Draws a dot of `radius` (in points of the page) at every position. With shades, one per dot, a dot is
    /// white at -1, grey at 0 and black at 1.
    ///
    /// # Panics
    ///
    /// If there is not one shade per dot.
    pub fn dots(self, points: &[[f64; 2]], radius: f64, shades: Option<&[f64]>) -> Self {
        assert!(shades.is_none_or(|shades| shades.len() == points.len()), "one shade per dot");
        let (points, shades) = (points.to_vec(), shades.map(<[f64]>::to_vec));
        self.with(Overlay::Dots(Dots { points, radius, shades }))
    }

    fn with(mut self, overlay: Overlay) -> Self {
        self.overlays.push(overlay);
        self
    }

    fn x_range(&self) -> Range {
        self.x_extent.unwrap_or(Range { low: 0.0, high: self.columns.max(1) as f64 })
    }

    fn y_range(&self) -> Range {
        self.y_extent.unwrap_or(Range { low: 0.0, high: self.rows.max(1) as f64 })
    }

    /// The smallest and largest finite value.
    pub(crate) fn value_range(&self) -> Option<Range> {
        Range::of(self.values.iter().copied(), Scale::Linear)
    }

    /// The values at the two ends of the colour map.
    fn colour_range(&self) -> Range {
        let range = self.limits.or(self.value_range()).unwrap_or(Range::empty(Scale::Linear));
        spanned(self.colour_map, range)
    }
}

/// The values at the ends of the colour map that shows `range`; symmetric about zero for diverging colours.
fn spanned(colour_map: ColourMap, range: Range) -> Range {
    let range = match colour_map {
        ColourMap::Sequential => range,
        ColourMap::Diverging => {
            let magnitude = range.low.abs().max(range.high.abs());
            Range { low: -magnitude, high: magnitude }
        }
    };
    range.widened(Scale::Linear)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diverging_limits_are_symmetric() {
        let map = Map::new(&[-1.0, 3.0], 1, 2).colour_map(ColourMap::Diverging);
        assert_eq!(map.colour_range(), Range { low: -3.0, high: 3.0 });
        assert_eq!(map.limits(-5.0, 1.0).colour_range(), Range { low: -5.0, high: 5.0 });
    }

    #[test]
    fn limits_are_explicit_or_found_or_arbitrary() {
        let map = Map::new(&[f64::NAN, 2.0, 4.0], 1, 3);
        assert_eq!(map.colour_range(), Range { low: 2.0, high: 4.0 });
        assert_eq!(map.clone().limits(0.0, 1.0).colour_range(), Range { low: 0.0, high: 1.0 });
        assert_eq!(map.limits(f64::NAN, 1.0).colour_range(), Range { low: 2.0, high: 4.0 });
        assert_eq!(Map::new(&[], 0, 0).colour_range(), Range { low: 0.0, high: 1.0 });
        let constant = Map::new(&[2.0; 4], 2, 2).colour_range();
        assert!(constant.low < 2.0 && 2.0 < constant.high);
    }
}
