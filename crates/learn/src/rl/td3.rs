//! Twin delayed deterministic policy gradient (Fujimoto et al. 2018), and MATD3 if agents decide separately.
//!
//! Two critics learn the value of an action from past transitions. The actor maximises the first critic:
//!
//! ```text
//! a' = clip(actor'(s') + clip(noise, -c, c), -1, 1)                 target smoothing
//! y  = r + gamma min(Q1'(s', a'), Q2'(s', a')) [not terminated]     twin critics
//! Q1, Q2: mean (Q(s, a) - y)^2        every gradient step
//! actor:  - mean Q1(s, tanh x) + mean relu(|x| - 2)^2, x = actor(s)      every `delay` gradient steps,
//!         then target' <- (1 - tau) target' + tau network
//! ```
//!
//! The second term of the actor loss is an addition of this project. The first estimates of the critics drive
//! actions to their bounds, where tanh passes no gradient and learning stops. Critics have the whole state
//! and the joint action as input (`critic = "joint"`, as in MATD3), or the view and action of one agent, with
//! the reward of the swarm (`"independent"`). Rewards are multiplied by `1 - gamma`, so that values have the
//! scale of rewards.

use cinoc_adjoint::{Input, Inputs, Program, Record, Session, Strategy, Term, Tracer, Var};
use cinoc_control::config::{Critic, OffPolicy};
use cinoc_control::policy::{Layer, Plain, first_values};
use cinoc_control::random::{Purpose, stream};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::environment::Environment;
use super::replay::{Drawn, Replay};
use super::{Descent, Learned, minibatch};
use crate::train::cast;
use cinoc_adjoint::optimiser::{Adam, clip_global_norm};

/// Outputs of the actor beyond this (tanh 0.96) are penalised.
const SATURATED: f64 = 2.0;

/// State of TD3.
pub struct Td3<E: Environment> {
    environment: E,
    settings: OffPolicy,
    descent: Descent,
    replay: Replay,
    actor: Trained,
    /// Both critics, one after the other.
    critics: Trained,
    programs: Programs,
    acting: Acting,
    updates: usize,
    gradient_steps: usize,
    /// The update that has begun.
    round: Option<Round>,
}

/// An update in progress. It consists of parts: steps of all copies, then gradient steps.
struct Round {
    exploring: ChaCha8Rng,
    drawing: ChaCha8Rng,
    /// Parts it has: steps with random actions, which fill the replay memory before the first update, steps
    /// of the policy, gradient steps.
    parts: [usize; 3],
    done: usize,
    /// Sum over steps of the mean reward of the copies.
    reward: f64,
    /// Mean error of the critics, as far as it goes.
    error: f64,
    norm: f64,
}

impl Round {
    fn steps(&self) -> usize {
        self.parts[0] + self.parts[1]
    }

    fn all(&self) -> usize {
        self.parts.iter().sum()
    }
}

/// Learned parameters, and the target parameters that follow them slowly.
struct Trained {
    params: Vec<f32>,
    slow: Vec<f32>,
    adam: Adam,
}

impl Trained {
    fn new(params: Vec<f32>) -> Trained {
        Trained { slow: params.clone(), adam: Adam::new(params.len()), params }
    }

    fn descend(&mut self, mut gradient: Vec<f32>, clip: f64, rate: f64) -> f64 {
        let norm = f64::from(clip_global_norm(&mut gradient, clip as f32));
        if norm.is_finite() {
            self.adam.update(&mut self.params, &gradient, rate);
        }
        norm
    }

    /// Moves the target parameters towards the learned ones.
    fn follow(&mut self, tau: f64) {
        let tau = tau as f32;
        self.slow.iter_mut().zip(&self.params).for_each(|(slow, new)| *slow += tau * (new - *slow));
    }
}

struct Programs {
    /// From next states and noise to the value of the next state; target actor, target critics.
    target: TargetProgram,
    /// Errors of both critics.
    critics: CriticsProgram,
    /// The value of the actor's actions; actor, critics.
    actor: ActorProgram,
}

/// Builds the critics.
struct Critics<'a, E> {
    environment: &'a E,
    settings: &'a OffPolicy,
}

