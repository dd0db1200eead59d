//! Training through the physics: rollouts, their exact gradient, clip, Adam.
//!
//! [`Trainer`] is the mathematics, one update at a time, in memory. [`crate::run`] keeps a run's files
//! around it.

use cinoc_adjoint::optimiser::clip_global_norm;
use cinoc_adjoint::{Descended, Gradient, Real, Strategy, Threads};
use cinoc_control::config::{Decay, Train};
use cinoc_control::random::{Purpose, stream};
use cinoc_control::rollout::{Batch, Ends, Rollout};
use cinoc_control::trajectories::BlowUp;
use cinoc_control::{Cases, ClosedLoop, Config, Disturbance, Tasks};
use rand::Rng;
use std::ops::Range;
use thiserror::Error;

use crate::checkpoint::Checkpoint;
use crate::files::Tensors;
use crate::learner::Learner;
use crate::schedule::Schedule;
use crate::team::message::{Reader, Writer};
use crate::team::share::Share;
use crate::team::{Order, Team, gradient};
use crate::weights::Weights;

/// Samples worked on together. Fixed for a task, because it decides the order in which gradients are added
/// up. In 1D samples fill the vectors of the arithmetic units; in 2D agents and grid points do, unless
/// agents are few, and small chunks stay in cache.
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
    weights: Weights,
    /// Where the rollouts of the last update ended that this process ran, if some go on.
    ends: Option<Ends<f32>>,
    team: Team,
    /// Who runs which chunks of the batch.
    share: Share,
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
    "{task} diverged in update {update}: {what}; the parameters before it are kept; try train.step_clip=1, \
     or a \
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
    within(closed_loop, at_once, 1)
}

