//! The operator network (DeepONet), the same for every agent.
//!
//! The *branch* looks at what an agent sees (`branch`), the *trunk* at where it stands. Fusion:
//! `[branch, trunk]` through a dense layer, tanh (`concat`), or the product of both through the same
//! (`product`; the trunk is then as wide as the branch). The head gives one number per action.
//!
//! In the fusion the layer is split into its branch and its trunk part, so that static agents need the second
//! only once per rollout.

use super::branch::{self, Branch};
use super::trunk::{self, Trunk};
use super::{Dense, Layer, Net, Sight, actions, layer};
use crate::config::{Config, Fusion};
use cinoc_adjoint::Var;

/// The layers, in the order of the flat parameter vector.
pub(super) fn layers(config: &Config) -> Vec<Layer> {
    let (mut layers, branch_width) = (branch::layers(config), branch::width(config));
    let head_width = branch::head_width(config);
    let (trunk_width, merged) = match config.policy.fusion {
        Fusion::Concat => (trunk::WIDTH, branch_width + trunk::WIDTH),
        Fusion::Product => (branch_width, branch_width),
    };
    layers.extend(trunk::layers(config, trunk_width));
    layers.extend([layer("merge", merged, head_width), layer("head", head_width, actions(config))]);
    layers
}

pub(super) struct Operator<'t> {
    fusion: Fusion,
    branch: Branch<'t>,
    trunk: Trunk<'t>,
    merge: Dense<'t>,
    head: Dense<'t>,
}

impl<'t> Operator<'t> {
    pub fn new(config: &Config, next: &mut impl FnMut() -> Dense<'t>) -> Operator<'t> {
        Operator {
            branch: Branch::new(config, next),
            trunk: Trunk::new(config, [next(), next()]),
            merge: next(),
            head: next(),
            fusion: config.policy.fusion,
        }
    }
}

impl<'t> Net<'t> for Operator<'t> {
    fn raw(&self, sight: Sight<'t>) -> Var<'t> {
        let e = sight.z - sight.target;
        let branch = self.branch.apply(e, sight.target, sight.xi);
        let trunk = self.trunk.apply(sight);
        let merged = match self.fusion {
            Fusion::Product => self.merge.apply(branch * trunk),
            Fusion::Concat => {
                let (w, split) = (self.merge.w, branch.rows());
                let trunk = trunk.dense(w.slice(split..w.rows()), Some(self.merge.b));
                let w = w.slice(0..split);
                // a field that all agents see is looked at once for all of them
                if branch.cols() < trunk.cols() {
                    branch.dense(w, None) + trunk
                } else {
                    branch.dense(w, Some(trunk))
                }
            }
        };
        self.head.apply(merged.tanh())
    }
}
