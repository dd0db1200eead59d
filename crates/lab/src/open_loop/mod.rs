//! How good could any policy be? All actions of all agents are optimised, from the initial state of the
//! policy.
//!
//! For every case, with `a` the actions of all agents in all control steps, in units of their bounds,
//!
//! ```text
//! min over a in [-1, 1]^n of  log J(a),   J = mean over time of mean (z_t - z*)^2, or mean (z_T - z*)^2
//! ```
//!
//! Only the error counts: no effort, no distances between agents. Gradients come through the solver. The
//! logarithm has the same minimum, and its gradient keeps its size while the error falls by orders of
//! magnitude, which Adam needs. Actions outside their bounds are projected back after every update. The best
//! iterate of every case is kept, so a descent is never worse than its start.
//!
//! If the error can fall to almost zero, Adam stops early, because such a minimum is sharp in some directions
//! and flat in others. The descent then continues with L-BFGS on `J` itself in the same box, case by case.
//!
//! The problem is not convex. A descent finds one plan, so the optimal error is at most that of this plan. A
//! descent from another start may find a better plan. The result is an upper bound of the optimal error, not
//! a lower bound.

mod problem;
mod starts;

pub use problem::{Evaluation, Problem};
pub use starts::{Start, decided, pulse};

use cinoc_adjoint::Real;
use cinoc_learn::nmpc::bounded::{self, Stop};
use cinoc_learn::nmpc::lbfgs::Lbfgs;
use cinoc_learn::schedule::Schedule;
use serde::{Deserialize, Serialize};

const B1: f64 = 0.9;
const B2: f64 = 0.99;
/// Derivatives of the logarithm below this have no effect.
const EPS: f64 = 1e-12;
/// Rate of the last update, as a fraction of the first rate.
const LAST_RATE: f64 = 1e-3;
/// Fraction of the iterations after which the error should no longer fall much.
const LATE: f64 = 0.9;
/// Number of cases polished between two calls of the watch.
const AT_ONCE: usize = 4;
/// Number of pairs that L-BFGS keeps.
const MEMORY: usize = 20;

/// The hash of this code: descents of other code are not reused.
pub(crate) fn code_hash() -> u64 {
    let code = concat!(include_str!("mod.rs"), include_str!("problem.rs"), include_str!("starts.rs"));
    cinoc_learn::files::fnv1a(code.as_bytes())
}

/// The error that is minimised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The mean over all control steps.
    TimeMean,
    /// The error after the last control step.
    Final,
}

/// Number of iterations and step size of a descent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Updates of the actions by Adam.
    pub iterations: usize,
    /// Iterations of L-BFGS after them.
    pub polish: usize,
    /// How far the first update moves an action, in units of its bound.
    pub rate: f64,
}

impl Settings {
    /// Total number of iterations.
    pub fn all(&self) -> usize {
        self.iterations + self.polish
    }
}

/// Result of a descent, one number per case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Descent {
    /// Error of the initial actions; infinite if it is NaN.
    pub start: Vec<f64>,
    /// Least error after nine tenths of the iterations (of L-BFGS, if it was used).
    pub late: Vec<f64>,
    /// Least error.
    pub best: Vec<f64>,
    /// The actions of the least errors, `[cases][variables]`.
    #[serde(skip)]
    pub actions: Vec<f64>,
}

impl Descent {
    fn begin(start: &[f64], cases: usize) -> Descent {
        let none = vec![f64::INFINITY; cases];
        Descent { start: none.clone(), late: none.clone(), best: none, actions: start.to_vec() }
    }

    /// Replaces a case by the result of more iterations, if it is better.
    fn replace(&mut self, case: usize, better: Polished) {
        self.late[case] = better.late;
        if better.best < self.best[case] {
            let variables = better.actions.len();
            self.best[case] = better.best;
            self.actions[case * variables..(case + 1) * variables].copy_from_slice(&better.actions);
        }
    }

    /// Keeps actions that are better than all before.
    fn note(&mut self, values: &[f64], actions: &[f64]) {
        let variables = actions.len() / values.len();
        for (case, &value) in values.iter().enumerate() {
            if value < self.best[case] {
                let part = case * variables..(case + 1) * variables;
                self.best[case] = value;
                self.actions[part.clone()].copy_from_slice(&actions[part]);
            }
        }
    }
}

