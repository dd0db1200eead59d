//! Proximal policy optimisation (Schulman et al. 2017), and MAPPO (Yu et al. 2022) if agents decide
//! separately.
//!
//! Actions are normally distributed around the output of the actor, with a learned standard deviation per
//! kind of action. The environment clips them to their bounds. An update collects `horizon` steps of all
//! copies, estimates advantages (GAE), and makes `epochs` passes over them in minibatches with
//!
//! ```text
//! ratio = p_new(a | s) / p_old(a | s)
//! loss  = - mean min(ratio A, clip(ratio, 1 - c, 1 + c) A) + c_v mean (V(s) - R)^2 - c_e entropy
//! R     = A + V_old(s)
//! ```
//!
//! A centralised actor has one probability for the joint action. Agents that decide separately have one ratio
//! each, with the advantage of the swarm. The critic is centralised in both cases. Advantages are normalised
//! over an update. Rewards are multiplied by `1 - gamma`, so that values have the scale of rewards.

use cinoc_adjoint::{Input, Inputs, Program, Record, Session, Sparse, Strategy, Term, Threads, Tracer, Var};
use cinoc_control::config::OnPolicy;
use cinoc_control::policy::{Layer, Plain, first_values};
use cinoc_control::random::{Purpose, stream};
use rand::Rng;
use rand::seq::SliceRandom;
use rand_distr::StandardNormal;

use super::advantage::{Path, advantages};
use super::environment::Environment;
use super::{Descent, Learned, minibatch, rows};
use crate::train::cast;
use cinoc_adjoint::optimiser::{Adam, clip_global_norm};

const LOG_ROOT_TAU: f64 = 0.918_938_533_204_672_7;

/// State of PPO.
pub struct Ppo<E: Environment> {
    environment: E,
    settings: OnPolicy,
    descent: Descent,
    /// Actor, logarithms of the standard deviations, critic.
    params: Vec<f32>,
    actor_len: usize,
    adam: Adam,
    learner: Learner,
    acting: Acting,
    updates: usize,
}

/// States to mean actions and values.
struct Acting {
    session: Session<f32>,
    state: Input,
    mean: Record,
    value: Record,
}

/// The loss on a transition: terms for policy, critic and entropy.
struct Learner {
    program: Program<f32>,
    state: Input,
    action: Input,
    old: Input,
    advantage: Input,
    reward_to_go: Input,
    policy: Term,
    critic: Term,
    entropy: Term,
}

/// The collected transitions, `[copies][steps]` each.
struct Collected {
    states: Vec<f32>,
    actions: Vec<f32>,
    /// Log-probabilities, one per decision.
    old: Vec<f32>,
    advantages: Vec<f32>,
    returns: Vec<f32>,
    reward: f64,
}

/// The critic of an environment.
fn critic_layers(environment: &impl Environment, settings: &OnPolicy) -> Vec<Layer> {
    Plain::layers("critic", environment.global_size(), &settings.critic_hidden, 1)
}

/// The log-probability of actions: one per agent, or one for all.
fn log_probability<'t>(action: Var<'t>, mean: Var<'t>, log_std: Var<'t>, each: bool) -> Var<'t> {
    let away = (action - mean) * (-log_std).exp();
    let density = -0.5 * away.square() - (log_std + LOG_ROOT_TAU);
    if !each {
        return density.sum();
    }
    let kinds = density.rows();
    density.linear(&Sparse::from_rows(kinds, vec![(0..kinds).map(|kind| (kind, 1.0)).collect()]))
}

impl<E: Environment> Ppo<E> {
    /// The state before the first update.
    pub fn new(environment: E, settings: &OnPolicy, descent: Descent) -> Ppo<E> {
        let actor = first_values(
            &environment.actor_layers(),
            environment.head_scale(),
            &mut stream(descent.seed, Purpose::Parameters, 0),
        );
        let critic = first_values(
            &critic_layers(&environment, settings),
            1.0,
            &mut stream(descent.seed, Purpose::Critics, 0),
        );
        let mut params = cast(&actor);
        params.extend(vec![settings.std.ln() as f32; environment.actions()]);
        params.extend(cast(&critic));
        Ppo {
            adam: Adam::new(params.len()),
            acting: Acting::new(&environment, settings, descent.chunk, &params),
            actor_len: actor.len(),
            settings: settings.clone(),
            learner: Learner::new(&environment, settings, descent.chunk),
            params,
            environment,
            descent,
            updates: 0,
        }
    }

