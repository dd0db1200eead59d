//! The policy: one small operator network (DeepONet), the same for every agent.
//!
//! The *branch* looks at what an agent sees (`window_branch` in 1D, `patch_branch` in 2D), the *trunk* at where it stands. Fusion:
//! `[branch, trunk]` through a dense layer, tanh (`concat`), or the product of both through the same (`product`; the trunk is then as
//! wide as the branch). The head gives one number per action; `u = u_max tanh(.)`, `v = v_max tanh(.)` per component.
//!
//! Parameters are `NAME.w` (`[inputs][outputs]`) and `NAME.b`, in the order of [`layers`]. In the fusion the layer is split into its branch
//! and its trunk part, so that static agents need the second only once per rollout.

mod patch_branch;
mod trunk;
mod window_branch;

use crate::config::{Config, Equation, Fusion};
use adjoint::{Tracer, Var};
use patch_branch::PatchBranch;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use trunk::Trunk;
use window_branch::WindowBranch;

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
    let (mut layers, branch_width, head_width) = match config.equation().dims() {
        1 => (window_branch::layers(config), window_branch::WIDTH, window_branch::HEAD_WIDTH),
        _ => (patch_branch::layers(config), patch_branch::WIDTH, patch_branch::HEAD_WIDTH),
    };
    let (trunk_width, merged) = match config.policy.fusion {
        Fusion::Concat => (trunk::WIDTH, branch_width + trunk::WIDTH),
        Fusion::Product => (branch_width, branch_width),
    };
    layers.extend(trunk::layers(config, trunk_width));
    layers.extend([layer("merge", merged, head_width), layer("head", head_width, actions(config))]);
    layers
}

/// Actions per agent: the intensity, where there is one, and the components of the velocity, where agents move.
pub fn actions(config: &Config) -> usize {
    let velocity = if config.mobile() { config.equation().dims() } else { 0 };
    usize::from(config.actuation.u_max.is_some()) + velocity
}

/// Numbers in the flat parameter vector.
pub fn param_count(config: &Config) -> usize {
    layers(config).iter().map(|layer| (layer.inputs + 1) * layer.outputs).sum()
}

/// Fresh parameters: LeCun normal weights (variance `1 / inputs`, truncated at two standard deviations), those of the head times
/// `policy.head_scale`, zero biases.
pub fn initial_params(config: &Config, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut params = Vec::with_capacity(param_count(config));
    for layer in layers(config) {
        let head = if layer.name == "head" { config.policy.head_scale } else { 1.0 };
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

enum Branch<'t> {
    Window(WindowBranch<'t>),
    Patch(PatchBranch<'t>),
}

/// The network in a trace.
pub struct Policy<'t> {
    config: Config,
    branch: Branch<'t>,
    trunk: Trunk<'t>,
    merge: Dense<'t>,
    head: Dense<'t>,
}

impl<'t> Policy<'t> {
    /// Declares the parameters, in the order of [`layers`].
    pub fn declare(tracer: &'t Tracer, config: &Config) -> Policy<'t> {
        let mut declared = layers(config).into_iter().map(|layer| Dense {
            w: tracer.param(&format!("{}.w", layer.name), layer.inputs, layer.outputs),
            b: tracer.param(&format!("{}.b", layer.name), layer.outputs, 1),
        });
        let mut next = || declared.next().expect("every layer is declared");
        Policy {
            branch: match config.equation().dims() {
                1 => Branch::Window(WindowBranch::new(config, [next(), next()])),
                _ => Branch::Patch(PatchBranch::new(config, &mut next)),
            },
            trunk: Trunk::new(config, [next(), next()]),
            merge: next(),
            head: next(),
            config: config.clone(),
        }
    }

    /// What every agent sees, by channel or by row, column and channel, `[inputs][agents]`.
    pub fn observation(&self, sight: Sight<'t>) -> Var<'t> {
        let e = sight.z - sight.target;
        match &self.branch {
            Branch::Window(branch) => branch.observation(e, sight.xi),
            Branch::Patch(branch) => branch.observation(e, sight.xi),
        }
    }

    /// What the trunk is given, `[features][agents]`.
    pub fn features(&self, sight: Sight<'t>) -> Var<'t> {
        self.trunk.features(sight)
    }

    /// Outputs of the head before they are bounded, `[actions][agents]`.
    pub fn raw(&self, sight: Sight<'t>) -> Var<'t> {
        let e = sight.z - sight.target;
        let branch = match &self.branch {
            Branch::Window(branch) => branch.apply(e, sight.xi),
            Branch::Patch(branch) => branch.apply(e, sight.xi),
        };
        let trunk = self.trunk.apply(sight);
        let merged = match self.config.policy.fusion {
            Fusion::Product => self.merge.apply(branch * trunk),
            Fusion::Concat => {
                let (w, split) = (self.merge.w, branch.rows());
                branch.dense(w.slice(0..split), None)
                    + trunk.dense(w.slice(split..w.rows()), Some(self.merge.b))
            }
        };
        self.head.apply(merged.tanh())
    }

    /// The bounded actions.
    pub fn act(&self, sight: Sight<'t>) -> Action<'t> {
        let (raw, bounds) = (self.raw(sight), &self.config.actuation);
        let first_v = usize::from(bounds.u_max.is_some());
        let v = bounds.v_max.map(|v_max| v_max * raw.slice(first_v..raw.rows()).tanh());
        Action {
            u: bounds.u_max.map(|u_max| u_max * raw.slice(0..1).tanh()),
            // stirring agents are bounded in speed too
            v: match (self.config.equation(), v, bounds.v_max) {
                (Equation::Density, Some(v), Some(v_max)) if v_max > 0.0 => Some(v.limit_length(v_max)),
                _ => v,
            },
        }
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
            ("heat2d", Fusion::Concat, 158_531),
        ] {
            let mut config = Config::preset(task).unwrap();
            config.policy.fusion = fusion;
            assert_eq!(param_count(&config), count, "{task} {fusion:?}");
            let tracer = Tracer::new();
            Policy::declare(&tracer, &config);
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
