//! The heat equation against exact solutions and symmetries.

use crate::common::{distance, size};
use cinoc_adjoint::Threads;
use cinoc_pde::{Axis, Boundary, Dynamics, Heat, evolve};
use proptest::prelude::*;
use std::f64::consts::PI;

fn axis(n: usize) -> Axis {
    Axis { n, length: 1.0, boundary: Boundary::Dirichlet }
}

fn mode(axis: &Axis, m: usize) -> Vec<f64> {
    axis.points().iter().map(|x| (PI * m as f64 * x).sin()).collect()
}

#[test]
fn eigenmodes_decay_by_the_factor_of_the_scheme() {
    let (n, nu, dt) = (100, 0.2, 0.001);
    let heat = Heat::new(axis(n), nu, dt);
    let threads = Threads::one();
    for m in [1, 2, 7, 50, 98] {
        let z0 = mode(&heat.grid().x, m);
        // eigenvalue of -D2
        let lambda = (2.0 / heat.grid().x.spacing() * (PI * m as f64 / (2 * (n - 1)) as f64).sin()).powi(2);
        let factor = (1.0 - dt * nu * lambda / 2.0) / (1.0 + dt * nu * lambda / 2.0);
        let z = evolve(&heat, &z0, None, 20, &threads);
        let expected: Vec<f64> = z0.iter().map(|z| factor.powi(20) * z).collect();
        assert!(distance(&z, &expected) < 1e-12, "mode {m}: {:e}", distance(&z, &expected));
    }
}

#[test]
fn eigenmodes_converge_to_those_of_the_equation() {
    let (nu, time, m) = (0.2, 0.1, 3);
    let error = |cells: usize, steps: usize| {
        let heat = Heat::new(axis(cells + 1), nu, time / steps as f64);
        let z0 = mode(&heat.grid().x, m);
        let decay = (-nu * (PI * m as f64).powi(2) * time).exp();
        let expected: Vec<f64> = z0.iter().map(|z| decay * z).collect();
        distance(&evolve(&heat, &z0, None, steps, &Threads::one()), &expected)
    };
    let order = (error(50, 10) / error(100, 20)).log2();
    println!("heat, space and time together: measured order {order:.3}");
    assert!((order - 2.0).abs() < 0.05, "{order}");
}

#[test]
fn constant_forcing_leads_to_the_steady_parabola() {
    let heat = Heat::new(axis(41), 0.2, 0.05);
    let z = evolve(&heat, &[0.0; 41], Some(&[1.0; 41]), 2000, &Threads::one());
    // nu z'' = -1; second differences are exact for it
    let expected: Vec<f64> = heat.grid().x.points().iter().map(|x| x * (1.0 - x) / (2.0 * 0.2)).collect();
    assert!(distance(&z, &expected) < 1e-12);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reflection_and_superposition(
        a in prop::collection::vec(-1.0..1.0f64, 20),
        b in prop::collection::vec(-1.0..1.0f64, 20),
        weight in -2.0..2.0f64,
    ) {
        let heat = Heat::new(axis(20), 0.2, 0.001);
        let run = |z: &[f64]| evolve(&heat, z, None, 3, &Threads::one());
        let mirrored: Vec<f64> = a.iter().rev().copied().collect();
        let back: Vec<f64> = run(&mirrored).into_iter().rev().collect();
        prop_assert!(distance(&back, &run(&a)) < 1e-13);

        let sum: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a + weight * b).collect();
        let expected: Vec<f64> = run(&a).iter().zip(run(&b)).map(|(a, b)| a + weight * b).collect();
        prop_assert!(distance(&run(&sum), &expected) < 1e-13);
        prop_assert_eq!((run(&a)[0], run(&a)[19]), (0.0, 0.0));
        prop_assert!(size(&run(&a)) <= size(&a));
    }
}
