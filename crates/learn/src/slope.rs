//! The exponent of a power law: fits `y = c x^p` as a straight line through the logarithms, with a confidence
//! interval of `p`.

use serde::Serialize;
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// Confidence level of the interval.
const CONFIDENCE: f64 = 0.95;

/// The fitted exponent and its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slope {
    /// The exponent `p`.
    pub slope: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The factor `c`.
    pub factor: f64,
}

/// Least-squares line through `(ln x, ln y)`. The interval is Student's: the residuals are treated as
/// independent normal errors with one unknown variance. Two points have no residuals, so their interval is
/// infinite.
///
/// # Panics
/// If there are fewer than two points, a value is not positive, or all `x` are the same.
pub fn log_log(x: &[f64], y: &[f64]) -> Slope {
    assert!(x.len() == y.len() && x.len() > 1, "{} and {} values for a slope", x.len(), y.len());
    assert!(x.iter().chain(y).all(|&value| value > 0.0), "a power law has positive values");
    let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (x, y) = (logs(x), logs(y));
    let (x_mean, y_mean) = (mean(&x), mean(&y));
    let spread: f64 = x.iter().map(|x| (x - x_mean).powi(2)).sum();
    assert!(spread > 0.0, "a slope needs different x");
    let slope = x.iter().zip(&y).map(|(x, y)| (x - x_mean) * (y - y_mean)).sum::<f64>() / spread;
    let residual = |(x, y): (&f64, &f64)| (y - y_mean - slope * (x - x_mean)).powi(2);
    let half = match x.len() - 2 {
        0 => f64::INFINITY,
        free => {
            let variance = x.iter().zip(&y).map(residual).sum::<f64>() / free as f64;
            student(free) * (variance / spread).sqrt()
        }
    };
    let factor = (y_mean - slope * x_mean).exp();
    Slope { slope, low: slope - half, high: slope + half, factor }
}

/// The `t` that the absolute value of a Student variable with `freedom` degrees of freedom exceeds with
/// probability 5 %.
fn student(freedom: usize) -> f64 {
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if within(middle, freedom) < CONFIDENCE {
            low = middle;
        } else {
            high = middle;
        }
    }
    low.tan() * (freedom as f64).sqrt()
}

/// Probability that a Student variable lies within `± sqrt(freedom) tan(angle)`: the finite series for whole
/// degrees of freedom (Abramowitz and Stegun 26.7.3 and 26.7.4).
fn within(angle: f64, freedom: usize) -> f64 {
    let (sin, cos) = angle.sin_cos();
    let odd = freedom % 2;
    // every second power of the cosine up to freedom - 2, starting from 1 (odd) or 0 (even)
    let (mut term, mut sum) = (if odd == 1 { cos } else { 1.0 }, 0.0);
    for k in (odd..freedom.saturating_sub(1)).step_by(2) {
        sum += term;
        term *= cos * cos * (k + 1) as f64 / (k + 2) as f64;
    }
    match odd {
        1 => FRAC_2_PI * (angle + sin * sum),
        _ => sin * sum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_agrees_with_the_tables() {
        for (freedom, t) in [
            (1, 12.7062),
            (2, 4.3027),
            (3, 3.1824),
            (4, 2.7764),
            (5, 2.5706),
            (6, 2.4469),
            (30, 2.0423),
            (99, 1.9842),
        ] {
            assert!((student(freedom) - t).abs() < 1e-4, "{freedom}: {}", student(freedom));
        }
    }

    #[test]
    fn an_exact_power_is_found_exactly() {
        let x = [4.0, 8.0, 16.0, 64.0];
        let found = log_log(&x, &x.map(|x: f64| 3.0 * x.powf(-1.5)));
        for (value, expected) in
            [(found.slope, -1.5), (found.low, -1.5), (found.high, -1.5), (found.factor, 3.0)]
        {
            assert!((value - expected).abs() < 1e-12, "{found:?}");
        }
    }

    #[test]
    fn scatter_widens_the_interval() {
        // ln y = (0, 1, 1) over ln x = (0, 1, 2): slope 1/2, residual variance 1/6 with one degree of freedom
        let e = std::f64::consts::E;
        let found = log_log(&[1.0, e, e * e], &[1.0, e, e]);
        let half = 12.706_204_736 * (1.0_f64 / 6.0 / 2.0).sqrt();
        assert!((found.slope - 0.5).abs() < 1e-12);
        assert!((found.high - 0.5 - half).abs() < 1e-8 && (0.5 - found.low - half).abs() < 1e-8);
        assert_eq!(log_log(&[1.0, 2.0], &[1.0, 2.0]).high, f64::INFINITY);
    }
}
