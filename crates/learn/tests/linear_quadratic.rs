//! Every learner on a problem whose optimum is known: agents that push carts to the origin at a quadratic
//! cost.
//!
//! Each of two agents has a cart of its own, `p' = 0.9 p + v / 5`, `v' = 0.8 v + a / 2`, and pays
//! `p^2 + v^2 / 10 + a^2 / 5` per step. The optimal feedback follows from the Riccati recursion; starts are
//! such that it never meets the bound of an action.

use cinoc_adjoint::{Inputs, Program, Session, Threads, Tracer, Var};
use cinoc_control::config::{Config, Critic, OffPolicy, OnPolicy, Preset};
use cinoc_control::policy::{Layer, Plain};
use cinoc_control::random::{Purpose, stream};
use cinoc_learn::rl::Descent;
use cinoc_learn::rl::environment::{Environment, Transition};
use cinoc_learn::rl::ppo::Ppo;
use cinoc_learn::rl::td3::Td3;
use rand::Rng;

const AGENTS: usize = 2;
const STEPS: usize = 30;
const HIDDEN: [usize; 2] = [32, 32];

fn moved([p, v]: [f32; 2], a: f32) -> [f32; 2] {
    [0.9 * p + 0.2 * v, 0.8 * v + 0.5 * a]
}

fn cost([p, v]: [f32; 2], a: f32) -> f32 {
    p * p + 0.1 * v * v + 0.2 * a * a
}

/// Optimal gains of every step, `a = - k_p p - k_v v`: Riccati, backwards from the last.
fn gains() -> Vec<[f64; 2]> {
    let (a, b) = ([[0.9, 0.2], [0.0, 0.8]], [0.0, 0.5]);
    let (q, r) = ([[1.0, 0.0], [0.0, 0.1]], 0.2);
    let mut p = [[0.0; 2]; 2];
    let mut all = Vec::new();
    for _ in 0..STEPS {
        let pb = [0, 1].map(|i| p[i][0] * b[0] + p[i][1] * b[1]);
        let pa = [0, 1].map(|i| [0, 1].map(|j| p[i][0] * a[0][j] + p[i][1] * a[1][j]));
        let s = r + b[0] * pb[0] + b[1] * pb[1];
        let k = [0, 1].map(|j| (b[0] * pa[0][j] + b[1] * pa[1][j]) / s);
        p = [0, 1].map(|i| {
            [0, 1].map(|j| {
                let apa = a[0][i] * pa[0][j] + a[1][i] * pa[1][j];
                let apb = a[0][i] * pb[0] + a[1][i] * pb[1];
                q[i][j] + apa - apb * k[j]
            })
        });
        all.push(k);
    }
    all.reverse();
    all
}

struct Carts {
    central: bool,
    states: Vec<f32>,
    steps: Vec<usize>,
    begun: u64,
}

fn start(index: u64) -> Vec<f32> {
    let mut rng = stream(1, Purpose::Episodes, index);
    // positions of all agents, then velocities
    (0..2 * AGENTS).map(|i| rng.random_range(-1.0..1.0) * if i < AGENTS { 1.0 } else { 0.3 }).collect()
}

impl Carts {
    fn new(copies: usize, central: bool) -> Carts {
        let states = (0..copies as u64).flat_map(start).collect();
        let steps = (0..copies).map(|copy| STEPS * copy / copies).collect();
        Carts { central, states, steps, begun: copies as u64 }
    }
}

