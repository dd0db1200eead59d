//! Families of cases that several tasks draw from.

use cinoc_pde::random_field::normals;
use cinoc_pde::{Axis, Dynamics, RandomField, RandomField2d, evolve, evolve_in};
use rand_chacha::ChaCha8Rng;

use super::Pool;
use crate::config::Config;
use crate::task::{Draw, Fields};

/// 1D profiles made of random fields of correlation length `data.length_start` and `data.length_target`.
pub(crate) fn profiles(
    config: &Config,
    draw: &mut Draw<'_>,
    shape: fn(&RandomField, &[f64]) -> Vec<f64>,
) -> Fields {
    let points = config.domain().x.points();
    let family = |key: &str| {
        RandomField::new(&points, config.data.values.number(key), config.data.values.number("std"))
    };
    let (start, target) = (family("length_start"), family("length_target"));
    pairs(config, draw, points.len(), |first, second| [shape(&start, first), shape(&target, second)])
}

/// 2D fields of the same kind, 0 at the walls.
pub(crate) fn surfaces(config: &Config, draw: &mut Draw<'_>) -> Fields {
    let [x, y] = rectangle(config);
    let family = |key: &str| {
        RandomField2d::new(&x, &y, config.data.values.number(key), config.data.values.number("std"))
    };
    let (start, target) = (family("length_start"), family("length_target"));
    pairs(config, draw, x.n * y.n, |first, second| [start.bridged(first), target.bridged(second)])
}

/// Both axes of a 2D task.
///
/// # Panics
/// If the task is not two-dimensional.
pub(crate) fn rectangle(config: &Config) -> [Axis; 2] {
    let domain = config.domain();
    [domain.x, domain.y.expect("the tasks that draw surfaces are 2D")]
}

/// Starts and targets made of normal vectors, each of its own or, in a training pool with
/// `data.pairs = "shared"`, both of one.
fn pairs(
    config: &Config,
    draw: &mut Draw<'_>,
    size: usize,
    make: impl Fn(&[f64], &[f64]) -> [Vec<f64>; 2],
) -> Fields {
    let shared = draw.pool == Pool::Training && config.data.values.word("pairs") == "shared";
    draw.each(|draw| {
        let first = draw.normals(size);
        let second = if shared { first.clone() } else { draw.normals(size) };
        make(&first, &second)
    })
}

/// Cases that are run together between two reports of progress.
const GROUP: usize = 32;

/// States that a PDE reaches from random beginnings after the time `data.spin_up`, to be brought to rest.
pub(crate) fn spun_up(
    config: &Config,
    draw: &mut Draw<'_>,
    dynamics: &dyn Dynamics,
    beginning: impl Fn(&mut ChaCha8Rng) -> Vec<f64>,
) -> Fields {
    let steps = (config.data.values.number("spin_up") / dynamics.dt()).round() as usize;
    let mut start = Vec::new();
    for first in (0..draw.count).step_by(GROUP) {
        (draw.progress)(first, draw.count);
        let beginnings: Vec<f64> =
            (first..draw.count.min(first + GROUP)).flat_map(|_| beginning(draw.rng)).collect();
        start.extend(if dynamics.grid().dims() == 1 {
            evolve(dynamics, &beginnings, None, steps, draw.threads)
        } else {
            // chaos forgets its roundings: half the numbers, half the time
            let single: Vec<f32> = beginnings.iter().map(|&z| z as f32).collect();
            let states = evolve_in(dynamics, &single, None, steps, draw.threads);
            states.into_iter().map(f64::from).collect()
        });
    }
    (draw.progress)(draw.count, draw.count);
    Fields { target: vec![0.0; start.len()], start }
}

/// Noise without mean.
pub(crate) fn small_noise(rng: &mut ChaCha8Rng, amplitude: f64, points: usize) -> Vec<f64> {
    let one = normals(rng, points);
    let mean = one.iter().sum::<f64>() / one.len() as f64;
    one.iter().map(|value| amplitude * (value - mean)).collect()
}