/// The same for so many chunks at a time, if so many processes share the memory.
fn within<T: Real>(closed_loop: &ClosedLoop<T>, at_once: usize, processes: usize) -> Strategy {
    let config = closed_loop.config();
    let bytes = closed_loop.program().store_bytes(config.time.steps) * at_once * processes;
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
        Trainer::at(Checkpoint::first(config), pool, threads)
    }

    /// A training that goes on from a checkpoint.
    pub fn at(checkpoint: Checkpoint, pool: Cases, threads: &Threads) -> Trainer {
        Trainer::in_team(checkpoint, pool, threads, &Team::alone())
    }

    /// The same, shared with the followers of a team.
    pub fn leading(checkpoint: Checkpoint, pool: Cases, threads: &Threads, team: &Team) -> Trainer {
        team.order(Order::Training, || {
            Writer::default().bytes(&checkpoint.arrays().to_bytes()).cases(&pool).0
        });
        Trainer::in_team(checkpoint, pool, threads, team)
    }

    /// The part of a follower in the training that a message describes.
    pub(crate) fn following(message: &mut Reader, tasks: &Tasks, threads: &Threads, team: &Team) -> Trainer {
        let arrays = Tensors::from_bytes(message.bytes()).expect("arrays of the leader");
        let checkpoint = Checkpoint::of_arrays(&arrays, tasks).expect("a checkpoint of the leader");
        Trainer::in_team(checkpoint, message.cases(), threads, team)
    }

    fn in_team(checkpoint: Checkpoint, pool: Cases, threads: &Threads, team: &Team) -> Trainer {
        let Checkpoint { config, params, adam, ends } = checkpoint;
        let closed_loop = ClosedLoop::for_training(&config, chunk(&config)).with_targets(pool.targets());
        let share = share(&config, threads, team);
        let at_once = threads.count().min(share.chunks_of(team.rank()));
        let ends = ends.map(|ends| part_of(&ends, &share, team.rank()));
        // processes that share a batch add their gradients up on the CPU
        let alone = team.size() == 1;
        let there = alone.then(|| closed_loop.program().descending(&params, &adam, threads)).flatten();
        Trainer {
            weights: Weights::new(params, adam, there),
            strategy: within(&closed_loop, at_once, team.on_this_machine()),
            team: team.clone(),
            share,
            closed_loop,
            pool,
            threads: threads.clone(),
            schedule: schedule(&config),
            ends,
            config,
        }
    }

    /// The cases of update number `done`, from the pool.
    fn picked(&self, done: usize) -> Vec<usize> {
        let mut rng = stream(self.config.train.seed, Purpose::Batches, done as u64);
        (0..self.config.train.batch).map(|_| rng.random_range(0..self.pool.count)).collect()
    }

    /// What the rollouts of update number `done` are: fresh cases, or those of the updates before, which go
    /// on. The places of a batch that do so take turns.
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

    /// Some places of the batch of update number `done`, given where the rollouts of these places ended.
    fn batch(&self, done: usize, places: Range<usize>, ends: Option<&Ends<f32>>) -> Batch<f32> {
        let rollouts = &self.rollouts(done)[places.clone()];
        let disturbance = Disturbance::training(self.config.train.seed, done, self.share.samples);
        let mut batch = self.closed_loop.batch_of(&self.pool, rollouts, disturbance.from(places.start));
        for (sample, _) in rollouts.iter().enumerate().filter(|(_, rollout)| rollout.rounds > 0) {
            let ends = ends.expect("rollouts go on only after an update, which leaves their ends");
            self.closed_loop.go_on(&mut batch, sample, ends);
        }
        batch
    }

    /// The gradient of the whole batch of update number `done`, and where the rollouts of this process ended.
    fn gradient(&self, done: usize) -> (Gradient<f32>, Ends<f32>) {
        let (closed_loop, places) = (&self.closed_loop, self.share.samples_of(self.team.rank()));
        let mut mine = Vec::new();
        if !places.is_empty() {
            let batch = self.batch(done, places, self.ends.as_ref());
            let samples = self.share.samples;
            mine = closed_loop.gradients_of_part(
                self.weights.params(),
                &batch,
                samples,
                &self.threads,
                self.strategy,
            );
        }
        let mut ends = Ends::none();
        if self.config.train.hold > 0.0 {
            for of_chunk in mine.iter().map(|chunk| closed_loop.ends(chunk)) {
                ends.z.extend(of_chunk.z);
                ends.xi.extend(of_chunk.xi);
            }
        }
        let gradient = match self.team.ranks() {
            None => Gradient::sum(mine),
            Some(ranks) => {
                let terms = closed_loop.terms().len();
                if self.share.at_once && !mine.is_empty() {
                    mine = vec![Gradient::sum(mine)];
                }
                gradient::sum(ranks, &self.share, &mine, self.weights.params().len(), terms)
            }
        };
        (gradient, ends)
    }

    /// Where all rollouts of the last update ended, as the leader; empty if none goes on.
    fn all_ends(&self) -> Option<Ends<f32>> {
        let mine = self.ends.as_ref()?;
        if self.team.size() == 1 {
            return Some(mine.clone());
        }
        self.team.order(Order::Ends, Vec::new);
        let mut all = Ends::none();
        for message in self.team.gather(told(mine)) {
            let mut message = Reader(&message);
            all.z.extend(message.singles());
            all.xi.extend(message.singles());
        }
        Some(all)
    }

    /// As a follower: does its part of an update.
    pub(crate) fn update_together(&mut self) {
        // a leader whose training diverges tells it, and gives no more orders to update
        let _ = self.step();
    }

    /// As a follower: tells where its rollouts ended.
    pub(crate) fn tell_ends(&self) {
        let none = Ends::none();
        self.team.gather(told(self.ends.as_ref().unwrap_or(&none)));
    }

    /// The parameters as they are now.
    pub(crate) fn current(&self) -> &[f32] {
        self.weights.params()
    }

    /// What became of the batch of update number `done`, whose gradient is not finite.
    fn blow_up(&self, done: usize, loss: f64, norm: f64) -> String {
        let ends = self.all_ends();
        let batch = self.batch(done, 0..self.share.samples, ends.as_ref());
        let trajectories = self.closed_loop.forward(self.weights.params(), &batch, &self.threads);
        match trajectories.blow_up() {
            Some(blow_up) => format!("the field {blow_up}"),
            None => {
                let BlowUp { case, step, largest } = trajectories.largest();
                format!(
                    "the loss is {loss}, the gradient's norm {norm} (largest field value {largest:.3e}, at \
                     step {step} of case {case})"
                )
            }
        }
    }

    /// An update with the gradient of the whole team, on the CPU.
    fn descend_here(&mut self, done: usize, rate: f64) -> (Descended<f32>, Ends<f32>) {
        let (mut gradient, ends) = self.gradient(done);
        let (params, adam) = self.weights.here();
        let norm = clip_global_norm(&mut gradient.params, self.config.train.clip as f32);
        let mut descended = Descended { gradient, gradient_norm: f64::from(norm), parameter_norm: 0.0 };
        if descended.is_finite() {
            adam.update(params, &descended.gradient.params, rate);
            descended.parameter_norm = params.iter().map(|&p| f64::from(p).powi(2)).sum::<f64>().sqrt();
        }
        (descended, ends)
    }

    /// An update of parameters that stay on a device.
    fn descend_there(&mut self, done: usize, rate: f64) -> Option<(Descended<f32>, Ends<f32>)> {
        if !self.weights.are_there() {
            return None;
        }
        let batch = self.batch(done, 0..self.share.samples, self.ends.as_ref());
        let (closed_loop, train) = (&self.closed_loop, &self.config.train);
        let (inputs, hold) = (closed_loop.loss_inputs(&[], &batch), train.hold > 0.0);
        let descended = self.weights.there()?.update(&inputs, train.clip, rate, hold);
        let ends = if hold { closed_loop.ends(&descended.gradient) } else { Ends::none() };
        Some((descended, ends))
    }

    /// An update on a fresh batch, with all ranks of the team.
    fn step(&mut self) -> Result<Update, Diverged> {
        let done = self.weights.updates();
        let rate = self.schedule.rate(done);
        let there = self.descend_there(done, rate);
        let (descended, ends) = there.unwrap_or_else(|| self.descend_here(done, rate));
        let Descended { gradient, gradient_norm, parameter_norm } = &descended;
        if !descended.is_finite() {
            let leads = !self.team.follows();
            let what = if leads { self.blow_up(done, gradient.loss, *gradient_norm) } else { String::new() };
            return Err(Diverged { task: self.config.task.to_string(), update: done + 1, what });
        }
        let config = &self.config;
        self.ends = (config.train.hold > 0.0).then_some(ends);
        let terms = self.closed_loop.terms().iter();
        let terms = terms.map(|term| (term.name, gradient.term(term.term))).collect();
        Ok(Update {
            update: done + 1,
            loss: gradient.loss,
            terms,
            gradient_norm: *gradient_norm,
            parameter_norm: *parameter_norm,
            rate,
            steps: (done + 1) * config.train.batch * config.time.steps,
        })
    }

    /// The run's config.
    pub fn config(&self) -> &Config {
        &self.config
    }
}

