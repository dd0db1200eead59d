//! A figure on its page: the title above, shared colour bars and legends beside and below, and the panels in
//! the remaining space.

use crate::axis::{Range, Scale};
use crate::draw::drawing::{Anchor, Drawing};
use crate::draw::font::{fitting_size, text_width};
use crate::draw::geometry::{Rect, Size};
use crate::draw::style::{FIGURE_TITLE_TEXT, GRID, INK, LABEL_TEXT, line_height};
use crate::layout::Grid;
use crate::lines::{Entry, Sample, draw_rows, rows_height};
use crate::panel::Draw;
use crate::{Figure, Panel};

/// Empty border of the page.
const BORDER: f64 = 8.0;
/// Gap between the panels and a shared legend.
const LEGEND_GAP: f64 = 4.0;
/// Gap between the panels and a shared colour bar, in addition to the gap of every bar.
const BAR_GAP: f64 = 4.0;
/// Width of the labels of rows.
const ROW_LABEL: f64 = 1.5 * LABEL_TEXT;
/// Width for the label right of a progress bar. It grows only if necessary: a bar of changing length would
/// jump.
const PROGRESS_LABEL: f64 = 62.0;
/// Gap between the panels and a progress bar.
const PROGRESS_GAP: f64 = 9.0;
/// Height of a progress bar.
const PROGRESS_HEIGHT: f64 = 2.4;

/// Maps with an aspect outside this range do not determine the height of a page.
const SANE_ASPECT: std::ops::RangeInclusive<f64> = 0.05..=20.0;

impl Figure {
    pub(crate) fn drawing(&self) -> Drawing {
        let mut drawing = Drawing::default();
        self.draw_title(&mut drawing);
        self.draw_progress(&mut drawing);
        self.draw_shared_legend(&mut drawing);
        let grid = self.grid();
        let places = self.places(&grid);
        for ((cell, panel), plot) in self.panels.iter().zip(&places) {
            panel.draw(&mut drawing, grid.cell_size(*cell), *plot);
        }
        self.draw_shared_bars(&mut drawing, &places);
        self.draw_row_labels(&mut drawing, &places);
        drawing
    }

    /// Sets the height at which panels with a fixed aspect fill their rows.
    pub(crate) fn fit(&mut self) {
        // the margins depend weakly on the height, so a few iterations are enough
        for _round in 0..4 {
            let places = self.places(&self.grid());
            let mut rows = vec![None; self.heights.len()];
            for (((row, _), panel), place) in self.panels.iter().zip(&places) {
                let sane = panel.aspect().filter(|aspect| SANE_ASPECT.contains(aspect));
                let wanted = sane.map(|aspect| aspect * place.width);
                let (now, most): (f64, Option<f64>) = rows[*row].unwrap_or((place.height, None));
                rows[*row] = Some((now, most.into_iter().chain(wanted).reduce(f64::max)));
            }
            let known: Vec<(f64, f64)> =
                rows.into_iter().flatten().map(|(now, wanted)| (now, wanted.unwrap_or(now))).collect();
            let missing: f64 = known.iter().map(|(now, wanted)| wanted - now).sum();
            let height = self.size.height + missing;
            if known.len() == self.heights.len() && height > 0.0 && height.is_finite() {
                self.size.height = height;
                self.heights = known.into_iter().map(|(_, wanted)| wanted).collect();
            }
        }
    }

