//! The policy: what the agents do about what they see.
//!
//! Ours is one small operator network (`operator`), the same for every agent. Baselines have others: a
//! centralised network (`central`), one that convolves the field (`convolutional`), a plain network per agent
//! (`local`). Each gives one number per action and agent; `u = u_max tanh(.)`, `v = v_max tanh(.)` per
//! component. With `policy.share = "crowd"` the number of the intensity (of the velocity, where agents stir)
//! is multiplied by an agent's share of the crowd before the tanh.
//!
//! Parameters are `NAME.w` (`[inputs][outputs]`) and `NAME.b`, in the order of [`layers`].

mod branch;
mod central;
mod convolutional;
mod local;
mod operator;
mod patch_branch;
mod plain;
mod trunk;
mod window_branch;

use crate::config::{Around, Config, Network, Share};
use crate::observation::crowd::{Crowd, Neighbours};
use crate::observation::patch::Patches;
use crate::observation::window::Windows;
pub use central::{energy, state, state_size};
use cinoc_adjoint::{Tracer, Var};
pub use local::{view, view_size};
pub use plain::Plain;
pub use trunk::{NEAR, WAVE_NUMBERS, base_frequency};

use central::Central;
use convolutional::Convolutional;
use local::Local;
use operator::Operator;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// Standard deviation of a standard normal variable truncated at two standard deviations.
const TRUNCATED_STD: f64 = 0.879_625_661_034_239_8;

/// A dense layer by its name in files; a convolution is one over the 3 x 3 neighbourhood of a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Name; its parameters are `NAME.w` and `NAME.b`.
    pub name: String,
    /// Numbers in.
    pub inputs: usize,
    /// Numbers out.
    pub outputs: usize,
}

fn layer(name: impl Into<String>, inputs: usize, outputs: usize) -> Layer {
    Layer { name: name.into(), inputs, outputs }
}

/// The layers, in the order of the flat parameter vector (each weight, then bias).
pub fn layers(config: &Config) -> Vec<Layer> {
    match config.network() {
        Network::Operator => operator::layers(config),
        Network::Central => central::layers(config),
        Network::Convolutional => convolutional::layers(config),
        Network::Local => local::layers(config),
    }
}

/// Actions per agent: the intensity, where there is one, and the components of the velocity, where agents
/// move.
pub fn actions(config: &Config) -> usize {
    let velocity = if config.mobile() { config.task.dims } else { 0 };
    usize::from(config.actuation.u_max.is_some()) + velocity
}

/// Numbers in the flat parameter vector.
pub fn param_count(config: &Config) -> usize {
    layers(config).iter().map(|layer| (layer.inputs + 1) * layer.outputs).sum()
}

/// Fresh parameters of the policy, those of the head times `policy.head_scale`.
pub fn initial_params(config: &Config, rng: &mut ChaCha8Rng) -> Vec<f64> {
    first_values(&layers(config), config.policy.head_scale, rng)
}

/// Fresh parameters of some layers: LeCun normal weights (variance `1 / inputs`, truncated at two standard
/// deviations), those of the head times a factor, zero biases.
pub fn first_values(layers: &[Layer], head_scale: f64, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut params = Vec::new();
    for layer in layers {
        let head = if layer.name == "head" { head_scale } else { 1.0 };
        let scale = head / ((layer.inputs as f64).sqrt() * TRUNCATED_STD);
        params.extend((0..layer.inputs * layer.outputs).map(|_| scale * truncated_normal(rng)));
        params.resize(params.len() + layer.outputs, 0.0);
    }
    params
}

fn truncated_normal(rng: &mut ChaCha8Rng) -> f64 {
    loop {
        let x: f64 = rng.sample(StandardNormal);
        if x.abs() <= 2.0 {
            return x;
        }
    }
}

/// Weight and bias of a layer in a trace.
#[derive(Clone, Copy)]
struct Dense<'t> {
    w: Var<'t>,
    b: Var<'t>,
}

impl<'t> Dense<'t> {
    fn declare(tracer: &'t Tracer, layer: &Layer) -> Dense<'t> {
        Dense {
            w: tracer.param(&format!("{}.w", layer.name), layer.inputs, layer.outputs),
            b: tracer.param(&format!("{}.b", layer.name), layer.outputs, 1),
        }
    }

    fn apply(self, x: Var<'t>) -> Var<'t> {
        x.dense(self.w, Some(self.b))
    }
}

/// What the policy looks at.
#[derive(Clone, Copy)]
pub struct Sight<'t> {
    /// The field, as the sensors show it.
    pub z: Var<'t>,
    /// What it should be.
    pub target: Var<'t>,
    /// Where the agents are, `[dims][agents]`.
    pub xi: Var<'t>,
    /// What they know of each other, where the policy asks for it.
    pub neighbours: Option<Neighbours<'t>>,
}

impl<'t> Sight<'t> {
    /// What a policy looks at; of the agents, those with `alive` 1 are noticed by the others, or all.
    pub fn new(
        config: &Config,
        z: Var<'t>,
        target: Var<'t>,
        xi: Var<'t>,
        alive: Option<Var<'t>>,
    ) -> Sight<'t> {
        let neighbours = Sight::crowd(config).map(|crowd| crowd.neighbours(xi, alive));
        Sight { z, target, xi, neighbours }
    }

    /// The sense for other agents, if the policy asks for it.
    pub fn crowd(config: &Config) -> Option<Crowd> {
        let asked = config.observe.crowd || config.policy.share == Share::Crowd;
        asked.then(|| Crowd::new(config))
    }
}

