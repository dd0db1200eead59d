//! Branch: what an agent sees, by `window_branch` in 1D and by `patch_branch` in 2D.

use super::patch_branch::{self, PatchBranch};
use super::window_branch::{self, WindowBranch};
use super::{Dense, Layer};
use crate::config::{Around, Config};
use crate::observation::patch::Patches;
use crate::observation::window::Windows;
use cinoc_adjoint::Var;

pub(super) enum Branch<'t> {
    Window(WindowBranch<'t>),
    Patch(PatchBranch<'t>),
}

pub(super) fn layers(config: &Config) -> Vec<Layer> {
    match config.observe.around {
        Around::Window { points, .. } => window_branch::layers(config, points),
        Around::Patch { patch, view } => patch_branch::layers(config, patch, view),
    }
}

/// Numbers out.
pub(super) fn width(config: &Config) -> usize {
    match config.observe.around {
        Around::Window { .. } => window_branch::WIDTH,
        Around::Patch { .. } => patch_branch::WIDTH,
    }
}

/// Width of the layer that comes before the head.
pub(super) fn head_width(config: &Config) -> usize {
    match config.observe.around {
        Around::Window { .. } => window_branch::HEAD_WIDTH,
        Around::Patch { .. } => patch_branch::HEAD_WIDTH,
    }
}

impl<'t> Branch<'t> {
    pub fn new(config: &Config, next: &mut impl FnMut() -> Dense<'t>) -> Branch<'t> {
        match config.observe.around {
            Around::Window { window, points } => {
                let windows = Windows::new(config, window, points);
                Branch::Window(WindowBranch::new(config, windows, [next(), next()]))
            }
            Around::Patch { patch, view } => {
                Branch::Patch(PatchBranch::new(config, Patches::new(config, patch), view, next))
            }
        }
    }

    /// `[width][agents]`, or `[width][1]` where all agents see the same.
    pub fn apply(&self, e: Var<'t>, target: Var<'t>, xi: Var<'t>) -> Var<'t> {
        match self {
            Branch::Window(branch) => branch.apply(e, target, xi),
            Branch::Patch(branch) => branch.apply(e, target, xi),
        }
    }
}
