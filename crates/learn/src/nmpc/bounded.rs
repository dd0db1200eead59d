//! What minimisers of a smooth function in the box `[-1, 1]^n` share: which variables are free, when to stop, how far to go.

/// Share of the decrease that the slope promises which a step has to reach.
const ARMIJO: f64 = 1e-4;
/// Halvings after which a direction is given up: what is left is rounding.
const HALVINGS: usize = 30;

/// A function at a point.
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
    /// How far the value may be above the minimum, as a share of itself.
    pub suboptimality: f64,
    /// Least curvature of the function. With it the projected gradient `p` bounds the distance to the minimum in a convex
    /// neighbourhood, `f - f* <= |p|^2 / (2 curvature)`.
    pub curvature: f64,
    /// Iterations after which it stops anyway.
    pub iterations: usize,
}

/// Where a minimiser stopped.
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

    /// Whether a minimum is near enough.
    pub fn is_good(&self, stop: &Stop) -> bool {
        let square: f64 = free(&self.x, &self.at.gradient)
            .iter()
            .zip(&self.at.gradient)
            .filter(|(free, _)| **free)
            .map(|(_, g)| g * g)
            .sum();
        square <= 2.0 * stop.curvature * stop.suboptimality * self.at.value.abs()
    }

    /// Goes along the projection of `x + a direction` onto the box, `a = 1, 1/2, 1/4 ...`, until the value has fallen enough. Returns
    /// where it was before; `None`, and stays, where no step is small enough.
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
            // a value that is not finite is never low enough
            if slope < 0.0 && at.value <= self.at.value + ARMIJO * slope {
                self.iterations += 1;
                return Some((std::mem::replace(&mut self.x, x), std::mem::replace(&mut self.at, at)));
            }
            step *= 0.5;
        }
        None
    }

    /// Ends here.
    pub fn end(self, stop: &Stop) -> Solution {
        let converged = self.is_good(stop);
        let Iterate { x, at, iterations, evaluations } = self;
        Solution { x, value: at.value, iterations, evaluations, converged }
    }
}

/// The variables that are not held at a bound by the gradient.
pub(super) fn free(x: &[f64], gradient: &[f64]) -> Vec<bool> {
    x.iter().zip(gradient).map(|(&x, &g)| !(x <= -1.0 && g > 0.0 || x >= 1.0 && g < 0.0)).collect()
}
