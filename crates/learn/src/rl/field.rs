//! A control task as an RL environment.
//!
//! A state is the field, its target if there is one, and the positions of mobile agents. The reward is the
//! negative *stage cost*: all terms of the training loss in one step, with their weights, in units of the
//! first cost without control (mean over training cases). The policy decides every `hold` control steps,
//! because the effect of a single short control step would be lost in the noise. The reward is the mean over
//! the steps for which an action is held. A stage does not know which step is the last: terms that the loss
//! applies only at the end count in every step here, and the end of the horizon is a time limit. If a field
//! becomes infinite or NaN, or its cost exceeds twenty times the first cost without control, the episode ends
//! with a reward of -100.

use cinoc_adjoint::{Input, Inputs, Program, Session, Shape, Term, Threads, Tracer, Var};
use cinoc_control::agents::start_positions;
use cinoc_control::closed_loop::{StepInputs, driven_trace};
use cinoc_control::config::Network;
use cinoc_control::disturbance::RandomInput;
use cinoc_control::policy::{self, Layer, Policy, Sight};
use cinoc_control::random::{Purpose, stream};
use cinoc_control::{Cases, Config, Disturbance};
use rand::Rng;

use super::environment::{Environment, Transition};
use crate::train::cast;

/// Cost, in units of the first cost without control, above which an episode ends. A diverging field would
/// fill the replay memory with values that no critic can learn.
const HOPELESS: f64 = 20.0;

/// Reward at the end of such an episode: as bad as staying at `HOPELESS` for a long time.
const LOST: f32 = -100.0;

/// Field values below this are observed as 0.
const NOTHING: f32 = 1e-20;

/// Copies of a task as an environment.
pub struct FieldEnvironment {
    config: Config,
    pool: Cases,
    /// Number of control steps for which an action is held.
    hold: usize,
    threads: Threads,
    session: Session<f32>,
    inputs: StepInputs,
    action: Input,
    /// Terms of the cost, with their weights.
    terms: Vec<(Term, f64)>,
    cost_unit: f64,
    copies: Vec<Episode>,
    states: Vec<f32>,
}

/// State of the episode of a copy.
struct Episode {
    /// Number of episodes started.
    number: u64,
    case: usize,
    /// Control steps done.
    step: usize,
    /// Disturbances of all steps, in the order of the random inputs.
    disturbed: Vec<Vec<f32>>,
    /// Sensor noise of all steps; empty without noise.
    sensors: Vec<f32>,
}

impl FieldEnvironment {
    /// `copies` copies of a task with cases of a pool. An action is held for `hold` control steps. The first
    /// episodes are cut to different lengths, so that they do not all end together.
    pub fn new(
        config: &Config,
        pool: Cases,
        copies: usize,
        hold: usize,
        chunk: usize,
        threads: &Threads,
    ) -> FieldEnvironment {
        let config = &config.plain();
        let (step, action) = driven_trace(config);
        let program = Program::<f32>::new(&step.trace, chunk.min(copies));
        let zeros: Vec<(Input, Vec<f32>)> =
            step.inputs.before_first_step().map(|input| (input, vec![0.0; copies * input.size()])).collect();
        let nothing = Inputs::new(copies, 0, &[]);
        let nothing = zeros.iter().fold(nothing, |inputs, (input, zeros)| inputs.with(*input, zeros));
        let session = Session::new(&program, &nothing);
        let mut environment = FieldEnvironment {
            terms: step.terms.iter().map(|(term, handle)| (*handle, term.weight(config))).collect(),
            copies: (0..copies).map(|_| Episode::none()).collect(),
            states: vec![0.0; copies * state_size(config)],
            cost_unit: 1.0,
            hold: hold.min(config.time.steps),
            threads: threads.clone(),
            config: config.clone(),
            pool,
            session,
            inputs: step.inputs,
            action,
        };
        environment.start();
        environment
    }

    /// Measures the unit of cost, then starts every copy.
    fn start(&mut self) {
        let copies = self.copies.len();
        (0..copies).for_each(|copy| self.begin(copy));
        self.advance(&vec![0.0; copies * self.actions() * self.agents()]);
        let costs = self.stage_costs();
        let mean = costs.iter().filter(|cost| cost.is_finite()).sum::<f64>() / copies as f64;
        self.cost_unit = mean.max(f64::MIN_POSITIVE);
        let decisions = self.config.time.steps / self.hold;
        for copy in 0..copies {
            self.begin(copy);
            self.copies[copy].step = decisions * copy / copies * self.hold;
        }
        self.look();
    }

