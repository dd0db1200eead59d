//! A plain network per agent, as multi-agent baselines have it: what an agent sees and where it is in, its
//! action out. The same parameters for all agents.

use super::{Dense, Layer, Net, Plain, Sight, actions, features, observation, trunk};
use crate::config::{Around, Config};
use crate::observation::{patch, window};
use cinoc_adjoint::Var;

pub(super) fn layers(config: &Config) -> Vec<Layer> {
    Plain::layers("local", view_size(config), config.hidden(), actions(config))
}

/// Numbers in [`view`].
pub fn view_size(config: &Config) -> usize {
    let seen = match config.observe.around {
        Around::Patch { patch: side, .. } => patch::channels(config) * side * side,
        Around::Window { points, .. } => window::channels(config) * points,
    };
    seen + trunk::feature_count(config)
}

/// All that an agent knows, in numbers of about one: `[view_size][agents]`.
pub fn view<'t>(config: &Config, sight: Sight<'t>) -> Var<'t> {
    let seen = observation(config, sight) * (1.0 / config.task.unit);
    seen.stack(features(config, sight))
}

pub(super) struct Local<'t> {
    config: Config,
    net: Plain<'t>,
}

impl<'t> Local<'t> {
    pub fn new(config: &Config, next: &mut impl FnMut() -> Dense<'t>) -> Local<'t> {
        Local { config: config.clone(), net: Plain::new(config.hidden().len(), next) }
    }
}

impl<'t> Net<'t> for Local<'t> {
    fn raw(&self, sight: Sight<'t>) -> Var<'t> {
        self.net.apply(view(&self.config, sight))
    }
}
