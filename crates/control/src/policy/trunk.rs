//! Trunk: where an agent stands.
//!
//! Features of a coordinate `s = xi / L` are `sin(c k s), cos(c k s)`, k = 1, 2, 4, 8, c = pi or 2 pi, axis
//! after axis. Agents that carry a density also get the way to the target's centroid and to the density's
//! own: vector, unit vector and length of each. With `observe.crowd` all get what they know of each other.
//! Then two dense layers, tanh.

use super::{Dense, Layer, Sight, layer};
use crate::config::{Config, ReferenceAxis, TrunkBase};
use crate::moments::Coordinates;
use crate::observation::crowd;
use cinoc_adjoint::Var;
use std::f64::consts::PI;

/// Wave numbers of the Fourier features, in units of the lowest.
pub const WAVE_NUMBERS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
/// Features of the way to a centroid: vector, unit vector, length.
const DIRECTION: usize = 5;
/// Below this distance a unit vector shrinks to 0 instead of turning wildly.
pub const NEAR: f64 = 1e-6;
/// Numbers out, unless it has to match a branch.
pub(super) const WIDTH: usize = 32;

pub(super) fn layers(config: &Config, outputs: usize) -> [Layer; 2] {
    [layer("trunk.0", feature_count(config), WIDTH), layer("trunk.1", WIDTH, outputs)]
}

pub(super) struct Trunk<'t> {
    config: Config,
    layers: [Dense<'t>; 2],
}

impl<'t> Trunk<'t> {
    pub fn new(config: &Config, layers: [Dense<'t>; 2]) -> Trunk<'t> {
        Trunk { config: config.clone(), layers }
    }

    pub fn apply(&self, sight: Sight<'t>) -> Var<'t> {
        let hidden = self.layers[0].apply(features(&self.config, sight)).tanh();
        self.layers[1].apply(hidden).tanh()
    }
}

/// Numbers of [`features`].
pub(super) fn feature_count(config: &Config) -> usize {
    let directions = if config.task.density { 2 * DIRECTION } else { 0 };
    let neighbours = if config.observe.crowd { crowd::feature_count(config) } else { 0 };
    let waves = base_frequency(config).map_or(0, |_| 2 * WAVE_NUMBERS.len() * config.task.dims);
    waves + directions + neighbours
}

pub(super) fn features<'t>(config: &Config, sight: Sight<'t>) -> Var<'t> {
    let Sight { z, target, xi, neighbours } = sight;
    let axes = config.axes();
    let base = base_frequency(config);
    let waves = base.and_then(|base| {
        let along = |(a, axis): (usize, &ReferenceAxis)| waves(base, xi.slice(a..a + 1), axis);
        axes.iter().enumerate().map(along).reduce(Var::stack)
    });
    let directions = config.task.density.then(|| {
        let coordinates = Coordinates::new(config, z);
        let way = |density: Var<'t>| {
            let way = coordinates.moments(density).centroid - xi;
            let length = way.length();
            way.stack(way / length.clamp(NEAR, f64::MAX)).stack(length)
        };
        way(target).stack(way(z))
    });
    let neighbours = neighbours.filter(|_| config.observe.crowd).map(|neighbours| neighbours.features);
    [waves, directions, neighbours]
        .into_iter()
        .flatten()
        .reduce(Var::stack)
        .expect("a checked config tells the trunk something")
}

/// The lowest frequency of the Fourier features times the length of an axis, if there are any.
pub fn base_frequency(config: &Config) -> Option<f64> {
    match config.policy.trunk_base {
        TrunkBase::Pi => Some(PI),
        TrunkBase::TwoPi => Some(2.0 * PI),
        TrunkBase::None => None,
    }
}

fn waves<'t>(base: f64, xi: Var<'t>, axis: &ReferenceAxis) -> Var<'t> {
    let frequencies = WAVE_NUMBERS.map(|k| base * k / axis.length).to_vec();
    let angles = xi * xi.tracer().constant(WAVE_NUMBERS.len(), 1, frequencies);
    angles.sin().stack(angles.cos())
}
