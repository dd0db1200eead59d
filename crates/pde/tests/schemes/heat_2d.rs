//! The heat equation on a rectangle against the factors of its scheme, its order, and its boundary.

use crate::common::{distance, size};
use cinoc_adjoint::Threads;
use cinoc_pde::{Axis, Boundary, Dynamics, Heat2d, evolve};
use std::f64::consts::PI;

fn axis(n: usize, length: f64) -> Axis {
    Axis { n, length, boundary: Boundary::Dirichlet }
}

/// Values of `f(x, y)` on the grid points.
pub fn on_points(x: &Axis, y: &Axis, f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let (px, py) = (x.points(), y.points());
    (0..x.n * y.n).map(|k| f(px[k / y.n], py[k % y.n])).collect()
}

fn mode(x: &Axis, y: &Axis, m: [usize; 2]) -> Vec<f64> {
    on_points(x, y, |a, b| (PI * m[0] as f64 * a / x.length).sin() * (PI * m[1] as f64 * b / y.length).sin())
}

#[test]
fn eigenmodes_decay_by_the_factor_of_the_scheme() {
    let (x, y, nu, dt) = (axis(12, 1.0), axis(21, 1.6), 0.2, 0.002);
    let heat = Heat2d::new(x, y, nu, dt);
    for m in [[1, 1], [2, 5], [10, 1], [7, 19]] {
        let z0 = mode(&x, &y, m);
        // every axis contributes (1 - c lambda)/(1 + c lambda), lambda the eigenvalue of -D2
        let factor: f64 = [x, y]
            .iter()
            .zip(m)
            .map(|(axis, m)| {
                let lambda =
                    (2.0 / axis.spacing() * (PI * m as f64 / (2 * (axis.n - 1)) as f64).sin()).powi(2);
                (1.0 - nu * dt / 2.0 * lambda) / (1.0 + nu * dt / 2.0 * lambda)
            })
            .product();
        let z = evolve(&heat, &z0, None, 20, &Threads::one());
        let expected: Vec<f64> = z0.iter().map(|z| factor.powi(20) * z).collect();
        assert!(distance(&z, &expected) < 1e-12, "mode {m:?}: {:e}", distance(&z, &expected));
    }
}

#[test]
fn second_order_in_time_under_a_constant_forcing() {
    let (x, y) = (axis(17, 1.0), axis(23, 1.5));
    let run = |steps: usize| {
        let heat = Heat2d::new(x, y, 0.2, 0.2 / steps as f64);
        let forcing = on_points(&x, &y, |a, b| (3.0 * a).cos() * b + 1.0);
        let mut z0 = mode(&x, &y, [1, 2]);
        z0.iter_mut().zip(mode(&x, &y, [3, 1])).for_each(|(z, more)| *z += more);
        (evolve(&heat, &z0, Some(&forcing), steps, &Threads::one()), heat.order())
    };
    let (coarse, middle, (fine, declared)) = (run(20).0, run(40).0, run(80));
    let order = (distance(&coarse, &middle) / distance(&middle, &fine)).log2();
    println!("heat on a rectangle: declared order {declared}, measured {order:.3}");
    assert!((order - declared as f64).abs() < 0.1, "{order}");
}

#[test]
fn constant_forcing_leads_to_the_steady_state() {
    let (x, y, nu) = (axis(9, 1.0), axis(14, 1.3), 0.2);
    // z = a (1 - a) b (L - b): second differences are exact for it
    let steady = on_points(&x, &y, |a, b| a * (1.0 - a) * b * (1.3 - b));
    let forcing = on_points(&x, &y, |a, b| nu * 2.0 * (b * (1.3 - b) + a * (1.0 - a)));
    let heat = Heat2d::new(x, y, nu, 0.02);
    let z = evolve(&heat, &vec![0.0; x.n * y.n], Some(&forcing), 1500, &Threads::one());
    assert!(distance(&z, &steady) < 1e-12, "{:e}", distance(&z, &steady));
}

#[test]
fn the_boundary_is_neither_read_nor_kept() {
    let (x, y) = (axis(7, 1.0), axis(5, 1.0));
    let heat = Heat2d::new(x, y, 0.2, 0.01);
    let edge = |k: usize| (k / y.n).is_multiple_of(x.n - 1) || (k % y.n).is_multiple_of(y.n - 1);
    let clean: Vec<f64> = (0..35).map(|k| if edge(k) { 0.0 } else { (k as f64).sin() }).collect();
    let dirty: Vec<f64> = (0..35).map(|k| if edge(k) { 7.0 } else { (k as f64).sin() }).collect();
    let run = |z: &[f64], f: &[f64]| evolve(&heat, z, Some(f), 3, &Threads::one());
    let (a, b) = (run(&clean, &clean), run(&dirty, &dirty));
    assert_eq!(a, b);
    assert!((0..35).filter(|&k| edge(k)).all(|k| a[k] == 0.0));
    assert!(size(&a) > 0.1);
}