    /// Parameters of the actor.
    pub fn actor(&self) -> &[f32] {
        &self.params[..self.actor_len]
    }

    /// All parameters.
    pub fn params(&self) -> &[f32] {
        &self.params
    }

    /// The environment.
    pub fn environment(&self) -> &E {
        &self.environment
    }

    /// Collects transitions, then learns from them with the learning rate `rate`.
    pub fn update(&mut self, rate: f64) -> Learned {
        self.acting.session.set_params(&self.params);
        let collected = self.collect();
        let count = collected.returns.len();
        let mut order: Vec<usize> = (0..count).collect();
        let mut rng = stream(self.descent.seed, Purpose::Minibatches, self.updates as u64);
        let (mut critic, mut norm, mut gradients) = (0.0, 0.0, 0);
        for _ in 0..self.settings.epochs {
            order.shuffle(&mut rng);
            for picked in order.chunks(self.descent.batch) {
                let (error, length) = self.descend(&collected, picked, rate);
                critic += error;
                norm = length;
                gradients += 1;
            }
        }
        self.updates += 1;
        Learned {
            reward: collected.reward,
            critic: critic / f64::from(gradients),
            std: self.stds().map(f64::from).sum::<f64>() / self.environment.actions() as f64,
            gradient_norm: norm,
            steps: count,
        }
    }

