//! Validation during a training: the loss and the error on cases that are never trained on.
//!
//! A validation uses nothing of the training's random streams and no lost agents, so that a training has the
//! same bits with and without it.

use std::time::Instant;

use cinoc_adjoint::Threads;
use cinoc_control::rollout::Batch;
use cinoc_control::{Cases, ClosedLoop, Config, Disturbance};

use crate::train::chunk;

/// What is measured, and how often.
pub struct Validation {
    closed_loop: ClosedLoop<f32>,
    batch: Batch<f32>,
    threads: Threads,
    every: usize,
}

/// What one validation found, as means over its cases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Validated {
    /// The loss, as in training.
    pub loss: f64,
    /// Mean of `(z - z*)^2` over space at the last control step.
    pub last: f64,
    /// The same as a mean over all control steps.
    pub time_mean: f64,
    /// Wall time.
    pub seconds: f64,
}

impl Validation {
    /// On the first `train.validation_cases` of some cases; `None` if the settings turn it off.
    pub fn new(config: &Config, cases: &Cases, threads: &Threads) -> Option<Validation> {
        let (every, count) = (config.train.validate_every, config.train.validation_cases.min(cases.count));
        if every == 0 || count == 0 {
            return None;
        }
        let closed_loop = ClosedLoop::new(config, chunk(config).min(count)).with_targets(cases.targets());
        let which: Vec<usize> = (0..count).collect();
        let batch = closed_loop.batch(cases, &which, Disturbance::evaluation(0, 0));
        Some(Validation { closed_loop, batch, threads: threads.clone(), every })
    }

    /// Whether it is time for one after this update.
    pub fn is_due(&self, update: usize, updates: usize) -> bool {
        update.is_multiple_of(self.every) || update == updates
    }

    /// Runs the cases with these parameters. What is not finite stays so: it is never the best.
    pub fn measure(&self, params: &[f32]) -> Validated {
        let start = Instant::now();
        let rollouts = self.closed_loop.forward(params, &self.batch, &self.threads);
        let count = rollouts.samples as f64;
        let mean = |of: &dyn Fn(usize) -> f64| (0..rollouts.samples).map(of).sum::<f64>() / count;
        let errors: Vec<Vec<f64>> = (0..rollouts.samples).map(|case| rollouts.error(case)).collect();
        Validated {
            loss: mean(&|case| rollouts.loss(case)),
            last: mean(&|case| *errors[case].last().expect("rollouts have steps")),
            time_mean: mean(&|case| errors[case].iter().sum::<f64>() / errors[case].len() as f64),
            seconds: start.elapsed().as_secs_f64(),
        }
    }
}