    /// A new episode of one copy.
    fn begin(&mut self, copy: usize) {
        let (seed, number) = (self.config.train.seed, self.copies[copy].number);
        let index = number * self.copies.len() as u64 + copy as u64;
        let case = stream(seed, Purpose::Episodes, index).random_range(0..self.pool.count);
        let disturbance = Disturbance::training(seed, index as usize, 1);
        let drawn = |input: RandomInput| cast(&disturbance.draw(&self.config, input, 0, 0));
        self.copies[copy] = Episode {
            number: number + 1,
            case,
            step: 0,
            disturbed: self.inputs.random.iter().map(|(what, _)| drawn(*what)).collect(),
            sensors: if self.config.noise.sensor > 0.0 {
                drawn(RandomInput::SensorNoise)
            } else {
                Vec::new()
            },
        };
        let start = start_positions(&self.config);
        let (z, target) = (cast(self.pool.z0(case)), cast(self.pool.zt(case)));
        let xi = cast(self.pool.xi0(case).unwrap_or(&start));
        let inputs = &self.inputs;
        let still = vec![0.0; inputs.previous_v.map_or(0, Input::size)];
        let mut given: Vec<(Input, &[f32])> = vec![(inputs.z, &z), (inputs.target, &target)];
        given.extend(inputs.start.map(|start| (start, &z[..])));
        given.extend(inputs.xi.map(|places| (places, &xi[..])));
        given.extend(inputs.previous_v.map(|v| (v, &still[..])));
        given.extend(inputs.importance.map(|importance| (importance, &[1.0][..])));
        self.session.restart(copy, &given);
    }

    /// One step of the physics.
    fn advance(&mut self, actions: &[f32]) {
        let disturbed = |(k, (_, input)): (usize, &(RandomInput, Input))| -> (Input, Vec<f32>) {
            let size = input.size();
            let row = |episode: &Episode| episode.disturbed[k][episode.step * size..][..size].to_vec();
            (*input, self.copies.iter().flat_map(row).collect())
        };
        let disturbed: Vec<(Input, Vec<f32>)> =
            self.inputs.random.iter().enumerate().map(disturbed).collect();
        let mut sequences = vec![(self.action, actions)];
        sequences.extend(disturbed.iter().map(|(input, values)| (*input, &values[..])));
        self.session.step(&sequences, &self.threads);
    }

    /// The cost of the last step, in the units of the loss.
    fn stage_costs(&self) -> Vec<f64> {
        let mut costs = vec![0.0; self.copies.len()];
        for &(term, weight) in &self.terms {
            let values = self.session.term(term);
            costs.iter_mut().zip(values).for_each(|(cost, value)| *cost += weight * f64::from(value));
        }
        costs
    }

    /// Reads the states of all copies.
    fn look(&mut self) {
        let z = self.session.state(self.inputs.z);
        let xi = self.inputs.xi.filter(|_| self.config.mobile()).map(|xi| self.session.state(xi));
        let (points, size) = (self.config.state_size(), state_size(&self.config));
        let tracks = self.config.task.tracks;
        for (copy, state) in self.states.chunks_exact_mut(size).enumerate() {
            let (field, rest) = state.split_at_mut(points);
            field.copy_from_slice(&z[copy * points..(copy + 1) * points]);
            let episode = &self.copies[copy];
            let now = episode.sensors.get(episode.step * points..).unwrap_or(&[]);
            let sigma = self.config.noise.sensor as f32;
            field.iter_mut().zip(now).for_each(|(z, noise)| *z += sigma * noise);
            // networks are a hundred times slower on denormal numbers, which occur in the tails of densities
            field.iter_mut().filter(|z| z.abs() < NOTHING).for_each(|z| *z = 0.0);
            let (target, positions) = rest.split_at_mut(if tracks { points } else { 0 });
            if tracks {
                target.iter_mut().zip(self.pool.zt(episode.case)).for_each(|(to, &z)| *to = z as f32);
            }
            if let Some(xi) = &xi {
                let numbers = positions.len();
                positions.copy_from_slice(&xi[copy * numbers..(copy + 1) * numbers]);
            }
        }
    }

    fn critic_energy(&self) -> bool {
        self.config.method.as_ref().is_some_and(|method| method.critic_energy)
    }