    fn stds(&self) -> impl Iterator<Item = f32> + '_ {
        let kinds = self.environment.actions();
        self.params[self.actor_len..self.actor_len + kinds].iter().map(|log_std| log_std.exp())
    }

    /// Mean actions and values of the current states.
    fn judge(&mut self) -> (Vec<f32>, Vec<f32>) {
        self.acting.judge(self.environment.states(), &self.descent.threads)
    }

    /// Values of `states`.
    fn values(&mut self, states: &[f32]) -> Vec<f32> {
        self.acting.judge(states, &self.descent.threads).1
    }

    /// Runs `horizon` steps in all copies.
    fn collect(&mut self) -> Collected {
        let (copies, horizon) = (self.environment.copies(), self.settings.horizon);
        let (kinds, agents) = (self.environment.actions(), self.environment.agents());
        let (state_size, action_size) = (self.environment.state_size(), kinds * agents);
        let scale = 1.0 - self.settings.gamma as f32;
        let stds: Vec<f32> = self.stds().collect();
        let mut rng = stream(self.descent.seed, Purpose::Exploration, self.updates as u64);
        let mut paths: Vec<Collecting> = (0..copies).map(|_| Collecting::default()).collect();
        let (mut means, mut values) = self.judge();
        for _ in 0..horizon {
            let states = self.environment.states().to_vec();
            let noise: Vec<f32> =
                (0..copies * action_size).map(|_| rng.sample::<f32, _>(StandardNormal)).collect();
            let std = |i: usize| stds[i % action_size / agents];
            let actions: Vec<f32> = (0..noise.len()).map(|i| means[i] + std(i) * noise[i]).collect();
            let transition = self.environment.step(&actions);
            // at the end of an episode, the value of its last state differs from the value of the next start
            // state
            let anything_ended = (0..copies).any(|copy| transition.ended(copy));
            let reached = anything_ended.then(|| self.values(&transition.next));
            let (next_means, next_values) = self.judge();
            for (copy, path) in paths.iter_mut().enumerate() {
                let (s, a) = (copy * state_size, copy * action_size);
                path.states.extend_from_slice(&states[s..s + state_size]);
                path.actions.extend_from_slice(&actions[a..a + action_size]);
                path.noise.extend_from_slice(&noise[a..a + action_size]);
                path.rewards.push(scale * transition.rewards[copy]);
                path.values.push(values[copy]);
                path.next_values.push(reached.as_ref().unwrap_or(&next_values)[copy]);
                path.terminated.push(transition.terminated[copy]);
                path.ended.push(transition.ended(copy));
            }
            (means, values) = (next_means, next_values);
        }
        self.collected(&paths, &stds)
    }

    fn collected(&self, paths: &[Collecting], stds: &[f32]) -> Collected {
        let (gamma, lambda) = (self.settings.gamma as f32, self.settings.lambda as f32);
        let join = |of: &dyn Fn(&Collecting) -> &[f32]| paths.iter().flat_map(|p| of(p).to_vec()).collect();
        let mut advantage = Vec::new();
        for path in paths {
            advantage.extend(advantages(&path.path(), gamma, lambda));
        }
        let values: Vec<f32> = join(&|path| &path.values);
        let returns = advantage.iter().zip(&values).map(|(a, v)| a + v).collect();
        let count = advantage.len() as f32;
        let mean = advantage.iter().sum::<f32>() / count;
        let spread = (advantage.iter().map(|a| (a - mean).powi(2)).sum::<f32>() / count).sqrt();
        advantage.iter_mut().for_each(|a| *a = (*a - mean) / (spread + 1e-8));
        let rewards: Vec<f32> = join(&|path| &path.rewards);
        let noise: Vec<f32> = join(&|path| &path.noise);
        Collected {
            states: join(&|path| &path.states),
            actions: join(&|path| &path.actions),
            old: self.old_log_probabilities(&noise, stds),
            returns,
            advantages: advantage,
            reward: rewards.iter().map(|&r| f64::from(r)).sum::<f64>()
                / f64::from(count)
                / (1.0 - self.settings.gamma),
        }
    }

    /// Log-probabilities of the actions, from their distance to the mean.
    fn old_log_probabilities(&self, noise: &[f32], stds: &[f32]) -> Vec<f32> {
        let agents = self.environment.agents();
        let each = |transition: &[f32]| -> Vec<f32> {
            let mut sums = vec![0.0; agents];
            for (kind, row) in transition.chunks_exact(agents).enumerate() {
                let offset = stds[kind].ln() + LOG_ROOT_TAU as f32;
                sums.iter_mut().zip(row).for_each(|(sum, n)| *sum -= 0.5 * n * n + offset);
            }
            if self.environment.decentralised() { sums } else { vec![sums.iter().sum()] }
        };
        noise.chunks_exact(stds.len() * agents).flat_map(each).collect()
    }

    /// One gradient step on a minibatch. Returns the error of the critic and the norm of the gradient.
    fn descend(&mut self, collected: &Collected, picked: &[usize], rate: f64) -> (f64, f64) {
        let (kinds, agents) = (self.environment.actions(), self.environment.agents());
        let decisions = if self.environment.decentralised() { agents } else { 1 };
        let states = rows(&collected.states, self.environment.state_size(), picked);
        let actions = rows(&collected.actions, kinds * agents, picked);
        let old = rows(&collected.old, decisions, picked);
        let advantages = rows(&collected.advantages, 1, picked);
        let returns = rows(&collected.returns, 1, picked);
        let learner = &self.learner;
        let weights = [
            (learner.policy, 1.0),
            (learner.critic, self.settings.value_weight),
            (learner.entropy, -self.settings.entropy_weight),
        ];
        let given: [(Input, &[f32]); 5] = [
            (learner.state, &states),
            (learner.action, &actions),
            (learner.old, &old),
            (learner.advantage, &advantages),
            (learner.reward_to_go, &returns),
        ];
        let inputs = minibatch(picked.len(), &self.params, &given, &weights);
        let mut gradient = learner.program.gradient(&inputs, &self.descent.threads, Strategy::Store);
        let critic = gradient.term(learner.critic);
        let norm = f64::from(clip_global_norm(&mut gradient.params, self.descent.clip as f32));
        if norm.is_finite() {
            self.adam.update(&mut self.params, &gradient.params, rate);
        }
        (critic / self.settings.value_weight.max(f64::MIN_POSITIVE), norm)
    }
}

/// The transitions of one copy.
#[derive(Default)]
struct Collecting {
    states: Vec<f32>,
    actions: Vec<f32>,
    noise: Vec<f32>,
    rewards: Vec<f32>,
    values: Vec<f32>,
    next_values: Vec<f32>,
    terminated: Vec<bool>,
    ended: Vec<bool>,
}

impl Collecting {
    fn path(&self) -> Path<'_> {
        Path {
            rewards: &self.rewards,
            values: &self.values,
            next_values: &self.next_values,
            terminated: &self.terminated,
            ended: &self.ended,
        }
    }
}