impl<E: Environment> Critics<'_, E> {
    fn layers(&self) -> Vec<Layer> {
        let (kinds, agents) = (self.environment.actions(), self.environment.agents());
        let inputs = match self.settings.critic {
            Critic::Joint => self.environment.global_size() + kinds * agents,
            Critic::Independent => self.environment.view_size() + kinds,
        };
        Plain::layers("critic", inputs, &self.settings.critic_hidden, 1)
    }

    /// Number of values of a critic: one per agent, or one for all.
    fn judgements(&self) -> usize {
        if self.settings.critic == Critic::Joint { 1 } else { self.environment.agents() }
    }

    /// Declares both critics and applies them.
    fn apply<'t>(&self, tracer: &'t Tracer, state: Var<'t>, action: Var<'t>) -> [Var<'t>; 2] {
        let input = match self.settings.critic {
            Critic::Joint => {
                self.environment.global(state).stack(action.reshape(action.rows() * action.cols(), 1))
            }
            Critic::Independent => self.environment.view(state).stack(action),
        };
        // ReLU: with tanh the actor went to its bounds, and the final error of heat1d was ten times as large
        [0, 1].map(|_| Plain::declare(tracer, &self.layers()).apply_with(input, Var::relu))
    }
}

impl<E: Environment> Td3<E> {
    /// The state before the first update.
    pub fn new(environment: E, settings: &OffPolicy, descent: Descent) -> Td3<E> {
        let critics = Critics { environment: &environment, settings };
        let actor = first_values(
            &environment.actor_layers(),
            environment.head_scale(),
            &mut stream(descent.seed, Purpose::Parameters, 0),
        );
        let twins: Vec<f64> = (0..2)
            .flat_map(|twin| {
                first_values(&critics.layers(), 1.0, &mut stream(descent.seed, Purpose::Critics, twin))
            })
            .collect();
        let programs = Programs {
            target: TargetProgram::new(&critics, descent.chunk),
            critics: CriticsProgram::new(&critics, descent.critic_chunk),
            actor: ActorProgram::new(&critics, descent.chunk),
        };
        let (state_size, action_size) =
            (environment.state_size(), environment.actions() * environment.agents());
        let actor = Trained::new(cast(&actor));
        Td3 {
            acting: Acting::new(&environment, descent.chunk, &actor.params),
            replay: Replay::new(settings.buffer, state_size, action_size),
            critics: Trained::new(cast(&twins)),
            settings: settings.clone(),
            environment,
            descent,
            actor,
            programs,
            updates: 0,
            gradient_steps: 0,
            round: None,
        }
    }

    /// Parameters of the actor.
    pub fn actor(&self) -> &[f32] {
        &self.actor.params
    }

    /// The environment.
    pub fn environment(&self) -> &E {
        &self.environment
    }

    /// Collects transitions, then learns from the replay memory with the learning rate `rate`. The first
    /// update fills the memory with random actions and trains the critics alone for a while.
    pub fn update(&mut self, rate: f64) -> Learned {
        let mut round = self.round.take().unwrap_or_else(|| self.begin());
        while round.done < round.all() {
            self.part(&mut round, rate);
        }
        self.updates += 1;
        Learned {
            reward: round.reward / round.steps() as f64,
            critic: round.error,
            std: self.settings.explore,
            gradient_norm: round.norm,
            steps: round.steps() * self.environment.copies(),
        }
    }

    /// One part of the first update, which takes as long as dozens of others; returns how many parts are done
    /// and how many there are, `None` if none is left.
    pub fn prepare(&mut self, rate: f64) -> Option<(usize, usize)> {
        if self.updates > 0 {
            return None;
        }
        let mut round = self.round.take().unwrap_or_else(|| self.begin());
        let goes_on = round.done < round.all();
        if goes_on {
            self.part(&mut round, rate);
        }
        let reached = (round.done, round.all());
        self.round = Some(round);
        goes_on.then_some(reached)
    }

    fn begin(&self) -> Round {
        let index = self.updates as u64;
        let missing = self.settings.first.min(self.settings.buffer).saturating_sub(self.replay.len());
        let gradient_steps =
            self.settings.gradient_steps + self.settings.warmup.saturating_sub(self.gradient_steps);
        Round {
            exploring: stream(self.descent.seed, Purpose::Exploration, index),
            drawing: stream(self.descent.seed, Purpose::Minibatches, index),
            parts: [missing.div_ceil(self.environment.copies()), self.settings.interval, gradient_steps],
            done: 0,
            reward: 0.0,
            error: 0.0,
            norm: 0.0,
        }
    }

    fn part(&mut self, round: &mut Round, rate: f64) {
        let [at_random, _, gradient_steps] = round.parts;
        if round.done < round.steps() {
            if round.done == at_random {
                self.acting.session.set_params(&self.actor.params);
            }
            round.reward += self.collect(&mut round.exploring, round.done < at_random);
        } else {
            let (error, norm) = self.descend(&mut round.drawing, rate);
            round.error += error / gradient_steps as f64;
            round.norm = norm;
        }
        round.done += 1;
    }

