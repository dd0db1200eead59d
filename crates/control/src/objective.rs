//! What the policy is trained for: a weighted sum of terms, each a number per control step and a weight per
//! control step.
//!
//! | term | in one step | over the T steps |
//! |---|---|---|
//! | `track` | mean of `(z - z*)^2` | mean |
//! | `effort_u`, `effort_v` | mean of `u^2`, of `v^2` | mean |
//! | `bound` | mean of `relu(margin - xi)^2 + relu(xi - (L - margin))^2` | mean |
//! | `coll` | mean over all M x M pairs, i != j, of `relu(radius - d)^2`, densities `exp(-d / radius)`, `d = |xi_i - xi_j|` | mean |
//! | `accel`, `smooth` | mean of `|v_t - v_{t-1}|^2` | mean over all but the first |
//! | `terminal` | mean of `(z - z*)^2` | the last only |
//! | `total_forcing` | `(sum_i u_i)^2` | mean |
//! | `obstacle` | mean over agents and discs of `relu(margin + r - |xi - c|)^2` | mean |
//! | `moment`, `moment_end` | `|mu - mu*| + |s - s*| / 2` of centroid and spread | mean, the last only |
//! | `mass` | `((m - m_0) / m_0)^2` | mean |
//!
//! Fields and positions are those after the step, actions those that led there. Means over agents, sums over
//! the components of a vector. A term of weight 0 is not computed.
//!
//! Where agents have weights `w_i`, a mean over agents is `sum_i w_i (.) / sum_i w_i` and `total_forcing` is
//! `(sum_i w_i u_i)^2`; `coll` has no weighted form.

use crate::config::{Config, Loss};
use crate::moments::Moments;
use crate::obstacles::Discs;
use cinoc_adjoint::{Sparse, Var};

/// One control step, as the terms see it.
pub struct Step<'t> {
    /// State after the step.
    pub z: Var<'t>,
    /// What it should be.
    pub target: Var<'t>,
    /// Moments of both, if they are densities.
    pub moments: Option<[Moments<'t>; 2]>,
    /// Field before the first step, where a term asks for it.
    pub start: Option<Var<'t>>,
    /// Mean of `(z - z*)²` after the step.
    pub error: Var<'t>,
    /// How much the distance to the target counts, if not as 1.
    pub importance: Option<Var<'t>>,
    /// Positions after the step.
    pub xi: Var<'t>,
    /// Intensities, where agents have any.
    pub u: Option<Var<'t>>,
    /// Velocities, where agents move.
    pub v: Option<Var<'t>>,
    /// Velocities of the step before.
    pub previous_v: Option<Var<'t>>,
    /// How many agents each agent stands for; 1 if there are none.
    pub weights: Option<Weights<'t>>,
}

/// How many agents each agent stands for.
#[derive(Clone, Copy)]
pub struct Weights<'t> {
    /// One number per agent, `[1][agents]`.
    pub each: Var<'t>,
    /// Their sum.
    pub total: f64,
}

impl<'t> Step<'t> {
    /// A distance to the target, as much as it counts.
    fn counted(&self, distance: Var<'t>) -> Var<'t> {
        self.importance.map_or(distance, |importance| importance * distance)
    }

    /// Mean over agents of the squared length of a vector per agent, a column.
    fn mean_square_length(&self, vectors: Var<'t>) -> Var<'t> {
        match self.weights {
            Some(Weights { each, total }) => (each * vectors.square()).sum() * (1.0 / total),
            None => vectors.rows() as f64 * vectors.mean_square(),
        }
    }
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
pub struct LossTerm {
    /// Its name in configs and files.
    pub name: &'static str,
    over: Over,
    weight: fn(&Loss) -> Option<f64>,
    value: for<'t> fn(&Config, &Step<'t>) -> Option<Var<'t>>,
}

const TERMS: [LossTerm; 13] = [
    LossTerm { name: "track", over: Over::All, weight: |loss| Some(loss.track), value: mean_square_error },
    LossTerm { name: "effort_u", over: Over::All, weight: |loss| loss.effort_u, value: effort_u },
    LossTerm { name: "effort_v", over: Over::All, weight: |loss| loss.effort_v, value: effort_v },
    LossTerm { name: "bound", over: Over::All, weight: |loss| loss.bound, value: bound },
    LossTerm { name: "coll", over: Over::All, weight: |loss| loss.coll, value: coll },
    LossTerm { name: "accel", over: Over::AllButFirst, weight: |loss| loss.accel, value: accel },
    LossTerm {
        name: "terminal",
        over: Over::Last,
        weight: |loss| Some(loss.terminal),
        value: mean_square_error,
    },
    LossTerm {
        name: "total_forcing",
        over: Over::All,
        weight: |loss| loss.total_forcing,
        value: total_forcing,
    },
    LossTerm { name: "obstacle", over: Over::All, weight: |loss| loss.obstacle, value: obstacle },
    LossTerm { name: "moment", over: Over::All, weight: |loss| loss.moment, value: moment },
    LossTerm { name: "moment_end", over: Over::Last, weight: |loss| loss.moment_end, value: moment },
    LossTerm { name: "mass", over: Over::All, weight: |loss| loss.mass, value: mass },
    LossTerm { name: "smooth", over: Over::AllButFirst, weight: |loss| loss.smooth, value: accel },
];

/// The terms with a weight above 0.
pub fn active(config: &Config) -> impl Iterator<Item = &'static LossTerm> {
    TERMS.iter().filter(|term| term.weight(config) > 0.0)
}

/// Whether the objective looks at the velocities of the step before.
pub fn needs_previous_velocity(config: &Config) -> bool {
    active(config).any(|term| matches!(term.name, "accel" | "smooth"))
}

/// Whether the objective looks at the field before the first step.
pub fn needs_start(config: &Config) -> bool {
    active(config).any(|term| term.name == "mass")
}

impl LossTerm {
    /// Its weight in the objective.
    pub fn weight(&self, config: &Config) -> f64 {
        (self.weight)(&config.loss).unwrap_or(0.0)
    }

