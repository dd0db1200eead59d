//! Fields carried by a flow: the reverse rule against central differences, and values against a plain loop.

mod differences;

use cinoc_adjoint::*;
use differences::{Case, case, check_agreement, check_reverse_rules, noise};

fn cases() -> Vec<Case> {
    vec![
        case("advect", &[(5, 4, false), (10, 4, false)], |_, v| v[0].advect(v[1])),
        case("advect twice", &[(3, 7, false), (6, 7, false)], |_, v| v[0].advect(v[1]).advect(0.5 * v[1])),
        case("advect by a common flow", &[(4, 3, false), (8, 3, true)], |_, v| v[0].advect(v[1]) + v[0]),
        case("advect along a line", &[(6, 1, false), (12, 1, false)], |_, v| v[0].advect(v[1])),
        case("advect across a line", &[(1, 6, false), (2, 6, false)], |_, v| v[0].advect(v[1])),
    ]
}

#[test]
fn reverse_rules_agree_with_central_differences() {
    check_reverse_rules(&cases());
}

#[test]
fn instruction_sets_and_precisions_agree() {
    check_agreement(&cases());
}

/// Bilinear interpolation at a source clamped to the grid, written down directly.
fn traced_back(nx: usize, ny: usize, rho: &[f64], shift: &[f64]) -> Vec<f64> {
    let place = |at: f64, n: usize| {
        let at = at.clamp(0.0, (n - 1) as f64);
        let below = (at.floor() as usize).min(n - 2);
        (below, at - below as f64)
    };
    let point = |k: usize| {
        let (x, s) = place((k / ny) as f64 - shift[k], nx);
        let (y, t) = place((k % ny) as f64 - shift[nx * ny + k], ny);
        let value = |i: usize, j: usize| rho[i * ny + j];
        (1.0 - s) * ((1.0 - t) * value(x, y) + t * value(x, y + 1))
            + s * ((1.0 - t) * value(x + 1, y) + t * value(x + 1, y + 1))
    };
    (0..nx * ny).map(point).collect()
}

#[test]
fn values_are_those_of_a_plain_loop() {
    let (nx, ny, samples) = (6, 9, 5);
    let (rho, shift) = (noise(1, samples * nx * ny), noise(2, samples * 2 * nx * ny));
    let tracer = Tracer::new();
    let (density, by) = (tracer.sequence("rho", nx, ny), tracer.sequence("shift", 2 * nx, ny));
    let carried = tracer.record("carried", density.advect(by));
    let inputs = Inputs::new(samples, 1, &[]).with(density.input(), &rho).with(by.input(), &shift);
    let trace = tracer.finish();
    for isa in Isa::available() {
        for chunk in [1, 3, 8] {
            let program = Program::<f64>::with_isa(&trace, chunk, isa);
            let outcome = program.forward(&inputs, &Threads::one());
            let got = outcome.record(carried);
            for sample in 0..samples {
                let (from, to) = (sample * nx * ny, (sample + 1) * nx * ny);
                let expected = traced_back(nx, ny, &rho[from..to], &shift[2 * from..2 * to]);
                for (a, b) in got[from..to].iter().zip(&expected) {
                    assert!((a - b).abs() < 1e-14, "{} in chunks of {chunk}: {a} and {b}", isa.name());
                }
            }
        }
    }
}
