//! One simulation: two panes that start from the same field, stepped together, and what happens to them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cinoc_adjoint::Threads;
use cinoc_control::agents::start_positions;
use cinoc_control::disturbance::RandomInput;
use cinoc_control::live::{LiveLoop, LiveState};
use cinoc_control::obstacles::Discs;
use cinoc_control::{Cases, Config, Controller, Decision, Disturbance, Pool, Tasks};
use cinoc_learn::policy_file::PolicyFile;
use cinoc_learn::pool::{cache_folder, cached};
use thiserror::Error;

use crate::library::{Library, Offered};
use crate::protocol::{Event, FINEST, Header, MOST_AGENTS, MOST_EVENTS, Scene, Setting, Setup, What};

/// Seed of validation cases: the one of `cinoc eval`.
const CASES_SEED: u64 = 0;
/// Width of a bump that a user makes, as a share of the shortest axis.
const BUMP: f64 = 0.06;
/// Time after which the time of a decision is measured again.
const REMEASURE: Duration = Duration::from_millis(500);
/// Largest number of the last case.
const LAST_CASE: usize = 9999;
/// Noise of a horizon has streams of its own; so far apart are those of consecutive horizons.
const ROUND: usize = 1 << 20;

/// Why something cannot be done. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Refused(pub String);

fn refused<T>(reason: impl Into<String>) -> Result<T, Refused> {
    Err(Refused(reason.into()))
}

/// A simulation in progress.
pub struct Simulation {
    setup: Setup,
    /// Settings that differ from the trained ones, in the order in which they were set.
    sets: Vec<(String, f64)>,
    trained: Config,
    first: LiveState,
    target: Vec<f32>,
    panes: [Pane; 2],
    alive: Vec<bool>,
    step: u64,
    coming: VecDeque<Event>,
    noise: Noise,
}

/// One field, with agents or without.
struct Pane {
    config: Config,
    params: Option<Vec<f32>>,
    state: LiveState,
    live: LiveLoop,
    controller: Option<Controller<f32>>,
    /// When the time of a decision was last measured, and that time.
    decision: Option<(Instant, f32)>,
    u: Vec<f32>,
    v: Vec<f32>,
    error: f64,
}

impl Simulation {
    /// Starts a set-up.
    pub fn new(mut setup: Setup, library: &Library) -> Result<Simulation, Refused> {
        let policies = [
            policy(&setup.task, setup.policy.as_deref(), library)?,
            policy(&setup.task, setup.beside.as_deref(), library)?,
        ];
        let known = library.offered.iter().map(Offered::policy);
        let all = policies.iter().flatten().cloned().chain(known);
        let Some(trained) =
            all.map(|policy| policy.config.clone()).find(|config| config.task.name == setup.task)
        else {
            let tasks = Tasks::built_in().names();
            return refused(format!("there is no task {:?}; known are {tasks}", setup.task));
        };
        if setup.case > LAST_CASE {
            return refused(format!("case {}: the last one is {LAST_CASE}", setup.case));
        }
        if !(1..=FINEST).contains(&setup.refine) {
            return refused(format!("a grid can be refined 1 to {FINEST} times"));
        }
        if setup.events.len() > MOST_EVENTS {
            return refused(format!("more than {MOST_EVENTS} events"));
        }
        setup.agents = setup.agents.or(Some(trained.agents));
        let agents = setup.agents.unwrap_or(trained.agents);
        let config = changed(&trained, agents, setup.refine, &[])?;
        let (first, target) = case(&trained, &config, setup.case);
        let mut coming = std::mem::take(&mut setup.events);
        coming.sort_by_key(|event| event.step);
        let pane = |policy: &Option<Arc<PolicyFile>>| {
            let base = policy.as_ref().map_or(&trained, |policy| &policy.config);
            let own = changed(base, agents, setup.refine, &[])?;
            if own.state_shape() != config.state_shape() || own.control_dt() != config.control_dt() {
                return refused("the two policies were trained on other grids or time steps");
            }
            let params = policy.as_ref().map(|policy| policy.params.clone());
            let state = match params {
                Some(_) => first.clone(),
                None => LiveState { xi: Vec::new(), ..first.clone() },
            };
            Ok(Pane::new(own, params, state, &target))
        };
        let panes = [pane(&policies[0])?, pane(&policies[1])?];
        let noise = Noise::new(setup.seed, setup.case);
        let alive = vec![true; agents];
        let mut simulation = Simulation {
            setup,
            sets: Vec::new(),
            trained,
            first,
            target,
            panes,
            alive,
            step: 0,
            coming: coming.into(),
            noise,
        };
        simulation.events_of_now();
        Ok(simulation)
    }

