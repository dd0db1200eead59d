//! How well a policy controls cases it has never seen, beside the same cases without control.

use std::time::Instant;

use cinoc_adjoint::Threads;
use cinoc_control::obstacles::Discs;
use cinoc_control::{Cases, ClosedLoop, Config, Disturbance, Trajectories};
use serde::{Deserialize, Serialize};
use thiserror::Error;

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
    threads: usize,
) -> Result<Rollouts, DivergedRollout> {
    let start = Instant::now();
    let controlled = controlled(config, params, cases, threads)?;
    let uncontrolled = uncontrolled(config, cases, threads)?;
    Ok(Rollouts { controlled, uncontrolled, seconds: start.elapsed().as_secs_f64() })
}

/// Runs cases with a policy. Noise and failures are the same for every policy, so that policies are compared under the same
/// circumstances.
pub fn controlled(
    config: &Config,
    params: &[f32],
    cases: &Cases,
    threads: usize,
) -> Result<Trajectories<f32>, DivergedRollout> {
    run(ClosedLoop::observed(config, chunk(config).min(cases.count)), params, cases, threads)
}

/// Runs cases without any control.
pub fn uncontrolled(
    config: &Config,
    cases: &Cases,
    threads: usize,
) -> Result<Trajectories<f32>, DivergedRollout> {
    run(ClosedLoop::uncontrolled(config, chunk(config).min(cases.count)), &[], cases, threads)
}

fn run(
    closed_loop: ClosedLoop<f32>,
    params: &[f32],
    cases: &Cases,
    threads: usize,
) -> Result<Trajectories<f32>, DivergedRollout> {
    let all: Vec<usize> = (0..cases.count).collect();
    let batch = closed_loop.batch(cases, &all, Disturbance::evaluation(0, 0));
    let trajectories = closed_loop.forward(params, &batch, &Threads::new(threads));
    match trajectories.blow_up() {
        Some(blow_up) => {
            Err(DivergedRollout { task: closed_loop.config().task.to_string(), blow_up: blow_up.to_string() })
        }
        None => Ok(trajectories),
    }
}

/// Summary of rollouts.
pub fn evaluate(config: &Config, cases: &Cases, rollouts: &Rollouts) -> Evaluation {
    Evaluation {
        task: config.task.to_string(),
        agents: config.agents,
        cases: rollouts.controlled.samples,
        controlled: Metric::of(config, cases, &rollouts.controlled),
        uncontrolled: Metric::of(config, cases, &rollouts.uncontrolled),
        per_case: (0..rollouts.controlled.samples)
            .map(|case| *rollouts.controlled.error(case).last().expect("rollouts have steps"))
            .collect(),
        effort: Effort::of(config, &rollouts.controlled),
        violations: Discs::of(config)
            .zip(rollouts.controlled.xi())
            .map(|(discs, xi)| violations(&discs, config.agents, xi)),
        seconds: rollouts.seconds,
    }
}

impl Metric {
    /// Of the rollouts of some cases.
    pub fn of(config: &Config, cases: &Cases, trajectories: &Trajectories<f32>) -> Metric {
        let plane = config.task.dims == 2;
        let errors: Vec<Vec<f64>> = (0..trajectories.samples).map(|case| trajectories.error(case)).collect();
        let spread =
            |of: &dyn Fn(&[f64]) -> f64| Spread::of(&errors.iter().map(|e| of(e)).collect::<Vec<_>>());
        let moments = trajectories.moment();
        let last_moments = |all: &[f32]| {
            let last = all.chunks_exact(trajectories.steps).map(|moments| moments[trajectories.steps - 1]);
            Spread::of(&last.map(f64::from).collect::<Vec<_>>())
        };
        Metric {
            last: spread(&|e| e[e.len() - 1]),
            half: plane.then(|| spread(&|e| e[(e.len() / 2).max(1) - 1])),
            time_mean: spread(&|e| e.iter().sum::<f64>() / e.len() as f64),
            moment: moments.map(last_moments),
            mass_change: moments.map(|_| mass_change(cases, trajectories)),
        }
    }
}

impl Effort {
    /// Of the agents in some rollouts.
    pub fn of(config: &Config, trajectories: &Trajectories<f32>) -> Effort {
        let mean_square =
            |values: &[f32]| values.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / values.len() as f64;
        let mean_u2 = trajectories.u().map_or(0.0, mean_square);
        let plane = config.task.dims == 2;
        Effort {
            mean_u2,
            sum_u2: mean_u2 * config.agents as f64,
            mean_v2: trajectories.v().filter(|_| plane).map(|v| 2.0 * mean_square(v)),
        }
    }
}

fn mass_change(cases: &Cases, trajectories: &Trajectories<f32>) -> Spread {
    let z = trajectories.z();
    let change = |case: usize| {
        let (first, end) = (cases.z0(case).iter().sum::<f64>(), (case + 1) * trajectories.steps * cases.n);
        z[end - cases.n..end].iter().map(|&z| f64::from(z)).sum::<f64>() / first - 1.0
    };
    Spread::of(&(0..trajectories.samples).map(change).collect::<Vec<_>>())
}

/// Of agents at `xi`, `[samples and steps][2][agents]`.
fn violations(discs: &Discs, agents: usize, xi: &[f32]) -> Violations {
    let (mut disc, mut margin, all) = (0, 0, xi.len() / 2);
    for step in xi.chunks_exact(2 * agents) {
        for agent in 0..agents {
            let inside = discs.inside([f64::from(step[agent]), f64::from(step[agents + agent])]);
            disc += usize::from(inside.0);
            margin += usize::from(inside.1);
        }
    }
    Violations { disc: disc as f64 / all as f64, margin: margin as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_is_the_population_standard_deviation() {
        assert_eq!(Spread::of(&[1.0, 3.0]), Spread { mean: 2.0, std: 1.0 });
    }
}
