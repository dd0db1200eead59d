//! Episodes of a control task, side by side: what an RL environment consists of, without any rule about when
//! an episode starts.
//!
//! A state is the field, its target if there is one, and the positions of mobile agents. The reward is the
//! negative *stage cost*: all terms of the training loss in one step, with their weights, in units of the
//! first cost without control (mean over training cases). The policy decides every `hold` control steps,
//! because the effect of a single short control step would be lost in the noise. The reward is the mean over
//! the steps for which an action is held. A stage does not know which step is the last: terms that the loss
//! applies only at the end count in every step here, and the end of the horizon is a time limit. If a field
//! becomes infinite or NaN, or its cost exceeds twenty times the first cost without control, the episode ends
//! with a reward of -100.

use std::sync::Arc;

use cinoc_adjoint::{Input, Inputs, Program, Session, Term, Threads};
use cinoc_control::agents::start_positions;
use cinoc_control::closed_loop::{StepInputs, StepRecords, driven_trace};
use cinoc_control::disturbance::RandomInput;
use cinoc_control::policy;
use cinoc_control::random::{Purpose, stream};
use cinoc_control::{Cases, Config, Disturbance};
use rand::Rng;

use super::environment::Transition;
use crate::train::cast;

/// Cost, in units of the first cost without control, above which an episode ends. A diverging field would
/// fill the replay memory with values that no critic can learn.
const HOPELESS: f64 = 20.0;

/// Reward at the end of such an episode: as bad as staying at `HOPELESS` for a long time.
const LOST: f32 = -100.0;

/// Field values below this are observed as 0.
const NOTHING: f32 = 1e-20;

/// Copies of a task. Every copy is in an episode of its own, which the caller begins.
///
/// ```
/// use cinoc_adjoint::Threads;
/// use cinoc_control::{Cases, Config, Pool};
/// use cinoc_learn::rl::episodes::Episodes;
///
/// let config = Config::preset("heat1d").unwrap();
/// let cases = Cases::draw(&config, 0, Pool::Training, 4, &Threads::one(), &|_, _| {});
/// let mut episodes = Episodes::new(&config, cases, 2, 1, 16, &Threads::one());
/// (0..2).for_each(|copy| episodes.begin(copy, 7, 0));
/// let transition = episodes.step(&vec![0.0; 2 * episodes.actions() * config.agents]);
/// // the same seed is the same episode
/// assert_eq!(transition.rewards[0], transition.rewards[1]);
/// ```
pub struct Episodes {
    config: Config,
    pool: Arc<Cases>,
    /// Number of control steps for which an action is held.
    hold: usize,
    threads: Threads,
    session: Session<f32>,
    inputs: StepInputs,
    records: StepRecords,
    action: Input,
    /// Terms of the cost, with their weights.
    terms: Vec<(Term, f64)>,
    cost_unit: f64,
    copies: Vec<Episode>,
}

/// State of the episode of a copy.
#[derive(Default)]
struct Episode {
    case: usize,
    /// Control steps done.
    step: usize,
    /// Disturbances of all steps, in the order of the random inputs.
    disturbed: Vec<Vec<f32>>,
    /// Sensor noise of all steps; empty without noise.
    sensors: Vec<f32>,
}

impl Episodes {
    /// `copies` copies of a task with cases of a pool. An action is held for `hold` control steps. Every copy
    /// has to be begun before the first step.
    pub fn new(
        config: &Config,
        pool: impl Into<Arc<Cases>>,
        copies: usize,
        hold: usize,
        chunk: usize,
        threads: &Threads,
    ) -> Episodes {
        let config = config.plain();
        let (step, action) = driven_trace(&config);
        let program = Program::<f32>::new(&step.trace, chunk.min(copies));
        let zeros: Vec<(Input, Vec<f32>)> =
            step.inputs.before_first_step().map(|input| (input, vec![0.0; copies * input.size()])).collect();
        let nothing = Inputs::new(copies, 0, &[]);
        let nothing = zeros.iter().fold(nothing, |inputs, (input, zeros)| inputs.with(*input, zeros));
        Episodes {
            session: Session::on(threads, &program, &nothing),
            terms: step.terms.iter().map(|(term, handle)| (*handle, term.weight(&config))).collect(),
            copies: (0..copies).map(|_| Episode::default()).collect(),
            cost_unit: 1.0,
            hold: hold.min(config.time.steps),
            threads: threads.clone(),
            pool: pool.into(),
            inputs: step.inputs,
            records: step.records,
            action,
            config,
        }
    }

