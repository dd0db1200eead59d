//! Training through the physics: rollouts, their exact gradient, clip, Adam.
//!
//! [`Trainer`] is the mathematics, one update at a time, in memory. [`crate::run`] keeps a run's files around it.

use cinoc_adjoint::{Real, Strategy, Threads};
use cinoc_control::config::{Decay, Train};
use cinoc_control::policy::initial_params;
use cinoc_control::random::{Purpose, stream};
use cinoc_control::rollout::{Batch, BlowUp, Ends, Rollout};
use cinoc_control::{Cases, ClosedLoop, Config, Disturbance};
use rand::Rng;
use thiserror::Error;

use crate::checkpoint::Checkpoint;
use crate::learner::Learner;
use crate::optimiser::{Adam, clip_global_norm};
use crate::schedule::Schedule;

/// Samples worked on together. Fixed for a task, because it decides the order in which gradients are added up. In 1D samples fill the
/// vectors of the arithmetic units; in 2D agents and grid points do, unless agents are few, and small chunks stay in cache.
pub fn chunk(config: &Config) -> usize {
    match (config.task.dims, config.train.batch, config.agents) {
        (1, _, _) => 16,
        (_, 0..=7, 32..) => 1,
        (_, 0..=7, _) => 2,
        _ => 4,
    }
}

/// How many times a rollout goes on before its place in the batch gets a fresh case.
const ROUNDS: usize = 3;

/// A training in progress.
pub struct Trainer {
    closed_loop: ClosedLoop<f32>,
    strategy: Strategy,
    config: Config,
    pool: Cases,
    threads: Threads,
    schedule: Schedule,
    params: Vec<f32>,
    adam: Adam,
    /// Where the rollouts of the last update ended, if some go on.
    ends: Option<Ends<f32>>,
}

/// What one update did.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// Updates done, this one included.
    pub update: usize,
    /// The loss before it.
    pub loss: f64,
    /// What each term contributed to the loss.
    pub terms: Vec<(&'static str, f64)>,
    /// Norm of the gradient before clipping.
    pub gradient_norm: f64,
    /// Norm of the parameters after it.
    pub parameter_norm: f64,
    /// Learning rate.
    pub rate: f64,
    /// Control steps simulated so far, all cases together.
    pub steps: usize,
}

/// Training left the finite numbers.
#[derive(Clone, Debug, PartialEq, Error)]
#[error(
    "{task} diverged in update {update}: {what}; the parameters before it are kept; try train.step_clip=1, or a \
     lower train.lr or train.clip"
)]
pub struct Diverged {
    /// The task.
    pub task: String,
    /// Number of the update, from 1.
    pub update: usize,
    /// Where, and the largest value seen.
    pub what: String,
}

/// How a memory budget decides between storing and recomputing.
pub fn strategy<T: Real>(closed_loop: &ClosedLoop<T>, threads: usize) -> Strategy {
    let config = closed_loop.config();
    let program = closed_loop.program();
    let at_once = threads.min(config.train.batch.div_ceil(program.chunk()));
    let bytes = program.store_bytes(config.time.steps) * at_once;
    if bytes <= config.train.memory_mb.saturating_mul(1_000_000) {
        Strategy::Store
    } else {
        Strategy::Recompute
    }
}

pub(crate) fn schedule(config: &Config) -> Schedule {
    let train = &config.train;
    match train.schedule {
        Decay::Exponential => Schedule::Exponential { lr: train.lr, half_life: train.half_life },
        Decay::Cosine => Schedule::Cosine {
            start: train.lr_start,
            peak: train.lr,
            end: train.lr_end,
            warmup: train.warmup,
            parts: train.extended_at.iter().copied().chain([train.updates]).collect(),
        },
    }
}

impl Trainer {
    /// A training from the first parameters of the config's seed.
    pub fn new(config: &Config, pool: Cases, threads: &Threads) -> Trainer {
        let params = initial_params(config, &mut stream(config.train.seed, Purpose::Parameters, 0));
        let adam = Adam::new(params.len());
        let params = cast(&params);
        Trainer::at(Checkpoint { config: config.clone(), params, adam, ends: None }, pool, threads)
    }

