//! Linear-quadratic regulators: what linear feedback reaches that knows the whole field and where every agent
//! is.
//!
//! Near rest a control step is linear. With `s` the amplitudes of the waves of the field and `a` the actions
//! in units of their bounds,
//!
//! ```text
//! s' = A s + B a,      cost = sum_t w_t |s_t|^2 + r |a_t|^2
//! ```
//!
//! The Riccati recursion gives the best actions, `a_t = -K_t s_t`, for exactly these agents. `A` and `B` are
//! measured on the solver itself, by control steps from small fields and with small actions, so they contain
//! its scheme, the kernel of the actuators and how long an action is held.
//!
//! Waves whose amplitude grows by itself must be moved by the agents. If a growing wave is zero at all
//! agents, or several waves that grow alike cannot be pushed independently, no linear feedback brings the
//! field to rest, however it is found.

use cinoc_adjoint::{Input, Inputs, Program, Session, Threads};
use cinoc_control::agents::start_positions;
use cinoc_control::closed_loop::{StepInputs, StepRecords, driven_trace};
use cinoc_control::{Cases, Config};
use faer::linalg::solvers::Solve;
use faer::{Mat, Side};
use std::f64::consts::TAU;

use crate::files::fnv1a;

/// Most periods of a wave along an axis. Shorter ones decay by themselves within a control step.
const PERIODS: usize = 12;
/// Amplitude of the fields and actions that are tried; the second order cancels between both signs.
const SMALL: f64 = 1e-4;
/// Control steps that are tried at once: each needs memory.
const AT_ONCE: usize = 16;
/// Growth rates per control step that differ by less are the same.
const ALIKE: f64 = 1e-6;
/// A push below this part of the largest is no push.
const NO_PUSH: f64 = 1e-6;

/// The hash of this code: what other code found is not reused.
pub fn code_hash() -> u64 {
    fnv1a(include_bytes!("mod.rs"))
}

/// The control step of a task near rest, without agents. Waves do not mix: the equations have the same
/// coefficients everywhere, on a ring or torus.
pub struct Rest {
    waves: Mat<f64>,
    /// The diagonal of `A`: the factor of every wave.
    growth: Vec<f64>,
}

/// The same with agents.
pub struct Plant<'a> {
    rest: &'a Rest,
    b: Mat<f64>,
}

/// Feedback for every control step of a horizon.
pub struct Regulator<'a> {
    rest: &'a Rest,
    /// `K` of every step, `[waves][agents]`.
    gains: Vec<Mat<f64>>,
}

/// How the waves that grow by themselves can be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growing {
    /// Their number.
    pub waves: usize,
    /// How many of them the agents cannot move, or not independently.
    pub out_of_reach: usize,
}

/// What the regulator minimises.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Weight of the mean square of the field after every step.
    pub track: f64,
    /// The same after the last one, in addition.
    pub terminal: f64,
    /// Weight of the mean square of the actions in units of their bounds.
    pub effort: f64,
}

impl Rest {
    /// Measures how the waves of a task go on without agents. The task has one field on a ring or torus.
    ///
    /// # Panics
    /// If agents move or have no intensities.
    pub fn of(config: &Config, threads: &Threads) -> Rest {
        let waves = waves(config);
        let n = waves.ncols();
        let driven = Driven::new(config);
        let nothing = vec![0.0; 2 * n * config.agents];
        let fields: Vec<f64> = (0..n)
            .flat_map(|k| [SMALL, -SMALL].map(|by| waves.col(k).iter().map(move |w| by * w)))
            .flatten()
            .collect();
        let after = driven.after_one_step(&fields, &nothing, threads);
        let after = responses(&waves, &after);
        Rest { growth: (0..n).map(|k| after[(k, k)]).collect(), waves }
    }

    /// Amplitudes of the waves of a field.
    fn amplitudes(&self, z: &[f64]) -> Vec<f64> {
        let wave = |k: usize| self.waves.col_as_slice(k);
        (0..self.growth.len()).map(|k| dot(wave(k), z) / z.len() as f64).collect()
    }

    /// Adds agents: how they push the waves in one control step.
    pub fn with_agents(&self, config: &Config, threads: &Threads) -> Plant<'_> {
        let (points, m) = (self.waves.nrows(), config.agents);
        let mut actions = vec![0.0; 2 * m * m];
        for i in 0..m {
            actions[2 * i * m + i] = SMALL;
            actions[(2 * i + 1) * m + i] = -SMALL;
        }
        let after = Driven::new(config).after_one_step(&vec![0.0; 2 * m * points], &actions, threads);
        Plant { rest: self, b: responses(&self.waves, &after) }
    }
}