    /// The settings, without those that only a training through the physics has.
    pub fn config(&self) -> &Config {
        &self.config
    }
    /// Number of copies.
    pub fn copies(&self) -> usize {
        self.copies.len()
    }
    /// Number of actions of an agent.
    pub fn actions(&self) -> usize {
        policy::actions(&self.config)
    }
    /// Size of a state: field, target, positions.
    pub fn state_size(&self) -> usize {
        policy::state_size(&self.config)
    }
    /// Number of control steps for which an action is held.
    pub fn hold(&self) -> usize {
        self.hold
    }
    /// The threads that step the copies.
    pub fn threads(&self) -> &Threads {
        &self.threads
    }
    /// The cost of a reward of -1, in units of the training loss.
    pub fn cost_unit(&self) -> f64 {
        self.cost_unit
    }
    /// Chooses that unit, usually [`Episodes::first_cost`].
    pub fn set_cost_unit(&mut self, unit: f64) {
        self.cost_unit = unit;
    }

    /// Begins an episode in one copy. Seed and number of the episode decide its case and its disturbances.
    pub fn begin(&mut self, copy: usize, seed: u64, number: u64) {
        let case = stream(seed, Purpose::Episodes, number).random_range(0..self.pool.count);
        let disturbance = Disturbance::training(seed, number as usize, 1);
        let drawn = |input: RandomInput| cast(&disturbance.draw(&self.config, input, 0, 0));
        self.copies[copy] = Episode {
            case,
            step: 0,
            disturbed: self.inputs.random.iter().map(|(what, _)| drawn(*what)).collect(),
            sensors: if self.config.noise.sensor > 0.0 {
                drawn(RandomInput::SensorNoise)
            } else {
                Vec::new()
            },
        };
        self.rewind(copy);
    }

    /// Brings a copy back to the start of its episode.
    pub fn rewind(&mut self, copy: usize) {
        let episode = &mut self.copies[copy];
        episode.step = 0;
        let (z, target) = (cast(self.pool.z0(episode.case)), cast(self.pool.zt(episode.case)));
        let xi = self.pool.xi0(episode.case).map_or_else(|| cast(&start_positions(&self.config)), cast);
        let inputs = &self.inputs;
        let still = vec![0.0; inputs.previous_v.map_or(0, Input::size)];
        let mut given: Vec<(Input, &[f32])> = vec![(inputs.z, &z), (inputs.target, &target)];
        given.extend(inputs.start.map(|start| (start, &z[..])));
        given.extend(inputs.xi.map(|places| (places, &xi[..])));
        given.extend(inputs.previous_v.map(|v| (v, &still[..])));
        given.extend(inputs.importance.map(|importance| (importance, &[1.0][..])));
        self.session.restart(copy, &given);
    }

    /// Lets the episode of a copy that has just begun end earlier, by so many control steps.
    pub fn shorten(&mut self, copy: usize, steps: usize) {
        self.copies[copy].step = steps;
    }

