//! The figure: a grid of panels, written as SVG or PNG.

use std::path::Path;

use crate::draw::drawing::{Anchor, Drawing};
use crate::draw::font::fitting_size;
use crate::draw::geometry::{Rect, Size};
use crate::draw::style::{FIGURE_TITLE_TEXT, line_height};
use crate::draw::{raster, svg};
use crate::layout::Grid;
use crate::lines::{Entry, draw_rows, rows_height};
use crate::panel::Draw;
use crate::{FigureError, Panel};

/// Free room along the border of the page.
const BORDER: f64 = 8.0;
/// Between the panels and a legend they share.
const LEGEND_GAP: f64 = 4.0;

/// A grid of panels on a white page. The same figure always gives the same bytes.
///
/// ```
/// use figure::{ColourMap, Figure, Lines, Map, Series};
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
    size: Size,
    title: String,
    widths: Vec<f64>,
    heights: Vec<f64>,
    panels: Vec<((usize, usize), Panel)>,
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

    /// Puts a panel into the cell at `row` (from the top) and `column` (from the left), in place of what was there.
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

    /// The figure as an SVG document that carries its own font.
    pub fn to_svg(&self) -> String {
        svg::document(&self.drawing(), self.size)
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

    fn drawing(&self) -> Drawing {
        let mut drawing = Drawing::default();
        let heading = self.draw_title(&mut drawing);
        let footing = self.draw_shared_legend(&mut drawing);
        let area = Rect {
            x: BORDER,
            y: BORDER + heading,
            width: self.size.width - 2.0 * BORDER,
            height: self.size.height - 2.0 * BORDER - heading - footing,
        };
        let grid = Grid { area, widths: &self.widths, heights: &self.heights };
        let cells: Vec<(usize, usize)> = self.panels.iter().map(|(cell, _)| *cell).collect();
        let margins = |i: usize, plot: Size| self.panels[i].1.margins(grid.cell_size(cells[i]), plot);
        for ((cell, panel), plot) in self.panels.iter().zip(grid.place(&cells, margins)) {
            panel.draw(&mut drawing, grid.cell_size(*cell), plot);
        }
        drawing
    }

    /// Draws the title and returns the height it takes.
    fn draw_title(&self, drawing: &mut Drawing) -> f64 {
        if self.title.is_empty() {
            return 0.0;
        }
        let size = fitting_size(&self.title, FIGURE_TITLE_TEXT, self.size.width - 2.0 * BORDER);
        let baseline = BORDER + 0.8 * FIGURE_TITLE_TEXT;
        drawing.text(&self.title, (self.size.width / 2.0, baseline), size, Anchor::Middle);
        line_height(FIGURE_TITLE_TEXT) + 4.0
    }

    /// Draws the legend that charts share, each label once, and returns the height it takes.
    fn draw_shared_legend(&self, drawing: &mut Drawing) -> f64 {
        let mut entries: Vec<Entry> = Vec::new();
        for (_, panel) in &self.panels {
            let Panel::Lines(lines) = panel else { continue };
            for entry in lines.shared_entries() {
                if entries.iter().all(|known| known.label != entry.label) {
                    entries.push(entry);
                }
            }
        }
        if entries.is_empty() {
            return 0.0;
        }
        let width = self.size.width - 2.0 * BORDER;
        let height = rows_height(&entries, width);
        let below = Rect { x: BORDER, y: self.size.height - BORDER - height, width, height };
        draw_rows(drawing, &entries, below, below.y);
        height + LEGEND_GAP
    }
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
