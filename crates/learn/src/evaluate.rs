//! How well a policy controls cases it has never seen, beside the same cases without control.

use std::ops::Range;
use std::time::Instant;

use cinoc_adjoint::Threads;
use cinoc_control::obstacles::Discs;
use cinoc_control::{Cases, ClosedLoop, Config, Disturbance, Trajectories};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::memory::Needs;
use crate::train::chunk;

/// Mean and standard deviation over cases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Population standard deviation.
    pub std: f64,
}

impl Spread {
    /// Of some numbers.
    pub fn of(values: &[f64]) -> Spread {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        Spread { mean, std: variance.sqrt() }
    }
}

/// The metric of a task, `mean (z - z*)²` over space.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// At the last control step.
    #[serde(rename = "final")]
    pub last: Spread,
    /// Half-way: after T/2 control steps; of 2D tasks, one of which is measured there in the paper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub half: Option<Spread>,
    /// Mean over all control steps.
    pub time_mean: Spread,
    /// Of densities: distance of centroid and spread from the target's, at the last control step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moment: Option<Spread>,
    /// Of densities: relative change of the mass over the rollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mass_change: Option<Spread>,
}

/// What the agents spent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effort {
    /// Mean of `u²` over agents, control steps and cases.
    pub mean_u2: f64,
    /// Sum over agents of `u²`, mean over control steps and cases.
    pub sum_u2: f64,
    /// Mean of `|v|²` over agents, control steps and cases, where agents move in a plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_v2: Option<f64>,
}

/// How often agents were where they must not be: shares of all agents, control steps and cases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Violations {
    /// Inside a disc.
    pub disc: f64,
    /// Inside a disc or its margin.
    pub margin: f64,
}

/// Result of an evaluation; its JSON is a stable interface.
///
/// ```
/// use cinoc_adjoint::Threads;
/// use cinoc_control::policy::param_count;
/// use cinoc_control::{Cases, Config, Pool};
/// use cinoc_learn::evaluate::{evaluate, roll_out};
///
/// let config = Config::preset("heat1d").unwrap().with_sets(&["time.steps=5".to_string()]).unwrap();
/// let cases = Cases::draw(&config, 0, Pool::Validation, 2, &Threads::one(), &|_, _| {});
/// // parameters that are 0 do nothing
/// let rollouts = roll_out(&config, &vec![0.0; param_count(&config)], &cases, &Threads::one()).unwrap();
/// let evaluation = evaluate(&config, &cases, &rollouts);
/// assert_eq!(evaluation.controlled, evaluation.uncontrolled);
/// assert_eq!(evaluation.per_case.len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// The task.
    pub task: String,
    /// Agents.
    pub agents: usize,
    /// Cases.
    pub cases: usize,
    /// With the policy.
    pub controlled: Metric,
    /// Without any control.
    pub uncontrolled: Metric,
    /// Error of every case at the last control step, with the policy.
    pub per_case: Vec<f64>,
    /// What the agents spent.
    pub effort: Effort,
    /// How often agents entered obstacles, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violations: Option<Violations>,
    /// Wall time of both rollouts of all cases.
    pub seconds: f64,
}

/// A rollout left the finite numbers.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{task} diverged: the field {blow_up}; try a smaller time.dt or another number of agents")]
pub struct DivergedRollout {
    task: String,
    blow_up: String,
}

/// Both rollouts of some cases.
pub struct Rollouts {
    /// With the policy.
    pub controlled: Trajectories<f32>,
    /// Without any control.
    pub uncontrolled: Trajectories<f32>,
    /// Wall time.
    pub seconds: f64,
}

/// Runs cases with and without control.
pub fn roll_out(
    config: &Config,
    params: &[f32],
    cases: &Cases,
    threads: &Threads,
) -> Result<Rollouts, DivergedRollout> {
    Evaluator::new(config, params, cases, 0, threads).roll_out(0..cases.count)
}

