//! The Kuramoto-Sivashinsky equation in two dimensions against its linear theory and its one-dimensional
//! solutions.

use crate::common::distance;
use crate::periodic::{advance, on_grid, ring};
use cinoc_adjoint::Threads;
use cinoc_pde::{KuramotoSivashinsky2d, KuramotoSivashinskyEtdrk4, evolve};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::f64::consts::TAU;

const N: [usize; 2] = [24, 20];
const LENGTHS: [f64; 2] = [14.0, 11.0];

fn run(z: &[f64], f: &[f64], dt: f64, steps: usize) -> Vec<f64> {
    let ks = KuramotoSivashinsky2d::new(ring(N[0], LENGTHS[0]), ring(N[1], LENGTHS[1]), dt);
    advance(z, f, steps, &ks)
}

#[test]
fn small_waves_grow_at_the_rates_of_the_linear_theory() {
    // resolved modes, and modes beyond the cutoff, which are never coupled
    for [a, b] in [[1, 0], [0, 1], [2, 1], [3, 3], [9, 0], [1, 8], [12, 10]] {
        let z = on_grid(N, |x, y| 1e-12 * (TAU * (a as f64 * x + b as f64 * y)).cos());
        let q2 = (TAU * a as f64 / LENGTHS[0]).powi(2) + (TAU * b as f64 / LENGTHS[1]).powi(2);
        let growth = ((q2 - q2 * q2) * 0.5).exp();
        let exact: Vec<f64> = z.iter().map(|z| growth * z).collect();
        let error = distance(&run(&z, &vec![0.0; z.len()], 0.05, 10), &exact);
        assert!(error < 1e-20 * growth.max(1.0), "mode {a} {b}: {error:e}");
    }
}

#[test]
fn forcing_and_steps_outside_the_cutoff_are_exact() {
    let z = on_grid(N, |x, _| (TAU * 9.0 * x).sin());
    let f = on_grid(N, |x, _| 3.0 * (TAU * 9.0 * x).cos() + 0.7);
    let q2 = (TAU * 9.0 / LENGTHS[0]).powi(2);
    let (l, time) = (q2 - q2 * q2, 0.03);
    let exact = on_grid(N, |x, _| {
        let wave = TAU * 9.0 * x;
        // the mean grows with the forcing; one of the modes is resolved
        (l * time).exp() * wave.sin() + ((l * time).exp() - 1.0) / l * 3.0 * wave.cos() + 0.7 * time
    });
    assert!(distance(&run(&z, &f, 0.01, 3), &exact) < 1e-13);
}

#[test]
fn the_order_in_time_is_four() {
    let z = on_grid(N, |x, y| (TAU * x).sin() * (TAU * y).cos() + 0.5 * (2.0 * TAU * x).sin());
    let f = on_grid(N, |x, y| 0.4 * (TAU * (x - y)).cos() + 0.1);
    let at = |refinement: usize| run(&z, &f, 0.008 / refinement as f64, 25 * refinement);
    let (coarse, middle, fine) = (at(1), at(2), at(4));
    let order = (distance(&coarse, &middle) / distance(&middle, &fine)).log2();
    println!("kuramoto-sivashinsky 2d: measured order {order:.3}");
    assert!((order - 4.0).abs() < 0.2, "{order}");
}

/// `u = z_x` of a field that does not depend on y obeys the equation in one dimension.
#[test]
fn a_field_of_one_coordinate_follows_the_equation_in_one_dimension() {
    let (n, length, dt, steps) = ([64, 6], 22.0, 0.01, 100);
    let (k, wave) = (TAU / length, |x: f64| TAU * x);
    let z = on_grid(n, |x, _| wave(x).cos() + 0.6 * (2.0 * wave(x)).sin());
    let ks = KuramotoSivashinsky2d::new(ring(n[0], length), ring(n[1], 3.0), dt);
    let got = advance(&z, &vec![0.0; z.len()], steps, &ks);

    let u = |x: f64| -k * wave(x).sin() + 1.2 * k * (2.0 * wave(x)).cos();
    let u: Vec<f64> = (0..n[0]).map(|j| u(j as f64 / n[0] as f64)).collect();
    let flow = KuramotoSivashinskyEtdrk4::new(n[0], length, dt);
    let expected = evolve(&flow, &u, None, steps, &Threads::one());

    // all rows are equal: the slope of z comes from the discrete Fourier transform of one of them
    for y in 1..n[1] {
        assert!((0..n[0]).all(|x| (got[x * n[1] + y] - got[x * n[1]]).abs() < 1e-12));
    }
    let line: Vec<f64> = (0..n[0]).map(|x| got[x * n[1]]).collect();
    let slope = |at: usize| {
        let mut sum = 0.0;
        for m in 1..n[0] / 2 {
            for (j, z) in line.iter().enumerate() {
                let angle = TAU * (m * (at + n[0] - j) % n[0]) as f64 / n[0] as f64;
                sum -= 2.0 / n[0] as f64 * k * m as f64 * z * angle.sin();
            }
        }
        sum
    };
    let slopes: Vec<f64> = (0..n[0]).map(slope).collect();
    assert!(distance(&slopes, &expected) < 1e-7, "{:e}", distance(&slopes, &expected));
}

#[test]
fn random_states_have_mean_zero_and_unit_variance_and_differ() {
    let ks = KuramotoSivashinsky2d::new(ring(32, 32.0), ring(32, 32.0), 0.01);
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (a, b) = (ks.random_state(0.05, &mut rng), ks.random_state(0.05, &mut rng));
    for z in [&a, &b] {
        let mean = z.iter().sum::<f64>() / z.len() as f64;
        let square = z.iter().map(|z| z * z).sum::<f64>() / z.len() as f64;
        assert!(mean.abs() < 1e-12 && (square - 1.0).abs() < 1e-12);
    }
    assert!(distance(&a, &b) > 0.1);
}
