//! The embedded font: one subset of DejaVu Sans (see `assets/README.md`), used for measuring, for PNG files,
//! and inside SVG and PDF files, so that a figure looks the same on a machine without any installed font.

use std::sync::LazyLock;

use base64::prelude::{BASE64_STANDARD, Engine};
use tiny_skia::{Path, PathBuilder};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

use super::polyline::Point;
use super::style::SMALLEST_TEXT;

pub(crate) const TRUE_TYPE: &[u8] = include_bytes!("../../assets/DejaVuSans-subset.ttf");
const WOFF2: &[u8] = include_bytes!("../../assets/DejaVuSans-subset.woff2");

/// Verdana has nearly the same widths: the best fallback if a viewer ignores the embedded font.
pub(crate) const FAMILY: &str = "DejaVu Sans, Verdana, sans-serif";

static FACE: LazyLock<Face<'static>> =
    LazyLock::new(|| Face::parse(TRUE_TYPE, 0).expect("the embedded font is valid"));

/// The glyph of a character; the first glyph, an empty box, replaces characters that the subset does not
/// have.
fn glyph(c: char) -> GlyphId {
    FACE.glyph_index(c).unwrap_or(GlyphId(0))
}

/// The number of the glyph of a character in the font file.
pub(crate) fn glyph_number(c: char) -> u16 {
    glyph(c).0
}

/// Lengths of the whole font, in thousandths of the text size.
pub(crate) struct Shape {
    /// Left, bottom, right and top of the largest glyph.
    pub bounds: [f64; 4],
    pub ascent: f64,
    pub descent: f64,
}

/// The lengths of the font.
pub(crate) fn shape() -> Shape {
    let length = |units: i16| 1000.0 * f64::from(units) / f64::from(FACE.units_per_em());
    let all = FACE.global_bounding_box();
    Shape {
        bounds: [all.x_min, all.y_min, all.x_max, all.y_max].map(length),
        ascent: length(FACE.ascender()),
        descent: length(FACE.descender()),
    }
}

/// Advance width of a character in `size` points.
fn advance(c: char, size: f64) -> f64 {
    let units = FACE.glyph_hor_advance(glyph(c)).unwrap_or(0);
    f64::from(units) * size / f64::from(FACE.units_per_em())
}

/// Width of `text` in `size` points. The font has no kerning, so the width is the sum of the advances.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    text.chars().map(|c| advance(c, size)).sum()
}

/// The largest text size, at most `size`, at which `text` fits into the width `room`.
pub(crate) fn fitting_size(text: &str, size: f64, room: f64) -> f64 {
    let width = text_width(text, size);
    if width <= room { size } else { (size * room / width).max(SMALLEST_TEXT) }
}

/// The outline of `text`, with the baseline starting at `start`; `None` if there is nothing to see.
pub(crate) fn outline(text: &str, start: Point, size: f64) -> Option<Path> {
    let mut outline =
        Outline { path: PathBuilder::new(), pen: start, scale: size / f64::from(FACE.units_per_em()) };
    for c in text.chars() {
        FACE.outline_glyph(glyph(c), &mut outline);
        outline.pen.0 += advance(c, size);
    }
    outline.path.finish()
}

/// A style sheet that embeds the font in an SVG file.
pub(crate) fn style_sheet() -> String {
    let data = BASE64_STANDARD.encode(WOFF2);
    format!("@font-face{{font-family:'DejaVu Sans';src:url(data:font/woff2;base64,{data}) format('woff2')}}")
}

/// Collects the outlines of glyphs. In fonts y grows upwards, on pages downwards.
struct Outline {
    path: PathBuilder,
    pen: Point,
    scale: f64,
}

impl Outline {
    fn on_page(&self, x: f32, y: f32) -> (f32, f32) {
        let (right, up) = (self.scale * f64::from(x), self.scale * f64::from(y));
        ((self.pen.0 + right) as f32, (self.pen.1 - up) as f32)
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.on_page(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.on_page(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.on_page(x1, y1), self.on_page(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.on_page(x1, y1), self.on_page(x2, y2), self.on_page(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_grows_with_text_and_size() {
        assert!(text_width("mm", 10.0) > text_width("ll", 10.0));
        assert!((text_width("abc", 20.0) - 2.0 * text_width("abc", 10.0)).abs() < 1e-3);
        assert_eq!(text_width("", 10.0), 0.0);
    }

    #[test]
    fn the_subset_has_every_character_that_labels_use() {
        for c in "0123456789⁰¹²³⁴⁵⁶⁷⁸⁹⁻−×·.±αβγξσνωΩ∂∇Δ∫→←≤≥≈∞‖√<&ẑ*".chars()
        {
            assert!(FACE.glyph_index(c).is_some(), "no glyph for {c:?}");
        }
    }

    #[test]
    fn long_text_shrinks_to_its_room() {
        let text = "a rather long panel title";
        assert_eq!(fitting_size(text, 10.0, 1000.0), 10.0);
        let size = fitting_size(text, 10.0, 90.0);
        assert!(size < 10.0 && text_width(text, size) <= 90.1);
    }

    #[test]
    fn outlines_stand_on_the_baseline_and_follow_the_pen() {
        assert!(outline(" ", (0.0, 0.0), 10.0).is_none());
        let one = outline("E", (3.0, 20.0), 10.0).unwrap().bounds();
        assert!((one.bottom() - 20.0).abs() < 0.01 && one.top() > 12.0 && one.top() < 13.5);
        assert!(one.left() > 3.0 && f64::from(one.right()) < 3.0 + text_width("E", 10.0));
        let two = outline("EE", (3.0, 20.0), 10.0).unwrap().bounds();
        assert!((f64::from(two.right() - one.right()) - text_width("E", 10.0)).abs() < 0.01);
    }
}
