//! Trunk: where an agent stands.
//!
//! Features of a coordinate `s = xi / L` are `sin(c k s), cos(c k s)`, k = 1, 2, 4, 8, c = pi or 2 pi, axis after axis. Agents that carry a
//! density also get the way to the target's centroid and to the density's own: vector, unit vector and length of each. Then two
//! dense layers, tanh.

use super::{Dense, Layer, Sight, layer};
use crate::config::{Axis, Config, Equation, TrunkBase};
use crate::moments::Coordinates;
use adjoint::Var;
use std::f64::consts::PI;

const WAVE_NUMBERS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
/// Features of the way to a centroid: vector, unit vector, length.
const DIRECTION: usize = 5;
/// Below this distance a unit vector shrinks to 0 instead of turning wildly.
const NEAR: f64 = 1e-6;
/// Numbers out, unless it has to match a branch.
pub(super) const WIDTH: usize = 32;

pub(super) fn layers(config: &Config, outputs: usize) -> [Layer; 2] {
    [layer("trunk.0", feature_count(config), WIDTH), layer("trunk.1", WIDTH, outputs)]
}

fn directed(config: &Config) -> bool {
    config.equation() == Equation::Density
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
    let directions = if directed(config) { 2 * DIRECTION } else { 0 };
    2 * WAVE_NUMBERS.len() * config.equation().dims() + directions
}

pub(super) fn features<'t>(config: &Config, sight: Sight<'t>) -> Var<'t> {
    let Sight { z, target, xi } = sight;
    let axes = config.axes();
    let waves = axes.iter().enumerate().map(|(a, axis)| waves(config, xi.slice(a..a + 1), axis));
    let waves = waves.reduce(Var::stack).expect("an axis");
    if !directed(config) {
        return waves;
    }
    let coordinates = Coordinates::new(config, z);
    let way = |density: Var<'t>| {
        let way = coordinates.moments(density).centroid - xi;
        let length = way.length();
        way.stack(way / length.clamp(NEAR, f64::MAX)).stack(length)
    };
    waves.stack(way(target)).stack(way(z))
}

fn waves<'t>(config: &Config, xi: Var<'t>, axis: &Axis) -> Var<'t> {
    let base = match config.policy.trunk_base {
        TrunkBase::Pi => PI,
        TrunkBase::TwoPi => 2.0 * PI,
    };
    let frequencies = WAVE_NUMBERS.map(|k| base * k / axis.length).to_vec();
    let angles = xi * xi.tracer().constant(WAVE_NUMBERS.len(), 1, frequencies);
    angles.sin().stack(angles.cos())
}
