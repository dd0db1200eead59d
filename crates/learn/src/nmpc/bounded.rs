//! Common parts of the minimisers of a smooth function in the box `[-1, 1]^n`: free variables, stopping rule,
//! line search.

/// A step must reach this fraction of the decrease predicted by the slope.
const ARMIJO: f64 = 1e-4;
/// After this many halvings the line search gives up: the step is then as small as rounding.
const HALVINGS: usize = 30;

/// Value and gradient of a function at a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Its value.
    pub value: f64,
    /// Its gradient.
    pub gradient: Vec<f64>,
}

/// When a minimiser stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// Allowed distance of the value from the minimum, as a fraction of the value.
    pub suboptimality: f64,
    /// Lower bound of the curvature of the function. In a convex neighbourhood the projected gradient `p`
    /// then bounds the distance to the minimum: `f - f* <= |p|^2 / (2 curvature)`.
    pub curvature: f64,
    /// Largest number of iterations.
    pub iterations: usize,
}

/// Result of a minimisation.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// The point.
    pub x: Vec<f64>,
    /// The value there.
    pub value: f64,
    /// Iterations.
    pub iterations: usize,
    /// Evaluations of the function and its gradient.
    pub evaluations: usize,
    /// Whether it stopped because the minimum was close enough.
    pub converged: bool,
}

/// A point of the box and the function there.
pub(super) struct Iterate {
    pub x: Vec<f64>,
    pub at: Evaluation,
    pub iterations: usize,
    pub evaluations: usize,
}

impl Iterate {
    /// The nearest point of the box.
    pub fn begin(start: &[f64], evaluate: &mut impl FnMut(&[f64]) -> Evaluation) -> Iterate {
        let x: Vec<f64> = start.iter().map(|x| x.clamp(-1.0, 1.0)).collect();
        let at = evaluate(&x);
        Iterate { x, at, iterations: 0, evaluations: 1 }
    }

    /// Whether the minimum is near enough.
    pub fn is_good(&self, stop: &Stop) -> bool {
        let square: f64 = free(&self.x, &self.at.gradient)
            .iter()
            .zip(&self.at.gradient)
            .filter(|(free, _)| **free)
            .map(|(_, g)| g * g)
            .sum();
        square <= 2.0 * stop.curvature * stop.suboptimality * self.at.value.abs()
    }

    /// Line search along the projection of `x + a direction` onto the box, `a = 1, 1/2, 1/4 ...`, until the
    /// value has decreased enough. Returns the previous point. Returns `None` and does not move if no step
    /// decreases the value enough.
    pub fn search(
        &mut self,
        direction: &[f64],
        evaluate: &mut impl FnMut(&[f64]) -> Evaluation,
    ) -> Option<(Vec<f64>, Evaluation)> {
        let mut step = 1.0;
        for _ in 0..HALVINGS {
            let x: Vec<f64> =
                self.x.iter().zip(direction).map(|(x, d)| (x + step * d).clamp(-1.0, 1.0)).collect();
            let slope: f64 = self
                .at
                .gradient
                .iter()
                .zip(x.iter().zip(&self.x))
                .map(|(g, (to, from))| g * (to - from))
                .sum();
            let at = evaluate(&x);
            self.evaluations += 1;
            // an infinite or NaN value is never low enough
            if slope < 0.0 && at.value <= self.at.value + ARMIJO * slope {
                self.iterations += 1;
                return Some((std::mem::replace(&mut self.x, x), std::mem::replace(&mut self.at, at)));
            }
            step *= 0.5;
        }
        None
    }

    /// The current point as the result.
    pub fn end(self, stop: &Stop) -> Solution {
        let converged = self.is_good(stop);
        let Iterate { x, at, iterations, evaluations } = self;
        Solution { x, value: at.value, iterations, evaluations, converged }
    }
}

/// Variables are free unless the gradient holds them at a bound.
pub(super) fn free(x: &[f64], gradient: &[f64]) -> Vec<bool> {
    x.iter().zip(gradient).map(|(&x, &g)| !(x <= -1.0 && g > 0.0 || x >= 1.0 && g < 0.0)).collect()
}
