//! Are the gradients right? Derivatives of the loss along random directions, against central differences.
//!
//! In double precision, for parameters, initial fields, start positions and all of them together. Agents
//! start at irregular places, some of them close to each other or to an end, and are kept away from cell
//! edges, where a window jumps and the loss has no derivative.

use cinoc_adjoint::{Strategy, Threads};
use cinoc_control::agents::start_positions;
use cinoc_control::{Cases, ClosedLoop, Config, Disturbance, Pool, Purpose, Targets, policy, random};
use cinoc_pde::random_field::normals;
use serde::Serialize;
use thiserror::Error;

const BATCH: usize = 2;
const STEPS: usize = 10;
const REPETITIONS: u64 = 3;
/// Half the distances of central differences, along a direction of length 1. Rounding spoils short ones,
/// curvature and the kinks of rectifiers long ones; no distance makes a wrong derivative look right.
const HALVES: [f64; 4] = [1e-5, 1e-6, 1e-4, 1e-7];
/// An error below this needs no other distance.
const CLOSE: f64 = 1e-7;
/// How near an agent may come to a cell edge, in cells.
const EDGE: f64 = 1e-4;
const SEED: u64 = 11;
/// How often positions are drawn before none is found.
const ATTEMPTS: u64 = 1000;

/// How far derivatives and central differences lie apart.
#[derive(Clone, Debug, Serialize)]
pub struct GradientCheck {
    /// The task.
    pub task: String,
    /// All directions.
    pub directions: Vec<Direction>,
    /// Largest relative error of a direction.
    pub max_rel_error: f64,
}

/// One direction.
#[derive(Clone, Debug, Serialize)]
pub struct Direction {
    /// What moves along it: `params`, `z0`, `xi0` or `all`.
    pub moves: &'static str,
    /// Derivative of the loss along it, from the gradient.
    pub derivative: f64,
    /// The same from a central difference.
    pub difference: f64,
    /// Their distance, relative to the derivative or, where a direction happens to be flat, to a typical one.
    pub rel_error: f64,
}

/// A point of the space the loss lives in: parameters, initial fields, start positions.
#[derive(Clone)]
struct Point {
    params: Vec<f64>,
    z0: Vec<f64>,
    xi0: Vec<f64>,
}

impl Point {
    fn parts(&self) -> [&Vec<f64>; 3] {
        [&self.params, &self.z0, &self.xi0]
    }

    /// `self + scale other`.
    fn plus(&self, scale: f64, other: &Point) -> Point {
        let add = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + scale * b).collect();
        Point {
            params: add(&self.params, &other.params),
            z0: add(&self.z0, &other.z0),
            xi0: add(&self.xi0, &other.xi0),
        }
    }

    fn dot(&self, other: &Point) -> f64 {
        self.parts().iter().zip(other.parts()).flat_map(|(a, b)| a.iter().zip(b)).map(|(a, b)| a * b).sum()
    }

    /// Zero wherever `keep` says so.
    fn masked(&self, keep: [bool; 3]) -> Point {
        let part =
            |index: usize| self.parts()[index].iter().map(|x| if keep[index] { *x } else { 0.0 }).collect();
        Point { params: part(0), z0: part(1), xi0: part(2) }
    }
}

/// Observations jump where agents cross the edge of a cell, and differences across a jump mean nothing.
#[derive(Clone, Debug, PartialEq, Error)]
#[error(
    "{task} with agents = {agents}: in {ATTEMPTS} attempts some agent came close to the edge of a cell, \
     where \
     differences mean nothing; check with fewer agents"
)]
pub struct NearEdges {
    /// The task.
    pub task: String,
    /// Its agents.
    pub agents: usize,
}