impl<'a> Plant<'a> {
    /// The same with agents that have failed, those that are not `alive`: they push nothing.
    pub fn with_failures(&self, alive: &[f64]) -> Plant<'a> {
        let b = Mat::from_fn(self.b.nrows(), self.b.ncols(), |k, agent| alive[agent] * self.b[(k, agent)]);
        Plant { rest: self.rest, b }
    }

    /// Whether the growing waves can be moved. Waves of the same growth rate stay in the same proportion to
    /// each other unless they are pushed independently.
    pub fn growing(&self) -> Growing {
        let (growth, b) = (&self.rest.growth, &self.b);
        let mut growing: Vec<usize> = (0..growth.len()).filter(|&k| growth[k] > 1.0 + ALIKE).collect();
        growing.sort_by(|&i, &j| growth[i].total_cmp(&growth[j]));
        let alike = growing.chunk_by(|&i, &j| growth[j] - growth[i] < ALIKE);
        let largest = (0..b.nrows()).map(|k| b.row(k).squared_norm_l2()).fold(0.0, f64::max);
        let reached = |group: &[usize]| {
            let pushes = Mat::from_fn(group.len(), b.ncols(), |i, agent| b[(group[i], agent)]);
            let gram = &pushes * pushes.transpose();
            let squares = gram.self_adjoint_eigenvalues(Side::Lower).unwrap_or_default();
            squares.iter().filter(|&&square| square > NO_PUSH.powi(2) * largest).count()
        };
        let reached: usize = alike.map(reached).sum();
        Growing { waves: growing.len(), out_of_reach: growing.len() - reached }
    }

    /// The best feedback over so many control steps.
    pub fn regulator(&self, cost: Cost, steps: usize) -> Regulator<'a> {
        let (a, b) = (&self.rest.growth, &self.b);
        let (n, m) = (b.nrows(), b.ncols());
        let diagonal = |i: usize, j: usize, value: f64| if i == j { value } else { 0.0 };
        let mut p = Mat::from_fn(n, n, |i, j| diagonal(i, j, cost.track + cost.terminal));
        let mut gains = Vec::with_capacity(steps);
        for _ in 0..steps {
            // P' = A P A - (B' P A)' K + w, with the gain K = (B' P B + r)^-1 B' P A
            let pushed = b.transpose() * &p;
            let onto = &pushed * b;
            let curvature = Mat::from_fn(m, m, |i, j| onto[(i, j)] + diagonal(i, j, cost.effort / m as f64));
            let pushed = Mat::from_fn(m, n, |i, k| pushed[(i, k)] * a[k]);
            let gain = curvature.partial_piv_lu().solve(&pushed);
            let saved = pushed.transpose() * &gain;
            p = Mat::from_fn(n, n, |i, j| {
                // rounding must not break the symmetry
                let saved = 0.5 * (saved[(i, j)] + saved[(j, i)]);
                a[i] * p[(i, j)] * a[j] - saved + diagonal(i, j, cost.track)
            });
            gains.push(gain.transpose().to_owned());
        }
        gains.reverse();
        Regulator { rest: self.rest, gains }
    }
}

