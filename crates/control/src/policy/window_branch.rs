//! 1D branch: P inputs per channel, then `64 -> 64`, each layer dense, divided by its norm + 1 (softnorm),
//! tanh.
//!
//! The resampling of the window (and its differences, on a ring) is multiplied into the first layer, once per
//! rollout.

use super::{Dense, Layer, layer};
use crate::config::Config;
use crate::observation::window::{Windows, channels};
use cinoc_adjoint::Var;

/// Numbers out.
pub(super) const WIDTH: usize = 64;
/// Width of the layer that joins branch and trunk.
pub(super) const HEAD_WIDTH: usize = 32;

pub(super) fn layers(config: &Config, points: usize) -> Vec<Layer> {
    vec![layer("branch.0", channels(config) * points, WIDTH), layer("branch.1", WIDTH, WIDTH)]
}

pub(super) struct WindowBranch<'t> {
    windows: Windows,
    layers: [Dense<'t>; 2],
    /// The first weight with the resampling in it: a row per number of [`Windows::cut`].
    first: Var<'t>,
    softnorm: bool,
}

impl<'t> WindowBranch<'t> {
    pub fn new(config: &Config, windows: Windows, layers: [Dense<'t>; 2]) -> WindowBranch<'t> {
        let first = layers[0].w.linear(&windows.resampling().transpose());
        WindowBranch { windows, layers, first, softnorm: config.policy.softnorm }
    }

    pub fn apply(&self, e: Var<'t>, target: Var<'t>, xi: Var<'t>) -> Var<'t> {
        let activate = |x: Var<'t>| if self.softnorm { x.softnorm_tanh() } else { x.tanh() };
        let hidden = activate(self.windows.cut(e, target, xi).dense(self.first, Some(self.layers[0].b)));
        activate(self.layers[1].apply(hidden))
    }
}
