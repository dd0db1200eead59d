//! What the trunk is told about every agent: waves of its position, ways to the centroids, its neighbours.

use cinoc_control::Config;
use cinoc_control::policy::{NEAR, WAVE_NUMBERS, base_frequency};

use super::crowd::Neighbours;
use super::graph::{Graph, Kind, Value};
use super::observation::Sight;

/// All features, `[batch, agents, features]`.
pub(super) fn features(
    g: &mut Graph,
    config: &Config,
    sight: &Sight,
    neighbours: Option<&Neighbours>,
) -> Value {
    let mut parts = Vec::new();
    if let Some(base) = base_frequency(config) {
        for (axis, &xi) in config.axes().iter().zip(&sight.xi) {
            let frequencies = g.f32s(&WAVE_NUMBERS.map(|k| base * k / axis.length));
            let xi = g.unsqueeze(xi, &[2]);
            let angles = g.op("Mul", &[xi, frequencies]);
            parts.extend(["Sin", "Cos"].map(|wave| g.op(wave, &[angles])));
        }
    }
    if config.task.density {
        let xi: Vec<Value> = sight.xi.iter().map(|&xi| g.unsqueeze(xi, &[2])).collect();
        let xi = g.concat(&xi, -1);
        for density in [sight.target, sight.z] {
            parts.extend(way_to_centroid(g, config, density, xi));
        }
    }
    parts.extend(neighbours.and_then(|neighbours| neighbours.features));
    g.concat(&parts, -1)
}

/// The way from agents at `xi` (`[batch, agents, 2]`) to the centroid of a density: vector, unit vector,
/// length.
fn way_to_centroid(g: &mut Graph, config: &Config, density: Value, xi: Value) -> [Value; 3] {
    let along = [2, 1].map(|axis| g.sum(density, axis));
    let along = [(along[0], 2), (along[1], 1)].map(|(sums, axis)| g.squeeze(sums, axis));
    let mass = g.sum(along[0], 1);
    let axes: Vec<_> = config.domain().axes().collect();
    let centroid: Vec<Value> = (along.iter().zip(&axes))
        .map(|(&sums, axis)| {
            // from the middle, where rounding matters least
            let middle = 0.5 * (axis.n as f64 - 1.0) * axis.spacing();
            let points = g.range(0, axis.n);
            let points = g.cast(points, Kind::F32);
            let points = g.scaled(points, axis.spacing());
            let offset = g.f32(middle);
            let points = g.op("Sub", &[points, offset]);
            let points = g.unsqueeze(points, &[1]);
            let moment = g.op("MatMul", &[sums, points]);
            let mean = g.op("Div", &[moment, mass]);
            g.op("Add", &[mean, offset])
        })
        .collect();
    let centroid = g.concat(&centroid, 1);
    let centroid = g.unsqueeze(centroid, &[1]);
    let way = g.op("Sub", &[centroid, xi]);
    let (length, near) = (g.norm(way), g.f32(NEAR));
    let divisor = g.op("Max", &[length, near]);
    let unit = g.op("Div", &[way, divisor]);
    [way, unit, length]
}