impl Regulator<'_> {
    /// The actions of a control step for a field, in units of their bounds and within them.
    pub fn actions(&self, step: usize, z: &[f64]) -> Vec<f64> {
        let (gain, amplitudes) = (&self.gains[step], self.rest.amplitudes(z));
        let action = |agent: usize| -dot(gain.col_as_slice(agent), &amplitudes);
        (0..gain.ncols()).map(|agent| action(agent).clamp(-1.0, 1.0)).collect()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    // eight sums side by side fill the vector registers
    let (a, b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    let mut sums = [0.0; 8];
    a.zip(b).for_each(|(a, b)| (0..8).for_each(|i| sums[i] += a[i] * b[i]));
    sums.iter().sum::<f64>() + rest
}

/// The error after every control step of every case, `[cases][steps]`, with the actions that `decide` gives
/// for `(case, step, field)`. Without noise.
pub fn controlled(
    config: &Config,
    cases: &Cases,
    threads: &Threads,
    mut decide: impl FnMut(usize, usize, &[f64]) -> Vec<f64>,
) -> Vec<Vec<f64>> {
    let driven = Driven::new(config);
    let mut session = driven.session(&cases.z0);
    let mut errors = vec![Vec::new(); cases.count];
    for step in 0..config.time.steps {
        let z = session.state(driven.inputs.z);
        let fields = z.chunks_exact(cases.n).enumerate();
        let actions: Vec<f64> = fields.flat_map(|(case, z)| decide(case, step, z)).collect();
        session.step(&[(driven.action, &actions)], threads);
        let after = session.record(driven.records.error);
        errors.iter_mut().zip(after).for_each(|(errors, error)| errors.push(error));
    }
    errors
}

/// A task whose actions are given.
struct Driven {
    program: Program<f64>,
    inputs: StepInputs,
    records: StepRecords,
    action: Input,
    places: Vec<f64>,
}

impl Driven {
    fn new(config: &Config) -> Driven {
        assert!(!config.mobile() && config.actuation.u_max.is_some(), "static agents with intensities");
        let mut config = config.plain();
        (config.noise.sensor, config.noise.actuator, config.failure.share) = (0.0, 0.0, 0.0);
        let (step, action) = driven_trace(&config);
        Driven {
            program: Program::new(&step.trace, 1),
            inputs: step.inputs,
            records: step.records,
            action,
            places: start_positions(&config),
        }
    }

    /// Everything that is given before the first step, for fields towards rest.
    fn given(&self, fields: &[f64]) -> Vec<(Input, Vec<f64>)> {
        let samples = fields.len() / self.inputs.z.size();
        let given = |input: Input| match input {
            _ if input == self.inputs.z => fields.to_vec(),
            _ if Some(input) == self.inputs.xi => self.places.repeat(samples),
            _ => vec![0.0; samples * input.size()],
        };
        self.inputs.before_first_step().map(|input| (input, given(input))).collect()
    }

    fn session(&self, fields: &[f64]) -> Session<f64> {
        let given = self.given(fields);
        let inputs = Inputs::new(fields.len() / self.inputs.z.size(), 0, &[]);
        Session::new(&self.program, &given.iter().fold(inputs, |inputs, (input, x)| inputs.with(*input, x)))
    }

    fn after_one_step(&self, fields: &[f64], actions: &[f64], threads: &Threads) -> Vec<f64> {
        let fields = fields.chunks(AT_ONCE * self.inputs.z.size());
        let actions = actions.chunks(AT_ONCE * self.action.size());
        let after = fields.zip(actions).flat_map(|(fields, actions)| {
            let mut session = self.session(fields);
            session.step(&[(self.action, actions)], threads);
            session.state(self.inputs.z)
        });
        after.collect()
    }
}

/// Waves on the grid of a task, the constant first, `[points][waves]`; each has the mean square 1.
fn waves(config: &Config) -> Mat<f64> {
    let axes = config.axes();
    let most = |axis: usize| axes.get(axis).map_or(0, |axis| PERIODS.min(axis.n / 3)) as i64;
    let (rows, cols) = config.shape();
    let half = (0..=most(0)).flat_map(|a| (-most(1)..=most(1)).map(move |b| (a, b)));
    let pairs: Vec<(i64, i64)> = half.filter(|&(a, b)| a > 0 || b >= 0).collect();
    let phase = |(a, b): (i64, i64), point: usize| {
        let (i, j) = (point / cols, point % cols);
        TAU * (a as f64 * i as f64 / rows as f64 + b as f64 * j as f64 / cols as f64)
    };
    let shapes = [f64::cos as fn(f64) -> f64, f64::sin];
    let each = pairs.into_iter().flat_map(|pair| shapes.map(|shape| (pair, shape)));
    let each: Vec<_> = each.filter(|&(pair, shape)| pair != (0, 0) || shape(0.0) > 0.5).collect();
    let scale = |pair: (i64, i64)| if pair == (0, 0) { 1.0 } else { 2.0_f64.sqrt() };
    Mat::from_fn(rows * cols, each.len(), |point, k| {
        let (pair, shape) = each[k];
        scale(pair) * shape(phase(pair, point))
    })
}

/// What small changes lead to, `[waves][changes]`. `after` has the field after each change and after its
/// opposite.
fn responses(waves: &Mat<f64>, after: &[f64]) -> Mat<f64> {
    let points = waves.nrows();
    let changes = after.len() / (2 * points);
    let halves = Mat::from_fn(points, changes, |x, k| {
        let (plus, minus) = (after[2 * k * points + x], after[(2 * k + 1) * points + x]);
        (plus - minus) / (2.0 * SMALL * points as f64)
    });
    waves.transpose() * halves
}

#[cfg(test)]
mod tests;
