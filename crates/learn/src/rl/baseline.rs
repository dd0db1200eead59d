//! RL baseline of a task: algorithm, learning rate, number of updates.

use cinoc_adjoint::Threads;
use cinoc_control::config::{Critic, Method, Network};
use cinoc_control::{Cases, Config};

use super::environment::Environment;
use super::field::FieldEnvironment;
use super::ppo::Ppo;
use super::td3::Td3;
use super::{Descent, Learned};
use crate::checkpoint::Checkpoint;
use crate::learner::Learner;
use crate::schedule::Schedule;
use crate::train::{Diverged, Update, schedule};

enum Agent {
    OnPolicy(Box<Ppo<FieldEnvironment>>),
    OffPolicy(Box<Td3<FieldEnvironment>>),
}

/// A training with RL.
pub struct Baseline {
    config: Config,
    agent: Agent,
    schedule: Schedule,
    updates: usize,
    steps: usize,
}

/// Copies of the physics per chunk.
const ENVIRONMENTS_TOGETHER: usize = 16;

/// Transitions per chunk. There must be enough to justify loading the weights of a critic, and few enough to
/// stay in cache if every agent of a transition has its own view.
fn chunk(config: &Config) -> usize {
    match (config.network(), config.task.dims) {
        (Network::Central, _) => 64,
        (_, 1) => 32,
        (Network::Local, _) => (1024 / config.agents).clamp(16, 64),
        _ => 8,
    }
}

/// A critic of the whole field has a million weights, and every chunk sums their derivatives separately.
/// Chunks are therefore few and large.
fn critic_chunk(config: &Config) -> usize {
    let off_policy = config.method.as_ref().and_then(|method| method.off_policy.as_ref());
    match off_policy.map(|settings| settings.critic) {
        Some(Critic::Joint) if config.task.dims == 2 => 64,
        _ => chunk(config),
    }
}

impl Baseline {
    /// A training before its first update.
    ///
    /// # Panics
    /// If the config's method is not an RL method.
    pub fn new(config: &Config, pool: Cases, threads: &Threads) -> Baseline {
        let method: &Method = config.method.as_ref().expect("a method that learns by trial");
        let train = &config.train;
        let descent = Descent {
            batch: train.batch,
            clip: train.clip,
            seed: train.seed,
            threads: threads.clone(),
            chunk: chunk(config),
            critic_chunk: critic_chunk(config),
        };
        let environment = |copies: usize, hold: usize| {
            FieldEnvironment::new(config, pool.clone(), copies, hold, ENVIRONMENTS_TOGETHER, threads)
        };
        let agent = match (&method.on_policy, &method.off_policy) {
            (Some(settings), _) => {
                let environment = environment(settings.envs, settings.hold);
                Agent::OnPolicy(Box::new(Ppo::new(environment, settings, descent)))
            }
            (_, Some(settings)) => {
                let environment = environment(settings.envs, settings.hold);
                Agent::OffPolicy(Box::new(Td3::new(environment, settings, descent)))
            }
            _ => unreachable!("a method that learns by trial has settings for it"),
        };
        Baseline { config: config.clone(), agent, schedule: schedule(config), updates: 0, steps: 0 }
    }

    fn environment(&self) -> &FieldEnvironment {
        match &self.agent {
            Agent::OnPolicy(ppo) => ppo.environment(),
            Agent::OffPolicy(td3) => td3.environment(),
        }
    }
}

impl Learner for Baseline {
    fn updates(&self) -> usize {
        self.updates
    }

    fn params(&self) -> &[f32] {
        match &self.agent {
            Agent::OnPolicy(ppo) => ppo.actor(),
            Agent::OffPolicy(td3) => td3.actor(),
        }
    }

    fn prepare(&mut self) -> Option<(usize, usize)> {
        let rate = self.schedule.rate(self.updates);
        match &mut self.agent {
            Agent::OnPolicy(_) => None,
            Agent::OffPolicy(td3) => td3.prepare(rate),
        }
    }

    fn update(&mut self) -> Result<Update, Diverged> {
        let rate = self.schedule.rate(self.updates);
        let Learned { reward, critic, std, gradient_norm, steps } = match &mut self.agent {
            Agent::OnPolicy(ppo) => ppo.update(rate),
            Agent::OffPolicy(td3) => td3.update(rate),
        };
        let update = self.updates + 1;
        if !(reward.is_finite() && gradient_norm.is_finite()) {
            let what = format!("the mean reward is {reward}, the gradient's norm {gradient_norm}");
            return Err(Diverged { task: self.config.task.to_string(), update, what });
        }
        self.updates = update;
        self.steps += steps * self.environment().hold();
        Ok(Update {
            update,
            loss: -reward * self.environment().cost_unit(),
            terms: vec![("critic", critic), ("exploration", std)],
            gradient_norm,
            parameter_norm: self.params().iter().map(|&p| f64::from(p).powi(2)).sum::<f64>().sqrt(),
            rate,
            steps: self.steps,
        })
    }

    fn checkpoint(&self) -> Option<Checkpoint> {
        None
    }
}