/// What the policy tells the agents.
#[derive(Clone, Copy)]
pub struct Action<'t> {
    /// Intensities `[1][agents]`, where agents have any.
    pub u: Option<Var<'t>>,
    /// Velocities `[dims][agents]`, where agents move.
    pub v: Option<Var<'t>>,
}

impl<'t> Action<'t> {
    /// The same done to both.
    pub fn map(self, mut f: impl FnMut(Var<'t>) -> Var<'t>) -> Action<'t> {
        Action { u: self.u.map(&mut f), v: self.v.map(&mut f) }
    }
}

/// A network in a trace.
trait Net<'t> {
    /// Its outputs before they are bounded, `[actions][agents]`.
    fn raw(&self, sight: Sight<'t>) -> Var<'t>;
}

/// The policy in a trace.
pub struct Policy<'t> {
    config: Config,
    net: Box<dyn Net<'t> + 't>,
}

impl<'t> Policy<'t> {
    /// Declares the parameters, in the order of [`layers`].
    pub fn declare(tracer: &'t Tracer, config: &Config) -> Policy<'t> {
        let mut declared = layers(config).into_iter().map(|layer| Dense::declare(tracer, &layer));
        let mut next = || declared.next().expect("`layers` lists every layer of the network");
        let net: Box<dyn Net<'t> + 't> = match config.network() {
            Network::Operator => Box::new(Operator::new(config, &mut next)),
            Network::Central => Box::new(Central::new(config, &mut next)),
            Network::Convolutional => Box::new(Convolutional::new(config, &mut next)),
            Network::Local => Box::new(Local::new(config, &mut next)),
        };
        Policy { config: config.clone(), net }
    }

    /// Outputs of the network before they are bounded, `[actions][agents]`.
    pub fn raw(&self, sight: Sight<'t>) -> Var<'t> {
        self.net.raw(sight)
    }

    /// The bounded actions.
    pub fn act(&self, sight: Sight<'t>) -> Action<'t> {
        let raw = self.raw(sight);
        let shared = match (self.config.policy.share, sight.neighbours) {
            (Share::Crowd, Some(neighbours)) => shared(&self.config, raw, neighbours.share),
            _ => raw,
        };
        scaled(&self.config, shared.tanh())
    }
}

/// Outputs of the network with those that add up over agents multiplied by the share of each.
fn shared<'t>(config: &Config, raw: Var<'t>, share: Var<'t>) -> Var<'t> {
    match config.actuation.u_max {
        Some(_) if raw.rows() > 1 => (raw.slice(0..1) * share).stack(raw.slice(1..raw.rows())),
        _ => raw * share,
    }
}

/// Actions in units of their bounds, `[actions][agents]`, as the agents are told them.
pub fn scaled<'t>(config: &Config, units: Var<'t>) -> Action<'t> {
    let bounds = &config.actuation;
    let first_v = usize::from(bounds.u_max.is_some());
    let v = bounds.v_max.map(|v_max| v_max * units.slice(first_v..units.rows()));
    Action {
        u: bounds.u_max.map(|u_max| u_max * units.slice(0..1)),
        // stirring agents are bounded in speed too
        v: match (bounds.gain, v, bounds.v_max) {
            (Some(_), Some(v), Some(v_max)) if v_max > 0.0 => Some(v.limit_length(v_max)),
            _ => v,
        },
    }
}

/// What every agent sees, by channel or by row, column and channel, `[inputs][agents]`.
pub fn observation<'t>(config: &Config, sight: Sight<'t>) -> Var<'t> {
    let e = sight.z - sight.target;
    match config.observe.around {
        Around::Window { window, points } => {
            let windows = Windows::new(config, window, points);
            windows.cut(e, sight.target, sight.xi).linear(windows.resampling())
        }
        Around::Patch { patch, .. } => {
            let patches = Patches::new(config, patch);
            patches.cut(patches.channels(e, sight.target), sight.xi)
        }
    }
}

/// What agents know of where they are, `[features][agents]`.
pub fn features<'t>(config: &Config, sight: Sight<'t>) -> Var<'t> {
    trunk::features(config, sight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Fusion;
    use rand::SeedableRng;

    #[test]
    fn parameter_counts() {
        for (task, fusion, count) in [
            ("fkpp1d", Fusion::Concat, 11_298),
            ("heat1d", Fusion::Concat, 11_298),
            ("ks1d", Fusion::Concat, 11_265),
            ("fkpp1d", Fusion::Product, 11_330),
            ("heat2d", Fusion::Concat, 158_531),
        ] {
            let mut config = Config::paper(task).unwrap();
            config.policy.fusion = fusion;
            assert_eq!(param_count(&config), count, "{task} {fusion:?}");
            let tracer = Tracer::new();
            Policy::declare(&tracer, &config);
            assert_eq!(tracer.finish().param_len(), count);
        }
    }

    #[test]
    fn first_parameters_have_the_variance_of_their_fan_in() {
        let config = Config::paper("fkpp1d").unwrap();
        let params = initial_params(&config, &mut ChaCha8Rng::seed_from_u64(1));
        assert_eq!(params.len(), param_count(&config));
        let (weights, biases) = (&params[..40 * 64], &params[40 * 64..40 * 64 + 64]);
        let variance = weights.iter().map(|w| w * w).sum::<f64>() / weights.len() as f64;
        assert!((variance * 40.0 - 1.0).abs() < 0.1, "{variance}");
        let bound = 2.0 / (40f64.sqrt() * TRUNCATED_STD);
        assert!(weights.iter().all(|w| w.abs() <= bound));
        assert!(biases.iter().all(|&b| b == 0.0));
    }
}
