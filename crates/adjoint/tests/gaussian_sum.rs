//! A sum of bumps made in one go against the same made of two primitives that are compared with central
//! differences (`primitives.rs`): values and gradients, on every instruction set, for blocks of one point and
//! of many.

use cinoc_adjoint::*;

fn bump(points: usize, sigma: f64, period: Option<f64>) -> Bump {
    let points = (0..points).map(|i| i as f64 / (points - 1) as f64).collect();
    Bump { points, sigma, period, height: 1.5 }
}

/// Numbers in [0, 1) that look random but are the same everywhere.
fn noise(count: usize, seed: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 7919 + seed * 104_729) as f64 * 0.618_033_988_75).fract()).collect()
}

/// The field, then the adjoints of positions and weights.
fn run<T: Real>(isa: Isa, bump: &Bump, cols: usize, samples: usize, in_one_go: bool) -> Vec<f64> {
    let t = Tracer::new();
    let (xi, w) = (t.sequence("xi", 1, cols), t.sequence("w", 1, cols));
    let y = match in_one_go {
        true => xi.gaussian_sum(w, bump.clone()),
        false => xi.gaussian(bump.clone()).contract(w),
    };
    let rows = bump.points.len();
    let value = t.term("value", (y * t.constant(rows, 1, noise(rows, 3))).sum());
    let (xi, w, y) = (xi.input(), w.input(), t.record("y", y));
    let numbers =
        |seed, shift| noise(samples * cols, seed).iter().map(|x| T::of(x - shift)).collect::<Vec<_>>();
    let (positions, weights) = (numbers(1, 0.0), numbers(2, 0.5));
    let inputs = Inputs::new(samples, 1, &[]).with(xi, &positions).with(w, &weights);
    let inputs = inputs.weighted(value, vec![1.0]);
    let program = Program::<T>::with_isa(&t.finish(), samples, isa);
    let threads = Threads::one();
    let outcome = program.forward(&inputs, &threads);
    let gradient = program.gradient(&inputs, &threads, Strategy::Recompute);
    let all = [outcome.record(y), gradient.input(xi), gradient.input(w)];
    all.iter().flat_map(|part| part.iter()).map(|x| x.f64()).collect()
}

#[test]
fn a_sum_in_one_go_is_the_sum_of_the_bumps() {
    let bumps = [
        bump(100, 0.05, None),
        bump(37, 0.3, None),
        // as narrow as the grid: an exponential at every point
        bump(50, 0.01, None),
        bump(41, 0.2, Some(1.025)),
        Bump { points: vec![0.0, 0.1, 0.35, 0.4, 0.9], ..bump(5, 0.2, None) },
    ];
    for isa in Isa::available() {
        for bump in &bumps {
            for (cols, samples) in [(1, 1), (4, 16), (6, 5), (5, 19)] {
                let label = format!("{isa:?} sigma {} cols {cols} samples {samples}", bump.sigma);
                let check = |got: Vec<f64>, want: Vec<f64>, tolerance: f64| {
                    let size = want.iter().fold(0.0f64, |a, x| a.max(x.abs()));
                    for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                        assert!((got - want).abs() <= tolerance * size, "{label}: {got} for {want} at {i}");
                    }
                };
                let double = |in_one_go| run::<f64>(isa, bump, cols, samples, in_one_go);
                let single = |in_one_go| run::<f32>(isa, bump, cols, samples, in_one_go);
                check(double(true), double(false), 1e-13);
                check(single(true), single(false), 4e-6);
            }
        }
    }
}

#[test]
fn far_away_nothing_is_left_and_nothing_is_spoilt() {
    // ratios from point to point that would overflow single precision
    let bump = Bump { points: (0..400).map(|i| i as f64).collect(), ..bump(2, 1.0, None) };
    for isa in Isa::available() {
        let y = run::<f32>(isa, &bump, 3, 2, true);
        assert!(y.iter().all(|x| x.is_finite()), "{isa:?}");
        assert!(y[50..400].iter().all(|&x| x == 0.0), "{isa:?}");
    }
}
