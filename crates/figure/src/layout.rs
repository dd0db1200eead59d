//! Layout of the panels: plotting rectangles aligned along rows and columns, with space for their labels.

use crate::draw::geometry::{Margins, Rect, Size};

/// Gap between the panels of neighbouring columns or rows.
const GUTTER: f64 = 12.0;
/// Smallest side of a plotting rectangle, however much space the labels take.
const SMALLEST: f64 = 10.0;

/// One direction of the grid (its columns or its rows), split into bands.
struct Bands {
    /// Page coordinate at which the first band starts.
    start: f64,
    /// Total length of the page in this direction.
    length: f64,
    /// Relative lengths of the plotting rectangles.
    weights: Vec<f64>,
    /// Space before and after each plotting rectangle.
    before: Vec<f64>,
    after: Vec<f64>,
}

impl Bands {
    fn new(start: f64, length: f64, weights: &[f64]) -> Self {
        let none = vec![0.0; weights.len()];
        Bands { start, length, weights: weights.to_vec(), before: none.clone(), after: none }
    }

    fn reserve(&mut self, i: usize, before: f64, after: f64) {
        self.before[i] = self.before[i].max(before);
        self.after[i] = self.after[i].max(after);
    }

    /// The length left for plotting in band `i`.
    fn plot_length(&self, i: usize) -> f64 {
        let gutters = GUTTER * (self.weights.len() - 1) as f64;
        let taken = self.before.iter().chain(&self.after).sum::<f64>() + gutters;
        let share = self.weights[i] / self.weights.iter().sum::<f64>();
        (share * (self.length - taken)).max(SMALLEST)
    }

    fn plot_start(&self, i: usize) -> f64 {
        let earlier: f64 =
            (0..i).map(|j| self.before[j] + self.plot_length(j) + self.after[j] + GUTTER).sum();
        self.start + earlier + self.before[i]
    }
}

/// A grid of cells inside `area`, with the relative lengths of its columns and rows.
pub(crate) struct Grid<'a> {
    pub area: Rect,
    pub widths: &'a [f64],
    pub heights: &'a [f64],
}

impl Grid<'_> {
    /// The size of a cell without labels.
    pub fn cell_size(&self, (row, column): (usize, usize)) -> Size {
        Size {
            width: self.area.width * self.widths[column] / self.widths.iter().sum::<f64>(),
            height: self.area.height * self.heights[row] / self.heights.iter().sum::<f64>(),
        }
    }

    /// The plotting rectangles of the panels in `cells`. Their `margins` depend on their size: a smaller plot
    /// has fewer ticks and so other labels. The sizes are iterated; they hardly change after the first round.
    pub fn place(&self, cells: &[(usize, usize)], margins: impl Fn(usize, Size) -> Margins) -> Vec<Rect> {
        let mut sizes: Vec<Size> = cells.iter().map(|&cell| self.cell_size(cell)).collect();
        let mut places = Vec::new();
        for _round in 0..3 {
            let mut columns = Bands::new(self.area.x, self.area.width, self.widths);
            let mut rows = Bands::new(self.area.y, self.area.height, self.heights);
            for (i, &(row, column)) in cells.iter().enumerate() {
                let Margins { left, right, top, bottom } = margins(i, sizes[i]);
                columns.reserve(column, left, right);
                rows.reserve(row, top, bottom);
            }
            let place = |&(row, column): &(usize, usize)| Rect {
                x: columns.plot_start(column),
                y: rows.plot_start(row),
                width: columns.plot_length(column),
                height: rows.plot_length(row),
            };
            places = cells.iter().map(place).collect();
            sizes = places.iter().map(Rect::size).collect();
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Rect = Rect { x: 5.0, y: 7.0, width: 400.0, height: 300.0 };

    #[test]
    fn plots_align_and_margins_fit_into_the_area() {
        let grid = Grid { area: AREA, widths: &[1.0, 2.0], heights: &[1.0, 1.0] };
        let cells = [(0, 0), (0, 1), (1, 0), (1, 1)];
        let margins =
            |i: usize| Margins { left: 10.0 + i as f64, right: 5.0, top: 4.0, bottom: 8.0 + i as f64 };
        let places = grid.place(&cells, |i, _| margins(i));
        assert_eq!(places[0].x, places[2].x);
        assert_eq!(places[0].width, places[2].width);
        assert_eq!(places[2].y, places[3].y);
        assert!((places[1].width - 2.0 * places[0].width).abs() < 1e-9);
        assert!((places[2].x - margins(2).left - AREA.x).abs() < 1e-9);
        assert!((places[3].right() + margins(3).right - AREA.right()).abs() < 1e-9);
        assert!((places[3].bottom() + margins(3).bottom - AREA.bottom()).abs() < 1e-9);
        assert!(places[1].x - margins(3).left >= places[0].right() + margins(0).right);
    }

    #[test]
    fn a_figure_too_small_for_its_labels_still_has_plots() {
        let grid = Grid { area: AREA, widths: &[1.0], heights: &[1.0] };
        let huge = Margins { left: 900.0, right: 900.0, top: 900.0, bottom: 900.0 };
        let places = grid.place(&[(0, 0)], |_, _| huge);
        assert_eq!(places[0].size(), Size { width: SMALLEST, height: SMALLEST });
    }
}
