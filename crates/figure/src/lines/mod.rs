//! Line charts.

mod drawing;
mod legend;
mod series;

pub(crate) use legend::{Entry, Sample, draw_rows, rows_height};

pub use legend::Legend;
pub use series::Series;

use crate::axis::{Labels, Scale};

/// A line chart: curves over a common x axis.
///
/// Limits that are not finite or not increasing are ignored and computed from the data instead.
#[derive(Clone, Debug)]
pub struct Lines {
    pub(crate) labels: Labels,
    series: Vec<Series>,
    reference: Option<Reference>,
    axis_marks: Vec<f64>,
    x_scale: Scale,
    y_scale: Scale,
    x_limits: Option<(f64, f64)>,
    y_limits: Option<(f64, f64)>,
    legend: Legend,
}

/// A horizontal reference line.
#[derive(Clone, Debug)]
struct Reference {
    value: f64,
    label: String,
}

impl Default for Lines {
    fn default() -> Self {
        Lines::new()
    }
}

impl Lines {
    /// An empty chart with linear axes.
    pub fn new() -> Self {
        Lines {
            labels: Labels::default(),
            series: Vec::new(),
            reference: None,
            axis_marks: Vec::new(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            x_limits: None,
            y_limits: None,
            legend: Legend::Auto,
        }
    }

    /// The text above the chart.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.labels.title = title.into();
        self
    }

    /// The names of the axes.
    pub fn labels(mut self, x: impl Into<String>, y: impl Into<String>) -> Self {
        (self.labels.x, self.labels.y) = (x.into(), y.into());
        self
    }

    /// Adds a curve.
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Makes the x axis logarithmic (base 10); points whose x is not positive are not drawn.
    pub fn log_x(mut self) -> Self {
        self.x_scale = Scale::Log;
        self
    }

    /// Makes the y axis logarithmic (base 10); values that are not positive are not drawn.
    pub fn log_y(mut self) -> Self {
        self.y_scale = Scale::Log;
        self
    }

    /// Draws a dashed horizontal line at `value`, with a label that may be empty.
    pub fn reference(mut self, value: f64, label: impl Into<String>) -> Self {
        self.reference = Some(Reference { value, label: label.into() });
        self
    }

    /// Puts a small triangle on the x axis at each of these places, for example at sensors.
    pub fn axis_marks(mut self, xs: &[f64]) -> Self {
        self.axis_marks = xs.to_vec();
        self
    }

    /// Shows x from `low` to `high`.
    pub fn x_limits(mut self, low: f64, high: f64) -> Self {
        self.x_limits = Some((low, high));
        self
    }

    /// Shows y from `low` to `high`.
    pub fn y_limits(mut self, low: f64, high: f64) -> Self {
        self.y_limits = Some((low, high));
        self
    }

    /// Where the legend goes; [`Legend::Auto`] by default.
    pub fn legend(mut self, legend: Legend) -> Self {
        self.legend = legend;
        self
    }
}