/// Runs cases with a policy. Noise and failures are the same for every policy, so that policies are compared
/// under the same circumstances.
pub fn controlled(
    config: &Config,
    params: &[f32],
    cases: &Cases,
    threads: &Threads,
) -> Result<Trajectories<f32>, DivergedRollout> {
    Evaluator::new(config, params, cases, 0, threads).controlled(0..cases.count)
}

/// Runs cases without any control.
pub fn uncontrolled(
    config: &Config,
    cases: &Cases,
    threads: &Threads,
) -> Result<Trajectories<f32>, DivergedRollout> {
    Evaluator::new(config, &[], cases, 0, threads).uncontrolled(0..cases.count)
}

/// Summary of rollouts.
pub fn evaluate(config: &Config, cases: &Cases, rollouts: &Rollouts) -> Evaluation {
    let mut tally = Tally::new(config, cases);
    tally.add(rollouts);
    tally.evaluation()
}

/// Runs any part of some cases, so that the trajectories of all need not fit into memory.
pub struct Evaluator<'a> {
    config: &'a Config,
    params: &'a [f32],
    cases: &'a Cases,
    seed: u64,
    threads: Threads,
}

impl<'a> Evaluator<'a> {
    /// Of a policy's parameters under these circumstances; `seed` decides on noise and failures.
    pub fn new(
        config: &'a Config,
        params: &'a [f32],
        cases: &'a Cases,
        seed: u64,
        threads: &Threads,
    ) -> Evaluator<'a> {
        Evaluator { config, params, cases, seed, threads: threads.clone() }
    }

    /// Cut into parts whose trajectories need at most so many bytes each, but for single cases that need
    /// more.
    pub fn parts(&self, bytes: f64) -> Vec<Range<usize>> {
        let targets = self.cases.targets();
        let of_one = Needs::trajectories(self.config) + Needs::targets(self.config, targets);
        let at_once = ((bytes / of_one) as usize).max(1);
        // whole chunks are worked on together
        let chunk = chunk(self.config);
        let at_once = if at_once > chunk { at_once - at_once % chunk } else { at_once };
        let count = self.cases.count;
        (0..count).step_by(at_once).map(|first| first..(first + at_once).min(count)).collect()
    }

    /// Some of the cases with and without control.
    pub fn roll_out(&self, which: Range<usize>) -> Result<Rollouts, DivergedRollout> {
        let start = Instant::now();
        let controlled = self.controlled(which.clone())?;
        let uncontrolled = self.uncontrolled(which)?;
        Ok(Rollouts { controlled, uncontrolled, seconds: start.elapsed().as_secs_f64() })
    }

    /// Some of the cases with control.
    pub fn controlled(&self, which: Range<usize>) -> Result<Trajectories<f32>, DivergedRollout> {
        self.run(ClosedLoop::observed(self.config, self.chunk()), self.params, which)
    }

    /// Some of the cases without.
    pub fn uncontrolled(&self, which: Range<usize>) -> Result<Trajectories<f32>, DivergedRollout> {
        self.run(ClosedLoop::uncontrolled(self.config, self.chunk()), &[], which)
    }

    /// The same for every part: roundings depend on how many samples are worked on together.
    fn chunk(&self) -> usize {
        chunk(self.config).min(self.cases.count)
    }

    fn run(
        &self,
        closed_loop: ClosedLoop<f32>,
        params: &[f32],
        which: Range<usize>,
    ) -> Result<Trajectories<f32>, DivergedRollout> {
        let closed_loop = closed_loop.with_targets(self.cases.targets());
        let disturbance = Disturbance::evaluation(self.seed, which.start);
        let first = which.start;
        let batch = closed_loop.batch(self.cases, &which.collect::<Vec<_>>(), disturbance);
        let trajectories = closed_loop.forward(params, &batch, &self.threads);
        match trajectories.blow_up() {
            Some(mut blow_up) => {
                blow_up.case += first;
                Err(DivergedRollout { task: self.config.task.to_string(), blow_up: blow_up.to_string() })
            }
            None => Ok(trajectories),
        }
    }
}

