//! Baselines: other ways to train, and other networks to train, than the operator policy through the physics.
//!
//! A method has a preset of its own, laid over that of the task. A config without a method is the operator
//! policy.

use serde::{Deserialize, Serialize};
use toml::Table;

use super::error::ConfigError;

/// How a baseline is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// The algorithm.
    pub name: Algorithm,
    /// The network that acts.
    pub network: Network,
    /// Widths of the hidden layers of networks that have no other structure.
    pub hidden: Vec<usize>,
    /// Whether critics of the whole state are also told the mean square of its error, which is most of what
    /// they are to foretell. Not written down where they are not, as in configs from before there was a
    /// choice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub critic_energy: bool,
    /// Settings of algorithms that learn from what the policy does now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_policy: Option<OnPolicy>,
    /// Settings of algorithms that learn from what was done before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub off_policy: Option<OffPolicy>,
}

/// `method.name`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// Differentiable predictive control: through the physics.
    Dpc,
    /// Proximal policy optimisation.
    Ppo,
    /// The same with an actor per agent.
    Mappo,
    /// Twin delayed deterministic policy gradient.
    Td3,
    /// The same with an actor per agent.
    Matd3,
}

/// `method.network`: what decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// Whole field, target and positions to the actions of all agents.
    Central,
    /// The whole field convolved; every agent reads its part of the result.
    Convolutional,
    /// What an agent sees to its own action.
    Local,
    /// The same as branch and trunk of an operator network.
    Operator,
}

/// `method.off_policy.critic`: what the critics of many agents know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Critic {
    /// The whole state and all actions.
    Joint,
    /// What an agent sees and its own action.
    Independent,
}

/// PPO and MAPPO.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnPolicy {
    /// Environments side by side.
    pub envs: usize,
    /// Control steps an action is held.
    pub hold: usize,
    /// Decisions collected per update.
    pub horizon: usize,
    /// Widths of the critic's hidden layers.
    pub critic_hidden: Vec<usize>,
    /// Passes over what was collected.
    pub epochs: usize,
    /// Discount.
    pub gamma: f64,
    /// Decay of generalised advantage estimation.
    pub lambda: f64,
    /// How far the probability of an action may move before an update stops caring.
    pub ratio_clip: f64,
    /// Weight of the critic's error in the loss.
    pub value_weight: f64,
    /// Weight of the policy's entropy.
    pub entropy_weight: f64,
    /// First standard deviation of actions, in units of their bound.
    pub std: f64,
}

/// TD3 and MATD3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OffPolicy {
    /// Environments side by side.
    pub envs: usize,
    /// Control steps an action is held.
    pub hold: usize,
    /// Decisions between two rounds of gradient steps.
    pub interval: usize,
    /// Gradient steps of the critics in a round.
    pub gradient_steps: usize,
    /// Transitions kept.
    pub buffer: usize,
    /// Transitions with random actions before learning.
    pub first: usize,
    /// Gradient steps of the critics before the first of the actor, which would follow their first guesses to
    /// its bounds.
    pub warmup: usize,
    /// Discount.
    pub gamma: f64,
    /// Widths of the critics' hidden layers.
    pub critic_hidden: Vec<usize>,
    /// Share of the new in the target networks, per gradient step.
    pub tau: f64,
    /// Standard deviation of exploration, in units of the bounds.
    pub explore: f64,
    /// Share of what is tried, at random or around the policy, that all agents do together: what a swarm does
    /// as one is not found out by agents that try on their own. Not written down where there is none, as in
    /// configs from before there was a choice.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub together: f64,
    /// Standard deviation of target smoothing.
    pub smooth: f64,
    /// Bound of that noise.
    pub smooth_clip: f64,
    /// Gradient steps of the critics per one of the actor.
    pub delay: usize,
    /// What the critics know.
    pub critic: Critic,
}

