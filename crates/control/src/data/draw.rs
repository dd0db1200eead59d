//! How the cases of each task are drawn.
//!
//! | task | starts from | aims at |
//! |---|---|---|
//! | `fkpp1d` | a density made of a random field of correlation length `data.length_start` | another one, of `data.length_target` |
//! | `heat1d`, `heat2d` | a random field that is 0 at the ends | another one |
//! | `ks1d` | small noise without mean, run uncontrolled for `data.spin_up` | 0 |
//! | `ks2d` | a few waves and some noise, run uncontrolled likewise | 0 |
//! | `turb2d` | random vorticity of a given energy, run at a smaller viscosity | 0 |
//! | `density2d` | a Gaussian blob | the same blob elsewhere |

use super::{Pool, Progress};
use crate::Config;
use crate::config::{Equation, Pairs};
use crate::physics;
use cinoc_adjoint::Threads;
use cinoc_pde::blobs::BlobPairs;
use cinoc_pde::random_field::normals;
use cinoc_pde::{Axis, KuramotoSivashinsky2d, RandomField, RandomField2d, Vorticity, evolve, evolve_in};
use rand_chacha::ChaCha8Rng;
use std::f64::consts::TAU;

/// Fields one after the other: starts and targets.
type Fields = (Vec<f64>, Vec<f64>);

pub(super) fn draw(
    config: &Config,
    rng: &mut ChaCha8Rng,
    pool: Pool,
    count: usize,
    threads: &Threads,
    progress: Progress<'_>,
) -> Fields {
    let shared = pool == Pool::Training && config.data.pairs == Some(Pairs::Shared);
    match config.equation() {
        Equation::Fkpp | Equation::Heat1d => profiles(config, rng, shared, count),
        Equation::Heat2d => surfaces(config, rng, shared, count),
        Equation::Density => blobs(config, rng, count),
        Equation::KuramotoSivashinsky1d | Equation::KuramotoSivashinsky2d | Equation::Vorticity => {
            (spun_up(config, rng, count, threads, progress), vec![0.0; count * config.points()])
        }
    }
}

fn profiles(config: &Config, rng: &mut ChaCha8Rng, shared: bool, count: usize) -> Fields {
    let (data, points) = (&config.data, physics::grid(config).x.points());
    let std = data.std.expect("tracking tasks have random fields");
    let family = |length: Option<f64>| {
        RandomField::new(&points, length.expect("tracking tasks have correlation lengths"), std)
    };
    let shape = match config.equation() {
        Equation::Fkpp => RandomField::density,
        _ => RandomField::bridged,
    };
    let (start, target) = (family(data.length_start), family(data.length_target));
    pairs(rng, points.len(), shared, count, |first, second| (shape(&start, first), shape(&target, second)))
}

fn surfaces(config: &Config, rng: &mut ChaCha8Rng, shared: bool, count: usize) -> Fields {
    let (data, [x, y]) = (&config.data, plane(config));
    let std = data.std.expect("tracking tasks have random fields");
    let family = |length: Option<f64>| {
        RandomField2d::new(&x, &y, length.expect("tracking tasks have correlation lengths"), std)
    };
    let (start, target) = (family(data.length_start), family(data.length_target));
    pairs(rng, x.n * y.n, shared, count, |first, second| (start.bridged(first), target.bridged(second)))
}

/// Both axes of a 2D task.
fn plane(config: &Config) -> [Axis; 2] {
    physics::axes(config).try_into().expect("a 2D task")
}

/// Starts and targets made of normal vectors, each of its own or both of one.
fn pairs(
    rng: &mut ChaCha8Rng,
    size: usize,
    shared: bool,
    count: usize,
    make: impl Fn(&[f64], &[f64]) -> (Vec<f64>, Vec<f64>),
) -> Fields {
    let (mut z0, mut zt) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let first = normals(rng, size);
        let second = if shared { first.clone() } else { normals(rng, size) };
        let (start, target) = make(&first, &second);
        z0.extend(start);
        zt.extend(target);
    }
    (z0, zt)
}

fn blobs(config: &Config, rng: &mut ChaCha8Rng, count: usize) -> Fields {
    let data = &config.data;
    let range = |range: Option<[f64; 2]>| range.expect("densities have ranges");
    let family = BlobPairs {
        amplitude: range(data.height),
        width: range(data.width),
        start: [range(data.start); 2],
        target: [range(data.target_x), range(data.target_y)],
        apart: data.distance.expect("densities have a distance"),
    };
    let [x, y] = plane(config);
    let (mut z0, mut zt) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let (start, target) = family.draw(&x, &y, rng);
        z0.extend(start);
        zt.extend(target);
    }
    (z0, zt)
}

/// Spin-ups between two reports of progress.
const GROUP: usize = 32;

/// States run uncontrolled from small or random beginnings.
fn spun_up(
    config: &Config,
    rng: &mut ChaCha8Rng,
    count: usize,
    threads: &Threads,
    progress: Progress<'_>,
) -> Vec<f64> {
    let (n, data) = (config.points(), &config.data);
    let mut free = config.clone();
    free.time.dt = data.spin_up_dt.unwrap_or(config.time.dt);
    free.physics.nu = data.spin_up_nu.or(config.physics.nu);
    let dynamics = physics::dynamics(&free);
    let steps = (data.spin_up.expect("stabilisation has a spin-up") / free.time.dt).round() as usize;
    let mut states = Vec::with_capacity(count * n);
    while states.len() < count * n {
        let done = states.len() / n;
        progress(done, count);
        let beginnings: Vec<f64> =
            (done..count.min(done + GROUP)).flat_map(|_| beginning(config, rng)).collect();
        states.extend(if free.equation().dims() == 1 {
            evolve(dynamics.as_ref(), &beginnings, None, steps, threads)
        } else {
            // chaos forgets its roundings: half the numbers, half the time
            let single: Vec<f32> = beginnings.iter().map(|&z| z as f32).collect();
            let states = evolve_in(dynamics.as_ref(), &single, None, steps, threads);
            states.into_iter().map(f64::from).collect()
        });
    }
    progress(count, count);
    states
}

/// What a spin-up starts from.
fn beginning(config: &Config, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let (data, dt) = (&config.data, config.time.dt);
    let amplitude = || data.amplitude.expect("stabilisation starts from noise");
    match config.equation() {
        Equation::KuramotoSivashinsky2d => {
            let [x, y] = plane(config);
            KuramotoSivashinsky2d::new(x, y, dt).random_state(amplitude(), rng)
        }
        Equation::Vorticity => {
            let [x, y] = plane(config);
            let (waves, energy) = (data.waves.expect("a spectrum"), data.energy.expect("an energy"));
            Vorticity::new(x, y, 0.0, dt).random_state(TAU / x.length * waves, energy, rng)
        }
        _ => {
            let one = normals(rng, config.points());
            let mean = one.iter().sum::<f64>() / one.len() as f64;
            one.iter().map(|value| amplitude() * (value - mean)).collect()
        }
    }
}