    /// A training that goes on from a checkpoint.
    pub fn at(checkpoint: Checkpoint, pool: Cases, threads: &Threads) -> Trainer {
        let Checkpoint { config, params, adam, ends } = checkpoint;
        let closed_loop = ClosedLoop::for_training(&config, chunk(&config)).with_targets(pool.targets());
        Trainer {
            strategy: strategy(&closed_loop, threads.count()),
            closed_loop,
            pool,
            threads: threads.clone(),
            schedule: schedule(&config),
            params,
            adam,
            ends,
            config,
        }
    }

    /// The cases of update number `done`, from the pool.
    fn picked(&self, done: usize) -> Vec<usize> {
        let mut rng = stream(self.config.train.seed, Purpose::Batches, done as u64);
        (0..self.config.train.batch).map(|_| rng.random_range(0..self.pool.count)).collect()
    }

    /// What the rollouts of update number `done` are: fresh cases, or those of the updates before, which go on. The places of a batch
    /// that do so take turns.
    fn rollouts(&self, done: usize) -> Vec<Rollout> {
        let Train { batch, hold, .. } = self.config.train;
        let going_on = (hold * batch as f64).round() as usize;
        let drawn: Vec<_> = (0..=ROUNDS.min(done)).map(|rounds| self.picked(done - rounds)).collect();
        let rollout = |place: usize| {
            let rounds = if place < going_on { ((done + place) % (ROUNDS + 1)).min(done) } else { 0 };
            Rollout { case: drawn[rounds][place], rounds }
        };
        (0..batch).map(rollout).collect()
    }

    fn batch(&self, done: usize) -> Batch<f32> {
        let rollouts = self.rollouts(done);
        let disturbance = Disturbance::training(self.config.train.seed, done, rollouts.len());
        let mut batch = self.closed_loop.batch_of(&self.pool, &rollouts, disturbance);
        for (sample, _) in rollouts.iter().enumerate().filter(|(_, rollout)| rollout.rounds > 0) {
            let ends =
                self.ends.as_ref().expect("rollouts go on only after an update, which leaves their ends");
            self.closed_loop.go_on(&mut batch, sample, ends);
        }
        batch
    }

    /// The run's config.
    pub fn config(&self) -> &Config {
        &self.config
    }
}

impl Learner for Trainer {
    fn updates(&self) -> usize {
        self.adam.step as usize
    }

    fn params(&self) -> &[f32] {
        &self.params
    }

    fn checkpoint(&self) -> Option<Checkpoint> {
        let (config, params, adam) = (self.config.clone(), self.params.clone(), self.adam.clone());
        Some(Checkpoint { config, params, adam, ends: self.ends.clone() })
    }

    /// On a fresh batch.
    fn update(&mut self) -> Result<Update, Diverged> {
        let (config, done) = (&self.config, self.updates());
        let batch = self.batch(done);
        let (closed_loop, strategy) = (&self.closed_loop, self.strategy);
        let mut gradient = closed_loop.gradient(&self.params, &batch, &self.threads, strategy);
        let norm = clip_global_norm(&mut gradient.params, config.train.clip as f32);
        if !(gradient.loss.is_finite() && norm.is_finite()) {
            let trajectories = closed_loop.forward(&self.params, &batch, &self.threads);
            let what = match trajectories.blow_up() {
                Some(blow_up) => format!("the field {blow_up}"),
                None => {
                    let BlowUp { case, step, largest } = trajectories.largest();
                    let loss = gradient.loss;
                    format!(
                        "the loss is {loss}, the gradient's norm {norm} (largest field value {largest:.3e}, at step {step} of case {case})"
                    )
                }
            };
            return Err(Diverged { task: config.task.to_string(), update: done + 1, what });
        }
        self.ends = (config.train.hold > 0.0).then(|| closed_loop.ends(&gradient));
        let rate = self.schedule.rate(done);
        let terms = closed_loop.terms().iter().map(|term| (term.name, gradient.term(term.term))).collect();
        self.adam.update(&mut self.params, &gradient.params, rate);
        Ok(Update {
            update: done + 1,
            loss: gradient.loss,
            terms,
            gradient_norm: f64::from(norm),
            parameter_norm: self.params.iter().map(|&p| f64::from(p).powi(2)).sum::<f64>().sqrt(),
            rate,
            steps: (done + 1) * config.train.batch * config.time.steps,
        })
    }
}

/// To single precision.
pub(crate) fn cast(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&x| x as f32).collect()
}
