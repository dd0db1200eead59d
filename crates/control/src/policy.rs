//! The policy: one small operator network (DeepONet), the same for every agent.
//!
//! `branch(observation)`: `2P -> 64 -> 64`, each layer dense, divided by its norm + 1 (softnorm), tanh.
//! `trunk(position)`: `sin(c k s), cos(c k s)` of `s = xi / L`, k = 1, 2, 4, 8, c = pi or 2 pi, then `8 -> 32 -> 32`, tanh.
//! Fusion: `[branch, trunk] -> 32`, tanh (`concat`), or the product of both, the trunk's last layer widened to 64
//! (`product`). The head gives one number per action; `u = u_max tanh(.)`, `v = v_max tanh(.)`.
//!
//! Parameters are `NAME.w` (`[inputs][outputs]`) and `NAME.b`, in the order of [`layers`]. Two products are written so that
//! they need not be done in every step: the resampling of the window is multiplied into the first layer, and the fusion layer
//! is split into its branch and its trunk part, of which static agents need the second only once.

use crate::config::{Config, Fusion, TrunkBase};
use crate::observation::Observation;
use adjoint::{Tracer, Var};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use std::f64::consts::PI;

const WAVE_NUMBERS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
const BRANCH_WIDTH: usize = 64;
const TRUNK_WIDTH: usize = 32;
const HEAD_WIDTH: usize = 32;

/// Standard deviation of a standard normal variable truncated at two standard deviations.
const TRUNCATED_STD: f64 = 0.879_625_661_034_239_8;

/// A dense layer by its name in files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Name; its parameters are `NAME.w` and `NAME.b`.
    pub name: &'static str,
    /// Numbers in.
    pub inputs: usize,
    /// Numbers out.
    pub outputs: usize,
}

/// The layers, in the order of the flat parameter vector (each weight, then bias).
pub fn layers(config: &Config) -> [Layer; 6] {
    let (trunk, merged) = match config.policy.fusion {
        Fusion::Concat => (TRUNK_WIDTH, BRANCH_WIDTH + TRUNK_WIDTH),
        Fusion::Product => (BRANCH_WIDTH, BRANCH_WIDTH),
    };
    let layer = |name, inputs, outputs| Layer { name, inputs, outputs };
    [
        layer("branch.0", 2 * config.observe.points, BRANCH_WIDTH),
        layer("branch.1", BRANCH_WIDTH, BRANCH_WIDTH),
        layer("trunk.0", 2 * WAVE_NUMBERS.len(), TRUNK_WIDTH),
        layer("trunk.1", TRUNK_WIDTH, trunk),
        layer("merge", merged, HEAD_WIDTH),
        layer("head", HEAD_WIDTH, actions(config)),
    ]
}

/// Actions per agent: the intensity and, where agents move, the velocity.
pub fn actions(config: &Config) -> usize {
    if config.mobile() { 2 } else { 1 }
}

/// Numbers in the flat parameter vector.
pub fn param_count(config: &Config) -> usize {
    layers(config).iter().map(|layer| (layer.inputs + 1) * layer.outputs).sum()
}

/// Fresh parameters: LeCun normal weights (variance `1 / inputs`, truncated at two standard deviations), zero biases.
pub fn initial_params(config: &Config, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut params = Vec::with_capacity(param_count(config));
    for layer in layers(config) {
        let scale = 1.0 / ((layer.inputs as f64).sqrt() * TRUNCATED_STD);
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
    fn apply(self, x: Var<'t>) -> Var<'t> {
        x.dense(self.w, Some(self.b))
    }
}

/// What the policy tells the agents, `[1][agents]` each.
#[derive(Clone, Copy)]
pub struct Action<'t> {
    /// Intensities.
    pub u: Var<'t>,
    /// Velocities, where agents move.
    pub v: Option<Var<'t>>,
}

/// The network in a trace.
pub struct Policy<'t> {
    config: Config,
    layers: [Dense<'t>; 6],
    /// The first weight with the resampling in it: `[2 W][64]`.
    first: Var<'t>,
}

impl<'t> Policy<'t> {
    /// Declares the parameters, in the order of [`layers`].
    pub fn declare(tracer: &'t Tracer, config: &Config, observation: &Observation) -> Policy<'t> {
        let layers = layers(config).map(|layer| Dense {
            w: tracer.param(&format!("{}.w", layer.name), layer.inputs, layer.outputs),
            b: tracer.param(&format!("{}.b", layer.name), layer.outputs, 1),
        });
        let first = layers[0].w.linear(&observation.resampling().transpose());
        Policy { config: config.clone(), layers, first }
    }

    /// Outputs of the head before they are bounded, `[actions][agents]`, from the windows `[2 W][agents]`.
    pub fn raw(&self, windows: Var<'t>, xi: Var<'t>) -> Var<'t> {
        let [_, _, _, _, merge, head] = self.layers;
        let (branch, trunk) = (self.branch(windows), self.trunk(xi));
        let merged = match self.config.policy.fusion {
            Fusion::Product => merge.apply(branch * trunk),
            Fusion::Concat => {
                let split = BRANCH_WIDTH;
                branch.dense(merge.w.slice(0..split), None)
                    + trunk.dense(merge.w.slice(split..merge.w.rows()), Some(merge.b))
            }
        };
        head.apply(merged.tanh())
    }

    /// The bounded actions.
    pub fn act(&self, windows: Var<'t>, xi: Var<'t>) -> Action<'t> {
        let (raw, bounds) = (self.raw(windows, xi), &self.config.actuation);
        Action {
            u: bounds.u_max * raw.slice(0..1).tanh(),
            v: bounds.v_max.map(|v_max| v_max * raw.slice(1..2).tanh()),
        }
    }

    fn branch(&self, windows: Var<'t>) -> Var<'t> {
        let activate = |x: Var<'t>| if self.config.policy.softnorm { x.softnorm_tanh() } else { x.tanh() };
        let hidden = activate(windows.dense(self.first, Some(self.layers[0].b)));
        activate(self.layers[1].apply(hidden))
    }

    fn trunk(&self, xi: Var<'t>) -> Var<'t> {
        let base = match self.config.policy.trunk_base {
            TrunkBase::Pi => PI,
            TrunkBase::TwoPi => 2.0 * PI,
        };
        let frequencies = WAVE_NUMBERS.map(|k| base * k / self.config.grid.length).to_vec();
        let angles = xi * xi.tracer().constant(WAVE_NUMBERS.len(), 1, frequencies);
        let features = angles.sin().stack(angles.cos());
        self.layers[3].apply(self.layers[2].apply(features).tanh()).tanh()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn parameter_counts() {
        for (task, fusion, count) in [
            ("fkpp1d", Fusion::Concat, 11_298),
            ("heat1d", Fusion::Concat, 11_298),
            ("ks1d", Fusion::Concat, 11_265),
            ("fkpp1d", Fusion::Product, 11_330),
        ] {
            let mut config = Config::preset(task).unwrap();
            config.policy.fusion = fusion;
            assert_eq!(param_count(&config), count, "{task} {fusion:?}");
            let tracer = Tracer::new();
            Policy::declare(&tracer, &config, &Observation::new(&config));
            assert_eq!(tracer.finish().param_len(), count);
        }
    }

    #[test]
    fn first_parameters_have_the_variance_of_their_fan_in() {
        let config = Config::preset("fkpp1d").unwrap();
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