    /// Its value in one step, one number per case; `None` if the step lacks what it is about.
    pub fn value<'t>(&self, config: &Config, step: &Step<'t>) -> Option<Var<'t>> {
        (self.value)(config, step)
    }

    /// How much each of `steps` control steps counts; sums to 1 (to 0 for `accel` in a single step).
    pub fn time_weights(&self, steps: usize) -> Vec<f64> {
        (0..steps).map(|step| self.over.weight(step, steps)).collect()
    }
}

fn mean_square_error<'t>(_: &Config, step: &Step<'t>) -> Option<Var<'t>> {
    Some(step.counted(step.error))
}

fn effort_u<'t>(_: &Config, step: &Step<'t>) -> Option<Var<'t>> {
    Some(step.mean_square_length(step.u?))
}

fn effort_v<'t>(_: &Config, step: &Step<'t>) -> Option<Var<'t>> {
    Some(step.mean_square_length(step.v?))
}

fn bound<'t>(config: &Config, step: &Step<'t>) -> Option<Var<'t>> {
    let margin = config.safety.as_ref()?.margin;
    let beyond = |(axis, length): (usize, f64)| {
        let (low, high) = (margin, length - margin);
        let xi = step.xi.slice(axis..axis + 1);
        step.mean_square_length((low - xi).relu()) + step.mean_square_length((xi - high).relu())
    };
    let lengths = config.axes().into_iter().map(|axis| axis.length);
    lengths.enumerate().map(beyond).reduce(|a, b| a + b)
}

fn coll<'t>(config: &Config, step: &Step<'t>) -> Option<Var<'t>> {
    let m = step.xi.cols();
    assert!(step.weights.is_none(), "collisions of agents that have weights");
    if m == 1 {
        return Some(step.xi.sum() * 0.0);
    }
    let radius = config.safety.as_ref()?.radius;
    let pair = |i: usize, j: usize| vec![(i, 1.0), (j, -1.0)];
    let pairs: Vec<_> = (0..m).flat_map(|j| (0..j).map(move |i| pair(i, j))).collect();
    // each pair stands for two of the M x M
    let share = 2.0 * pairs.len() as f64 / (m * m) as f64;
    let distance = distances(step.xi, &Sparse::from_rows(m, pairs));
    let nearness = match config.task.density {
        true => (distance * (-1.0 / radius)).exp().mean(),
        false => (radius - distance).relu().mean_square(),
    };
    Some(share * nearness)
}

/// Lengths of the differences that a matrix takes between positions.
fn distances<'t>(xi: Var<'t>, differences: &Sparse) -> Var<'t> {
    match xi.rows() {
        1 => xi.reshape(xi.cols(), 1).linear(differences).abs(),
        _ => xi.linear_cols(differences).length(),
    }
}

fn accel<'t>(_: &Config, step: &Step<'t>) -> Option<Var<'t>> {
    Some(step.mean_square_length(step.v? - step.previous_v?))
}

fn total_forcing<'t>(_: &Config, step: &Step<'t>) -> Option<Var<'t>> {
    let u = step.u?;
    Some(step.weights.map_or(u, |weights| weights.each * u).sum().square())
}

fn obstacle<'t>(config: &Config, step: &Step<'t>) -> Option<Var<'t>> {
    Some(Discs::of(config)?.penalty(step.xi, |depth| step.mean_square_length(depth)))
}

fn moment<'t>(_: &Config, step: &Step<'t>) -> Option<Var<'t>> {
    let [now, target] = step.moments?;
    Some(step.counted(now.distance(target)))
}

fn mass<'t>(_: &Config, step: &Step<'t>) -> Option<Var<'t>> {
    let now = step.moments.map_or_else(|| step.z.sum(), |[now, _]| now.mass);
    let first = step.start?.sum();
    Some(((now - first) / first).square())
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
        assert_eq!(names("ks1d"), ["track", "effort_u", "terminal", "total_forcing"]);
    }
}
