//! Gaussian bumps around positions, `height exp(-(x_r - xi_i)² / (2 sigma²))`.

use super::*;

/// Shape of the bumps and the grid they are sampled on.
#[derive(Clone, Debug, PartialEq)]
pub struct Bump {
    /// Grid points.
    pub points: Vec<f64>,
    /// Standard deviation.
    pub sigma: f64,
    /// Distances are taken to the nearest image on a periodic domain of this length.
    pub period: Option<f64>,
    /// Value at the centre.
    pub height: f64,
}

/// Longest block, in points and in sigma.
const POINTS: usize = 8;
const WIDTHS: f64 = 2.0;

impl Bump {
    fn parameters(&self) -> Parameters {
        let mut all = vec![
            ("points", Value::Table(self.points.clone())),
            ("sigma", Value::Number(self.sigma)),
            ("height", Value::Number(self.height)),
        ];
        all.extend(self.period.map(|period| ("period", Value::Number(period))));
        all
    }
    /// Points whose bumps follow from that of the first: one where nearest images or uneven points leave no
    /// common spacing.
    pub(crate) fn block(&self) -> usize {
        let x = &self.points;
        if self.period.is_some() || x.len() < 2 {
            return 1;
        }
        let h = self.spacing();
        let even = x.iter().enumerate().all(|(r, x_r)| (x_r - x[0] - r as f64 * h).abs() < 1e-9 * h.abs());
        if even && h > 0.0 { ((WIDTHS * self.sigma / h) as usize).clamp(1, POINTS) } else { 1 }
    }
    /// Mean distance of neighbouring points.
    pub(crate) fn spacing(&self) -> f64 {
        let x = &self.points;
        (x[x.len() - 1] - x[0]) / (x.len() - 1).max(1) as f64
    }
}

/// A bump per agent: `[points][agents]`.
pub(crate) struct Gaussian {
    pub bump: Bump,
}

impl Primitive for Gaussian {
    fn name(&self) -> &'static str {
        "gaussian"
    }
    fn parameters(&self) -> Parameters {
        self.bump.parameters()
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        assert_eq!(inputs[0].rows, 1, "positions are one row");
        Shape { rows: self.bump.points.len(), ..inputs[0] }
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads { inputs: 1, output: true }
    }
    fn flops(&self, io: &Io) -> f64 {
        20.0 * io.output_len()
    }
}

/// The weighted sum of the bumps of all agents: `[points][1]`. Inputs: positions, weights.
pub(crate) struct GaussianSum {
    pub bump: Bump,
}

impl Primitive for GaussianSum {
    fn name(&self) -> &'static str {
        "gaussian_sum"
    }
    fn parameters(&self) -> Parameters {
        self.bump.parameters()
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        let (xi, w) = (inputs[0], inputs[1]);
        assert!(xi == w && xi.rows == 1 && !xi.shared, "positions {xi:?} and weights {w:?} are one row each");
        Shape::per_sample(self.bump.points.len(), 1)
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads { inputs: 0b11, output: false }
    }
    fn flops(&self, io: &Io) -> f64 {
        // two exponentials per block, three operations per point and bump
        let per_point = 3.0 + 40.0 / self.bump.block() as f64;
        per_point * (self.bump.points.len() * io.lanes(0)) as f64
    }
}