/// A method one can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodInfo {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, in one line.
    pub title: &'static str,
    /// Its settings, laid over those of the task; empty for the operator policy, which is what tasks are set
    /// up for.
    pub preset: &'static str,
    /// What is other on some tasks.
    tasks: &'static [(&'static str, &'static str)],
}

/// A baseline with its preset and what is other on some tasks: TOML files named after the method and the
/// task.
macro_rules! baseline {
    ($name:literal, $title:literal, [$($task:literal),*]) => {
        MethodInfo {
            name: $name,
            title: $title,
            preset: include_str!(concat!("../../presets/methods/", $name, ".toml")),
            tasks: &[$((
                $task,
                include_str!(concat!("../../presets/methods/", $name, "/", $task, ".toml")),
            )),*],
        }
    };
}

const METHODS: &[MethodInfo] = &[
    MethodInfo {
        name: "cinoc",
        title: "shared operator policy, through the physics",
        preset: "",
        tasks: &[],
    },
    baseline!(
        "dpc",
        "centralised network, through the physics",
        ["density2d", "heat1d", "heat2d", "heat2d-obstacles", "ks1d", "turb2d"]
    ),
    baseline!(
        "ppo",
        "centralised network, by trial, on policy",
        ["density2d", "heat1d", "heat2d", "heat2d-obstacles", "ks1d", "ks2d", "turb2d"]
    ),
    baseline!(
        "td3",
        "centralised network, by trial, off policy",
        ["density2d", "heat1d", "heat2d", "heat2d-obstacles", "ks1d", "ks2d", "turb2d"]
    ),
    baseline!(
        "mappo",
        "shared local network, by trial, on policy",
        ["density2d", "heat1d", "heat2d", "heat2d-obstacles", "ks1d", "ks2d", "turb2d"]
    ),
    baseline!(
        "matd3",
        "shared local network, by trial, off policy",
        ["density2d", "heat1d", "heat2d", "heat2d-obstacles", "ks1d", "ks2d", "turb2d"]
    ),
];

/// All methods.
pub fn methods() -> &'static [MethodInfo] {
    METHODS
}

/// Lays the preset of a method over that of a task.
pub(super) fn lay_over(table: &mut Table, method: &str, task: &str) -> Result<(), ConfigError> {
    let Some(info) = METHODS.iter().find(|known| known.name == method) else {
        let known = METHODS.iter().map(|known| known.name).collect::<Vec<_>>().join(", ");
        return Err(ConfigError::UnknownMethod { method: method.to_string(), known });
    };
    let special = info.tasks.iter().filter(|(name, _)| *name == task).map(|(_, text)| *text);
    for text in std::iter::once(info.preset).chain(special) {
        fill(table, text.parse().expect("the presets of the library are valid TOML"));
    }
    Ok(())
}

/// Replaces and adds values.
fn fill(base: &mut Table, over: Table) {
    for (name, new) in over {
        match (base.get_mut(&name), new) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => fill(old, new),
            (_, new) => {
                base.insert(name, new);
            }
        }
    }
}

impl super::Config {
    /// Widths of the hidden layers of networks that have no other structure; none for the operator policy.
    pub fn hidden(&self) -> &[usize] {
        self.method.as_ref().map_or(&[], |method| &method.hidden)
    }

    /// The network that acts.
    pub fn network(&self) -> Network {
        self.method.as_ref().map_or(Network::Operator, |method| method.network)
    }

    /// Whether the policy knows the whole state and has a fixed number of agents.
    pub fn centralised(&self) -> bool {
        self.network() == Network::Central
    }

    /// Name of the method.
    pub fn method_name(&self) -> &'static str {
        match self.method.as_ref().map(|method| method.name) {
            None => "cinoc",
            Some(Algorithm::Dpc) => "dpc",
            Some(Algorithm::Ppo) => "ppo",
            Some(Algorithm::Td3) => "td3",
            Some(Algorithm::Mappo) => "mappo",
            Some(Algorithm::Matd3) => "matd3",
        }
    }
}