    /// Control steps done.
    pub fn step_number(&self) -> u64 {
        self.step
    }

    /// One control step of both panes, after the events that belong before it.
    pub fn advance(&mut self) {
        self.events_of_now();
        let alive: Vec<f32> = self.alive.iter().map(|&alive| f32::from(u8::from(alive))).collect();
        for pane in &mut self.panes {
            let (noise, config, step) = (&self.noise, &pane.config, self.step);
            let noise = |what| noise.at(config, what, step);
            pane.live.step(&alive, &noise);
            pane.look();
        }
        self.step += 1;
    }

    /// Whether both fields are finite.
    pub fn finite(&self) -> bool {
        self.panes.iter().all(|pane| pane.error.is_finite())
    }

    /// Lets something happen before the next step. Returns the event, and whether the scene has changed.
    pub fn happen(&mut self, what: What) -> Result<(Event, bool), Refused> {
        let scene = self.apply(&what)?;
        Ok((Event { step: self.step, what }, scene))
    }

    /// Events of the set-up for this step; those that cannot happen do not.
    fn events_of_now(&mut self) {
        while self.coming.front().is_some_and(|event| event.step <= self.step) {
            if let Some(event) = self.coming.pop_front() {
                let _ = self.apply(&event.what);
            }
        }
    }

    fn apply(&mut self, what: &What) -> Result<bool, Refused> {
        match *what {
            What::Kill(agent) => self.wake(agent, false),
            What::Revive(agent) => self.wake(agent, true),
            What::Move(agent, to) => self.put(agent, to),
            What::Add(at) => self.add(at),
            What::Disturb(at, by) => self.disturb(at, by),
            What::Agents(agents) => self.swarm(agents),
            What::Fail(share) => self.fail(share),
            What::Set(ref key, value) => self.set(key, value),
        }
    }

    fn agents(&self) -> usize {
        self.alive.len()
    }

    fn known(&self, agent: usize) -> Result<(), Refused> {
        if agent < self.agents() {
            return Ok(());
        }
        refused(format!("there is no agent {agent}: they count from 0 to {}", self.agents() - 1))
    }

    fn wake(&mut self, agent: usize, alive: bool) -> Result<bool, Refused> {
        self.known(agent)?;
        self.alive[agent] = alive;
        Ok(false)
    }

    /// A place inside the domain.
    fn inside(&self, at: [f32; 2]) -> Result<Vec<f32>, Refused> {
        let axes = self.trained.axes();
        if !at[..axes.len()].iter().all(|x| x.is_finite()) {
            return refused("a place must be finite");
        }
        Ok(axes.iter().zip(at).map(|(axis, x)| x.clamp(0.0, axis.length as f32)).collect())
    }

    fn put(&mut self, agent: usize, to: [f32; 2]) -> Result<bool, Refused> {
        self.known(agent)?;
        let (place, agents) = (self.inside(to)?, self.agents());
        for pane in self.panes.iter_mut().filter(|pane| pane.params.is_some()) {
            for (axis, &x) in place.iter().enumerate() {
                pane.state.xi[axis * agents + agent] = x;
            }
            pane.live.go_on(&pane.state);
        }
        Ok(false)
    }

    fn add(&mut self, at: [f32; 2]) -> Result<bool, Refused> {
        let (place, agents) = (self.inside(at)?, self.agents());
        let more = |xi: &[f32]| -> Vec<f32> {
            let rows = xi.chunks_exact(agents).zip(&place);
            rows.flat_map(|(row, &x)| row.iter().copied().chain([x])).collect()
        };
        self.rebuild(agents + 1, &self.sets.clone(), &more)?;
        self.alive.push(true);
        Ok(true)
    }

    fn swarm(&mut self, agents: usize) -> Result<bool, Refused> {
        let config = changed(&self.trained, agents, self.setup.refine, &[])?;
        let places: Vec<f32> = start_positions(&config).iter().map(|&x| x as f32).collect();
        self.rebuild(agents, &self.sets.clone(), &|_| places.clone())?;
        self.alive = vec![true; agents];
        Ok(true)
    }

