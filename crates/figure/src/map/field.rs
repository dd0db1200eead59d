//! A matrix as an image: one pixel per element, in the colours of a colour map.

use crate::axis::{Range, Scale, is_drawable};
use crate::colour::{Colour, ColourMap};
use crate::draw::image::Image;

/// For infinite or NaN values: no colour map contains this grey.
const MISSING: Colour = Colour::rgb(0xb0, 0xb0, 0xb0);

/// Palette entry 0 is [`MISSING`]; the others are the colour map.
const LEVELS: usize = 255;

/// The image of row-major `values`, row 0 at the bottom, with the colours of `map` spread over `limits`.
pub(super) fn image(values: &[f64], columns: usize, map: ColourMap, limits: Range) -> Image {
    let colours = (0..LEVELS).map(|i| map.colour(i as f64 / (LEVELS - 1) as f64));
    Image {
        width: columns,
        height: values.len() / columns,
        palette: std::iter::once(MISSING).chain(colours).collect(),
        pixels: values.chunks(columns).rev().flatten().map(|&value| level(value, limits)).collect(),
    }
}

/// The palette entry of a value.
fn level(value: f64, limits: Range) -> u8 {
    if !is_drawable(value, Scale::Linear) {
        return 0;
    }
    let fraction = ((value - limits.low) / (limits.high - limits.low)).clamp(0.0, 1.0);
    1 + (fraction * (LEVELS - 1) as f64).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: Range = Range { low: 0.0, high: 1.0 };

    #[test]
    fn levels_span_the_limits_and_clamp() {
        assert_eq!(level(0.0, UNIT), 1);
        assert_eq!(level(1.0, UNIT), 255);
        assert_eq!(level(-7.0, UNIT), 1);
        assert_eq!(level(7.0, UNIT), 255);
        assert_eq!(level(0.5, UNIT), 128);
    }

    #[test]
    fn what_is_not_a_number_is_missing() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(level(value, UNIT), 0);
        }
    }

    #[test]
    fn the_last_row_is_the_top_of_the_image() {
        let image = image(&[0.0, 0.0, 0.0, 1.0, f64::NAN, 0.0], 3, ColourMap::Sequential, UNIT);
        assert_eq!((image.width, image.height), (3, 2));
        assert_eq!(image.pixels, [255, 0, 1, 1, 1, 1]);
        assert_eq!(image.palette[255], ColourMap::Sequential.colour(1.0));
    }
}
