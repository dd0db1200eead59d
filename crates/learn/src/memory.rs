//! What a run needs of memory, estimated from its settings before anything is allocated.
//!
//! The estimate counts what grows with the settings: cases, inputs of a batch, the history of states, the
//! values of one step, what is recorded, the pairs of agents in the loss. It is an upper bound rather than a
//! guess, and a request that cannot fit is refused with the number instead of being killed by the system.

use std::fmt;

use cinoc_control::config::Around;
use cinoc_control::policy::{actions, param_count};
use cinoc_control::{Config, Decision, Targets};
use thiserror::Error;

use crate::train::chunk;

/// Memory by what it is for, in bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Needs {
    parts: Vec<(&'static str, f64)>,
}

/// A request that does not fit.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("this needs about {needed} of memory ({parts}), and {available} are available; lower {remedy}")]
pub struct TooLarge {
    needed: Bytes,
    parts: String,
    available: Bytes,
    remedy: &'static str,
}

/// A number of bytes, as people write it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bytes(pub f64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1e18, "EB"), (1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB")];
        let (size, unit) = units.into_iter().find(|(size, _)| self.0 >= *size).unwrap_or((1e6, "MB"));
        write!(f, "{:.1} {unit}", self.0 / size)
    }
}

/// Bytes of a number in single precision, in double precision.
const SINGLE: f64 = 4.0;
const DOUBLE: f64 = 8.0;

/// A program and its tables, whatever the settings.
const BASE: f64 = 40e6;

impl Needs {
    /// Of a training.
    pub fn training(config: &Config, threads: usize) -> Needs {
        let (batch, steps) = (config.train.batch as f64, config.time.steps as f64);
        let agents = config.agents.saturating_add(config.spare_agents());
        let sizes = Sizes::of(&Config { agents, ..config.clone() });
        let workers = (threads as f64).min((batch / sizes.chunk).ceil());
        let mut parts = vec![
            ("cases", 2.0 * DOUBLE * config.data.pool as f64 * sizes.state),
            ("batch", 3.0 * SINGLE * batch * (steps * sizes.inputs + 2.0 * sizes.state)),
            ("history", SINGLE * workers * sizes.chunk * steps * sizes.carried),
            ("one step", 8.0 * SINGLE * workers * sizes.chunk * sizes.values),
            ("parameters", SINGLE * sizes.params * (6.0 + 2.0 * workers + (batch / sizes.chunk).ceil())),
            ("pairs of agents", sizes.pairs),
            ("stored values", 1e6 * config.train.memory_mb as f64),
            ("validation", validation(config, &sizes)),
        ];
        if let Some(off) = config.method.as_ref().and_then(|method| method.off_policy.as_ref()) {
            let transition =
                2.0 * sizes.state * if config.task.tracks { 2.0 } else { 1.0 } + 2.0 * sizes.agents;
            parts.push(("replay buffer", SINGLE * off.buffer as f64 * transition));
            parts.push(("environments", SINGLE * off.envs as f64 * (sizes.values + steps * sizes.inputs)));
        }
        if let Some(on) = config.method.as_ref().and_then(|method| method.on_policy.as_ref()) {
            let decisions = on.envs as f64 * on.horizon as f64;
            parts.push(("decisions", SINGLE * decisions * (2.0 * sizes.state + 4.0 * sizes.agents)));
            parts.push(("environments", SINGLE * on.envs as f64 * (sizes.values + steps * sizes.inputs)));
        }
        Needs { parts }
    }

    /// Of so many environments side by side, whose actions are given.
    pub fn environments(config: &Config, copies: usize) -> Needs {
        let (sizes, steps) = (Sizes::of(config), config.time.steps as f64);
        let copy = sizes.values + steps * (sizes.inputs + sizes.agents) + 8.0 * sizes.state;
        Needs {
            parts: vec![
                ("cases", 2.0 * DOUBLE * config.data.pool as f64 * sizes.state),
                ("copies", SINGLE * copies as f64 * copy),
            ],
        }
    }

    /// Of rolling out so many cases with and without control, at most `at_once` of them at a time.
    pub fn evaluation(config: &Config, cases: usize, at_once: usize, threads: usize) -> Needs {
        let sizes = Sizes::of(config);
        Needs {
            parts: vec![
                ("cases", 4.0 * DOUBLE * cases as f64 * sizes.state),
                ("trajectories", at_once.min(cases) as f64 * Needs::trajectories(config)),
                ("one step", 4.0 * SINGLE * threads as f64 * sizes.chunk * sizes.values),
                ("parameters", 8.0 * SINGLE * sizes.params),
            ],
        }
    }