impl Acting {
    fn new(environment: &impl Environment, settings: &OnPolicy, chunk: usize, params: &[f32]) -> Acting {
        let tracer = Tracer::new();
        let state = tracer.sequence("state", environment.state_size(), 1);
        let mean = tracer.record("mean", environment.actor(&tracer, state).tanh());
        tracer.param("log_std", environment.actions(), 1);
        let critic = Plain::declare(&tracer, &critic_layers(environment, settings));
        let value = tracer.record("value", critic.apply(environment.global(state)));
        drop(critic);
        let (state, copies) = (state.input(), environment.copies());
        let program = Program::new(&tracer.finish(), copies.min(chunk));
        Acting { session: Session::new(&program, &Inputs::new(copies, 0, params)), state, mean, value }
    }

    /// Mean actions and values of some states, one per copy.
    fn judge(&mut self, states: &[f32], threads: &Threads) -> (Vec<f32>, Vec<f32>) {
        self.session.step(&[(self.state, states)], threads);
        (self.session.record(self.mean), self.session.record(self.value))
    }
}

impl Learner {
    fn new(environment: &impl Environment, settings: &OnPolicy, chunk: usize) -> Learner {
        let tracer = Tracer::new();
        let (kinds, agents) = (environment.actions(), environment.agents());
        let each = environment.decentralised();
        let given =
            |name: &str, rows: usize, cols: usize| tracer.given(|tracer| tracer.sequence(name, rows, cols));
        let state = given("state", environment.state_size(), 1);
        let action = given("action", kinds, agents);
        let old = given("old", 1, if each { agents } else { 1 });
        let advantage = given("advantage", 1, 1);
        let reward_to_go = given("return", 1, 1);
        let mean = environment.actor(&tracer, state).tanh();
        let log_std = tracer.param("log_std", kinds, 1);
        let ratio = (log_probability(action, mean, log_std, each) - old).exp();
        let (low, high) = (1.0 - settings.ratio_clip, 1.0 + settings.ratio_clip);
        let (free, held) = (ratio * advantage, ratio.clamp(low, high) * advantage);
        let least = free - (free - held).relu();
        let policy = tracer.term("policy", -least.mean());
        let value =
            Plain::declare(&tracer, &critic_layers(environment, settings)).apply(environment.global(state));
        let critic = tracer.term("critic", (value - reward_to_go).square());
        // entropy of a normal distribution up to a constant, broadcast to one number per sample
        let entropy = tracer.term("entropy", (log_std + 0.0 * advantage).mean());
        let [state, action, old, advantage, reward_to_go] =
            [state, action, old, advantage, reward_to_go].map(Var::input);
        let program = Program::new(&tracer.finish(), chunk);
        Learner { program, state, action, old, advantage, reward_to_go, policy, critic, entropy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Log-probabilities in a trace, of two agents with two kinds of action.
    fn traced(each: bool) -> Vec<f32> {
        let tracer = Tracer::new();
        let (action, mean) = (tracer.sequence("action", 2, 2), tracer.sequence("mean", 2, 2));
        let log_std = tracer.param("log_std", 2, 1);
        let log = tracer.record("log", log_probability(action, mean, log_std, each));
        let [action, mean] = [action, mean].map(Var::input);
        let program = Program::<f32>::new(&tracer.finish(), 1);
        let params = [0.5f32.ln(), 2.0f32.ln()];
        let given = [(action, &[1.0, 2.0, 3.0, 4.0][..]), (mean, &[1.0, 1.0, 1.0, 0.0])];
        program.forward(&minibatch(1, &params, &given, &[]), &Threads::one()).record(log).to_vec()
    }

    #[test]
    fn log_probabilities_are_those_of_normal_distributions() {
        let density = |x: f64, mean: f64, std: f64| {
            (-0.5 * ((x - mean) / std).powi(2)).exp() / (std * (2.0 * std::f64::consts::PI).sqrt())
        };
        // rows are kinds, columns agents
        let first = (density(1.0, 1.0, 0.5) * density(3.0, 1.0, 2.0)).ln();
        let second = (density(2.0, 1.0, 0.5) * density(4.0, 0.0, 2.0)).ln();
        let found = traced(true);
        assert!((f64::from(found[0]) - first).abs() < 1e-5 && (f64::from(found[1]) - second).abs() < 1e-5);
        assert!((f64::from(traced(false)[0]) - (first + second)).abs() < 1e-5);
    }
}
