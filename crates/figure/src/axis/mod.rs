//! Axes: range of the data, position of ticks, and drawing of both.

mod drawing;
mod frame;
mod linear;
mod log;
mod number;
mod range;

pub(crate) use drawing::{draw_factor, draw_right, factor_height, vertical_axis_width};
pub(crate) use frame::{Frame, Labels};
pub(crate) use range::{Range, is_drawable};

use crate::draw::font::text_width;
use crate::draw::style::{TICK_TEXT, line_height};

/// How values are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    Linear,
    Log,
}

/// Tick positions with their labels.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ticks {
    /// Values with a label and a grid line.
    pub major: Vec<(f64, String)>,
    /// Values with a short tick only.
    pub minor: Vec<f64>,
    /// A power of ten that multiplies all labels, such as "×10⁻⁵".
    pub factor: Option<String>,
}

/// A range of values with ticks.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    scale: Scale,
    range: Range,
    pub ticks: Ticks,
}

impl Axis {
    /// An axis over `range` with at most `most` labelled ticks.
    fn new(scale: Scale, range: Range, most: usize) -> Self {
        let range = range.widened(scale);
        let ticks = match scale {
            Scale::Linear => linear::ticks(range, most),
            Scale::Log => log::ticks(range, most),
        };
        Axis { scale, range, ticks }
    }

    /// A vertical axis of this height.
    pub fn vertical(scale: Scale, range: Range, height: f64) -> Self {
        let most = (height / (2.2 * line_height(TICK_TEXT))).clamp(3.0, 9.0) as usize;
        Axis::new(scale, range, most)
    }

    /// A horizontal axis of this width, with as many ticks as there is space for labels.
    pub fn horizontal(scale: Scale, range: Range, width: f64) -> Self {
        let most = (width / 36.0).clamp(2.0, 9.0) as usize;
        let with_ticks = |most| Axis::new(scale, range, most);
        (2..=most).rev().map(with_ticks).find(|axis| axis.labels_fit(width)).unwrap_or_else(|| with_ticks(1))
    }

    /// The same axis without ticks.
    pub fn bare(self) -> Self {
        Axis { ticks: Ticks::default(), ..self }
    }

    /// Whether there is a gap of about two characters between the labels.
    fn labels_fit(&self, width: f64) -> bool {
        let widths: f64 = self.ticks.major.iter().map(|(_, label)| text_width(label, TICK_TEXT)).sum();
        widths + 1.5 * TICK_TEXT * self.ticks.major.len() as f64 <= width
    }

    /// Position of `value`, from 0 (low end) to 1 (high end); `None` if it cannot be drawn on this axis.
    pub fn fraction(&self, value: f64) -> Option<f64> {
        if !is_drawable(value, self.scale) {
            return None;
        }
        let Range { low, high } = self.range;
        let fraction = match self.scale {
            Scale::Linear => (value - low) / (high - low),
            Scale::Log => (value.log10() - low.log10()) / (high.log10() - low.log10()),
        };
        // Renderers compute in single precision: far outside the panel, only the direction matters.
        Some(fraction.clamp(-1e3, 1e3))
    }

    /// The low end.
    pub fn low(&self) -> f64 {
        self.range.low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_follow_the_scale() {
        let range = Range { low: 1.0, high: 100.0 };
        let linear = Axis::new(Scale::Linear, range, 5);
        let log = Axis::new(Scale::Log, range, 5);
        assert!((linear.fraction(50.5).unwrap() - 0.5).abs() < 1e-12);
        assert!((log.fraction(10.0).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(linear.fraction(f64::NAN), None);
        assert_eq!(log.fraction(0.0), None);
        assert_eq!(log.fraction(-1.0), None);
        assert!(linear.fraction(-1.0).is_some());
    }

    #[test]
    fn horizontal_labels_never_touch() {
        for width in [40.0, 80.0, 150.0, 300.0, 600.0] {
            let axis = Axis::horizontal(Scale::Linear, Range { low: 1000.001, high: 1000.002 }, width);
            assert!(axis.labels_fit(width) || axis.ticks.major.len() <= 1, "too many labels for {width}");
        }
    }
}
