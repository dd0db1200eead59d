//! Validation during a training: the loss and the error on cases that are never trained on.
//!
//! A validation uses nothing of the training's random streams and no lost agents, so that a training has the
//! same bits with and without it.

use std::time::Instant;

use cinoc_adjoint::Threads;
use cinoc_control::rollout::Batch;
use cinoc_control::{Cases, ClosedLoop, Config, Disturbance, Tasks};

use crate::team::message::{Reader, Writer};
use crate::team::share::Share;
use crate::team::{Order, Team};
use crate::train::chunk;

/// What is measured, and how often.
pub struct Validation {
    closed_loop: ClosedLoop<f32>,
    /// The cases that this process runs; there may be more processes than chunks of cases.
    batch: Option<Batch<f32>>,
    threads: Threads,
    every: usize,
    team: Team,
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
        Validation::leading(config, cases, threads, &Team::alone())
    }

    /// The same, shared with the followers of a team.
    pub fn leading(config: &Config, cases: &Cases, threads: &Threads, team: &Team) -> Option<Validation> {
        let (every, count) = (config.train.validate_every, config.train.validation_cases.min(cases.count));
        if every == 0 || count == 0 {
            return None;
        }
        team.order(Order::Validation, || {
            Writer::default().bytes(config.to_toml().as_bytes()).cases(&cases.first(count)).0
        });
        Some(Validation::in_team(config, cases, count, threads, team))
    }

    /// The part of a follower in the validations that a message describes.
    pub(crate) fn following(
        message: &mut Reader,
        tasks: &Tasks,
        threads: &Threads,
        team: &Team,
    ) -> Validation {
        let text = std::str::from_utf8(message.bytes()).expect("settings of the leader");
        let config = tasks.read_config(text).expect("settings of the leader");
        let cases = message.cases();
        Validation::in_team(&config, &cases, cases.count, threads, team)
    }

    fn in_team(config: &Config, cases: &Cases, count: usize, threads: &Threads, team: &Team) -> Validation {
        let chunk = chunk(config).min(count);
        let closed_loop = ClosedLoop::new(config, chunk).with_targets(cases.targets());
        let share = Share::new(count, chunk, threads, team);
        let which: Vec<usize> = share.samples_of(team.rank()).collect();
        let batch =
            which.first().map(|&first| closed_loop.batch(cases, &which, Disturbance::evaluation(0, first)));
        let (every, threads, team) = (config.train.validate_every, threads.clone(), team.clone());
        Validation { closed_loop, batch, threads, every, team }
    }

    /// Whether it is time for one after this update.
    pub fn is_due(&self, update: usize, updates: usize) -> bool {
        update.is_multiple_of(self.every) || update == updates
    }

    /// Runs the cases with these parameters. What is not finite stays so: it is never the best.
    pub fn measure(&self, params: &[f32]) -> Validated {
        let start = Instant::now();
        self.team.order(Order::Validate, Vec::new);
        let cases: Vec<f64> =
            self.team.gather(self.told(params)).iter().flat_map(|told| Reader(told).doubles()).collect();
        let count = (cases.len() / 3) as f64;
        // every case has its loss, its last error and its mean error
        let mean = |which: usize| cases.iter().skip(which).step_by(3).sum::<f64>() / count;
        Validated { loss: mean(0), last: mean(1), time_mean: mean(2), seconds: start.elapsed().as_secs_f64() }
    }

    /// As a follower: runs its cases and tells the leader.
    pub(crate) fn tell(&self, params: &[f32]) {
        self.team.gather(self.told(params));
    }

    /// What became of the cases of this process.
    fn told(&self, params: &[f32]) -> Vec<u8> {
        let mut told = Vec::new();
        if let Some(batch) = &self.batch {
            let rollouts = self.closed_loop.forward(params, batch, &self.threads);
            for case in 0..rollouts.samples {
                let errors = rollouts.error(case);
                let last = *errors.last().expect("rollouts have steps");
                let time_mean = errors.iter().sum::<f64>() / errors.len() as f64;
                told.extend([rollouts.loss(case), last, time_mean]);
            }
        }
        Writer::default().doubles(&told).0
    }
}