    /// Of what is recorded of one case with and without control, and of what disturbs it.
    pub fn trajectories(config: &Config) -> f64 {
        let (sizes, steps) = (Sizes::of(config), config.time.steps as f64);
        let recorded = 2.0 * sizes.state + 3.0 * sizes.agents + 4.0;
        SINGLE * steps * (2.0 * recorded + 3.0 * sizes.inputs)
    }

    /// Of the targets of one case in all control steps; nothing if they are fixed.
    pub fn targets(config: &Config, targets: Targets) -> f64 {
        match targets {
            Targets::Fixed => 0.0,
            Targets::Moving => {
                let numbers = (config.time.steps * config.state_size()) as f64;
                // the batch, its derivatives by chunks, and those of all chunks while they are joined
                5.0 * SINGLE * numbers
            }
        }
    }

    /// The same with the targets of so many cases that are run together.
    pub fn with_targets(mut self, config: &Config, targets: Targets, cases: usize) -> Needs {
        self.parts.push(("targets", cases as f64 * Needs::targets(config, targets)));
        self
    }

    /// The same for so many processes on one machine, which share `train.memory_mb`.
    pub fn of_processes(mut self, processes: usize) -> Needs {
        let grows = self.parts.iter_mut().filter(|(what, _)| *what != "stored values");
        grows.for_each(|(_, bytes)| *bytes *= processes as f64);
        self
    }

    /// Of decisions of all agents, in double precision. Many agents decide in blocks, a block per thread at a
    /// time.
    pub fn decisions(config: &Config, threads: usize) -> Needs {
        Needs::in_blocks(config, config.agents.min(Decision::<f64>::block(config)), threads)
    }

    /// Of decisions where agents may fail: all decide together.
    pub fn decisions_with_failures(config: &Config) -> Needs {
        Needs::in_blocks(config, config.agents, 1)
    }

    fn in_blocks(config: &Config, block: usize, threads: usize) -> Needs {
        let block = Config { agents: block, ..config.clone() };
        let (sizes, all) = (Sizes::of(&block), Sizes::of(config));
        let workers = threads as f64;
        Needs {
            parts: vec![
                ("field", 4.0 * DOUBLE * sizes.state),
                ("agents", 8.0 * DOUBLE * all.agents),
                ("one step", 2.0 * DOUBLE * workers * sizes.values),
                ("parameters", (3.0 + workers) * DOUBLE * all.params),
            ],
        }
    }

    /// All of it, in bytes.
    pub fn total(&self) -> f64 {
        BASE + self.parts.iter().map(|(_, bytes)| bytes).sum::<f64>()
    }

    /// Refuses what does not fit into the memory that is available now; where that is not known, nothing is
    /// refused.
    pub fn check(&self) -> Result<(), TooLarge> {
        available().map_or(Ok(()), |available| self.check_against(available))
    }

    fn check_against(&self, available: f64) -> Result<(), TooLarge> {
        if self.total() <= available {
            return Ok(());
        }
        let mut parts = self.parts.clone();
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        let remedy = match parts[0].0 {
            "cases" => "data.pool, --cases or grid.n",
            "batch" | "history" => "train.batch or time.steps",
            "targets" => "train.batch, --cases or time.steps",
            "trajectories" => "--cases, time.steps or grid.n",
            "pairs of agents" => "agents, or set loss.coll=0",
            "stored values" => "train.memory_mb",
            "validation" => "train.validation_cases",
            "copies" => "the number of environments, time.steps or grid.n",
            "replay buffer" => "method.off_policy.buffer",
            "decisions" => "method.on_policy.envs or method.on_policy.horizon",
            "parameters" => "policy.conv, method.hidden or observe.patch",
            _ => "agents, grid.n or observe.patch",
        };
        let largest: Vec<String> =
            parts.iter().take(2).map(|(what, bytes)| format!("{what} {}", Bytes(*bytes))).collect();
        Err(TooLarge {
            needed: Bytes(self.total()),
            parts: largest.join(", "),
            available: Bytes(available),
            remedy,
        })
    }
}

/// Inputs and trajectories of the validation cases; 0 where nothing is validated.
fn validation(config: &Config, sizes: &Sizes) -> f64 {
    let cases = if config.train.validate_every > 0 { config.train.validation_cases as f64 } else { 0.0 };
    SINGLE * cases * config.time.steps as f64 * (sizes.inputs + 2.0 * sizes.state + sizes.agents + 4.0)
}

/// How many numbers things have.
struct Sizes {
    chunk: f64,
    state: f64,
    /// Of all agents: positions, velocities, intensities.
    agents: f64,
    /// Carried from step to step, per sample.
    carried: f64,
    /// Given in every step, per sample.
    inputs: f64,
    /// Computed in one step, per sample.
    values: f64,
    params: f64,
    /// Bytes of the pairs of agents in the loss.
    pairs: f64,
}