    fn fail(&mut self, share: f64) -> Result<bool, Refused> {
        if !(0.0..=1.0).contains(&share) {
            return refused("the share of agents that fail lies between 0 and 1");
        }
        let mut config = changed(&self.trained, self.agents(), 1, &[])?;
        (config.failure.share, config.failure.step, config.time.steps) = (share, 0, 1);
        let drawn = Disturbance::evaluation(self.setup.seed, self.setup.case);
        let drawn = drawn.draw(&config, RandomInput::Alive, 0, 0);
        self.alive = drawn.iter().map(|&alive| alive > 0.0).collect();
        Ok(false)
    }

    fn disturb(&mut self, at: [f32; 2], by: f32) -> Result<bool, Refused> {
        if !(-10.0..=10.0).contains(&by) {
            return refused("a bump can be at most 10 times as high as the field");
        }
        let (place, config) = (self.inside(at)?, &self.panes[0].config);
        let height = f64::from(by) * f64::from(self.scale());
        let bump = bump(config, &place, height);
        let lowest = if config.task.fields[config.task.shown()].positive { 0.0 } else { f32::NEG_INFINITY };
        let offset = config.task.shown() * config.points();
        for pane in &mut self.panes {
            let field = &mut pane.state.z[offset..];
            field.iter_mut().zip(&bump).for_each(|(z, bump)| *z = (*z + bump).max(lowest));
            pane.live.go_on(&pane.state);
        }
        Ok(false)
    }

    fn set(&mut self, key: &str, value: f64) -> Result<bool, Refused> {
        if !self.adjustable().any(|known| known == key) {
            let known: Vec<String> = self.adjustable().collect();
            return refused(format!("{key} cannot be changed here; only {}", known.join(", ")));
        }
        let mut sets = self.sets.clone();
        sets.retain(|(known, _)| known != key);
        sets.push((key.to_string(), value));
        self.rebuild(self.agents(), &sets, &<[f32]>::to_vec)?;
        self.sets = sets;
        Ok(true)
    }

    /// Settings that can be changed while it runs.
    fn adjustable(&self) -> impl Iterator<Item = String> {
        let Config { task, physics, .. } = &self.trained;
        let keys = task.keys.iter().chain(cinoc_control::config::KEYS);
        let physics: Vec<String> = keys
            .filter(|key| key.name.strip_prefix("physics.").is_some_and(|key| physics.get(key).is_some()))
            .map(|key| key.name.to_string())
            .collect();
        let common = ["noise.sensor", "noise.actuator", "actuation.sigma"];
        common.into_iter().map(String::from).chain(physics)
    }

    /// The same fields under other settings. If a pane does not allow them, nothing changes.
    fn rebuild(
        &mut self,
        agents: usize,
        sets: &[(String, f64)],
        places: &dyn Fn(&[f32]) -> Vec<f32>,
    ) -> Result<(), Refused> {
        let configs = [&self.panes[0], &self.panes[1]].map(|pane| changed(&pane.config, agents, 1, sets));
        let [left, right] = configs;
        for (pane, config) in self.panes.iter_mut().zip([left?, right?]) {
            let xi = if pane.params.is_some() { places(&pane.state.xi) } else { Vec::new() };
            let state = LiveState { z: std::mem::take(&mut pane.state.z), xi };
            let (error, params) = (pane.error, pane.params.take());
            *pane = Pane { error, ..Pane::new(config, params, state, &self.target) };
        }
        self.noise.forget();
        Ok(())
    }

    fn scale(&self) -> f32 {
        let offset = self.trained.task.shown() * self.panes[0].config.points();
        let shown = |z: &[f32]| {
            z[offset..offset + self.panes[0].config.points()].iter().fold(0.0f32, |max, z| max.max(z.abs()))
        };
        shown(&self.first.z).max(shown(&self.target)).max(1e-6)
    }

