//! 2D tasks without control: mean square distance to the target at the end of a run.

use cinoc_adjoint::Threads;
use cinoc_pde::random_field::normals;
use cinoc_pde::{
    Axis, BlobPairs, Boundary, Density, Dynamics, Heat2d, Medium, RandomField2d, Transport, evolve,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Mean and standard deviation over pairs of the final mean square error.
fn final_error(dynamics: &dyn Dynamics, z0: &[f64], zt: &[f64], steps: usize) -> (f64, f64) {
    let n = dynamics.grid().size();
    let z = evolve(dynamics, z0, None, steps, &Threads::new(2).unwrap());
    let errors: Vec<f64> = z
        .chunks_exact(n)
        .zip(zt.chunks_exact(n))
        .map(|(z, zt)| z.iter().zip(zt).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / n as f64)
        .collect();
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let variance = errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / errors.len() as f64;
    (mean, variance.sqrt())
}

fn heat(pairs: usize) -> (f64, f64) {
    let axis = Axis { n: 32, length: 1.0, boundary: Boundary::Dirichlet };
    let families = [0.25, 0.4].map(|length| RandomField2d::new(&axis, &axis, length, 1.0));
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let (mut z0, mut zt) = (Vec::new(), Vec::new());
    for _ in 0..pairs {
        z0.extend(families[0].bridged(&normals(rng, 1024)));
        zt.extend(families[1].bridged(&normals(rng, 1024)));
    }
    final_error(&Heat2d::new(axis, axis, 0.2, 0.0005), &z0, &zt, 300)
}

fn density(pairs: usize) -> (f64, f64) {
    let x = Axis { n: 64, length: 1.0, boundary: Boundary::ZeroFlux };
    let y = Axis { n: 80, length: 1.25, ..x };
    let blobs = BlobPairs {
        amplitude: [0.7, 1.0],
        width: [0.08, 0.14],
        start: [[0.2, 0.5], [0.2, 0.5]],
        target: [[0.4, 0.8], [0.5, 1.0]],
        apart: 0.25,
    };
    let rng = &mut ChaCha8Rng::seed_from_u64(2);
    let (mut z0, mut zt) = (Vec::new(), Vec::new());
    for _ in 0..pairs {
        let (start, target) = blobs.draw(&x, &y, rng);
        z0.extend(start);
        zt.extend(target);
    }
    let medium = Medium { drift: [0.0, 0.003], limit: 0.5, diffusion: 0.01 };
    final_error(&Density::new(x, y, 1.0, Transport::Advective, medium), &z0, &zt, 150)
}

#[test]
fn heat_ends_as_far_from_its_target_as_published() {
    let (mean, deviation) = heat(64);
    println!("heat on a rectangle, 64 pairs: {mean:.4} +- {deviation:.4}");
    assert!((0.10..0.24).contains(&mean), "{mean}");
}

#[test]
fn a_density_ends_as_far_from_its_target_as_published() {
    let (mean, deviation) = density(32);
    println!("density, 32 pairs: {mean:.4} +- {deviation:.4}");
    assert!((0.020..0.034).contains(&mean), "{mean}");
}

#[test]
#[ignore = "takes some seconds: the published means within their statistical error"]
fn means_over_many_pairs() {
    let ((heat, heat_deviation), (density, density_deviation)) = (heat(1000), density(400));
    println!("heat {heat:.4} +- {heat_deviation:.4}, density {density:.4} +- {density_deviation:.4}");
    assert!((0.15..0.19).contains(&heat), "{heat}");
    assert!((0.025..0.029).contains(&density), "{density}");
}
