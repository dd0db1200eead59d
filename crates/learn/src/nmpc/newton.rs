//! Newton's method in a box, with a model of the Hessian.
//!
//! Every iteration minimises the quadratic model `g (y - x) + (y - x) H (y - x) / 2` over the box and does a
//! line search towards the minimum. The model is minimised by projected Newton steps (Bertsekas 1982):
//! Cholesky on the free variables and a line search along the projection, until the set of free variables no
//! longer changes. At a bound such a step can lead uphill: of a variable that the gradient pulls inside and the step
//! pushes out, the projection leaves nothing. Then a step along the gradient frees it.

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};

use super::bounded::{Evaluation, Iterate, Solution, Stop, free};

/// Largest number of changes of the free variables in one quadratic problem.
const CHANGES: usize = 50;
/// Tolerance of a quadratic problem, as a fraction of the gain.
const EXACT: f64 = 1e-12;

/// Minimises a function in `[-1, 1]^n`; `hessian` returns a positive definite model of its second derivative
/// at a point.
pub fn minimise(
    start: &[f64],
    stop: &Stop,
    mut evaluate: impl FnMut(&[f64]) -> Evaluation,
    mut hessian: impl FnMut(&[f64]) -> Mat<f64>,
) -> Solution {
    let mut now = Iterate::begin(start, &mut evaluate);
    while now.iterations < stop.iterations && !now.is_good(stop) {
        let model = hessian(&now.x);
        let goal = minimise_quadratic(&model, &now.at.gradient, &now.x, stop.curvature);
        let direction: Vec<f64> = goal.iter().zip(&now.x).map(|(to, from)| to - from).collect();
        if now.search(&direction, &mut evaluate).is_none() {
            break;
        }
    }
    now.end(stop)
}

/// The minimum of `g (y - x) + (y - x) H (y - x) / 2` in the box.
fn minimise_quadratic(h: &Mat<f64>, g: &[f64], x: &[f64], curvature: f64) -> Vec<f64> {
    let mut evaluate = |y: &[f64]| {
        let d = Mat::from_fn(x.len(), 1, |i, _| y[i] - x[i]);
        let hd = h * &d;
        let value = (0..x.len()).map(|i| d[(i, 0)] * (g[i] + 0.5 * hd[(i, 0)])).sum();
        Evaluation { value, gradient: (0..x.len()).map(|i| g[i] + hd[(i, 0)]).collect() }
    };
    let stop = Stop { suboptimality: EXACT, curvature, iterations: CHANGES };
    let mut now = Iterate::begin(x, &mut evaluate);
    while now.iterations < CHANGES {
        let Some(direction) = newton_direction(h, &now) else { break };
        let steepest = steepest(h, &now.at.gradient);
        let moved = now.search(&direction, &mut evaluate).or_else(|| now.search(&steepest, &mut evaluate));
        if moved.is_none() || now.is_good(&stop) {
            break;
        }
    }
    now.x
}

/// A step along the gradient that does not overshoot: the trace of a positive definite matrix is above its largest
/// eigenvalue.
fn steepest(h: &Mat<f64>, gradient: &[f64]) -> Vec<f64> {
    let trace: f64 = (0..gradient.len()).map(|i| h[(i, i)]).sum();
    gradient.iter().map(|g| -g / trace).collect()
}

/// `-H^-1 g` on the free variables; `None` if the model is not positive definite there.
fn newton_direction(h: &Mat<f64>, now: &Iterate) -> Option<Vec<f64>> {
    let free = free(&now.x, &now.at.gradient);
    let index: Vec<usize> = (0..free.len()).filter(|&i| free[i]).collect();
    let block = Mat::from_fn(index.len(), index.len(), |i, j| h[(index[i], index[j])]);
    let downhill = Mat::from_fn(index.len(), 1, |i, _| -now.at.gradient[index[i]]);
    let step = block.llt(Side::Lower).ok()?.solve(&downhill);
    let mut direction = vec![0.0; free.len()];
    index.iter().enumerate().for_each(|(i, &to)| direction[to] = step[(i, 0)]);
    Some(direction)
}