    /// What it looks like.
    pub fn scene(&self) -> Scene {
        let config = &self.panes[0].config;
        let task = &config.task;
        let shown = &task.fields[task.shown()];
        let axes = config.axes();
        let length = |axis: usize| axes.get(axis).map_or(1.0, |axis| axis.length);
        let (rows, cols) = config.shape();
        let value = |config: &Config, key: &str| match key {
            "noise.sensor" => config.noise.sensor,
            "noise.actuator" => config.noise.actuator,
            "actuation.sigma" => config.actuation.sigma,
            key => config.physics.get(key.trim_start_matches("physics.")).unwrap_or(f64::NAN),
        };
        let meaning = |key: &str| {
            let keys = task.keys.iter().chain(cinoc_control::config::KEYS);
            keys.into_iter().find(|known| known.name == key).map_or("", |known| known.meaning).to_string()
        };
        let setting = |key: String| Setting {
            meaning: meaning(&key),
            value: value(config, &key),
            trained: value(&self.trained, &key),
            key,
        };
        let points = config.points();
        let offset = task.shown() * points;
        let discs = Discs::of(config).map_or_else(Vec::new, |discs| {
            discs.centres.iter().map(|&[x, y]| [x, y, discs.radius]).collect()
        });
        Scene {
            setup: self.setup.clone(),
            title: task.title.to_string(),
            field: shown.name.clone(),
            dims: task.dims,
            shape: [rows, cols],
            lengths: [length(0), length(1)],
            periodic: config.periodic(),
            positive: shown.positive,
            tracks: task.tracks,
            target: self.target[offset..offset + points].to_vec(),
            scale: self.scale(),
            agents: self.agents(),
            trained_agents: self.trained.agents,
            mobile: config.mobile(),
            u_max: config.actuation.u_max,
            v_max: config.actuation.v_max,
            dt: config.control_dt(),
            horizon: config.time.steps,
            settings: self.adjustable().map(setting).collect(),
            discs,
        }
    }

    /// Appends the frame of this moment.
    pub fn frame(&mut self, frame: &mut Vec<u8>) {
        let config = &self.panes[0].config;
        let (points, offset) = (config.points(), config.task.shown() * config.points());
        let decision = self.panes[0].decision_time();
        let parts = [&self.panes[0], &self.panes[1]].map(Pane::parts);
        let squares = |values: &[f32]| values.iter().map(|x| x * x).sum::<f32>() / values.len().max(1) as f32;
        let left = &self.panes[0];
        let header = Header {
            step: self.step as u32,
            errors: [left.error as f32, self.panes[1].error as f32],
            effort: squares(if left.u.is_empty() { &left.v } else { &left.u }),
            decision,
            points: points as u32,
            agents: self.agents() as u32,
            parts,
        };
        header.put(frame);
        let mut put = |values: &[f32]| values.iter().for_each(|value| frame.extend(value.to_le_bytes()));
        let alive: Vec<f32> = self.alive.iter().map(|&alive| f32::from(u8::from(alive))).collect();
        for pane in &self.panes {
            put(&pane.state.z[offset..offset + points]);
            if pane.params.is_some() {
                [&pane.state.xi, &pane.u, &pane.v, &alive].into_iter().for_each(|values| put(values));
            }
        }
    }
}

impl Pane {
    fn new(config: Config, params: Option<Vec<f32>>, state: LiveState, target: &[f32]) -> Pane {
        let live = match &params {
            Some(params) => LiveLoop::controlled(&config, params, &state, target),
            None => LiveLoop::uncontrolled(&config, &state, target),
        };
        let controller =
            params.as_ref().map(|params| Decision::<f32>::new(&config).controller(params, target));
        let agents = if params.is_some() { config.agents } else { 0 };
        let u = vec![0.0; config.actuation.u_max.map_or(0, |_| agents)];
        let v = vec![0.0; config.actuation.v_max.map_or(0, |_| config.task.dims * agents)];
        let distance = state.z.iter().zip(target).map(|(z, target)| f64::from(z - target).powi(2));
        let error = distance.sum::<f64>() / state.z.len() as f64;
        Pane { config, params, state, live, controller, decision: None, u, v, error }
    }

    /// Reads what the last step has made.
    fn look(&mut self) {
        self.state.z = self.live.z();
        if let Some(xi) = self.live.xi() {
            self.state.xi = xi;
        }
        self.u = self.live.u().unwrap_or_default();
        self.v = self.live.v().unwrap_or_default();
        self.error = self.live.error();
    }

    fn parts(&self) -> u32 {
        match self.params {
            Some(_) => 1 + 2 * u32::from(!self.u.is_empty()) + 4 * u32::from(!self.v.is_empty()),
            None => 0,
        }
    }

    /// How long a decision of all agents takes here, in microseconds. With many agents it takes as long as a step, so it is not
    /// measured for every frame.
    fn decision_time(&mut self) -> f32 {
        let Some(controller) = &mut self.controller else { return 0.0 };
        match self.decision {
            Some((when, time)) if when.elapsed() < REMEASURE => time,
            _ => {
                let start = Instant::now();
                controller.decide(&self.state.z, &self.state.xi);
                let time = start.elapsed().as_secs_f32() * 1e6;
                self.decision = Some((Instant::now(), time));
                time
            }
        }
    }
}