    /// Mean cost of a first step without control, over the copies. They have to be begun again afterwards.
    pub fn first_cost(&mut self) -> f64 {
        let copies = self.copies.len();
        self.advance(&vec![0.0; copies * self.actions() * self.config.agents]);
        let costs = self.stage_costs();
        let mean = costs.iter().filter(|cost| cost.is_finite()).sum::<f64>() / copies as f64;
        mean.max(f64::MIN_POSITIVE)
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

    /// One decision in all copies, with the actions `[copies][actions][agents]` in units of their bounds,
    /// clipped to -1 to 1. The state of an episode that was lost is 0.
    ///
    /// # Panics
    /// If an episode has no `hold` control steps left.
    pub fn step(&mut self, actions: &[f32]) -> Transition {
        let bounded: Vec<f32> = actions.iter().map(|action| action.clamp(-1.0, 1.0)).collect();
        let mut costs = vec![0.0; self.copies.len()];
        for _ in 0..self.hold {
            self.advance(&bounded);
            self.copies.iter_mut().for_each(|episode| episode.step += 1);
            let share = self.hold as f64;
            costs.iter_mut().zip(self.stage_costs()).for_each(|(mean, cost)| *mean += cost / share);
        }
        let mut next = self.states();
        let mut rewards: Vec<f32> = costs.iter().map(|cost| (-cost / self.cost_unit) as f32).collect();
        let mut terminated = vec![false; costs.len()];
        for (copy, state) in next.chunks_exact_mut(self.state_size()).enumerate() {
            let cost = costs[copy];
            let hopeless = cost.is_nan() || cost >= HOPELESS * self.cost_unit;
            if hopeless || state.iter().any(|x| !x.is_finite()) {
                (rewards[copy], terminated[copy]) = (LOST, true);
                state.fill(0.0);
            }
        }
        let steps = self.config.time.steps;
        let truncated = self.copies.iter().map(|episode| episode.step + self.hold > steps).collect();
        Transition { rewards, next, terminated, truncated }
    }

    /// The states of all copies, `[copies][state_size]`.
    pub fn states(&self) -> Vec<f32> {
        let z = self.session.state(self.inputs.z);
        let xi = self.inputs.xi.filter(|_| self.config.mobile()).map(|xi| self.session.state(xi));
        let (points, size) = (self.config.state_size(), self.state_size());
        let places = xi.as_ref().map_or(0, |xi| xi.len() / self.copies.len());
        let mut states = vec![0.0; self.copies.len() * size];
        for (copy, state) in states.chunks_exact_mut(size).enumerate() {
            let xi = xi.as_ref().map(|xi| &xi[copy * places..(copy + 1) * places]);
            self.show(copy, &z[copy * points..(copy + 1) * points], xi.unwrap_or(&[]), state);
        }
        states
    }

    /// The state of a copy that has just begun.
    pub fn first_state(&self, copy: usize, state: &mut [f32]) {
        let case = self.copies[copy].case;
        let xi = match (self.config.mobile(), self.pool.xi0(case)) {
            (false, _) => Vec::new(),
            (true, Some(xi)) => cast(xi),
            (true, None) => cast(&start_positions(&self.config)),
        };
        self.show(copy, &cast(self.pool.z0(case)), &xi, state);
    }

    /// A state as it is observed: with sensor noise.
    fn show(&self, copy: usize, z: &[f32], xi: &[f32], state: &mut [f32]) {
        let episode = &self.copies[copy];
        let (field, rest) = state.split_at_mut(z.len());
        field.copy_from_slice(z);
        let now = episode.sensors.get(episode.step * z.len()..).unwrap_or(&[]);
        let sigma = self.config.noise.sensor as f32;
        field.iter_mut().zip(now).for_each(|(z, noise)| *z += sigma * noise);
        // networks are a hundred times slower on denormal numbers, which occur in the tails of densities
        field.iter_mut().for_each(|z| *z = if z.abs() < NOTHING { 0.0 } else { *z });
        let (target, positions) = rest.split_at_mut(rest.len() - xi.len());
        target.iter_mut().zip(self.pool.zt(episode.case)).for_each(|(to, &z)| *to = z as f32);
        positions.copy_from_slice(xi);
    }

    /// Mean of `(z - z*)^2` after the last control step, of every copy.
    pub fn errors(&self) -> Vec<f32> {
        self.session.record(self.records.error)
    }

    /// The same before the first step of the episode of a copy.
    pub fn first_error(&self, copy: usize) -> f32 {
        let (case, points) = (self.copies[copy].case, self.config.points());
        let fields = self.config.task.fields.iter().map(|field| field.tracked);
        let parts = self.pool.z0(case).chunks_exact(points).zip(self.pool.zt(case).chunks_exact(points));
        let tracked = parts.zip(fields).filter(|(_, tracked)| *tracked);
        let errors = tracked.flat_map(|((z, target), _)| z.iter().zip(target));
        let (sum, count) = errors.fold((0.0, 0), |(sum, count), (z, t)| (sum + (z - t).powi(2), count + 1));
        (sum / f64::from(count)) as f32
    }

    /// Mean of `u^2` over the agents in the last control step, of every copy; of `|v|^2` where agents have no
    /// intensities.
    pub fn efforts(&self) -> Vec<f32> {
        let Some(record) = self.records.u.or(self.records.v) else { return vec![0.0; self.copies.len()] };
        let actions = self.session.record(record);
        let mean = |x: &[f32]| x.iter().map(|x| x * x).sum::<f32>() / self.config.agents as f32;
        actions.chunks_exact(actions.len() / self.copies.len()).map(mean).collect()
    }

    /// Which agents of a copy are at work in the next control step: 1, or 0 after a failure. Empty in a task
    /// whose agents do not fail.
    pub fn alive(&self, copy: usize) -> &[f32] {
        let failures = self.inputs.random.iter().position(|(what, _)| *what == RandomInput::Alive);
        let Some(failures) = failures else { return &[] };
        let (episode, agents) = (&self.copies[copy], self.config.agents);
        let step = episode.step.min(self.config.time.steps - 1);
        &episode.disturbed[failures][step * agents..][..agents]
    }
}