/// The summary of rollouts that come part by part, in the order of the cases.
pub struct Tally<'a> {
    config: &'a Config,
    cases: &'a Cases,
    discs: Option<Discs>,
    controlled: Numbers,
    uncontrolled: Numbers,
    u2: SquareSum,
    v2: SquareSum,
    violations: Count,
    seconds: f64,
}

impl<'a> Tally<'a> {
    /// Nothing yet.
    pub fn new(config: &'a Config, cases: &'a Cases) -> Tally<'a> {
        Tally {
            config,
            cases,
            discs: Discs::of(config),
            controlled: Numbers::default(),
            uncontrolled: Numbers::default(),
            u2: SquareSum::default(),
            v2: SquareSum::default(),
            violations: Count::default(),
            seconds: 0.0,
        }
    }

    /// Adds the cases that come next.
    pub fn add(&mut self, rollouts: &Rollouts) {
        let controlled = &rollouts.controlled;
        self.controlled.add(self.cases, controlled);
        self.uncontrolled.add(self.cases, &rollouts.uncontrolled);
        self.u2.add(controlled.u());
        self.v2.add(controlled.v());
        if let (Some(discs), Some(xi)) = (&self.discs, controlled.xi()) {
            self.violations.add(discs, self.config.agents, xi);
        }
        self.seconds += rollouts.seconds;
    }

    /// Of all that was added.
    pub fn evaluation(&self) -> Evaluation {
        Evaluation {
            task: self.config.task.to_string(),
            agents: self.config.agents,
            cases: self.controlled.last.len(),
            controlled: self.controlled.metric(self.config),
            uncontrolled: self.uncontrolled.metric(self.config),
            per_case: self.controlled.last.clone(),
            effort: Effort::from_squares(self.config, &self.u2, &self.v2),
            violations: self.discs.as_ref().map(|_| self.violations.shares()),
            seconds: self.seconds,
        }
    }
}

/// What is measured of every case.
#[derive(Default)]
struct Numbers {
    last: Vec<f64>,
    half: Vec<f64>,
    time_mean: Vec<f64>,
    moment: Vec<f64>,
    mass_change: Vec<f64>,
}

impl Numbers {
    fn add(&mut self, cases: &Cases, trajectories: &Trajectories<f32>) {
        let (first, steps) = (self.last.len(), trajectories.steps);
        for case in 0..trajectories.samples {
            let error = trajectories.error(case);
            self.last.push(error[steps - 1]);
            self.half.push(error[(steps / 2).max(1) - 1]);
            self.time_mean.push(error.iter().sum::<f64>() / steps as f64);
        }
        let Some(moments) = trajectories.moment() else { return };
        let z = trajectories.z();
        for (case, moments) in moments.chunks_exact(steps).enumerate() {
            self.moment.push(f64::from(moments[steps - 1]));
            let (before, end) = (cases.z0(first + case).iter().sum::<f64>(), (case + 1) * steps * cases.n);
            let after = z[end - cases.n..end].iter().map(|&z| f64::from(z)).sum::<f64>();
            self.mass_change.push(after / before - 1.0);
        }
    }

    fn metric(&self, config: &Config) -> Metric {
        let densities = !self.moment.is_empty();
        Metric {
            last: Spread::of(&self.last),
            half: (config.task.dims == 2).then(|| Spread::of(&self.half)),
            time_mean: Spread::of(&self.time_mean),
            moment: densities.then(|| Spread::of(&self.moment)),
            mass_change: densities.then(|| Spread::of(&self.mass_change)),
        }
    }
}

/// Sum of squares of numbers that come part by part.
#[derive(Default)]
struct SquareSum {
    sum: f64,
    count: usize,
}

