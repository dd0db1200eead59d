//! A convolutional network on the whole field, as the centralised baseline of turbulence has it: feature maps
//! by 3 x 3 convolutions, of which every agent reads the part around it; one dense layer per agent and a
//! head. Nothing depends on where an agent is.

use super::branch::{self, Branch};
use super::{Dense, Layer, Net, Sight, actions, layer};
use crate::config::{Config, Padding};
use cinoc_adjoint::Var;

/// Convolutions over the field, read at the agents.
fn branch_config(config: &Config) -> Config {
    let mut config = config.clone();
    config.policy.padding = Some(Padding::Field);
    config.policy.softnorm = true;
    config
}

pub(super) fn layers(config: &Config) -> Vec<Layer> {
    let mut layers = branch::layers(&branch_config(config));
    layers.push(layer("merge", branch::width(config), branch::head_width(config)));
    layers.push(layer("head", branch::head_width(config), actions(config)));
    layers
}

pub(super) struct Convolutional<'t> {
    branch: Branch<'t>,
    merge: Dense<'t>,
    head: Dense<'t>,
}

impl<'t> Convolutional<'t> {
    pub fn new(config: &Config, next: &mut impl FnMut() -> Dense<'t>) -> Convolutional<'t> {
        Convolutional { branch: Branch::new(&branch_config(config), next), merge: next(), head: next() }
    }
}

impl<'t> Net<'t> for Convolutional<'t> {
    fn raw(&self, sight: Sight<'t>) -> Var<'t> {
        let seen = self.branch.apply(sight.z - sight.target, sight.target, sight.xi);
        self.head.apply(self.merge.apply(seen).tanh())
    }
}