/// Descends from `start` with Adam and a cosine rate, then with L-BFGS if `polish` is positive. `watch` gets
/// the number of iterations done; those of L-BFGS are divided among the cases. Returns `None` if `watch`
/// returned false.
///
/// # Panics
/// If `start` is not as long as the actions of all cases.
pub fn descend<T: Real>(
    problem: &Problem<T>,
    start: &[f64],
    settings: Settings,
    mut watch: impl FnMut(usize) -> bool,
) -> Option<Descent> {
    let Settings { iterations, polish: more, rate } = settings;
    let (cases, variables) = (problem.cases(), problem.variables());
    assert_eq!(start.len(), cases * variables, "actions of all cases");
    let end = LAST_RATE * rate;
    let schedule = Schedule::Cosine { start: rate, peak: rate, end, warmup: 0, parts: vec![iterations] };
    let late = (LATE * iterations as f64) as usize;
    let mut actions: Vec<f64> = start.iter().map(|action| action.clamp(-1.0, 1.0)).collect();
    let mut descent = Descent::begin(&actions, cases);
    let mut adam = Adam::new(actions.len());
    for iteration in 0..=iterations {
        let Evaluation { values, mut gradient } = problem.evaluate(&actions);
        descent.note(&values, &actions);
        if iteration == 0 {
            descent.start = descent.best.clone();
        }
        if iteration == late {
            descent.late = descent.best.clone();
        }
        if iteration == iterations {
            break;
        }
        for (case, gradient) in gradient.chunks_exact_mut(variables).enumerate() {
            let scale = 1.0 / values[case];
            if scale.is_finite() && gradient.iter().all(|derivative| derivative.is_finite()) {
                gradient.iter_mut().for_each(|derivative| *derivative *= scale);
            } else {
                // infinite or NaN, or no error left: back to the best
                let part = case * variables..(case + 1) * variables;
                actions[part.clone()].copy_from_slice(&descent.actions[part]);
                gradient.fill(0.0);
            }
        }
        adam.update(&mut actions, &gradient, schedule.rate(iteration));
        actions.iter_mut().for_each(|action| *action = action.clamp(-1.0, 1.0));
        if !watch(iteration + 1) {
            return None;
        }
    }
    for first in (0..cases).step_by(AT_ONCE).filter(|_| more > 0) {
        let count = AT_ONCE.min(cases - first);
        let better = problem.threads().map(count, |k| polish(problem, first + k, more, &descent));
        for (k, better) in better.into_iter().enumerate() {
            descent.replace(first + k, better);
        }
        if !watch(iterations + more * (first + count) / cases) {
            return None;
        }
    }
    Some(descent)
}

/// Result of more iterations of a case.
struct Polished {
    late: f64,
    best: f64,
    actions: Vec<f64>,
}

/// Continues from the best actions of a case with L-BFGS.
fn polish<T: Real>(problem: &Problem<T>, case: usize, iterations: usize, descent: &Descent) -> Polished {
    let variables = problem.variables();
    let (unit, from) = (descent.best[case], &descent.actions[case * variables..(case + 1) * variables]);
    if !(unit > 0.0 && unit.is_finite()) {
        return Polished { late: unit, best: unit, actions: from.to_vec() };
    }
    let mut least = Vec::new();
    let evaluate = |actions: &[f64]| {
        let Evaluation { values, gradient } = problem.evaluate_case(case, actions);
        let before = least.last().copied().unwrap_or(unit);
        least.push(values[0].min(before));
        let gradient = gradient.into_iter().map(|derivative| derivative / unit).collect();
        bounded::Evaluation { value: values[0] / unit, gradient }
    };
    // no lower bound of the curvature is known: only the number of iterations ends it
    let stop = Stop { suboptimality: 0.0, curvature: 0.0, iterations };
    let found = Lbfgs::new(MEMORY).minimise(from, &stop, evaluate);
    let late = least[(LATE * least.len() as f64) as usize];
    Polished { late, best: found.value * unit, actions: found.x }
}

/// Adam in double precision.
struct Adam {
    m: Vec<f64>,
    v: Vec<f64>,
    updates: i32,
}

impl Adam {
    fn new(len: usize) -> Adam {
        Adam { m: vec![0.0; len], v: vec![0.0; len], updates: 0 }
    }

    fn update(&mut self, x: &mut [f64], gradient: &[f64], rate: f64) {
        self.updates += 1;
        let (c1, c2) = (1.0 - B1.powi(self.updates), 1.0 - B2.powi(self.updates));
        for (((x, m), v), g) in x.iter_mut().zip(&mut self.m).zip(&mut self.v).zip(gradient) {
            *m = B1 * *m + (1.0 - B1) * g;
            *v = B2 * *v + (1.0 - B2) * g * g;
            *x -= rate * (*m / c1) / ((*v / c2).sqrt() + EPS);
        }
    }
}

#[cfg(test)]
mod tests;
