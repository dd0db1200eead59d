//! The vorticity equation against an exact decaying vortex and the invariants of a flow without viscosity.

use crate::common::{distance, size};
use crate::periodic::{advance, on_grid, ring};
use cinoc_pde::{Fourier, Vorticity};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::f64::consts::TAU;

const N: [usize; 2] = [16, 18];

fn run(z: &[f64], f: &[f64], nu: f64, dt: f64, steps: usize) -> Vec<f64> {
    let flow = Vorticity::new(ring(N[0], 1.0), ring(N[1], 1.0), nu, dt);
    advance(z, f, steps, &flow)
}

fn random_flow() -> Vec<f64> {
    Vorticity::new(ring(N[0], 1.0), ring(N[1], 1.0), 0.0, 1.0).random_state(
        3.0 * TAU,
        0.5,
        &mut ChaCha8Rng::seed_from_u64(3),
    )
}

/// `mean |q|^2 / 2` and `mean w^2 / 2`.
fn energy_and_enstrophy(w: &[f64]) -> [f64; 2] {
    let fourier = Fourier::new(N, [1.0, 1.0], [1, 1]);
    let spectrum = crate::common::apply(w, |w| fourier.forward(w));
    let points = w.len() as f64;
    let sum = |t: Vec<f64>| t.iter().zip(&spectrum).map(|(t, c)| 0.5 * t * c * c / points).sum();
    [sum(fourier.table(|k2| if k2 > 0.0 { 1.0 / k2 } else { 0.0 })), sum(fourier.table(|_| 1.0))]
}

#[test]
fn a_taylor_green_vortex_decays_without_changing_its_shape() {
    let (nu, dt, steps) = (0.01, 0.005, 40);
    // waves of a single |k|, of any phase, are a steady solution of the inviscid equation
    let w = on_grid(N, |x, y| 5.0 * (TAU * 2.0 * x + 0.2).cos() * (TAU * 2.0 * y).sin() + 1.0);
    let decay = (-nu * 8.0 * TAU * TAU * dt * steps as f64).exp();
    let exact: Vec<f64> = w.iter().map(|w| decay * (w - 1.0) + 1.0).collect();
    let error = distance(&run(&w, &vec![0.0; w.len()], nu, dt, steps), &exact);
    assert!(error < 1e-8, "{error:e}");
}

#[test]
fn without_viscosity_energy_enstrophy_and_mean_are_kept() {
    let w = random_flow();
    let after = run(&w, &vec![0.0; w.len()], 0.0, 0.001, 100);
    assert!(distance(&w, &after) > 0.1 * size(&w), "a flow that does not move conserves everything");
    let (start, end) = (energy_and_enstrophy(&w), energy_and_enstrophy(&after));
    // modes with N/2 periods take no part, so the truncated equations conserve both, up to the error of the
    // scheme
    for i in 0..2 {
        assert!((end[i] / start[i] - 1.0).abs() < 1e-8, "{start:?} {end:?}");
    }
    let mean = |w: &[f64]| w.iter().sum::<f64>() / w.len() as f64;
    assert!((mean(&w) - mean(&after)).abs() < 1e-12);
}

#[test]
fn random_flows_have_the_energy_asked_for_and_no_mean() {
    let w = random_flow();
    assert!((energy_and_enstrophy(&w)[0] - 0.5).abs() < 1e-12);
    assert!(w.iter().sum::<f64>().abs() < 1e-9);
}

#[test]
fn the_order_in_time_is_four() {
    let (w, f) = (random_flow(), on_grid(N, |x, y| 20.0 * (TAU * (x + 2.0 * y)).sin() + 3.0));
    let at = |refinement: usize| run(&w, &f, 1e-3, 0.01 / refinement as f64, 10 * refinement);
    let (coarse, middle, fine) = (at(1), at(2), at(4));
    let order = (distance(&coarse, &middle) / distance(&middle, &fine)).log2();
    println!("vorticity: measured order {order:.3}");
    assert!((order - 4.0).abs() < 0.2, "{order}");
}

/// Modes with N/2 periods have viscosity and forcing only, with the factors of the Runge-Kutta scheme.
#[test]
fn the_highest_modes_decay_and_are_forced() {
    let (nu, dt, steps) = (1e-3, 0.01, 5);
    let highest = on_grid(N, |x, _| (TAU * 8.0 * x).cos());
    let f: Vec<f64> = highest.iter().map(|w| 2.0 * w).collect();
    let (l, time) = (-nu * (8.0 * TAU).powi(2), dt * steps as f64);
    let exact: Vec<f64> =
        highest.iter().map(|w| ((l * time).exp() + 2.0 * ((l * time).exp() - 1.0) / l) * w).collect();
    assert!(distance(&run(&highest, &f, nu, dt, steps), &exact) < 1e-8);
}
