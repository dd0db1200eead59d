//! Densities in a flow: mass, sign, range, exact shifts, diffusion at the walls.

use crate::common::distance;
use crate::heat_2d::on_points;
use cinoc_adjoint::{Inputs, Program, Threads, Tracer};
use cinoc_pde::{Axis, Boundary, Density, Dynamics, Medium, Transport, evolve};
use proptest::prelude::*;

const MEDIUM: Medium = Medium { drift: [0.0, 0.003], limit: 0.5, diffusion: 0.01 };
const STILL: Medium = Medium { drift: [0.0, 0.0], limit: 1.0, diffusion: 0.0 };
const BOTH: [Transport; 2] = [Transport::Advective, Transport::Conservative];

fn axis(n: usize, length: f64) -> Axis {
    Axis { n, length, boundary: Boundary::ZeroFlux }
}

fn mass(rho: &[f64]) -> f64 {
    rho.iter().sum()
}

#[test]
fn a_flow_of_one_cell_per_step_shifts_by_one_cell() {
    let (x, y) = (axis(6, 5.0), axis(9, 4.0));
    let mut rho = vec![0.0; 54];
    rho[2 * 9 + 3] = 1.0;
    for transport in BOTH {
        for (q, expected) in [([1.0, 0.0], 3 * 9 + 3), ([0.0, -0.5], 2 * 9 + 2)] {
            let density = Density::new(x, y, 1.0, transport, STILL);
            let flow: Vec<f64> = q.iter().flat_map(|&q| vec![q; 54]).collect();
            let moved = evolve(&density, &rho, Some(&flow), 1, &Threads::one());
            assert_eq!(moved[expected], 1.0, "{transport:?} by {q:?}");
            assert_eq!(mass(&moved), 1.0);
        }
    }
}

#[test]
fn fast_flows_are_shortened_and_keep_their_direction() {
    let (x, y) = (axis(9, 8.0), axis(9, 8.0));
    let bump = on_points(&x, &y, |a, b| (-(a - 4.0).powi(2) - (b - 4.0).powi(2)).exp());
    for transport in BOTH {
        let density =
            Density::new(x, y, 1.0, transport, Medium { diffusion: 0.0, drift: [0.0; 2], ..MEDIUM });
        let run = |qx: f64, qy: f64| {
            let flow: Vec<f64> = [qx, qy].iter().flat_map(|&q| vec![q; 81]).collect();
            evolve(&density, &bump, Some(&flow), 2, &Threads::one())
        };
        assert!(distance(&run(30.0, -40.0), &run(0.3, -0.4)) < 1e-14, "{transport:?}");
        assert!(distance(&run(0.15, -0.2), &run(0.3, -0.4)) > 0.01, "{transport:?}");
    }
}

#[test]
fn drift_is_a_velocity() {
    let (x, y) = (axis(9, 1.0), axis(11, 1.25));
    let bump = on_points(&x, &y, |a, b| (-8.0 * ((a - 0.5).powi(2) + (b - 0.5).powi(2))).exp());
    for transport in BOTH {
        let drifting = Density::new(x, y, 1.0, transport, Medium { drift: [0.01, -0.02], ..MEDIUM });
        let driven = Density::new(x, y, 1.0, transport, Medium { drift: [0.0, 0.0], ..MEDIUM });
        let flow: Vec<f64> = [0.01, -0.02].iter().flat_map(|&q| vec![q; 99]).collect();
        let free = evolve(&drifting, &bump, None, 5, &Threads::one());
        assert!(distance(&free, &evolve(&driven, &bump, Some(&flow), 5, &Threads::one())) < 1e-14);
        assert!(distance(&free, &bump) > 0.05);
    }
}

#[test]
fn diffusion_keeps_the_mass_and_ends_in_a_uniform_density() {
    let (x, y) = (axis(5, 1.0), axis(7, 1.0));
    let medium = Medium { diffusion: 0.2, ..STILL };
    let mut rho = vec![0.0; 35];
    rho[0] = 35.0;
    for transport in BOTH {
        let density = Density::new(x, y, 1.0, transport, medium);
        let after = evolve(&density, &rho, None, 1, &Threads::one());
        assert!((after[0] - 35.0 * 0.6).abs() < 1e-12 && (after[1] - 7.0).abs() < 1e-12);
        let late = evolve(&density, &rho, None, 2000, &Threads::one());
        assert!(distance(&late, &[1.0; 35]) < 1e-10, "{transport:?}");
    }
}

/// The density after `steps` in single precision.
fn evolve_f32(density: &Density, rho: &[f32], flow: &[f32], steps: usize) -> Vec<f32> {
    let (tracer, (rows, cols)) = (Tracer::new(), density.grid().shape());
    let z = tracer.state("z", rows, cols);
    let stirring = tracer.fixed("flow", 2 * rows, cols);
    tracer.advance(z, density.step(z, density.response(stirring)));
    let (z, stirring) = (z.input(), stirring.input());
    let inputs = Inputs::new(1, steps, &[]).with(z, rho).with(stirring, flow);
    Program::<f32>::new(&tracer.finish(), 1).forward(&inputs, &Threads::one()).end(z).to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn conservative_transport_keeps_mass_and_sign_in_single_precision(
        rho in prop::collection::vec(prop_oneof![Just(0.0f32), 0.0..1.0f32], 16 * 20),
        flow in prop::collection::vec(-0.1..0.1f32, 2 * 16 * 20),
    ) {
        let density = Density::new(axis(16, 1.0), axis(20, 1.25), 1.0, Transport::Conservative, MEDIUM);
        let after = evolve_f32(&density, &rho, &flow, 150);
        let mass = |rho: &[f32]| rho.iter().map(|&rho| f64::from(rho)).sum::<f64>();
        prop_assert!((mass(&after) / mass(&rho) - 1.0).abs() < 1e-6, "{} {}", mass(&rho), mass(&after));
        prop_assert!(after.iter().all(|&rho| rho >= 0.0));
        prop_assert!(after.iter().zip(&rho).any(|(a, b)| (a - b).abs() > 0.1));
    }

    #[test]
    fn advective_transport_keeps_the_range(
        rho in prop::collection::vec(0.2..1.0f32, 12 * 10),
        flow in prop::collection::vec(-0.2..0.2f32, 2 * 12 * 10),
    ) {
        let density = Density::new(axis(12, 1.0), axis(10, 1.25), 1.0, Transport::Advective, MEDIUM);
        let after = evolve_f32(&density, &rho, &flow, 50);
        let (low, high) = rho.iter().fold((1.0f32, 0.0f32), |(l, h), &r| (l.min(r), h.max(r)));
        prop_assert!(after.iter().all(|&r| r >= low - 1e-5 && r <= high + 1e-5));
    }
}
