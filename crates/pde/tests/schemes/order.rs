//! Every scheme has the order it declares: one helper measures it for all of them.

use crate::common::{apply, distance};
use cinoc_adjoint::Threads;
use cinoc_pde::operators::{implicit_diffusion, laplacian};
use cinoc_pde::{
    Axis, Boundary, Dynamics, Fkpp, Heat, KuramotoSivashinsky, KuramotoSivashinskyEtdrk4, evolve,
};
use std::f64::consts::{PI, TAU};

/// Order in time, from runs with time steps `dt`, `dt/2` and `dt/4` to the same time under a constant
/// forcing.
fn temporal_order<D: Dynamics>(
    make: impl Fn(f64) -> D,
    z0: impl Fn(f64) -> f64,
    forcing: impl Fn(f64) -> f64,
    steps: usize,
    dt: f64,
) -> f64 {
    let threads = Threads::one();
    let run = |refinement: usize| {
        let dynamics = make(dt / refinement as f64);
        let on_grid =
            |f: &dyn Fn(f64) -> f64| dynamics.grid().x.points().into_iter().map(f).collect::<Vec<_>>();
        evolve(&dynamics, &on_grid(&z0), Some(&on_grid(&forcing)), steps * refinement, &threads)
    };
    let (coarse, middle, fine) = (run(1), run(2), run(4));
    (distance(&coarse, &middle) / distance(&middle, &fine)).log2()
}

fn assert_declared(name: &str, measured: f64, declared: u32) {
    println!("{name}: declared order {declared}, measured {measured:.3}");
    assert!((measured - declared as f64).abs() < 0.1, "{name}: declared {declared}, measured {measured:.3}");
}

const UNIT: Axis = Axis { n: 50, length: 1.0, boundary: Boundary::Dirichlet };

#[test]
fn heat() {
    let make = |dt| Heat::new(UNIT, 0.2, dt);
    let measured =
        temporal_order(make, |x| (PI * x).sin() + (3.0 * PI * x).sin(), |x| x * (1.0 - x), 10, 0.02);
    assert_declared("heat", measured, make(1.0).order());
}

#[test]
fn fkpp() {
    let make = |dt| Fkpp::new(UNIT, 0.005, 3.0, dt);
    let measured =
        temporal_order(make, |x| 0.5 * (PI * x).sin().powi(2), |x| 0.3 * (PI * x).sin(), 10, 0.005);
    assert_declared("fkpp", measured, make(1.0).order());
}

#[test]
fn kuramoto_sivashinsky() {
    let make = |dt| KuramotoSivashinsky::new(64, 22.0, dt);
    let z0 = |x: f64| (TAU * x / 22.0).cos() + 0.5 * (2.0 * TAU * x / 22.0).sin();
    let measured = temporal_order(make, z0, |x| 0.2 * (3.0 * TAU * x / 22.0).cos(), 20, 0.0125);
    assert_declared("kuramoto-sivashinsky", measured, make(1.0).order());
}

#[test]
fn kuramoto_sivashinsky_etdrk4() {
    let make = |dt| KuramotoSivashinskyEtdrk4::new(64, 22.0, dt);
    let z0 = |x: f64| (TAU * x / 22.0).cos() + 0.5 * (2.0 * TAU * x / 22.0).sin();
    let measured = temporal_order(make, z0, |x| 0.2 * (3.0 * TAU * x / 22.0).cos(), 40, 0.01);
    assert_declared("kuramoto-sivashinsky, etdrk4", measured, make(1.0).order());
}

#[test]
fn finite_differences_in_space() {
    for (boundary, n) in [(Boundary::Dirichlet, 65), (Boundary::Periodic, 64)] {
        let error = |n: usize| {
            let axis = Axis { n, length: 1.0, boundary };
            let k = 2.0 * TAU;
            let z: Vec<f64> = axis.points().iter().map(|x| (k * x).sin()).collect();
            let exact: Vec<f64> = z.iter().map(|z| -k * k * z).collect();
            distance(&apply(&z, |z| z.linear(&laplacian(&axis))), &exact)
        };
        let order = (error(n) / error(2 * n - n % 2)).log2();
        println!("second derivative, {boundary:?}: measured order {order:.3}");
        assert!((order - 2.0).abs() < 0.02, "{boundary:?}: {order}");
    }
}

#[test]
fn implicit_diffusion_inverts_the_differences() {
    for boundary in [Boundary::Dirichlet, Boundary::ZeroFlux] {
        let axis = Axis { n: 11, length: 2.0, boundary };
        let mut z: Vec<f64> = (0..11).map(|j| (j as f64).sin() + 1.0).collect();
        if boundary == Boundary::Dirichlet {
            (z[0], z[10]) = (0.0, 0.0);
        }
        let spread = apply(&z, |z| z.solve(&implicit_diffusion(&axis, 0.3)));
        let back = apply(&spread, |z| z - 0.3 * z.linear(&laplacian(&axis)));
        assert!(distance(&back, &z) < 1e-13, "{boundary:?}");
        let kept = (spread.iter().sum::<f64>() / z.iter().sum::<f64>() - 1.0).abs() < 1e-14;
        assert_eq!(kept, boundary == Boundary::ZeroFlux);
    }
}
