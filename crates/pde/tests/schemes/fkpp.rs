//! Fisher-KPP against its travelling wave, its range and its symmetry.

use crate::common::distance;
use cinoc_adjoint::Threads;
use cinoc_pde::{Axis, Boundary, Dynamics, Fkpp, evolve};
use proptest::prelude::*;

/// The position right of the middle where the front falls below one half.
fn front(x: &[f64], z: &[f64]) -> f64 {
    let j = (x.len() / 2..x.len() - 1).find(|&j| z[j + 1] < 0.5).expect("a front");
    x[j] + (z[j] - 0.5) / (z[j] - z[j + 1]) * (x[j + 1] - x[j])
}

#[test]
fn the_front_travels_at_the_speed_of_the_theory() {
    // From a compact start the front lags behind c t: x(t) = c t - 3/2 ln t + const for nu = rho = 1, c = 2
    // sqrt(nu rho).
    for (nu, rho) in [(1.0f64, 1.0f64), (0.25, 1.0)] {
        let axis = Axis { n: 1001, length: 200.0 * nu.sqrt(), boundary: Boundary::Dirichlet };
        let fkpp = Fkpp::new(axis, nu, rho, 0.01);
        let x = axis.points();
        let z0: Vec<f64> =
            x.iter().map(|x| f64::from((x - axis.length / 2.0).abs() < 5.0 * nu.sqrt())).collect();
        let threads = Threads::one();
        let early = evolve(&fkpp, &z0, None, 2000, &threads);
        let late = evolve(&fkpp, &early, None, 2000, &threads);
        let speed = (front(&x, &late) - front(&x, &early)) / 20.0;
        let limit = 2.0 * (nu * rho).sqrt();
        let expected = limit - 1.5 * nu.sqrt() * 2.0f64.ln() / 20.0;
        println!("fkpp, nu {nu}, rho {rho}: speed {speed:.4}, theory {expected:.4}, limit {limit}");
        assert!(speed < limit && (speed / expected - 1.0).abs() < 0.01, "{speed} against {expected}");
    }
}

#[test]
fn without_forcing_0_and_1_stay() {
    let axis = Axis { n: 100, length: 1.0, boundary: Boundary::Dirichlet };
    let fkpp = Fkpp::new(axis, 0.0, 3.0, 0.001);
    let mut ones = vec![1.0; 100];
    (ones[0], ones[99]) = (0.0, 0.0);
    assert!(distance(&evolve(&fkpp, &ones, None, 10, &Threads::one()), &ones) < 1e-14);
    let fkpp = Fkpp::new(axis, 0.005, 3.0, 0.001);
    assert_eq!(evolve(&fkpp, &[0.0; 100], None, 10, &Threads::one()), [0.0; 100]);
    assert_eq!(fkpp.dt(), 0.001);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn densities_stay_densities_and_keep_their_order(
        low in prop::collection::vec(0.0..1.0f64, 20),
        more in prop::collection::vec(0.0..1.0f64, 20),
        push in -40.0..40.0f64,
    ) {
        let axis = Axis { n: 20, length: 1.0, boundary: Boundary::Dirichlet };
        let fkpp = Fkpp::new(axis, 0.005, 3.0, 0.001);
        let run = |z: &[f64]| evolve(&fkpp, z, Some(&[push; 20]), 4, &Threads::one());
        let high: Vec<f64> = low.iter().zip(&more).map(|(low, more)| low + (1.0 - low) * more).collect();
        let (a, b) = (run(&low), run(&high));
        prop_assert!(a.iter().all(|z| (0.0..=1.0).contains(z)));
        prop_assert_eq!((a[0], a[19]), (0.0, 0.0));
        prop_assert!(a.iter().zip(&b).all(|(a, b)| *a <= b + 1e-15));

        let mirrored: Vec<f64> = low.iter().rev().copied().collect();
        let back: Vec<f64> = run(&mirrored).into_iter().rev().collect();
        prop_assert!(distance(&back, &a) < 1e-13);
    }
}
