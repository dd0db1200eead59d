//! The figure: a grid of panels, written as SVG, PDF or PNG.

use std::ops::Range;
use std::path::Path;

use crate::draw::geometry::Size;
use crate::draw::raster::Pixels;
use crate::draw::{pdf, raster, svg};
use crate::{ColourBar, ColourMap, FigureError, Panel, Symbol};

/// A grid of panels on a white page. The same figure always gives the same bytes.
///
/// ```
/// use cinoc_figure::{ColourMap, Figure, Lines, Map, Series};
///
/// let time = [0.0, 0.1, 0.2, 0.3];
/// let error = [1.0, 0.1, 0.02, 0.003];
/// let figure = Figure::new(1, 2)
///     .size(480.0, 200.0)
///     .title("two panels")
///     .panel(0, 0, Map::new(&[0.0, 0.2, 0.4, 1.0], 2, 2).labels("time", "x").colour_bar("z"))
///     .panel(0, 1, Lines::new().log_y().series(Series::new("controlled", &time, &error)));
/// assert!(figure.to_svg().contains("controlled"));
/// ```
#[derive(Clone, Debug)]
pub struct Figure {
    pub(crate) size: Size,
    pub(crate) title: String,
    pub(crate) widths: Vec<f64>,
    pub(crate) heights: Vec<f64>,
    pub(crate) panels: Vec<((usize, usize), Panel)>,
    pub(crate) bars: Vec<(Range<usize>, ColourBar)>,
    pub(crate) row_labels: Vec<(usize, String)>,
    pub(crate) symbols: Vec<(Symbol, ColourMap, String)>,
    pub(crate) progress: Option<(f64, String)>,
}

impl Figure {
    /// An empty figure with this many rows and columns of equal size, 240 x 180 points per panel.
    ///
    /// # Panics
    ///
    /// If there are no rows or no columns.
    pub fn new(rows: usize, columns: usize) -> Self {
        assert!(rows > 0 && columns > 0, "a figure of {rows} x {columns} panels has no room for any");
        Figure {
            size: Size { width: 240.0 * columns as f64, height: 180.0 * rows as f64 },
            title: String::new(),
            widths: vec![1.0; columns],
            heights: vec![1.0; rows],
            panels: Vec::new(),
            bars: Vec::new(),
            row_labels: Vec::new(),
            symbols: Vec::new(),
            progress: None,
        }
    }

    /// The size of the page in points (1/72 inch).
    ///
    /// # Panics
    ///
    /// If a length is not positive.
    pub fn size(mut self, width: f64, height: f64) -> Self {
        assert_positive(&[width, height]);
        self.size = Size { width, height };
        self
    }

    /// The text above all panels.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// The relative widths of the plots in each column.
    ///
    /// # Panics
    ///
    /// If there is not one positive width per column.
    pub fn column_widths(mut self, widths: &[f64]) -> Self {
        assert_eq!(widths.len(), self.widths.len(), "one width per column");
        assert_positive(widths);
        self.widths = widths.to_vec();
        self
    }

    /// The relative heights of the plots in each row.
    ///
    /// # Panics
    ///
    /// If there is not one positive height per row.
    pub fn row_heights(mut self, heights: &[f64]) -> Self {
        assert_eq!(heights.len(), self.heights.len(), "one height per row");
        assert_positive(heights);
        self.heights = heights.to_vec();
        self
    }

    /// Puts a panel into the cell at `row` (from the top) and `column` (from the left). It replaces any
    /// earlier panel there.
    ///
    /// # Panics
    ///
    /// If the figure has no such cell.
    pub fn panel(mut self, row: usize, column: usize, panel: impl Into<Panel>) -> Self {
        let (rows, columns) = (self.heights.len(), self.widths.len());
        assert!(
            row < rows && column < columns,
            "no cell ({row}, {column}) in a figure of {rows} x {columns} panels"
        );
        self.panels.retain(|(cell, _)| *cell != (row, column));
        self.panels.push(((row, column), panel.into()));
        self
    }