impl SquareSum {
    fn add(&mut self, values: Option<&[f32]>) {
        for &value in values.unwrap_or_default() {
            self.sum += f64::from(value).powi(2);
            self.count += 1;
        }
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

impl Metric {
    /// Of the rollouts of some cases.
    pub fn of(config: &Config, cases: &Cases, trajectories: &Trajectories<f32>) -> Metric {
        let mut numbers = Numbers::default();
        numbers.add(cases, trajectories);
        numbers.metric(config)
    }
}

impl Effort {
    /// Of the agents in some rollouts.
    pub fn of(config: &Config, trajectories: &Trajectories<f32>) -> Effort {
        let [mut u2, mut v2] = [SquareSum::default(), SquareSum::default()];
        u2.add(trajectories.u());
        v2.add(trajectories.v());
        Effort::from_squares(config, &u2, &v2)
    }

    fn from_squares(config: &Config, u2: &SquareSum, v2: &SquareSum) -> Effort {
        let mean_u2 = u2.mean().unwrap_or(0.0);
        let plane = config.task.dims == 2;
        Effort {
            mean_u2,
            sum_u2: mean_u2 * config.agents as f64,
            mean_v2: v2.mean().filter(|_| plane).map(|mean| 2.0 * mean),
        }
    }
}

/// Agents and steps, and how many of them were where they must not be.
#[derive(Default)]
struct Count {
    disc: usize,
    margin: usize,
    all: usize,
}

impl Count {
    /// Adds agents at `xi`, `[samples and steps][2][agents]`.
    fn add(&mut self, discs: &Discs, agents: usize, xi: &[f32]) {
        for step in xi.chunks_exact(2 * agents) {
            for agent in 0..agents {
                let inside = discs.inside([f64::from(step[agent]), f64::from(step[agents + agent])]);
                self.disc += usize::from(inside.0);
                self.margin += usize::from(inside.1);
            }
        }
        self.all += xi.len() / 2;
    }

    fn shares(&self) -> Violations {
        let share = |count: usize| count as f64 / self.all as f64;
        Violations { disc: share(self.disc), margin: share(self.margin) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cinoc_control::Pool;
    use cinoc_control::policy::param_count;

    #[test]
    fn parts_give_what_all_cases_at_once_give() {
        let sets = ["time.steps=4", "noise.sensor=0.1", "failure.share=0.3", "failure.step=1"];
        for task in ["heat1d", "density2d", "heat2d-obstacles"] {
            let config = Config::preset(task).unwrap().with_sets(&sets.map(String::from)).unwrap();
            let fixed = Cases::draw(&config, 0, Pool::Validation, 5, &Threads::one(), &|_, _| {});
            let growing = |k: usize| fixed.zt(k / 3).iter().map(move |z| (1.0 + (k % 3) as f64) * z);
            let cases = Cases { zt: (0..5 * 3).flat_map(growing).collect(), ..fixed.clone() };
            let params = vec![0.01; param_count(&config)];
            let evaluator = Evaluator::new(&config, &params, &cases, 3, &Threads::one());
            let evaluation = |parts: Vec<Range<usize>>| {
                let mut tally = Tally::new(&config, &cases);
                parts.into_iter().for_each(|part| tally.add(&evaluator.roll_out(part).unwrap()));
                Evaluation { seconds: 0.0, ..tally.evaluation() }
            };
            let of_one = Needs::trajectories(&config) + Needs::targets(&config, cases.targets());
            let parts = evaluator.parts(2.5 * of_one);
            assert_eq!(parts.len(), 3, "{parts:?}");
            assert_eq!(evaluation(parts), evaluation(evaluator.parts(1e12)), "{task}");
            let threads = Threads::one();
            let towards_first =
                Evaluator::new(&config, &params, &fixed, 3, &threads).controlled(0..5).unwrap();
            assert_ne!(
                towards_first.error(0),
                evaluator.controlled(0..5).unwrap().error(0),
                "targets that move"
            );
            let other = Evaluator::new(&config, &params, &cases, 4, &threads).controlled(0..5).unwrap();
            assert_ne!(other.error(0), evaluator.controlled(0..5).unwrap().error(0), "another seed");
        }
    }

    #[test]
    fn spread_is_the_population_standard_deviation() {
        assert_eq!(Spread::of(&[1.0, 3.0]), Spread { mean: 2.0, std: 1.0 });
    }
}
