//! 2D branch: 3 x 3 convolutions with ReLU, flattened by row, column and channel, softnorm, dense to 32,
//! tanh.
//!
//! `policy.padding` says what the convolutions see beyond a patch. `zero`: every agent convolves its own
//! patch, framed by zeros. `field`: the whole field is convolved once per case, extended by its own boundary
//! rule, and agents cut their patches out of the result; the cost hardly depends on the number of agents.
//! With `observe.view = "field"` there is one patch, the whole field framed by zeros, and one branch output
//! for all agents.
//!
//! `softnorm(h) w = (h w) / (|h| + 1)`: the division is done on the 32 outputs.

use super::{Dense, Layer, layer};
use crate::config::{Config, Padding, View};
use crate::observation::patch::{Patches, channels as patch_channels};
use cinoc_adjoint::Var;

/// Numbers out.
pub(super) const WIDTH: usize = 32;
/// Width of the layer that joins branch and trunk.
pub(super) const HEAD_WIDTH: usize = 64;

pub(super) fn layers(config: &Config, patch: usize, view: View) -> Vec<Layer> {
    let mut channels = patch_channels(config);
    let mut layers = Vec::new();
    for (k, &outputs) in config.policy.conv.iter().enumerate() {
        layers.push(layer(format!("conv.{k}"), 9 * channels, outputs));
        channels = outputs;
    }
    let points = match view {
        View::Patch => patch.pow(2),
        View::Field => config.axes().iter().map(|axis| axis.n_ref).product(),
    };
    layers.push(layer("branch", points * channels, WIDTH));
    layers
}

pub(super) struct PatchBranch<'t> {
    patches: Patches,
    conv: Vec<Dense<'t>>,
    dense: Dense<'t>,
    view: View,
    padding: Padding,
    softnorm: bool,
}

impl<'t> PatchBranch<'t> {
    pub fn new(
        config: &Config,
        patches: Patches,
        view: View,
        next: &mut impl FnMut() -> Dense<'t>,
    ) -> PatchBranch<'t> {
        PatchBranch {
            patches,
            conv: (0..config.policy.conv.len()).map(|_| next()).collect(),
            dense: next(),
            view,
            padding: config.policy.padding.unwrap_or(Padding::Zero),
            softnorm: config.policy.softnorm,
        }
    }

    /// `[32][agents]`, or `[32][1]` where all see the same.
    pub fn apply(&self, e: Var<'t>, target: Var<'t>, xi: Var<'t>) -> Var<'t> {
        let channels = self.patches.channels(e, target);
        let [nx, ny] = self.patches.n();
        let p = self.patches.size();
        let Layered { product, norm } = match (self.view, self.padding) {
            (View::Field, _) => self.flat(self.convolved(points_first(channels, nx), (nx, ny))),
            (View::Patch, Padding::Zero) => self.flat(self.convolved(self.patches.cut(channels, xi), (p, p))),
            (View::Patch, Padding::Field) => {
                let periodic = self.patches.periodic();
                let maps = self
                    .conv
                    .iter()
                    .fold(channels, |maps, layer| maps.conv_field(nx, layer.w, layer.b, periodic));
                match self.patches.cells() {
                    // read in place: patches of the maps would be many times as large as the maps
                    Some(lattice) => Layered {
                        product: xi.patch_dense(maps, self.dense.w, lattice),
                        norm: xi.patch_squares(maps, lattice).sqrt(),
                    },
                    None => self.flat(self.patches.cut(maps, xi)),
                }
            }
        };
        let y = if self.softnorm { product / (norm + 1.0) } else { product };
        (y + self.dense.b).tanh()
    }

    /// The dense layer on what lies in memory agent by agent.
    fn flat(&self, seen: Var<'t>) -> Layered<'t> {
        Layered { product: seen.dense(self.dense.w, None), norm: seen.length() }
    }

    fn convolved(&self, patches: Var<'t>, size: (usize, usize)) -> Var<'t> {
        self.conv.iter().fold(patches, |x, layer| x.conv_patch(size, layer.w, layer.b))
    }
}

/// The dense layer without bias, and the norm of what it was given.
struct Layered<'t> {
    product: Var<'t>,
    norm: Var<'t>,
}

/// From channel by channel, `[c n_x][n_y]`, to point by point, `[n_x n_y c][1]`.
fn points_first(channels: Var<'_>, nx: usize) -> Var<'_> {
    let (c, points) = (channels.rows() / nx, nx * channels.cols());
    channels.reshape(c, points).transpose().reshape(c * points, 1)
}
