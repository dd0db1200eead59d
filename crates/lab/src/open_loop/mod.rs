//! How good could any policy be? All actions of all agents, optimised from the state a policy starts from.
//!
//! For every case, with `a` the actions of all agents in all control steps, in units of their bounds,
//!
//! ```text
//! min over a in [-1, 1]^n of  log J(a),   J = mean over time of mean (z_t - z*)^2, or mean (z_T - z*)^2
//! ```
//!
//! Nothing but the error counts: no effort, no distances between agents. Gradients come through the solver.
//! The logarithm has the same minimum, and its gradient keeps its size while the error falls by orders of
//! magnitude, as Adam needs. Actions that leave their bounds are projected back after every update. The best
//! iterate of every case is kept, so that a descent is never worse than its start.
//!
//! Adam stops early where the error can fall to almost nothing, because such a minimum is sharp in some
//! directions and flat in others. There a descent goes on with L-BFGS in the same box, of `J` itself, case by
//! case.
//!
//! The problem is not convex. What a descent finds is a plan that exists, so the optimum is at most as large;
//! a descent from elsewhere may find a better one. It is an upper bound of the optimum, not a lower one.

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
/// Derivatives of the logarithm below this do nothing.
const EPS: f64 = 1e-12;
/// Rate of the last update, as a share of that of the first.
const LAST_RATE: f64 = 1e-3;
/// Share of the iterations after which a descent should no longer move much.
const LATE: f64 = 0.9;
/// Cases that are polished between two looks at the watch.
const AT_ONCE: usize = 4;
/// Pairs that L-BFGS remembers.
const MEMORY: usize = 20;

/// The hash of this code, which decides what a descent finds.
pub(crate) fn code_hash() -> u64 {
    let code = concat!(include_str!("mod.rs"), include_str!("problem.rs"), include_str!("starts.rs"));
    cinoc_learn::files::fnv1a(code.as_bytes())
}

/// Which error is made small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The mean over all control steps.
    TimeMean,
    /// That after the last control step.
    Final,
}

/// How long and how fast a descent goes.
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
    /// All iterations.
    pub fn all(&self) -> usize {
        self.iterations + self.polish
    }
}

/// What a descent found, a number per case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Descent {
    /// Error of the actions it started from; infinite if that is not a number.
    pub start: Vec<f64>,
    /// Least error when nine tenths of the iterations were done, those of L-BFGS if there were any.
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

    /// A case after more iterations, if they made it better.
    fn replace(&mut self, case: usize, better: Polished) {
        self.late[case] = better.late;
        if better.best < self.best[case] {
            let variables = better.actions.len();
            self.best[case] = better.best;
            self.actions[case * variables..(case + 1) * variables].copy_from_slice(&better.actions);
        }
    }

    /// Keeps what is better than all before.
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

/// Descends from `start` with Adam and a cosine rate, then with L-BFGS if asked for. `watch` is told how
/// many iterations are done, those of L-BFGS shared out among the cases; `None` if it returned false.
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
    let schedule = Schedule::Cosine { start: rate, peak: rate, end, warmup: 0, updates: iterations };
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
                // beyond the finite numbers, or without any error left: back to the best
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

/// A case after more iterations.
struct Polished {
    late: f64,
    best: f64,
    actions: Vec<f64>,
}

/// Goes on from the best actions of a case with L-BFGS.
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
    // no curvature is known from below: only its iterations end it
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