    /// The parts of a state, in a trace.
    fn sight<'t>(&self, state: Var<'t>) -> Sight<'t> {
        let (config, tracer) = (&self.config, state.tracer());
        let ((rows, cols), points) = (config.state_shape(), config.state_size());
        let (dims, agents) = (config.task.dims, config.agents);
        let z = state.slice(0..points).reshape(rows, cols);
        let (target, after) = if config.task.tracks {
            (state.slice(points..2 * points).reshape(rows, cols), 2 * points)
        } else {
            (tracer.constant(rows, cols, vec![0.0; points]), points)
        };
        let xi = if config.mobile() {
            state.slice(after..after + dims * agents).reshape(dims, agents)
        } else {
            tracer.constant(dims, agents, start_positions(config)).broadcast(Shape::per_sample(dims, agents))
        };
        Sight::new(config, z, target, xi, None)
    }
}

impl Episode {
    fn none() -> Episode {
        Episode { number: 0, case: 0, step: 0, disturbed: Vec::new(), sensors: Vec::new() }
    }
}

/// Size of a state: field, target, positions.
fn state_size(config: &Config) -> usize {
    policy::state_size(config)
}

impl Environment for FieldEnvironment {
    fn copies(&self) -> usize {
        self.copies.len()
    }
    fn agents(&self) -> usize {
        self.config.agents
    }
    fn actions(&self) -> usize {
        policy::actions(&self.config)
    }
    fn state_size(&self) -> usize {
        state_size(&self.config)
    }
    fn states(&self) -> &[f32] {
        &self.states
    }

    fn step(&mut self, actions: &[f32]) -> Transition {
        let bounded: Vec<f32> = actions.iter().map(|action| action.clamp(-1.0, 1.0)).collect();
        let mut costs = vec![0.0; self.copies.len()];
        for _ in 0..self.hold {
            self.advance(&bounded);
            self.copies.iter_mut().for_each(|episode| episode.step += 1);
            let share = self.hold as f64;
            costs.iter_mut().zip(self.stage_costs()).for_each(|(mean, cost)| *mean += cost / share);
        }
        self.look();
        let size = self.state_size();
        let lost: Vec<bool> = self
            .states
            .chunks_exact(size)
            .zip(&costs)
            .map(|(state, &cost)| {
                let hopeless = cost.is_nan() || cost >= HOPELESS * self.cost_unit;
                hopeless || state.iter().any(|x| !x.is_finite())
            })
            .collect();
        let mut transition = Transition {
            rewards: costs.iter().map(|cost| (-cost / self.cost_unit) as f32).collect(),
            next: self.states.clone(),
            truncated: self
                .copies
                .iter()
                .map(|episode| episode.step + self.hold > self.config.time.steps)
                .collect(),
            terminated: lost.clone(),
        };
        for (copy, _) in lost.iter().enumerate().filter(|(_, lost)| **lost) {
            transition.rewards[copy] = LOST;
            transition.next[copy * size..(copy + 1) * size].fill(0.0);
        }
        let over: Vec<usize> = (0..self.copies.len()).filter(|&copy| transition.ended(copy)).collect();
        if !over.is_empty() {
            over.into_iter().for_each(|copy| self.begin(copy));
            self.look();
        }
        transition
    }

    fn cost_unit(&self) -> f64 {
        self.cost_unit
    }
    fn hold(&self) -> usize {
        self.hold
    }
    fn actor_layers(&self) -> Vec<Layer> {
        policy::layers(&self.config)
    }
    fn head_scale(&self) -> f64 {
        self.config.policy.head_scale
    }
    fn actor<'t>(&self, tracer: &'t Tracer, state: Var<'t>) -> Var<'t> {
        Policy::declare(tracer, &self.config).raw(self.sight(state))
    }
    fn decentralised(&self) -> bool {
        matches!(self.config.network(), Network::Local | Network::Operator)
    }
    fn global_size(&self) -> usize {
        policy::state_size(&self.config) + usize::from(self.critic_energy())
    }
    fn global<'t>(&self, state: Var<'t>) -> Var<'t> {
        let sight = self.sight(state);
        let whole = policy::state(&self.config, sight);
        if self.critic_energy() { whole.stack(policy::energy(&self.config, sight)) } else { whole }
    }
    fn view_size(&self) -> usize {
        policy::view_size(&self.config)
    }
    fn view<'t>(&self, state: Var<'t>) -> Var<'t> {
        policy::view(&self.config, self.sight(state))
    }
}
