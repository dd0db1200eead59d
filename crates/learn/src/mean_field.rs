//! The mean-field limit: the limit of the gradient of M agents as M grows.
//!
//! Let each of M agents have the weight `a / M`, so that swarms of all sizes have the authority of `a` agents
//! (`a` is `config.agents`). A swarm then enters the closed loop only through its distribution
//! `mu_t = (1/M) sum_i delta(xi_i)`:
//!
//! ```text
//! z_{t+1}  = S(z_t, a ∫ u(z_t, xi) b(., xi) dmu_t(xi))          the field, S the solver's step
//! mu_{t+1} = mu_t carried by xi -> clip(xi + dt_c v(z_t, xi))   the agents
//! J        = mean over cases and steps of terms in z_t and of ∫ (.) dmu_t
//! ```
//!
//! These equations hold for any `mu_0`. In the limit M -> infinity `mu_0` is the density `rho_0` of the start
//! positions, here uniform over the span of the task's start positions. `J_M` is the same functional of the
//! empirical distribution. Both are differentiated through the solver with respect to the parameters of the
//! policy, `g_M = dJ_M/dtheta` and `g = dJ/dtheta`.
//!
//! *The limit.* The density moves along its characteristics, which are the paths of agents. Quadrature over
//! start positions, with nodes `xi_q` and weights `w_q`, `sum_q w_q = 1`, turns the limit into a closed loop
//! of agents of weight `a w_q`; the nodes move with the flow. The rule is Gauss-Legendre in every cell of the
//! reference lattice. Inside a cell observations are smooth functions of the position. At its edges they have
//! jumps (`observe.sampling = "cell"`) or kinks (`"linear"`). Once agents move, jumps and kinks also lie
//! inside cells, and the rule loses its exponential convergence. The difference to the rule of half the order
//! shows how exact the limit is.
//!
//! *The rate.* `g_M - g` is the error of the quadrature rule "mean over start positions":
//!
//! | placement | error | because |
//! |---|---|---|
//! | [`Placement::Random`] | `M^(-1/2)` | Monte Carlo |
//! | [`Placement::Preset`] | `M^(-1)` | the ends of the span count fully, not half as in the trapezoidal rule |
//! | [`Placement::Regular`] | `M^(-2)`, in the end `M^(-1)` | midpoint rule, on a function with small jumps |
//!
//! The jumps are at the edges of cells: of the window itself under `"cell"`, and, if agents move, of its
//! derivative with respect to the position under `"linear"`. Their contribution `M^(-1)` exceeds the smooth
//! part above a number of agents that depends on the policy. On heat1d over ten steps of 0.005 with initial
//! parameters this is about 100 under `"cell"` and 2000 under `"linear"`. With a trained policy, which reacts
//! more strongly to what it sees, it is about 16 and 256.
//!
//! Under `"linear"` the limit of the gradients is the gradient of the limit. Under `"cell"` no derivative is
//! taken through the choice of the cell, and the limit of the gradients differs from the gradient of the
//! limit by some per cent.
//!
//! The collision penalty is left out (weight 0). Its limit is an integral over pairs, and M agents converge
//! to it at the rate `1/M` for any positions, because an agent makes no pair with itself.

use cinoc_adjoint::{Strategy, Threads};
use cinoc_control::agents::start_positions;
use cinoc_control::random::{Purpose, stream};
use cinoc_control::{Cases, ClosedLoop, Config, Disturbance};
use rand::Rng;
use std::f64::consts::PI;

/// Smallest number of agents times samples in a chunk.
const LANES: usize = 64;

/// A 1D task with weighted agents, in double precision.
pub struct MeanField {
    config: Config,
    params: Vec<f64>,
    cases: Cases,
    threads: Threads,
}

/// Start positions of M agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// At the centres of M equal parts of the span.
    Regular,
    /// As the task places them: equally spaced from one end of the span to the other.
    Preset,
    /// Independently uniform over the span, the same for all cases.
    Random {
        /// Seed of the positions.
        seed: u64,
    },
}

/// The loss and its gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    /// Mean loss of the cases.
    pub loss: f64,
    /// Its derivative with respect to the parameters.
    pub gradient: Vec<f64>,
}

impl Objective {
    /// `|g - g'| / |g'|`, Euclidean, with `g'` the gradient of `limit`.
    pub fn distance(&self, limit: &Objective) -> f64 {
        let squares = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>();
        let apart = squares(&mut self.gradient.iter().zip(&limit.gradient).map(|(a, b)| a - b));
        (apart / squares(&mut limit.gradient.iter().copied())).sqrt()
    }
}

impl MeanField {
    /// The task of `config` with the policy `params` on `cases`. The number of agents in `config` is the
    /// total authority of swarms of all sizes. Noise, failures and the collision penalty are off.
    ///
    /// # Panics
    /// If the task is not 1D.
    pub fn new(config: &Config, params: Vec<f64>, cases: Cases, threads: &Threads) -> MeanField {
        assert_eq!(config.task.dims, 1, "the mean-field limit of a 1D task");
        let mut config = config.plain();
        config.loss.coll = config.loss.coll.map(|_| 0.0);
        (config.noise.sensor, config.noise.actuator, config.failure.share) = (0.0, 0.0, 0.0);
        MeanField { config, params, cases, threads: threads.clone() }
    }

