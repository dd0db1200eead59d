//! Kuramoto-Sivashinsky against its linear theory, its conservation law and its symmetries.

use crate::common::distance;
use cinoc_adjoint::Threads;
use cinoc_pde::kuramoto_sivashinsky::growth_rate;
use cinoc_pde::{Dynamics, KuramotoSivashinsky, evolve};
use proptest::prelude::*;
use std::f64::consts::TAU;

const LENGTH: f64 = 22.0;

fn mean(z: &[f64]) -> f64 {
    z.iter().sum::<f64>() / z.len() as f64
}

#[test]
fn small_waves_grow_at_the_rates_of_the_linear_theory() {
    let (n, dt, steps) = (64, 0.05, 10);
    let ks = KuramotoSivashinsky::new(n, LENGTH, dt);
    for m in 1..=6 {
        let k = TAU * m as f64 / LENGTH;
        let z0: Vec<f64> = ks.grid().x.points().iter().map(|x| 1e-9 * (k * x).cos()).collect();
        let z = evolve(&ks, &z0, None, steps, &Threads::one());
        let l = growth_rate(k);
        let factor = ((1.0 + dt * l / 2.0) / (1.0 - dt * l / 2.0)).powi(steps as i32);
        let expected: Vec<f64> = z0.iter().map(|z| factor * z).collect();
        assert!(distance(&z, &expected) < 1e-16, "mode {m}: {:e}", distance(&z, &expected));

        // the growth rate of Crank-Nicolson has the error dt^2 l^3 / 12
        let rate = factor.ln() / (steps as f64 * dt);
        assert!((rate - l).abs() <= 1.1 * dt * dt * l.abs().powi(3) / 12.0, "mode {m}: {rate} against {l}");
    }
}

#[test]
fn the_mean_changes_by_the_forcing_only() {
    let (n, dt, steps) = (128, 0.05, 200);
    let ks = KuramotoSivashinsky::new(n, LENGTH, dt);
    let z0: Vec<f64> = ks.grid().x.points().iter().map(|x| 0.3 + 2.0 * (TAU * x / LENGTH).sin()).collect();
    let free = evolve(&ks, &z0, None, steps, &Threads::one());
    assert!((mean(&free) - mean(&z0)).abs() < 1e-13);
    let push: Vec<f64> = ks.grid().x.points().iter().map(|x| (-x * x).exp()).collect();
    let forced = evolve(&ks, &z0, Some(&push), steps, &Threads::one());
    let gained = steps as f64 * dt * mean(&push);
    assert!((mean(&forced) - mean(&z0) - gained).abs() < 1e-12);
}

#[test]
fn chaos_saturates_at_the_known_level() {
    let ks = KuramotoSivashinsky::new(64, LENGTH, 0.05);
    let z0: Vec<f64> = ks
        .grid()
        .x
        .points()
        .iter()
        .map(|x| 0.1 * (TAU * x / LENGTH).cos() * (1.0 + (TAU * x / LENGTH).sin()))
        .collect();
    let z = evolve(&ks, &z0, None, 4000, &Threads::one());
    let energy = z.iter().map(|z| z * z).sum::<f64>() / 64.0;
    assert!((0.5..4.0).contains(&energy), "{energy}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn translation_and_reflection(z in prop::collection::vec(-1.0..1.0f64, 32), shift in 0usize..32) {
        let ks = KuramotoSivashinsky::new(32, LENGTH, 0.05);
        let run = |z: &[f64]| evolve(&ks, z, None, 3, &Threads::one());
        let (mut moved, mut after) = (z.clone(), run(&z));
        moved.rotate_left(shift);
        after.rotate_left(shift);
        prop_assert!(distance(&run(&moved), &after) < 1e-13);

        // x -> -x, z -> -z
        let odd = |z: &[f64]| z.iter().rev().map(|z| -z).collect::<Vec<_>>();
        prop_assert!(distance(&run(&odd(&z)), &odd(&run(&z))) < 1e-13);
    }
}