/// Checks the gradients of the task in `config`, with its options, on short rollouts towards fixed or moving
/// targets.
pub fn check_gradients(
    config: &Config,
    targets: Targets,
    strategy: Strategy,
    threads: &Threads,
) -> Result<GradientCheck, NearEdges> {
    let problem = Problem::new(config, targets, threads);
    let near_edges = || NearEdges { task: config.task.to_string(), agents: config.agents };
    let start = problem.start(EDGE).ok_or_else(near_edges)?;
    let gradient = problem.gradient(&start, strategy);
    let moves =
        [("params", [true, false, false]), ("z0", [false, true, false]), ("xi0", [false, false, true])];
    let mut directions = Vec::new();
    for (moves, keep) in moves.into_iter().chain([("all", [true; 3])]) {
        let felt = gradient.masked(keep);
        let entries: usize =
            start.parts().iter().zip(keep).filter(|(_, keep)| *keep).map(|(part, _)| part.len()).sum();
        let typical = (felt.dot(&felt) / entries as f64).sqrt();
        for repetition in 0..REPETITIONS {
            let direction = problem.direction(&start, keep, repetition);
            let derivative = gradient.dot(&direction);
            let at = |s: f64| problem.loss(&start.plus(s, &direction));
            let error = |difference: f64| (difference - derivative).abs() / derivative.abs().max(typical);
            let mut difference = f64::INFINITY;
            for half in HALVES {
                let near = (at(half) - at(-half)) / (2.0 * half);
                let far = (at(2.0 * half) - at(-2.0 * half)) / (4.0 * half);
                let next = near + (near - far) / 3.0;
                if error(next) < error(difference) {
                    difference = next;
                }
                if error(difference) < CLOSE {
                    break;
                }
            }
            directions.push(Direction { moves, derivative, difference, rel_error: error(difference) });
        }
    }
    let max_rel_error = directions.iter().map(|d| d.rel_error).fold(0.0, f64::max);
    Ok(GradientCheck { task: config.task.to_string(), directions, max_rel_error })
}

/// Targets that go from the target of each case to that of the next one.
fn moving(cases: &Cases, steps: usize) -> Vec<f64> {
    let mix = |case: usize, step: usize| {
        let (share, next) = (step as f64 / steps as f64, (case + 1) % cases.count);
        let both = cases.zt(case).iter().zip(cases.zt(next));
        both.map(move |(from, to)| from + share * (to - from))
    };
    (0..cases.count * steps).flat_map(|k| mix(k / steps, k % steps)).collect()
}

/// The loss of a few short rollouts.
struct Problem {
    closed_loop: ClosedLoop<f64>,
    cases: Cases,
    threads: Threads,
}

impl Problem {
    fn new(config: &Config, targets: Targets, threads: &Threads) -> Problem {
        let mut config = config.clone();
        config.train.step_clip = 0.0; // bounded derivatives are no longer exact
        config.time.steps = config.time.steps.min(STEPS);
        config.failure.step = config.failure.step.min(config.time.steps / 2);
        // long enough to leave the linear regime
        config.data.limit_spin_up(150.0);
        let threads = threads.clone();
        let mut cases = Cases::draw(&config, SEED, Pool::Validation, BATCH, &threads, &|_, _| {});
        if targets == Targets::Moving {
            cases.zt = moving(&cases, config.time.steps);
        }
        let closed_loop = ClosedLoop::new(&config, BATCH).with_targets(targets);
        Problem { closed_loop, cases, threads }
    }

    /// Random parameters, biases included, and positions that stay farther than `edge` from cell edges, if
    /// some are found.
    fn start(&self, edge: f64) -> Option<Point> {
        let config = self.closed_loop.config();
        let mut rng = random::stream(SEED, Purpose::Checks, 0);
        let mut params = policy::initial_params(config, &mut rng);
        let noise = normals(&mut rng, params.len());
        params.iter_mut().zip(noise).filter(|(p, _)| **p == 0.0).for_each(|(p, noise)| *p = 0.1 * noise);
        (1..=ATTEMPTS)
            .map(|attempt| Point {
                params: params.clone(),
                z0: self.cases.z0.clone(),
                xi0: self.positions(attempt),
            })
            .find(|point| self.edge_distance(point) > edge)
    }