    /// Loss and gradient of `agents` agents of equal weight.
    pub fn finite(&self, placement: Placement, agents: usize) -> Objective {
        self.objective(&self.positions(placement, agents), &vec![1.0 / agents as f64; agents])
    }

    /// Loss and gradient of the density, with `order` quadrature nodes in every cell of the reference
    /// lattice.
    pub fn limit(&self, order: usize) -> Objective {
        let (positions, shares) = self.quadrature(order);
        self.objective(&positions, &shares)
    }

    /// Root mean square over `draws` random placements of the distance to the limit.
    pub fn random_distance(&self, limit: &Objective, agents: usize, draws: u64) -> f64 {
        let square = |seed| self.finite(Placement::Random { seed }, agents).distance(limit).powi(2);
        ((0..draws).map(square).sum::<f64>() / draws as f64).sqrt()
    }

    /// Loss and gradient of agents at `positions`, each with its share of the authority.
    fn objective(&self, positions: &[f64], shares: &[f64]) -> Objective {
        let agents = positions.len();
        let config = Config { agents, ..self.config.clone() };
        let weights: Vec<f64> = shares.iter().map(|share| share * self.config.agents as f64).collect();
        let chunk = LANES.div_ceil(agents).min(self.cases.count);
        let closed_loop = ClosedLoop::<f64>::weighted(&config, &weights, chunk);
        let cases = Cases { xi0: Some(positions.repeat(self.cases.count)), ..self.cases.clone() };
        let which: Vec<usize> = (0..cases.count).collect();
        let batch = closed_loop.batch(&cases, &which, Disturbance::evaluation(0, 0));
        let found = closed_loop.gradient(&self.params, &batch, &self.threads, Strategy::Recompute);
        Objective { loss: found.loss, gradient: found.params }
    }

    /// Both ends of the interval of start positions.
    fn span(&self) -> (f64, f64) {
        let (low, high) = self.config.task.starts[0];
        (low * self.config.grid.length, high * self.config.grid.length)
    }

    fn positions(&self, placement: Placement, agents: usize) -> Vec<f64> {
        let (low, high) = self.span();
        let at = |share: f64| low + share * (high - low);
        match placement {
            Placement::Regular => (0..agents).map(|i| at((i as f64 + 0.5) / agents as f64)).collect(),
            Placement::Preset => start_positions(&Config { agents, ..self.config.clone() }),
            Placement::Random { seed } => {
                // swarms of different sizes use different random streams
                let mut rng = stream(seed, Purpose::Checks, agents as u64);
                (0..agents).map(|_| at(rng.random())).collect()
            }
        }
    }

    /// Nodes over the span and weights that sum to 1.
    fn quadrature(&self, order: usize) -> (Vec<f64>, Vec<f64>) {
        let ((low, high), density) = (self.span(), self.config.axes()[0].cells_per_length());
        let first = (low * density).floor() as usize + 1;
        let inner = (first..).map(|cell| cell as f64 / density).take_while(|&edge| edge < high);
        let edges: Vec<f64> = [low].into_iter().chain(inner).chain([high]).collect();
        let rule = gauss_legendre(order);
        let panels = edges.windows(2).flat_map(|edge| {
            let (middle, half) = (0.5 * (edge[0] + edge[1]), 0.5 * (edge[1] - edge[0]));
            rule.iter().map(move |(x, w)| (middle + half * x, half * w / (high - low)))
        });
        panels.unzip()
    }
}

/// Nodes and weights on `[-1, 1]`: the zeros of the Legendre polynomial `P_n`, by Newton's method, and
/// `2 / ((1 - x^2) P_n'(x)^2)`.
fn gauss_legendre(n: usize) -> Vec<(f64, f64)> {
    // P_n and its derivative, by (k + 1) P_{k+1} = (2k + 1) x P_k - k P_{k-1}
    let legendre = |x: f64| {
        let (mut before, mut now) = (0.0, 1.0);
        for k in 0..n {
            let k = k as f64;
            (before, now) = (now, ((2.0 * k + 1.0) * x * now - k * before) / (k + 1.0));
        }
        (now, n as f64 * (before - x * now) / (1.0 - x * x))
    };
    let node = |i: usize| {
        let mut x = -(PI * (i as f64 + 0.75) / (n as f64 + 0.5)).cos();
        for _ in 0..10 {
            let (value, slope) = legendre(x);
            x -= value / slope;
        }
        (x, 2.0 / ((1.0 - x * x) * legendre(x).1.powi(2)))
    };
    (0..n).map(node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gauss_legendre_is_exact_for_polynomials() {
        for n in [1, 2, 3, 8, 32] {
            let rule = gauss_legendre(n);
            for power in 0..(2 * n) as i32 {
                let sum: f64 = rule.iter().map(|(x, w)| w * x.powi(power)).sum();
                let exact = if power % 2 == 0 { 2.0 / f64::from(power + 1) } else { 0.0 };
                assert!((sum - exact).abs() < 1e-13, "{n} nodes, x^{power}: {sum} against {exact}");
            }
        }
    }
}