impl Sizes {
    fn of(config: &Config) -> Sizes {
        let (state, agents, dims) =
            (config.state_size() as f64, config.agents as f64, config.task.dims as f64);
        let given = |used: bool, numbers: f64| if used { numbers } else { 0.0 };
        let inputs = given(config.noise.sensor > 0.0, state)
            + given(config.noise.actuator > 0.0, agents * dims)
            + agents * actions(config) as f64;
        let params = param_count(config) as f64;
        let pairs = if config.loss.coll.is_some_and(|weight| weight > 0.0) { agents * agents } else { 0.0 };
        Sizes {
            chunk: chunk(config) as f64,
            state,
            agents: agents * (2.0 * dims + 1.0),
            carried: state + 2.0 * dims * agents,
            inputs,
            values: 60.0 * state * config.time.substeps.min(50) as f64
                + per_agent(config) * agents
                + given(config.task.dims == 1, agents * (config.shape().0 as f64))
                + given(config.task.dims == 2, 2.0 * agents * (state.sqrt() + crowd_points(config)))
                + 2.0 * crowd_points(config).powi(config.task.dims as i32)
                + maps(config),
            params,
            pairs: 40.0 * pairs,
        }
    }
}

/// Points of the finer lattice of agents' density, along an axis.
fn crowd_points(config: &Config) -> f64 {
    let longest = config.axes().iter().map(|axis| axis.length).fold(0.0, f64::max);
    4.0 + 3.0 * longest / config.actuation.sigma
}

/// Numbers that one agent's network computes.
fn per_agent(config: &Config) -> f64 {
    let hidden: usize = config.method.as_ref().map_or(0, |method| method.hidden.iter().sum());
    let seen = match config.observe.around {
        Around::Patch { patch, .. } => {
            let channels = 4 * config.task.fields.len() + config.policy.conv.iter().sum::<usize>();
            2.0 * (patch * patch) as f64 * channels as f64
        }
        Around::Window { window, points } => 8.0 * (window + points) as f64,
    };
    400.0 + 2.0 * hidden as f64 + seen
}

/// Numbers of feature maps of the whole field.
fn maps(config: &Config) -> f64 {
    let channels: usize = config.policy.conv.iter().sum();
    2.0 * channels as f64 * config.points() as f64
}

/// Memory that can be had without swapping, in bytes; `None` where the system does not say.
fn available() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(1024.0 * kilobytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(task: &str, sets: &[&str]) -> Config {
        Config::resolve(task, None, &sets.iter().map(|set| set.to_string()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn presets_fit_into_an_ordinary_machine() {
        for task in cinoc_control::Tasks::built_in().iter() {
            let needs = Needs::training(&task.config().unwrap(), 2);
            assert!((1e7..4e9).contains(&needs.total()), "{task}: {needs:?}");
            assert_eq!(needs.check_against(4e9), Ok(()));
        }
    }

    #[test]
    fn a_large_swarm_decides_in_little_memory() {
        for task in ["fkpp1d", "heat2d", "ks2d"] {
            let needs = Needs::decisions(&config(task, &["agents=100000"]), 2);
            assert!(needs.total() < 1e9, "{task}: {needs:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_told_with_its_remedy() {
        let refusal = |sets: &[&str]| {
            Needs::training(&config("heat1d", sets), 2).check_against(8e9).unwrap_err().to_string()
        };
        let message = refusal(&["train.batch=999999999"]);
        assert!(message.starts_with("this needs about ") && message.contains(" TB of memory"), "{message}");
        assert!(message.ends_with("lower train.batch or time.steps"), "{message}");
        assert!(refusal(&["agents=1000000"]).ends_with("lower agents, or set loss.coll=0"));
        assert!(refusal(&["data.pool=99999999"]).ends_with("lower data.pool, --cases or grid.n"));
        assert!(refusal(&["train.memory_mb=90000"]).ends_with("lower train.memory_mb"));
        let moving = |batch: usize| {
            let config = config("heat1d", &["train.batch=1"]);
            Needs::training(&config, 2).with_targets(&config, Targets::Moving, batch).check_against(8e9)
        };
        assert_eq!(moving(100), Ok(()));
        assert!(moving(100_000).unwrap_err().to_string().contains("(targets 60.0 GB"));
        let many = Needs::evaluation(&config("heat1d", &[]), 10_000_000, 10_000_000, 2)
            .check_against(8e9)
            .unwrap_err();
        assert!(many.to_string().contains("lower --cases"), "{many}");
    }
}
