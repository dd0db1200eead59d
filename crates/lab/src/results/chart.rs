//! A chart of results.

use serde::{Deserialize, Serialize};

/// Curves over a common axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// Part of a file name.
    pub name: String,
    /// Title above the chart.
    pub title: String,
    /// Name of the x axis.
    pub x: String,
    /// Name of the y axis.
    pub y: String,
    /// Whether the x axis is logarithmic.
    pub log_x: bool,
    /// Whether the y axis is logarithmic.
    pub log_y: bool,
    /// A horizontal reference line and its label.
    pub reference: Option<(f64, String)>,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// One curve; missing, infinite or NaN values leave a gap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Label in the legend.
    pub label: String,
    /// x values.
    pub x: Vec<f64>,
    /// y values.
    pub y: Vec<Option<f64>>,
    /// Lower and upper edge of a band around it, if it has one; gaps are as in the curve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub band: Option<(Edge, Edge)>,
    /// Dashed: a published curve of others.
    #[serde(default)]
    pub published: bool,
}

/// One edge of a band. JSON has no NaN: infinite or NaN values must be `None`, or the file could not be read
/// again.
pub type Edge = Vec<Option<f64>>;

impl Chart {
    /// A chart without curves.
    pub fn new(name: &str, title: &str, x: &str, y: &str) -> Chart {
        Chart {
            name: name.to_string(),
            title: title.to_string(),
            x: x.to_string(),
            y: y.to_string(),
            log_x: false,
            log_y: false,
            reference: None,
            curves: Vec::new(),
        }
    }

    /// With a logarithmic x axis.
    pub fn log_x(self) -> Chart {
        Chart { log_x: true, ..self }
    }

    /// With a logarithmic y axis.
    pub fn log_y(self) -> Chart {
        Chart { log_y: true, ..self }
    }

    /// With a horizontal line.
    pub fn reference(self, value: f64, label: &str) -> Chart {
        Chart { reference: Some((value, label.to_string())), ..self }
    }

    /// With one more curve.
    pub fn curve(mut self, curve: Curve) -> Chart {
        self.curves.push(curve);
        self
    }
}

impl Curve {
    /// A curve through points.
    pub fn new(label: &str, x: &[f64], y: &[f64]) -> Curve {
        Curve { label: label.to_string(), x: x.to_vec(), y: finite(y), band: None, published: false }
    }

    /// With a band around it.
    pub fn band(self, low: Vec<f64>, high: Vec<f64>) -> Curve {
        Curve { band: Some((finite(&low), finite(&high))), ..self }
    }

    /// Marks it as published by others.
    pub fn published(self) -> Curve {
        Curve { published: true, ..self }
    }
}

/// Values, with `None` for infinite or NaN.
fn finite(values: &[f64]) -> Vec<Option<f64>> {
    values.iter().map(|&value| Some(value).filter(|value| value.is_finite())).collect()
}
