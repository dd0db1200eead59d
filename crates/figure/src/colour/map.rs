//! Colour maps defined in Oklch (lightness, chroma, hue), where equal steps look equal.

use super::Colour;

/// How numbers become colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColourMap {
    /// Dark violet over blue and green to yellow, with lightness linear in the value.
    Sequential,
    /// Blue, white, red for signed data: zero is white, and equal magnitudes are equally light.
    Diverging,
}

impl ColourMap {
    /// The colour at `t`, from 0 (lowest) to 1 (highest); values outside are clamped.
    pub fn colour(self, t: f64) -> Colour {
        let t = t.clamp(0.0, 1.0);
        match self {
            ColourMap::Sequential => {
                let lightness = 0.27 + 0.65 * t;
                let chroma = interpolate(&[0.125, 0.11, 0.088, 0.128, 0.185], t);
                let hue = interpolate(&[318.0, 268.0, 206.0, 152.0, 107.0], t);
                from_oklch(lightness, chroma, hue)
            }
            ColourMap::Diverging => {
                let distance = (2.0 * t - 1.0).abs(); // from zero
                let hue = if t < 0.5 { 260.0 } else { 25.0 };
                from_oklch(0.97 - 0.57 * distance, 0.16 * distance * (2.0 - distance), hue)
            }
        }
    }
}

/// Piecewise linear through equally spaced `knots` on [0, 1].
fn interpolate(knots: &[f64; 5], t: f64) -> f64 {
    let position = t * 4.0;
    let left = (position as usize).min(3);
    knots[left] + (position - left as f64) * (knots[left + 1] - knots[left])
}

/// Oklch to sRGB, by the matrices of B. Ottosson, "A perceptual color space for image processing" (2020).
fn from_oklch(lightness: f64, chroma: f64, hue_degrees: f64) -> Colour {
    let (sin, cos) = hue_degrees.to_radians().sin_cos();
    let (a, b) = (chroma * cos, chroma * sin);
    let l = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
    let m = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
    let s = (lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b).powi(3);
    Colour::rgb(
        gamma(4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s),
        gamma(-1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s),
        gamma(-0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701_0 * s),
    )
}

/// The sRGB transfer curve, from linear light to a byte.
fn gamma(linear: f64) -> u8 {
    let linear = linear.clamp(0.0, 1.0);
    let encoded = if linear <= 0.003_130_8 { 12.92 * linear } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 };
    (255.0 * encoded).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CIE L*, an independent measure of perceived lightness.
    fn lightness(colour: Colour) -> f64 {
        let linear = |byte: u8| {
            let v = f64::from(byte) / 255.0;
            if v <= 0.040_45 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
        };
        let y = 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue);
        116.0 * y.cbrt() - 16.0
    }

    #[test]
    fn sequential_lightness_rises_evenly() {
        let levels: Vec<f64> =
            (0..=20).map(|i| lightness(ColourMap::Sequential.colour(i as f64 / 20.0))).collect();
        let mean = (levels[20] - levels[0]) / 20.0;
        assert!(levels[20] - levels[0] > 70.0);
        for pair in levels.windows(2) {
            let step = pair[1] - pair[0];
            assert!(step > 0.5 * mean && step < 1.5 * mean, "step {step} of mean {mean}");
        }
    }

    #[test]
    fn diverging_is_white_at_zero_and_balanced() {
        let middle = ColourMap::Diverging.colour(0.5);
        assert!(middle.red > 240 && middle.green > 240 && middle.blue > 240);
        for i in 1..=10 {
            let distance = i as f64 / 20.0;
            let (blue, red) =
                (ColourMap::Diverging.colour(0.5 - distance), ColourMap::Diverging.colour(0.5 + distance));
            assert!(blue.blue > blue.red && red.red > red.blue);
            assert!((lightness(blue) - lightness(red)).abs() < 6.0, "{blue:?} against {red:?}");
        }
    }

    #[test]
    fn values_outside_are_clamped() {
        assert_eq!(ColourMap::Sequential.colour(-3.0), ColourMap::Sequential.colour(0.0));
        assert_eq!(ColourMap::Sequential.colour(f64::INFINITY), ColourMap::Sequential.colour(1.0));
    }
}
