//! Windows of cells in chunks that fill vectors against the same windows sample by sample: both ways through
//! the kernel give the same values and the same adjoints of the fields, inside the lattice and at its ends,
//! on every instruction set. And windows against their definition.

use cinoc_adjoint::*;

const AGENTS: usize = 5;
const POINTS: usize = 40;

/// Numbers in [0, 1) that look random but are the same everywhere.
fn noise(count: usize, seed: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 7919 + seed * 104_729) as f64 * 0.618_033_988_75).fract()).collect()
}

/// The windows, then the adjoints of the fields.
fn run<T: Real>(isa: Isa, periodic: bool, samples: usize, chunk: usize, reach: f64) -> Vec<f64> {
    let lattice = Lattice { width: 6, n: POINTS, density: 40.0, periodic, sampling: Interpolation::Cell };
    let t = Tracer::new();
    let xi = t.sequence("xi", 1, AGENTS);
    let fields = [t.sequence("a", POINTS, 1), t.sequence("b", POINTS, 1)];
    let y = xi.windows(&fields, lattice);
    let value = t.term("value", (y * t.constant(y.rows(), AGENTS, noise(y.shape().size(), 4))).sum());
    let ([a, b], places, y) = (fields.map(|field| field.input()), xi.input(), t.record("y", y));
    let real = |numbers: Vec<f64>| numbers.into_iter().map(T::of).collect::<Vec<_>>();
    let xi = real(noise(samples * AGENTS, 1).iter().map(|x| 0.5 + reach * (x - 0.5)).collect());
    let (first, second) = (real(noise(samples * POINTS, 2)), real(noise(samples * POINTS, 3)));
    let inputs = Inputs::new(samples, 1, &[]).with(places, &xi).with(a, &first).with(b, &second);
    let inputs = inputs.weighted(value, vec![1.0]);
    let (program, threads) = (Program::<T>::with_isa(&t.finish(), chunk, isa), Threads::one());
    let outcome = program.forward(&inputs, &threads);
    let gradient = program.gradient(&inputs, &threads, Strategy::Recompute);
    let all = [outcome.record(y), gradient.input(a), gradient.input(b)];
    all.iter().flat_map(|part| part.iter()).map(|x| x.f64()).collect()
}

#[test]
fn whole_vectors_see_what_single_samples_see() {
    for isa in Isa::available() {
        for periodic in [false, true] {
            // all windows inside the lattice, some beyond its ends, positions beyond all measure
            for reach in [0.7, 1.2, 1e30] {
                for (samples, chunk) in [(16, 16), (32, 32), (24, 8), (40, 16)] {
                    let label = format!("{isa:?} periodic {periodic} reach {reach} chunk {chunk}");
                    let single = |chunk| run::<f32>(isa, periodic, samples, chunk, reach);
                    let double = |chunk| run::<f64>(isa, periodic, samples, chunk, reach);
                    for (got, want) in [(single(chunk), single(1)), (double(chunk), double(1))] {
                        assert!(want.iter().any(|&x| x != 0.0));
                        // many windows at one end add up in another order
                        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6 * (1.0 + b.abs());
                        assert!(got.len() == want.len() && got.iter().zip(&want).all(close), "{label}");
                    }
                }
            }
        }
    }
}

#[test]
fn windows_hold_the_points_around_a_cell() {
    let (samples, reach) = (16, 3.0);
    for periodic in [false, true] {
        let got = run::<f64>(Isa::best(), periodic, samples, 16, reach);
        let (xi, fields) = (noise(samples * AGENTS, 1), [2, 3].map(|seed| noise(samples * POINTS, seed)));
        let last = POINTS as i64 - 1;
        let inside = |j: i64| if periodic { j.rem_euclid(last + 1) } else { j.clamp(0, last) };
        // records are sample by sample, then by row and agent
        let mut at = 0;
        for sample in 0..samples {
            for row in 0..2 * 6 {
                for agent in 0..AGENTS {
                    let position = 0.5 + reach * (xi[sample * AGENTS + agent] - 0.5);
                    let cell = inside((position * 40.0).floor() as i64);
                    let point = inside(cell + (row % 6) as i64 - 3) as usize;
                    assert_eq!(got[at], fields[row / 6][sample * POINTS + point], "periodic: {periodic}");
                    at += 1;
                }
            }
        }
    }
}