    /// Adds a colour bar right of all panels, shared by the maps in these rows. The maps must have the limits
    /// and colours of the bar.
    ///
    /// # Panics
    ///
    /// If the figure does not have these rows.
    pub fn colour_bar(mut self, rows: Range<usize>, bar: ColourBar) -> Self {
        assert!(
            rows.start < rows.end && rows.end <= self.heights.len(),
            "no rows {rows:?} in {}",
            self.heights.len()
        );
        self.bars.push((rows, bar));
        self
    }

    /// Adds a text left of all panels of a row, which reads upwards.
    ///
    /// # Panics
    ///
    /// If the figure has no such row.
    pub fn row_label(mut self, row: usize, label: impl Into<String>) -> Self {
        assert!(row < self.heights.len(), "no row {row} in {}", self.heights.len());
        self.row_labels.push((row, label.into()));
        self
    }

    /// Adds an entry to the legend below all panels: an overlay of the maps with these colours.
    pub fn symbol(mut self, symbol: Symbol, colours: ColourMap, label: impl Into<String>) -> Self {
        self.symbols.push((symbol, colours, label.into()));
        self
    }

    /// Puts letters, (a), (b), ..., before the titles of the panels, row by row. Call it after all panels
    /// have been added.
    pub fn lettered(mut self) -> Self {
        self.panels.sort_by_key(|(cell, _)| *cell);
        for (i, (_, panel)) in self.panels.iter_mut().enumerate() {
            let title = panel.title_mut();
            *title = format!("({}) {title}", letter(i)).trim_end().to_string();
        }
        self
    }

    /// Draws a label and a thin progress bar, filled to this fraction, at the bottom of the page, for
    /// animations.
    pub fn progress(mut self, fraction: f64, label: impl Into<String>) -> Self {
        let fraction = if fraction.is_nan() { 0.0 } else { fraction.clamp(0.0, 1.0) };
        self.progress = Some((fraction, label.into()));
        self
    }

    /// Changes the height of the page so that maps of equal aspect fill their rows. Call it after all panels
    /// have been added.
    pub fn fit_height(mut self) -> Self {
        self.fit();
        self
    }

    /// The figure as an SVG document with an embedded font.
    pub fn to_svg(&self) -> String {
        svg::document(&self.drawing(), self.size)
    }

    /// The figure as a PDF document of one page with an embedded font.
    pub fn to_pdf(&self) -> Vec<u8> {
        pdf::document(&self.drawing(), self.size)
    }

    /// The figure as a PNG file, with `scale` pixels per point.
    pub fn to_png(&self, scale: f64) -> Result<Vec<u8>, FigureError> {
        raster::png(&self.drawing(), self.size, scale)
    }

    /// Writes the figure as an SVG file.
    pub fn save_svg(&self, path: impl AsRef<Path>) -> Result<(), FigureError> {
        write(path.as_ref(), self.to_svg().as_bytes())
    }

    /// Writes the figure as a PNG file, with `scale` pixels per point.
    pub fn save_png(&self, path: impl AsRef<Path>, scale: f64) -> Result<(), FigureError> {
        write(path.as_ref(), &self.to_png(scale)?)
    }

    /// The figure as pixels, `scale` per point.
    pub(crate) fn to_pixels(&self, scale: f64) -> Result<Pixels, FigureError> {
        raster::pixels(&self.drawing(), self.size, scale)
    }
}

/// a, b, ..., z, aa, bb, ...
fn letter(i: usize) -> String {
    let letter = char::from(b'a' + (i % 26) as u8);
    letter.to_string().repeat(i / 26 + 1)
}

fn assert_positive(lengths: &[f64]) {
    assert!(
        lengths.iter().all(|&length| length > 0.0 && length.is_finite()),
        "lengths {lengths:?} are positive"
    );
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), FigureError> {
    std::fs::write(path, bytes).map_err(|source| FigureError::Write { path: path.to_owned(), source })
}
