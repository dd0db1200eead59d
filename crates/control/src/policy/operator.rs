//! The operator network (DeepONet), the same for every agent.
//!
//! The *branch* looks at what an agent sees (`branch`), the *trunk* at where it stands. Fusion:
//! `[branch, trunk]` through a dense layer, tanh (`concat`), or the product of both through the same
//! (`product`; the trunk is then as wide as the branch). The head gives one number per action.
//!
//! In the fusion the layer is split into its branch and its trunk part, so that static agents need the second
//! only once per rollout.
//!
//! With `policy.rest` what the network would say if the agent saw no error is subtracted. Where the field is
//! as it should be, agents then do nothing, however many they are and whatever training has left in the
//! biases. Of static agents this part of the branch belongs to the set-up of a rollout.

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
    rest: bool,
}

impl<'t> Operator<'t> {
    pub fn new(config: &Config, next: &mut impl FnMut() -> Dense<'t>) -> Operator<'t> {
        Operator {
            branch: Branch::new(config, next),
            trunk: Trunk::new(config, [next(), next()]),
            merge: next(),
            head: next(),
            fusion: config.policy.fusion,
            rest: config.policy.rest,
        }
    }

    /// The layer where branches meet a trunk, for any number of branches.
    fn meeting(&self, trunk: Var<'t>) -> impl Fn(Var<'t>) -> Var<'t> {
        let (fusion, merge) = (self.fusion, self.merge);
        let split = merge.w.rows() - trunk.rows();
        let part = match fusion {
            Fusion::Product => trunk,
            Fusion::Concat => trunk.dense(merge.w.slice(split..merge.w.rows()), Some(merge.b)),
        };
        move |branch| {
            let merged = match fusion {
                Fusion::Product => merge.apply(branch * part),
                // a field that all agents see is looked at once for all of them
                Fusion::Concat if branch.cols() < part.cols() => {
                    branch.dense(merge.w.slice(0..split), None) + part
                }
                Fusion::Concat => branch.dense(merge.w.slice(0..split), Some(part)),
            };
            merged.tanh()
        }
    }
}

impl<'t> Net<'t> for Operator<'t> {
    fn raw(&self, sight: Sight<'t>) -> Var<'t> {
        let e = sight.z - sight.target;
        let branch = self.branch.apply(e, sight.target, sight.xi);
        let meet = self.meeting(self.trunk.apply(sight));
        let merged = meet(branch);
        if !self.rest {
            return self.head.apply(merged);
        }
        let none =
            e.tracer().constant(e.rows(), e.cols(), vec![0.0; e.rows() * e.cols()]).broadcast(e.shape());
        let at_rest = meet(self.branch.apply(none, sight.target, sight.xi));
        // the bias of the head is in both
        (merged - at_rest).dense(self.head.w, None)
    }
}