    /// The task's start positions, scattered; the last two of each case stand close together, the first near
    /// an end of every axis.
    fn positions(&self, attempt: u64) -> Vec<f64> {
        let config = self.closed_loop.config();
        let m = config.agents;
        let mut rng = random::stream(SEED, Purpose::Checks, attempt);
        let mut all = Vec::new();
        for _ in 0..BATCH {
            for (start, axis) in start_positions(config).chunks_exact(m).zip(config.axes()) {
                let (length, scatter) = (axis.length, normals(&mut rng, m));
                let moved = start.iter().zip(scatter).map(|(xi, noise)| xi + 0.03 * length * noise);
                let mut xi: Vec<f64> = moved.map(|xi| xi.clamp(0.001 * length, 0.999 * length)).collect();
                xi[0] = xi[0].min(0.0133 * length);
                if m > 2 {
                    xi[m - 1] = (xi[m - 2] + 0.0117 * length).min(0.999 * length);
                }
                all.extend(xi);
            }
        }
        all
    }

    /// How near any agent comes to a cell edge where it observes, in cells. Agents held at a wall do not
    /// count.
    fn edge_distance(&self, point: &Point) -> f64 {
        let config = self.closed_loop.config();
        let ran = self.closed_loop.forward(&point.params, &self.batch(point), &self.threads);
        let moved = ran.xi().expect("a loop with agents records their positions");
        let wall = config.safety.as_ref().and_then(|safety| safety.wall).unwrap_or(0.0);
        let axes = config.axes();
        let near = |(row, xi): (usize, &[f64])| {
            let axis = axes[row % axes.len()];
            let free = xi.iter().filter(|&&xi| xi > wall && xi < axis.length - wall);
            free.map(|xi| xi * axis.cells_per_length()).map(|c| (c - c.round()).abs()).fold(1.0, f64::min)
        };
        let rows = point.xi0.chunks_exact(config.agents).chain(moved.chunks_exact(config.agents));
        // chunks of the start positions come in whole cases, so that the axes keep their turn
        rows.enumerate().map(near).fold(1.0, f64::min)
    }

    /// A random direction of length 1 in the parts to `keep`.
    fn direction(&self, like: &Point, keep: [bool; 3], repetition: u64) -> Point {
        let mut rng = random::stream(SEED, Purpose::Checks, 1_000_000 + repetition);
        let [params, z0, xi0] = like.parts().map(|part| normals(&mut rng, part.len()));
        let direction = Point { params, z0, xi0 }.masked(keep);
        let scale = 1.0 / direction.dot(&direction).sqrt();
        direction.plus(scale - 1.0, &direction)
    }

    fn batch(&self, point: &Point) -> cinoc_control::Batch<f64> {
        let cases = Cases { z0: point.z0.clone(), xi0: Some(point.xi0.clone()), ..self.cases.clone() };
        let which: Vec<usize> = (0..cases.count).collect();
        self.closed_loop.batch(&cases, &which, Disturbance::evaluation(SEED, 0))
    }

    fn loss(&self, point: &Point) -> f64 {
        let ran = self.closed_loop.forward(&point.params, &self.batch(point), &self.threads);
        (0..ran.samples).map(|sample| ran.loss(sample)).sum::<f64>() / ran.samples as f64
    }

    fn gradient(&self, point: &Point, strategy: Strategy) -> Point {
        let gradient = self.closed_loop.gradient(&point.params, &self.batch(point), &self.threads, strategy);
        let (z0, xi0) = (self.closed_loop.z_gradient(&gradient), self.closed_loop.xi_gradient(&gradient));
        Point { z0, xi0, params: gradient.params }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_away_from_edges_or_there_is_none() {
        let sets = ["agents=1", "grid.n=24", "observe.n_ref=24"].map(String::from);
        let problem = Problem::new(
            &Config::paper("heat1d").unwrap().with_sets(&sets).unwrap(),
            Targets::Fixed,
            &Threads::one(),
        );
        let start = problem.start(EDGE).unwrap();
        assert!(problem.edge_distance(&start) > EDGE);
        // no place is farther from an edge than half a cell
        assert!(problem.start(0.5).is_none());
    }
}