impl Learner for Trainer {
    fn updates(&self) -> usize {
        self.weights.updates()
    }

    fn params(&self) -> &[f32] {
        self.weights.params()
    }

    fn checkpoint(&self) -> Option<Checkpoint> {
        let (params, adam) = self.weights.state().clone();
        Some(Checkpoint { config: self.config.clone(), params, adam, ends: self.all_ends() })
    }

    /// On a fresh batch.
    fn update(&mut self) -> Result<Update, Diverged> {
        self.team.order(Order::Update, Vec::new);
        self.step()
    }
}

impl Drop for Trainer {
    fn drop(&mut self) {
        // a leader that panics ends the process: the others are not told
        if !std::thread::panicking() {
            self.team.order(Order::Ended, Vec::new);
        }
    }
}

/// How the batch of a training is distributed over a team.
pub fn share(config: &Config, threads: &Threads, team: &Team) -> Share {
    Share::new(config.train.batch, chunk(config), threads, team)
}

/// Of the ends of a whole batch, those of the rollouts of a rank.
fn part_of(ends: &Ends<f32>, share: &Share, rank: usize) -> Ends<f32> {
    let places = share.samples_of(rank);
    let cut = |all: &[f32]| {
        let size = all.len() / share.samples;
        all[places.start * size..places.end * size].to_vec()
    };
    Ends { z: cut(&ends.z), xi: cut(&ends.xi) }
}

fn told(ends: &Ends<f32>) -> Vec<u8> {
    Writer::default().singles(&ends.z).singles(&ends.xi).0
}

/// To single precision.
pub(crate) fn cast(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&x| x as f32).collect()
}
