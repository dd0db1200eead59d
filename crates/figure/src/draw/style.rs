//! Sizes (points) and greys shared by all panels, so that figures have a uniform look.

use crate::colour::Colour;

pub(crate) const TICK_TEXT: f64 = 8.0;
pub(crate) const LABEL_TEXT: f64 = 9.0;
pub(crate) const TITLE_TEXT: f64 = 10.0;
pub(crate) const FIGURE_TITLE_TEXT: f64 = 13.0;
/// Text that is shrunk to fit is at least this large.
pub(crate) const SMALLEST_TEXT: f64 = 5.0;

pub(crate) const AXIS_WIDTH: f64 = 0.7;
pub(crate) const GRID_WIDTH: f64 = 0.5;
pub(crate) const CURVE_WIDTH: f64 = 1.4;
/// Lengths of a dash and of the gap after it.
pub(crate) const DASH: [f64; 2] = [4.5, 2.5];
pub(crate) const FINE_DASH: [f64; 2] = [2.4, 1.6];

pub(crate) const TICK_LENGTH: f64 = 3.0;
pub(crate) const MINOR_TICK_LENGTH: f64 = 1.8;
/// Gap between a tick and its label, and between neighbouring labels.
pub(crate) const GAP: f64 = 3.0;

/// Text and axes: softer than pure black, still far above every contrast recommendation.
pub(crate) const INK: Colour = Colour::rgb(0x22, 0x22, 0x22);
pub(crate) const GRID: Colour = Colour::rgb(0xe4, 0xe4, 0xe4);
pub(crate) const REFERENCE: Colour = Colour::rgb(0x66, 0x66, 0x66);

/// Height of a line of text, with its leading.
pub(crate) fn line_height(text_size: f64) -> f64 {
    1.2 * text_size
}
