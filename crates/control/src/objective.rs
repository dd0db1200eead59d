//! What the policy is trained for: a weighted sum of terms, each a number per control step and a weight per control step.
//!
//! | term | in one step | over the T steps |
//! |---|---|---|
//! | `track` | mean of `(z - z*)^2` | mean |
//! | `effort_u`, `effort_v` | mean of `u^2`, of `v^2` | mean |
//! | `bound` | mean of `relu(margin - xi)^2 + relu(xi - (L - margin))^2` | mean |
//! | `coll` | mean over all M x M pairs, i != j, of `relu(radius - |xi_i - xi_j|)^2` | mean |
//! | `accel` | mean of `(v_t - v_{t-1})^2` | mean over all but the first |
//! | `terminal` | mean of `(z - z*)^2` | the last only |
//! | `total_forcing` | `(sum_i u_i)^2` | mean |
//!
//! Fields and positions are those after the step, actions those that led there. A term of weight 0 is not computed.

use crate::config::{Config, Loss};
use adjoint::{Sparse, Var};

/// One control step, as the terms see it.
pub struct Step<'t> {
    /// Mean of `(z - z*)²` after the step.
    pub error: Var<'t>,
    /// Positions after the step.
    pub xi: Var<'t>,
    /// Intensities.
    pub u: Var<'t>,
    /// Velocities, where agents move.
    pub v: Option<Var<'t>>,
    /// Velocities of the step before.
    pub previous_v: Option<Var<'t>>,
}

/// How the steps of a rollout count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    /// All the same.
    All,
    /// All but the first, which has no predecessor.
    AllButFirst,
    /// The last alone.
    Last,
}

impl Over {
    fn weight(self, step: usize, steps: usize) -> f64 {
        match self {
            Over::All => 1.0 / steps as f64,
            Over::AllButFirst if step > 0 => 1.0 / (steps - 1) as f64,
            Over::Last if step + 1 == steps => 1.0,
            _ => 0.0,
        }
    }
}

/// A term of the objective.
pub struct Term {
    /// Its name in configs and files.
    pub name: &'static str,
    over: Over,
    weight: fn(&Loss) -> Option<f64>,
    value: for<'t> fn(&Config, &Step<'t>) -> Var<'t>,
}

const TERMS: [Term; 8] = [
    Term { name: "track", over: Over::All, weight: |loss| Some(loss.track), value: mean_square_error },
    Term { name: "effort_u", over: Over::All, weight: |loss| Some(loss.effort_u), value: effort_u },
    Term { name: "effort_v", over: Over::All, weight: |loss| loss.effort_v, value: effort_v },
    Term { name: "bound", over: Over::All, weight: |loss| loss.bound, value: bound },
    Term { name: "coll", over: Over::All, weight: |loss| loss.coll, value: coll },
    Term { name: "accel", over: Over::AllButFirst, weight: |loss| loss.accel, value: accel },
    Term { name: "terminal", over: Over::Last, weight: |loss| Some(loss.terminal), value: mean_square_error },
    Term {
        name: "total_forcing",
        over: Over::All,
        weight: |loss| Some(loss.total_forcing),
        value: total_forcing,
    },
];

/// The terms with a weight above 0.
pub fn active(config: &Config) -> impl Iterator<Item = &'static Term> {
    TERMS.iter().filter(|term| term.weight(config) > 0.0)
}

/// Whether the objective looks at the velocities of the step before.
pub fn needs_previous_velocity(config: &Config) -> bool {
    config.loss.accel.is_some_and(|weight| weight > 0.0)
}

impl Term {
    /// Its weight in the objective.
    pub fn weight(&self, config: &Config) -> f64 {
        (self.weight)(&config.loss).unwrap_or(0.0)
    }

    /// Its value in one step: one number per case.
    pub fn value<'t>(&self, config: &Config, step: &Step<'t>) -> Var<'t> {
        (self.value)(config, step)
    }

    /// How much each of `steps` control steps counts; sums to 1 (to 0 for `accel` in a single step).
    pub fn time_weights(&self, steps: usize) -> Vec<f64> {
        (0..steps).map(|step| self.over.weight(step, steps)).collect()
    }
}

fn mean_square_error<'t>(_: &Config, step: &Step<'t>) -> Var<'t> {
    step.error
}

fn effort_u<'t>(_: &Config, step: &Step<'t>) -> Var<'t> {
    step.u.mean_square()
}

fn effort_v<'t>(_: &Config, step: &Step<'t>) -> Var<'t> {
    step.v.expect("agents that move").mean_square()
}

fn bound<'t>(config: &Config, step: &Step<'t>) -> Var<'t> {
    let margin = config.safety.as_ref().expect("distances that mobile agents keep").margin;
    let (low, high) = (margin, config.grid.length - margin);
    (low - step.xi).relu().mean_square() + (step.xi - high).relu().mean_square()
}

fn coll<'t>(config: &Config, step: &Step<'t>) -> Var<'t> {
    let m = step.xi.cols();
    if m == 1 {
        return step.xi.sum() * 0.0;
    }
    let radius = config.safety.as_ref().expect("distances that mobile agents keep").radius;
    let pair = |i: usize, j: usize| vec![(i, 1.0), (j, -1.0)];
    let pairs: Vec<_> = (0..m).flat_map(|j| (0..j).map(move |i| pair(i, j))).collect();
    // each pair stands for two of the M x M
    let share = 2.0 * pairs.len() as f64 / (m * m) as f64;
    let distance = step.xi.reshape(m, 1).linear(&Sparse::from_rows(m, pairs)).abs();
    (radius - distance).relu().mean_square() * share
}

fn accel<'t>(_: &Config, step: &Step<'t>) -> Var<'t> {
    let (v, previous) =
        (step.v.expect("agents that move"), step.previous_v.expect("velocities that are carried"));
    (v - previous).mean_square()
}

fn total_forcing<'t>(_: &Config, step: &Step<'t>) -> Var<'t> {
    step.u.sum().square()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_weights_sum_to_one() {
        for term in &TERMS {
            let weights = term.time_weights(7);
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-15, "{}", term.name);
            assert_eq!(weights.len(), 7);
        }
        let named = |name| TERMS.iter().find(|term| term.name == name).unwrap();
        assert_eq!(named("accel").time_weights(3), [0.0, 0.5, 0.5]);
        assert_eq!(named("accel").time_weights(1), [0.0]);
        assert_eq!(named("terminal").time_weights(3), [0.0, 0.0, 1.0]);
    }

    #[test]
    fn terms_of_the_presets() {
        let names = |task| active(&Config::preset(task).unwrap()).map(|term| term.name).collect::<Vec<_>>();
        assert_eq!(names("fkpp1d"), ["track", "effort_u", "effort_v", "bound", "coll", "accel", "terminal"]);
        assert_eq!(names("ks1d"), ["track", "effort_u", "terminal"]);
    }
}