impl Environment for Carts {
    fn copies(&self) -> usize {
        self.steps.len()
    }
    fn agents(&self) -> usize {
        AGENTS
    }
    fn actions(&self) -> usize {
        1
    }
    fn state_size(&self) -> usize {
        2 * AGENTS
    }
    fn states(&self) -> &[f32] {
        &self.states
    }
    fn step(&mut self, actions: &[f32]) -> Transition {
        let mut transition = Transition::default();
        for copy in 0..self.copies() {
            let state = &mut self.states[copy * 2 * AGENTS..(copy + 1) * 2 * AGENTS];
            let mut reward = 0.0;
            for agent in 0..AGENTS {
                let a = actions[copy * AGENTS + agent].clamp(-1.0, 1.0);
                let x = [state[agent], state[AGENTS + agent]];
                reward -= cost(x, 2.0 * a);
                let [p, v] = moved(x, 2.0 * a);
                (state[agent], state[AGENTS + agent]) = (p, v);
            }
            transition.next.extend_from_slice(state);
            transition.rewards.push(reward);
            self.steps[copy] += 1;
            let over = self.steps[copy] == STEPS;
            transition.truncated.push(over);
            transition.terminated.push(false);
            if over {
                state.copy_from_slice(&start(self.begun));
                (self.steps[copy], self.begun) = (0, self.begun + 1);
            }
        }
        transition
    }
    fn cost_unit(&self) -> f64 {
        1.0
    }
    fn actor_layers(&self) -> Vec<Layer> {
        let (inputs, outputs) = if self.central { (2 * AGENTS, AGENTS) } else { (2, 1) };
        Plain::layers("actor", inputs, &HIDDEN, outputs)
    }
    fn head_scale(&self) -> f64 {
        0.1
    }
    fn actor<'t>(&self, tracer: &'t Tracer, state: Var<'t>) -> Var<'t> {
        let net = Plain::declare(tracer, &self.actor_layers());
        let seen = if self.central { state } else { self.view(state) };
        net.apply(seen).reshape(1, AGENTS)
    }
    fn decentralised(&self) -> bool {
        !self.central
    }
    fn global_size(&self) -> usize {
        2 * AGENTS
    }
    fn global<'t>(&self, state: Var<'t>) -> Var<'t> {
        state
    }
    fn view_size(&self) -> usize {
        2
    }
    fn view<'t>(&self, state: Var<'t>) -> Var<'t> {
        state.reshape(2, AGENTS)
    }
}

/// Cost of episodes that were never trained on, with a feedback.
fn episodes(mut feedback: impl FnMut(usize, &[f32]) -> Vec<f32>) -> f64 {
    let mut total = 0.0;
    for episode in 0..50 {
        let mut state = start(1 << 40 | episode);
        for step in 0..STEPS {
            let actions = feedback(step, &state);
            for agent in 0..AGENTS {
                let x = [state[agent], state[AGENTS + agent]];
                total += f64::from(cost(x, actions[agent]));
                [state[agent], state[AGENTS + agent]] = moved(x, actions[agent]);
            }
        }
    }
    total / 50.0
}

fn optimum() -> f64 {
    let gains = gains();
    episodes(|step, state| {
        let [kp, kv] = gains[step].map(|k| k as f32);
        (0..AGENTS).map(|i| -kp * state[i] - kv * state[AGENTS + i]).collect()
    })
}

fn learned(environment: &Carts, params: &[f32]) -> f64 {
    let tracer = Tracer::new();
    let state = tracer.sequence("state", 2 * AGENTS, 1);
    let action = tracer.record("action", environment.actor(&tracer, state).tanh());
    let input = state.input();
    let program = Program::<f32>::new(&tracer.finish(), 1);
    let mut session = Session::new(&program, &Inputs::new(1, 0, params));
    let threads = Threads::one();
    episodes(|_, state| {
        session.step(&[(input, state)], &threads);
        session.record(action).iter().map(|a| 2.0 * a).collect()
    })
}

fn descent(batch: usize, clip: f64) -> Descent {
    Descent { batch, clip, seed: 0, threads: Threads::one(), chunk: 64, critic_chunk: 64 }
}

fn assert_near_optimal(name: &str, cost: f64) {
    let best = optimum();
    assert!(cost > 0.999 * best, "{name}: {cost} is below the optimum {best}");
    assert!(cost < 1.1 * best, "{name}: {cost}, more than 10 % above the optimum {best}");
}

