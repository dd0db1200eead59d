//! How well a policy controls cases it has never seen, beside the same cases without control.

use std::time::Instant;

use adjoint::Threads;
use control::{Cases, ClosedLoop, Config, Disturbance, Trajectories};
use serde::Serialize;
use thiserror::Error;

use crate::train::CHUNK;

/// Mean and standard deviation over cases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Metric {
    /// At the last control step.
    #[serde(rename = "final")]
    pub last: Spread,
    /// Mean over all control steps.
    pub time_mean: Spread,
}

/// What the agents spent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Effort {
    /// Mean of `u²` over agents, control steps and cases.
    pub mean_u2: f64,
    /// Sum over agents of `u²`, mean over control steps and cases.
    pub sum_u2: f64,
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
    /// What the agents spent.
    pub effort: Effort,
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

/// Runs cases with and without control. Noise and failures are the same for every policy, so that policies are compared
/// under the same circumstances.
pub fn roll_out(
    config: &Config,
    params: &[f32],
    cases: &Cases,
    threads: usize,
) -> Result<Rollouts, DivergedRollout> {
    let start = Instant::now();
    let threads = Threads::new(threads);
    let all: Vec<usize> = (0..cases.count).collect();
    let disturbance = Disturbance::evaluation(0, 0);
    let run = |closed_loop: ClosedLoop<f32>, params: &[f32]| {
        let batch = closed_loop.batch(cases, &all, disturbance);
        let trajectories = closed_loop.forward(params, &batch, &threads);
        match trajectories.blow_up() {
            Some(blow_up) => Err(DivergedRollout { task: config.task.clone(), blow_up: blow_up.to_string() }),
            None => Ok(trajectories),
        }
    };
    let chunk = CHUNK.min(cases.count);
    let controlled = run(ClosedLoop::new(config, chunk), params)?;
    let uncontrolled = run(ClosedLoop::uncontrolled(config, chunk), &[])?;
    Ok(Rollouts { controlled, uncontrolled, seconds: start.elapsed().as_secs_f64() })
}

/// Summary of rollouts.
pub fn evaluate(config: &Config, rollouts: &Rollouts) -> Evaluation {
    let u = rollouts.controlled.record("u").expect("agents act");
    let mean_u2 = u.iter().map(|&u| f64::from(u).powi(2)).sum::<f64>() / u.len() as f64;
    Evaluation {
        task: config.task.clone(),
        agents: config.agents,
        cases: rollouts.controlled.samples,
        controlled: metric(&rollouts.controlled),
        uncontrolled: metric(&rollouts.uncontrolled),
        effort: Effort { mean_u2, sum_u2: mean_u2 * config.agents as f64 },
        seconds: rollouts.seconds,
    }
}

fn metric(trajectories: &Trajectories<f32>) -> Metric {
    let errors: Vec<Vec<f64>> = (0..trajectories.samples).map(|case| trajectories.error(case)).collect();
    let last: Vec<f64> = errors.iter().map(|e| *e.last().expect("at least one step")).collect();
    let time_mean: Vec<f64> = errors.iter().map(|e| e.iter().sum::<f64>() / e.len() as f64).collect();
    Metric { last: Spread::of(&last), time_mean: Spread::of(&time_mean) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_is_the_population_standard_deviation() {
        assert_eq!(Spread::of(&[1.0, 3.0]), Spread { mean: 2.0, std: 1.0 });
    }
}
