//! A centralised network, as baselines have it: the whole state in, the actions of all agents out.
//!
//! The state is the field, its target where there is one, and the positions of agents that move, one below
//! the other. Its parameters are for one number of agents and one grid.

use super::{Dense, Layer, Net, Plain, Sight, actions};
use crate::config::Config;
use crate::observation::tracked;
use cinoc_adjoint::Var;

pub(super) fn layers(config: &Config) -> Vec<Layer> {
    Plain::layers("central", state_size(config), config.hidden(), actions(config) * config.agents)
}

/// Numbers in [`state`].
pub fn state_size(config: &Config) -> usize {
    let fields = if config.task.tracks { 2 } else { 1 };
    let positions = if config.mobile() { config.task.dims * config.agents } else { 0 };
    fields * config.state_size() + positions
}

/// All that is to know of a swarm and its field, in numbers of about one: `[state_size][1]`.
pub fn state<'t>(config: &Config, sight: Sight<'t>) -> Var<'t> {
    let (points, unit) = (config.state_size(), config.task.unit);
    let column = |field: Var<'t>| field.reshape(points, 1) * (1.0 / unit);
    let mut state = column(sight.z);
    if config.task.tracks {
        state = state.stack(column(sight.target));
    }
    if config.mobile() {
        for (a, axis) in config.axes().iter().enumerate() {
            let xi = sight.xi.slice(a..a + 1).reshape(config.agents, 1);
            state = state.stack(xi.affine(2.0 / axis.length, -1.0));
        }
    }
    state
}

/// Mean square of the field's error, `[1][1]`, with a factor that lets it count as much as the field it is
/// one number beside.
pub fn energy<'t>(config: &Config, sight: Sight<'t>) -> Var<'t> {
    let (points, unit) = (config.points() as f64, config.task.unit);
    tracked(config, sight.z - sight.target).mean_square() * (points.sqrt() / (unit * unit))
}

pub(super) struct Central<'t> {
    config: Config,
    net: Plain<'t>,
}

impl<'t> Central<'t> {
    pub fn new(config: &Config, next: &mut impl FnMut() -> Dense<'t>) -> Central<'t> {
        Central { config: config.clone(), net: Plain::new(config.hidden().len(), next) }
    }
}

impl<'t> Net<'t> for Central<'t> {
    fn raw(&self, sight: Sight<'t>) -> Var<'t> {
        self.net.apply(state(&self.config, sight)).reshape(actions(&self.config), self.config.agents)
    }
}