    /// The area of the panels, without title and shared elements.
    fn grid(&self) -> Grid<'_> {
        let (heading, footing) = (self.heading(), self.progress_height() + self.legend_height());
        let height = self.size.height - 2.0 * BORDER - heading - footing;
        let total: f64 = self.heights.iter().sum();
        let bars = self.bars.iter().map(|(rows, bar)| {
            let share = self.heights[rows.clone()].iter().sum::<f64>() / total;
            BAR_GAP + bar.width(share * height)
        });
        let left = if self.row_labels.is_empty() { 0.0 } else { ROW_LABEL };
        let width = self.size.width - 2.0 * BORDER - left - bars.fold(0.0, f64::max);
        let area = Rect { x: BORDER + left, y: BORDER + heading, width, height };
        Grid { area, widths: &self.widths, heights: &self.heights }
    }

    fn places(&self, grid: &Grid) -> Vec<Rect> {
        let cells: Vec<(usize, usize)> = self.panels.iter().map(|(cell, _)| *cell).collect();
        let margins = |i: usize, plot: Size| self.panels[i].1.margins(grid.cell_size(cells[i]), plot);
        grid.place(&cells, margins)
    }

    fn heading(&self) -> f64 {
        if self.title.is_empty() { 0.0 } else { line_height(FIGURE_TITLE_TEXT) + 4.0 }
    }

    fn draw_title(&self, drawing: &mut Drawing) {
        if !self.title.is_empty() {
            let size = fitting_size(&self.title, FIGURE_TITLE_TEXT, self.size.width - 2.0 * BORDER);
            let baseline = BORDER + 0.8 * FIGURE_TITLE_TEXT;
            drawing.text(&self.title, (self.size.width / 2.0, baseline), size, Anchor::Middle);
        }
    }

    /// The used part of every panel's plotting rectangle, with its row.
    fn outlines(&self, places: &[Rect]) -> Vec<(usize, Rect)> {
        let panels = self.panels.iter().zip(places);
        panels.map(|(((row, _), panel), place)| (*row, panel.outline(*place))).collect()
    }

    /// Labels of rows at the left border, each at the middle of its panels.
    fn draw_row_labels(&self, drawing: &mut Drawing, places: &[Rect]) {
        let outlines = self.outlines(places);
        for (row, label) in &self.row_labels {
            if let Some((_, outline)) = outlines.iter().find(|(of, _)| of == row) {
                let at = (BORDER + 0.8 * LABEL_TEXT, outline.centre().1);
                drawing.upward_text(label, at, fitting_size(label, LABEL_TEXT, outline.height));
            }
        }
    }

    /// Colour bars right of all panels, each as high as the panels in its rows.
    fn draw_shared_bars(&self, drawing: &mut Drawing, places: &[Rect]) {
        let outlines = self.outlines(places);
        let right = outlines.iter().map(|(_, outline)| outline.right()).fold(0.0, f64::max);
        for (rows, bar) in &self.bars {
            let beside = || outlines.iter().filter(|(row, _)| rows.contains(row)).map(|(_, outline)| outline);
            let top = beside().map(|outline| outline.y).fold(f64::INFINITY, f64::min);
            let bottom = beside().map(Rect::bottom).fold(f64::NEG_INFINITY, f64::max);
            if bottom > top {
                let plots = Rect { x: 0.0, y: top, width: right + BAR_GAP, height: bottom - top };
                bar.of_values(self.values_in(rows)).draw(drawing, plots);
            }
        }
    }

    /// Smallest and largest value on the maps in these rows.
    fn values_in(&self, rows: &std::ops::Range<usize>) -> Option<Range> {
        let ranges =
            self.panels.iter().filter(|((row, _), _)| rows.contains(row)).filter_map(|(_, panel)| {
                let Panel::Map(map) = panel else { return None };
                map.value_range()
            });
        Range::of(ranges.flat_map(|range| [range.low, range.high]), Scale::Linear)
    }

    fn progress_height(&self) -> f64 {
        if self.progress.is_some() { line_height(LABEL_TEXT) + PROGRESS_GAP } else { 0.0 }
    }

    /// A label and a thin bar at the bottom of the page.
    fn draw_progress(&self, drawing: &mut Drawing) {
        let Some((fraction, label)) = &self.progress else { return };
        let baseline = self.size.height - BORDER - 0.25 * LABEL_TEXT;
        let right = self.size.width - BORDER;
        drawing.text(label, (right, baseline), LABEL_TEXT, Anchor::End);
        let label = PROGRESS_LABEL.max(text_width(label, LABEL_TEXT) + LABEL_TEXT);
        let (x, width) = (BORDER, (right - label - BORDER).max(0.0));
        let y = baseline - 0.36 * LABEL_TEXT - PROGRESS_HEIGHT / 2.0;
        let track = Rect { x, y, width, height: PROGRESS_HEIGHT };
        drawing.fill(track, GRID, 1.0);
        drawing.fill(Rect { width: width * fraction, ..track }, INK, 1.0);
    }

    /// The legend that charts share, each label once, and the symbols of maps.
    fn shared_entries(&self) -> Vec<Entry<'_>> {
        let mut entries: Vec<Entry> = Vec::new();
        for (_, panel) in &self.panels {
            let Panel::Lines(lines) = panel else { continue };
            for entry in lines.shared_entries() {
                if entries.iter().all(|known| known.label != entry.label) {
                    entries.push(entry);
                }
            }
        }
        entries.extend(
            self.symbols
                .iter()
                .map(|(symbol, colours, label)| Entry { label, sample: Sample::Symbol(*symbol, *colours) }),
        );
        entries
    }

    fn legend_height(&self) -> f64 {
        let entries = self.shared_entries();
        if entries.is_empty() {
            return 0.0;
        }
        rows_height(&entries, self.size.width - 2.0 * BORDER) + LEGEND_GAP
    }

    fn draw_shared_legend(&self, drawing: &mut Drawing) {
        let entries = self.shared_entries();
        if !entries.is_empty() {
            let width = self.size.width - 2.0 * BORDER;
            let height = rows_height(&entries, width);
            let y = self.size.height - BORDER - height - self.progress_height();
            draw_rows(drawing, &entries, Rect { x: BORDER, y, width, height }, y);
        }
    }
}