fn on_policy(central: bool) -> f64 {
    let name = if central { "ppo" } else { "mappo" };
    let preset = Config::resolve_method("heat1d", Preset::Default, name, None, &[]).unwrap().method.unwrap();
    let settings = OnPolicy {
        envs: 16,
        critic_hidden: HIDDEN.to_vec(),
        horizon: 30,
        gamma: 0.95,
        ..preset.on_policy.unwrap()
    };
    let updates = 150;
    let mut learner = Ppo::new(Carts::new(settings.envs, central), &settings, descent(120, 0.5));
    for update in 0..updates {
        learner.update(0.001 * (1.0 - f64::from(update) / f64::from(updates)));
    }
    learned(learner.environment(), learner.actor())
}

fn td3(central: bool, critic: Critic) -> Td3<Carts> {
    let name = if central { "td3" } else { "matd3" };
    let preset = Config::resolve_method("heat1d", Preset::Default, name, None, &[]).unwrap().method.unwrap();
    let settings = OffPolicy {
        envs: 8,
        hold: 1,
        critic_hidden: HIDDEN.to_vec(),
        first: 2000,
        gamma: 0.95,
        critic,
        tau: 0.01,
        warmup: 1000,
        explore: 0.2,
        ..preset.off_policy.unwrap()
    };
    Td3::new(Carts::new(settings.envs, central), &settings, descent(64, 10.0))
}

fn off_policy(central: bool, critic: Critic) -> f64 {
    let updates = 400;
    let mut learner = td3(central, critic);
    for update in 0..updates {
        learner.update(0.001 * (1.0 - f64::from(update) / f64::from(updates)));
    }
    learned(learner.environment(), learner.actor())
}

#[test]
fn the_recursion_is_optimal() {
    let best = optimum();
    // doing nothing, and a hand-made feedback, cost more
    assert!(episodes(|_, _| vec![0.0; AGENTS]) > 1.5 * best);
    let guess = episodes(|_, state| (0..AGENTS).map(|i| -state[i] - state[AGENTS + i]).collect());
    assert!(guess > best, "{guess} {best}");
    let gains = gains();
    let most = |k: [f64; 2]| k[0] + 0.3 * k[1];
    assert!(gains.iter().all(|&k| most(k) < 2.0), "the optimum meets the bound: {gains:?}");
}

#[test]
fn ppo_comes_within_ten_percent_of_the_optimum() {
    assert_near_optimal("ppo", on_policy(true));
}

#[test]
fn mappo_comes_within_ten_percent_of_the_optimum() {
    assert_near_optimal("mappo", on_policy(false));
}

#[test]
fn td3_comes_within_ten_percent_of_the_optimum() {
    assert_near_optimal("td3", off_policy(true, Critic::Joint));
}

#[test]
fn matd3_comes_within_ten_percent_of_the_optimum() {
    assert_near_optimal("matd3", off_policy(false, Critic::Joint));
    assert_near_optimal("matd3, independent critics", off_policy(false, Critic::Independent));
}

#[test]
fn a_first_update_in_parts_gives_the_same_bits_as_one_at_once() {
    let (mut at_once, mut in_parts) = (td3(true, Critic::Joint), td3(true, Critic::Joint));
    let mut told = Vec::new();
    while let Some((done, of)) = in_parts.prepare(0.001) {
        told.push(done);
        assert!(done <= of);
        // an update may come before the last part
        if done == of - 7 {
            break;
        }
    }
    assert!(told.len() > 1000 && told.iter().zip(1..).all(|(&done, part)| done == part), "{}", told.len());
    for _ in 0..2 {
        let (one, other) = (at_once.update(0.001), in_parts.update(0.001));
        assert_eq!((one.reward, one.critic, one.steps), (other.reward, other.critic, other.steps));
        assert_eq!(in_parts.prepare(0.001), None, "only the first update has parts");
    }
    assert_eq!(at_once.actor(), in_parts.actor());
}