    /// One step of all copies; returns their mean reward.
    fn collect(&mut self, rng: &mut ChaCha8Rng, at_random: bool) -> f64 {
        let states = self.environment.states().to_vec();
        let (copies, state_size) = (self.environment.copies(), self.environment.state_size());
        let size = self.environment.actions() * self.environment.agents();
        let (explore, share) = (self.settings.explore as f32, self.settings.together as f32);
        let agents = self.environment.agents();
        let actions: Vec<f32> = if at_random {
            let own = (0..copies * size).map(|_| rng.random_range(-1.0..=1.0)).collect();
            together(own, agents, share, || rng.random_range(-1.0..=1.0))
        } else {
            self.acting.session.step(&[(self.acting.state, &states)], &self.descent.threads);
            let own = (0..copies * size).map(|_| rng.sample::<f32, _>(StandardNormal)).collect();
            let noise = together(own, agents, share, || rng.sample::<f32, _>(StandardNormal));
            let means = self.acting.session.record(self.acting.action).into_iter();
            means.zip(noise).map(|(mean, noise)| (mean + explore * noise).clamp(-1.0, 1.0)).collect()
        };
        let transition = self.environment.step(&actions);
        let scale = 1.0 - self.settings.gamma as f32;
        for copy in 0..copies {
            let (s, a) = (copy * state_size, copy * size);
            self.replay.push(
                &states[s..s + state_size],
                &actions[a..a + size],
                scale * transition.rewards[copy],
                &transition.next[s..s + state_size],
                transition.terminated[copy],
            );
        }
        transition.rewards.iter().map(|&r| f64::from(r)).sum::<f64>() / copies as f64
    }

    /// One gradient step of the critics, and of the actor every `delay` steps. Returns the error of the
    /// critics and the norm of their gradient.
    fn descend(&mut self, rng: &mut ChaCha8Rng, rate: f64) -> (f64, f64) {
        let drawn = self.replay.draw(self.descent.batch, rng);
        let targets = self.targets(&drawn, rng);
        let critics = &self.programs.critics;
        let given: [(Input, &[f32]); 3] =
            [(critics.state, &drawn.states), (critics.action, &drawn.actions), (critics.wanted, &targets)];
        let inputs = minibatch(self.descent.batch, &self.critics.params, &given, &[(critics.error, 1.0)]);
        let gradient = critics.program.gradient(&inputs, &self.descent.threads, Strategy::Store);
        let error = gradient.loss;
        let norm = self.critics.descend(gradient.params, self.descent.clip, rate);
        self.gradient_steps += 1;
        if !self.gradient_steps.is_multiple_of(self.settings.delay) {
            return (error, norm);
        }
        if self.gradient_steps > self.settings.warmup {
            let both = [&self.actor.params[..], &self.critics.params].concat();
            let actor = &self.programs.actor;
            let weights = [(actor.value, 1.0), (actor.saturation, 1.0)];
            let inputs = minibatch(self.descent.batch, &both, &[(actor.state, &drawn.states)], &weights);
            let mut gradient = actor.program.gradient(&inputs, &self.descent.threads, Strategy::Store);
            gradient.params.truncate(self.actor.params.len());
            self.actor.descend(gradient.params, self.descent.clip, rate);
        }
        self.actor.follow(self.settings.tau);
        self.critics.follow(self.settings.tau);
        (error, norm)
    }

    /// Target values of the critics.
    fn targets(&self, drawn: &Drawn, rng: &mut ChaCha8Rng) -> Vec<f32> {
        let size = self.environment.actions() * self.environment.agents();
        let (sigma, bound) = (self.settings.smooth as f32, self.settings.smooth_clip as f32);
        let noise: Vec<f32> = (0..self.descent.batch * size)
            .map(|_| (sigma * rng.sample::<f32, _>(StandardNormal)).clamp(-bound, bound))
            .collect();
        let slow = [&self.actor.slow[..], &self.critics.slow].concat();
        let target = &self.programs.target;
        let given: [(Input, &[f32]); 2] = [(target.next, &drawn.next), (target.noise, &noise)];
        let inputs = minibatch(self.descent.batch, &slow, &given, &[]);
        let outcome = target.program.forward(&inputs, &self.descent.threads);
        let follows = outcome.record(target.least);
        let each = follows.len() / self.descent.batch;
        let gamma = self.settings.gamma as f32;
        (follows.iter().enumerate())
            .map(|(i, q)| drawn.rewards[i / each] + gamma * drawn.goes_on[i / each] * q)
            .collect()
    }
}