/// The policy of a name, which must be for the task.
fn policy(task: &str, name: Option<&str>, library: &Library) -> Result<Option<Arc<PolicyFile>>, Refused> {
    let Some(name) = name else { return Ok(None) };
    let Some(offered) = library.find(name) else {
        return refused(format!("there is no policy {name:?} here"));
    };
    let policy = offered.policy();
    match policy.config.task.name == task {
        true => Ok(Some(policy)),
        false => refused(format!("the policy {name} is for {}, not for {task}", policy.config.task)),
    }
}

/// A config with other agents, a finer grid, and other settings.
fn changed(config: &Config, agents: usize, refine: usize, sets: &[(String, f64)]) -> Result<Config, Refused> {
    if !(1..=MOST_AGENTS).contains(&agents) {
        return refused(format!("there can be 1 to {MOST_AGENTS} agents"));
    }
    let mut all = vec![format!("agents={agents}")];
    if refine > 1 {
        let finer = |n: usize| if config.periodic() { refine * n } else { refine * (n - 1) + 1 };
        all.push(format!("grid.n={}", finer(config.grid.n)));
        all.extend(config.grid.n_y.map(|n| format!("grid.n_y={}", finer(n))));
    }
    all.extend(sets.iter().map(|(key, value)| format!("{key}={value:?}")));
    let changed = config.with_sets(&all).map_err(|error| Refused(error.to_string()))?;
    if config.centralised() && (changed.agents, changed.shape()) != (config.agents, config.shape()) {
        return refused("a centralised policy runs only with the agents and the grid of its training");
    }
    Ok(changed)
}

/// Initial field and places, and the target, of a validation case.
fn case(trained: &Config, config: &Config, number: usize) -> (LiveState, Vec<f32>) {
    let (threads, folder) = (Threads::one(), cache_folder());
    let count = (number + 1).next_power_of_two();
    let cases: Cases =
        cached(trained, CASES_SEED, Pool::Validation, count, &threads, folder.as_deref(), &|_, _| {});
    let cases = cases.refined(trained, config);
    let single = |values: &[f64]| -> Vec<f32> { values.iter().map(|&value| value as f32).collect() };
    let state = LiveState { z: single(cases.z0(number)), xi: single(&start_positions(config)) };
    (state, single(cases.zt(number)))
}

/// A bump of the field at a place.
fn bump(config: &Config, place: &[f32], height: f64) -> Vec<f32> {
    let axes: Vec<_> = config.domain().axes().collect();
    let width = BUMP * axes.iter().map(|axis| axis.length).fold(f64::MAX, f64::min);
    let along: Vec<Vec<f64>> = axes
        .iter()
        .zip(place)
        .map(|(axis, &x)| {
            let shape = |point: f64| {
                let apart = (point - f64::from(x)).abs();
                let apart = axis.period().map_or(apart, |period| apart.min(period - apart));
                (-0.5 * (apart / width).powi(2)).exp()
            };
            axis.points().into_iter().map(shape).collect()
        })
        .collect();
    match &along[..] {
        [x] => x.iter().map(|x| (height * x) as f32).collect(),
        [x, y] => x.iter().flat_map(|x| y.iter().map(move |y| (height * x * y) as f32)).collect(),
        _ => unreachable!("domains have one or two axes"),
    }
}

/// Noise of a simulation that may go on for ever: that of `cinoc eval` in the first horizon, then of other streams.
struct Noise {
    seed: u64,
    case: usize,
    drawn: std::cell::RefCell<HashMap<(&'static str, usize), Vec<f32>>>,
}

impl Noise {
    fn new(seed: u64, case: usize) -> Noise {
        Noise { seed, case, drawn: Default::default() }
    }

    fn forget(&self) {
        self.drawn.borrow_mut().clear();
    }

    fn at(&self, config: &Config, what: RandomInput, step: u64) -> Vec<f32> {
        let (round, within) = (step as usize / config.time.steps, step as usize % config.time.steps);
        let mut drawn = self.drawn.borrow_mut();
        drawn.retain(|(_, of), _| *of == round);
        let values = drawn.entry((what.name(), round)).or_insert_with(|| {
            let disturbance = Disturbance::evaluation(self.seed, self.case + round * ROUND);
            disturbance.draw(config, what, 0, 0).iter().map(|&value| value as f32).collect()
        });
        let size = values.len() / config.time.steps;
        values[within * size..][..size].to_vec()
    }
}
