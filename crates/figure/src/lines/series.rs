//! One curve of a line chart.

use crate::Colour;

/// A labelled curve, with an optional shaded band around it.
///
/// A value that is not finite (or not positive, on a logarithmic axis) leaves a gap.
#[derive(Clone, Debug)]
pub struct Series {
    pub(super) label: String,
    pub(super) xs: Vec<f64>,
    pub(super) ys: Vec<f64>,
    pub(super) band: Option<Band>,
    pub(super) colour: Option<Colour>,
    pub(super) dashed: bool,
    pub(super) dots: bool,
}

/// Lower and upper edge of a shaded band, one value per point of the curve.
#[derive(Clone, Debug)]
pub(super) struct Band {
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
}

impl Series {
    /// The curve through the points (`xs[i]`, `ys[i]`), solid, in the next colour of the palette. A curve
    /// with an empty label is not in the legend.
    ///
    /// # Panics
    ///
    /// If `xs` and `ys` differ in length.
    pub fn new(label: impl Into<String>, xs: &[f64], ys: &[f64]) -> Self {
        let label = label.into();
        assert_eq!(xs.len(), ys.len(), "series {label:?} has as many xs as ys");
        Series {
            label,
            xs: xs.to_vec(),
            ys: ys.to_vec(),
            band: None,
            colour: None,
            dashed: false,
            dots: false,
        }
    }

    /// Draws the curve in this colour.
    pub fn colour(mut self, colour: Colour) -> Self {
        self.colour = Some(colour);
        self
    }

    /// Draws the curve dashed.
    pub fn dashed(mut self) -> Self {
        self.dashed = true;
        self
    }

    /// Puts a dot on every point, for few measured points.
    pub fn dots(mut self) -> Self {
        self.dots = true;
        self
    }

    /// Shades the band between `lower` and `upper`, such as the smallest and largest value over seeds.
    ///
    /// # Panics
    ///
    /// If `lower` or `upper` differ in length from the curve.
    pub fn band(mut self, lower: &[f64], upper: &[f64]) -> Self {
        let lengths = (lower.len(), upper.len());
        assert_eq!(
            lengths,
            (self.ys.len(), self.ys.len()),
            "series {:?} has as many band values as ys",
            self.label
        );
        self.band = Some(Band { lower: lower.to_vec(), upper: upper.to_vec() });
        self
    }

    /// Shades the band `ys - deviation` to `ys + deviation`, such as one standard deviation around a mean.
    ///
    /// # Panics
    ///
    /// If `deviation` differs in length from the curve.
    pub fn deviation(self, deviation: &[f64]) -> Self {
        let shifted =
            |sign: f64| -> Vec<f64> { self.ys.iter().zip(deviation).map(|(y, d)| y + sign * d).collect() };
        let (lower, upper) = (shifted(-1.0), shifted(1.0));
        self.band(&lower, &upper)
    }
}