/// Exploration noise `[copies][kinds][agents]`: independent noise of the agents, mixed with a fraction of
/// noise common to all agents of a copy.
fn together(mut own: Vec<f32>, agents: usize, share: f32, mut draw: impl FnMut() -> f32) -> Vec<f32> {
    if share > 0.0 {
        for swarm in own.chunks_exact_mut(agents) {
            let common = draw();
            swarm.iter_mut().for_each(|own| *own += share * (common - *own));
        }
    }
    own
}

/// States to actions.
struct Acting {
    session: Session<f32>,
    state: Input,
    action: Record,
}

impl Acting {
    fn new(environment: &impl Environment, chunk: usize, params: &[f32]) -> Acting {
        let (tracer, copies) = (Tracer::new(), environment.copies());
        let state = tracer.sequence("state", environment.state_size(), 1);
        let action = tracer.record("action", environment.actor(&tracer, state).tanh());
        let state = state.input();
        let program = Program::new(&tracer.finish(), copies.min(chunk));
        Acting { session: Session::new(&program, &Inputs::new(copies, 0, params)), state, action }
    }
}

/// The lesser value of the critics after the next action.
struct TargetProgram {
    program: Program<f32>,
    next: Input,
    noise: Input,
    least: Record,
}

impl TargetProgram {
    fn new<E: Environment>(critics: &Critics<'_, E>, chunk: usize) -> TargetProgram {
        let (tracer, environment) = (Tracer::new(), critics.environment);
        let next = tracer.sequence("next", environment.state_size(), 1);
        let noise = tracer.sequence("noise", environment.actions(), environment.agents());
        let action = (environment.actor(&tracer, next).tanh() + noise).clamp(-1.0, 1.0);
        let [q1, q2] = critics.apply(&tracer, next, action);
        let least = tracer.record("least", q1 - (q1 - q2).relu());
        let [next, noise] = [next, noise].map(Var::input);
        TargetProgram { program: Program::new(&tracer.finish(), chunk), next, noise, least }
    }
}

/// The error of both critics.
struct CriticsProgram {
    program: Program<f32>,
    state: Input,
    action: Input,
    wanted: Input,
    error: Term,
}

impl CriticsProgram {
    fn new<E: Environment>(critics: &Critics<'_, E>, chunk: usize) -> CriticsProgram {
        let (tracer, environment) = (Tracer::new(), critics.environment);
        let given =
            |name: &str, rows: usize, cols: usize| tracer.given(|tracer| tracer.sequence(name, rows, cols));
        let state = given("state", environment.state_size(), 1);
        let action = given("action", environment.actions(), environment.agents());
        let wanted = given("wanted", 1, critics.judgements());
        let [q1, q2] = critics.apply(&tracer, state, action);
        let error = tracer.term("error", (q1 - wanted).mean_square() + (q2 - wanted).mean_square());
        let [state, action, wanted] = [state, action, wanted].map(Var::input);
        CriticsProgram { program: Program::new(&tracer.finish(), chunk), state, action, wanted, error }
    }
}

/// What the first critic says of the actor's actions.
struct ActorProgram {
    program: Program<f32>,
    state: Input,
    value: Term,
    saturation: Term,
}

impl ActorProgram {
    fn new<E: Environment>(critics: &Critics<'_, E>, chunk: usize) -> ActorProgram {
        let tracer = Tracer::new();
        let state = tracer.given(|tracer| tracer.sequence("state", critics.environment.state_size(), 1));
        let raw = critics.environment.actor(&tracer, state);
        let [q1, _] = tracer.given(|tracer| critics.apply(tracer, state, raw.tanh()));
        let value = tracer.term("value", -q1.mean());
        let saturation = tracer.term("saturation", (raw.abs() - SATURATED).relu().mean_square());
        let state = state.input();
        ActorProgram { program: Program::new(&tracer.finish(), chunk), state, value, saturation }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swarm_tries_the_share_that_is_asked_for_together() {
        let own = vec![1.0, -1.0, 0.5, 0.0];
        let mut common = [2.0, -2.0].into_iter();
        assert_eq!(together(own.clone(), 2, 0.25, || common.next().unwrap()), [1.25, -0.25, -0.125, -0.5]);
        assert_eq!(together(own.clone(), 2, 0.0, || unreachable!("nothing is drawn")), own);
    }

    #[test]
    fn slow_parameters_follow_by_their_share() {
        let mut trained = Trained::new(vec![0.0, 1.0]);
        trained.params = vec![1.0, 3.0];
        trained.follow(0.25);
        assert_eq!(trained.slow, [0.25, 1.5]);
        (0..100).for_each(|_| trained.follow(0.25));
        assert!((trained.slow[0] - 1.0).abs() < 1e-6 && (trained.slow[1] - 3.0).abs() < 1e-6);
    }
}
