//! What agents know of each other: the density of living agents around them, and the mean way to the
//! neighbours.
//!
//! The density is a sum over all agents on a lattice, one product of matrices per width of the kernel: the
//! cost grows with the number of agents, not with their pairs.

use cinoc_control::Config;
use cinoc_control::config::Share;
use cinoc_control::observation::crowd::{FLOOR, lattice};

use super::graph::{Graph, Value};
use super::lattice::{Axis, Lattice, View};
use super::observation::Sight;

/// What agents know of each other.
pub(super) struct Neighbours {
    /// The share of every agent, `[batch, agents, 1]`.
    pub share: Value,
    /// What the trunk is told, `[batch, agents, features]`, where it is.
    pub features: Option<Value>,
}

/// Whether a policy asks for the density of agents.
pub(super) fn wanted(config: &Config) -> bool {
    config.observe.crowd || config.policy.share == Share::Crowd
}

/// What agents know of each other, where the policy asks for it.
pub(super) fn neighbours(g: &mut Graph, config: &Config, sight: &Sight) -> Option<Neighbours> {
    let alive = sight.alive?;
    let (sigma, limit) = (config.actuation.sigma, config.observe.crowd_limit);
    let near = density(g, config, sigma, &sight.xi, alive);
    let reference = g.f32(config.observe.crowd_ref);
    let share = g.op("Div", &[reference, near.rho]);
    let features = config.observe.crowd.then(|| {
        let wide = density(g, config, 2.0 * sigma, &sight.xi, alive);
        let volume = f64::from(1u32 << config.task.dims);
        let mut told = |rho: Value, limit: f64| {
            let mut rho = rho;
            if limit > 0.0 {
                let most = g.f32(limit);
                rho = g.op("Min", &[rho, most]);
            }
            g.op("Reciprocal", &[rho])
        };
        let told = [told(near.rho, limit), told(wide.rho, volume * limit)];
        g.concat(&[told[0], told[1], near.towards, wide.towards], -1)
    });
    Some(Neighbours { share, features })
}

/// Density of agents at the agents, and the mean way to the neighbours.
struct Density {
    /// `[batch, agents, 1]`.
    rho: Value,
    /// `[batch, agents, dims]`.
    towards: Value,
}

fn density(g: &mut Graph, config: &Config, width: f64, xi: &[Value], alive: Value) -> Density {
    let axes: Vec<_> = config.domain().axes().map(|axis| lattice(axis, width)).collect();
    let of = |axis: &cinoc_pde::Axis| Axis { n: axis.n, density: axis.cells() as f64 / axis.length };
    let read = Lattice { axes: axes.iter().map(of).collect(), ring: config.periodic() };

    // the kernels of all agents along an axis
    let bumps = |g: &mut Graph, axis: usize, points_first: bool| {
        let way = read.ways(g, xi[axis], axis, points_first);
        let square = g.op("Mul", &[way, way]);
        let exponent = g.scaled(square, -0.5 * (axes[axis].spacing() / width).powi(2));
        g.op("Exp", &[exponent])
    };
    // [batch, n_x, agents] times [batch, agents, 1] or [batch, agents, n_y]
    let x = bumps(g, 0, true);
    let mut living = g.unsqueeze(alive, &[2]);
    if axes.len() == 2 {
        let y = bumps(g, 1, false);
        living = g.op("Mul", &[y, living]);
    }
    let mut density = g.op("MatMul", &[x, living]);
    if axes.len() == 2 {
        density = g.unsqueeze(density, &[3]);
    }
    let mut maps = vec![density];
    maps.extend((0..axes.len()).map(|axis| read.differences(g, density, axis)));
    let maps = g.concat(&maps, -1);

    let channels = 1 + axes.len();
    let seen = read.read(g, maps, channels, xi, View { width: 1, linear: true });
    let seen = g.reshape(seen, &[0, 0, channels as i64]);
    let (rho, floor) = (g.slice(seen, 2, [0, 1, 1]), g.f32(FLOOR));
    let rho = g.op("Max", &[rho, floor]);
    let slope = g.slice(seen, 2, [1, channels, 1]);
    // differences are per cell of the lattice
    let scales: Vec<f64> = axes.iter().map(|axis| width / axis.spacing()).collect();
    let scales = g.f32s(&scales);
    let towards = g.op("Mul", &[slope, scales]);
    let towards = g.op("Div", &[towards, rho]);
    Density { rho, towards }
}
