//! One simulation: two panes that start from the same field, stepped together, and what happens to them.

mod events;
mod noise;
mod pane;

use std::collections::VecDeque;
use std::sync::Arc;

use cinoc_adjoint::Threads;
use cinoc_control::agents::start_positions;
use cinoc_control::live::LiveState;
use cinoc_control::obstacles::Discs;
use cinoc_control::{Cases, Config, Pool, Tasks};
use cinoc_learn::policy_file::PolicyFile;
use cinoc_learn::pool::{cache_folder, cached};
use thiserror::Error;

use self::noise::Noise;
use self::pane::Pane;
use crate::library::{Library, Offered};
use crate::protocol::{Event, FINEST, Header, MOST_AGENTS, MOST_EVENTS, Scene, Setting, Setup};

/// Seed of validation cases: the one of `cinoc eval`.
const CASES_SEED: u64 = 0;
/// Largest number of the last case.
const LAST_CASE: usize = 9999;

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
