//! The primitives of fields on a plane, held to the same comparisons as the others (`primitives.rs`).

mod differences;

use cinoc_adjoint::*;
use differences::{Case, case, check_agreement, check_reverse_rules, noise};

fn patch_lattice(patch: usize, periodic: bool, sampling: Interpolation) -> PatchLattice {
    let density = if periodic { [7.0, 6.0] } else { [6.0, 5.0] };
    PatchLattice { patch, n: [7, 6], density, periodic, sampling }
}

fn cases() -> Vec<Case> {
    let positions = |case: Case| Case { scale: 0.48, shift: 0.5, ..case };
    // away from 0, where roots and quotients have large derivatives
    let positive = |case: Case| Case { scale: 0.5, shift: 1.2, ..case };
    vec![
        case("broadcast a number", &[(1, 1, false), (5, 7, false)], |_, v| v[0] * v[1] + v[0]),
        case("broadcast columns", &[(5, 1, false), (5, 7, false)], |_, v| v[0] * v[1] + v[0]),
        case("broadcast rows", &[(1, 7, false), (5, 7, false)], |_, v| v[0] * v[1] + v[0]),
        case("broadcast parameters", &[(5, 1, true), (5, 7, true), (5, 7, false)], |_, v| v[0] * v[1] * v[2]),
        case("sum of many", &[(13, 11, false)], |_, v| v[0].sum() * v[0].mean_square()),
        positive(case("division", &[(3, 2, false), (3, 2, false)], |_, v| v[0] / v[1])),
        positive(case("division by a row", &[(3, 2, false), (1, 2, false)], |_, v| v[0] / v[1])),
        positive(case("division with numbers", &[(3, 2, false)], |_, v| v[0] / 3.0 + 2.0 / v[0])),
        positive(case("sqrt", &[(5, 3, false)], |_, v| v[0].sqrt())),
        positive(case("recip", &[(5, 3, false)], |_, v| v[0].recip())),
        case("length", &[(2, 5, false)], |_, v| v[0].length()),
        case("length of long columns", &[(21, 3, false)], |_, v| v[0].length() * v[0].length()),
        case("length of parameters", &[(2, 3, true), (1, 3, false)], |_, v| v[0].length() * v[1]),
        case("limit length", &[(2, 9, false)], |_, v| v[0].limit_length(0.6)),
        case("limit length, three rows", &[(3, 5, false)], |_, v| v[0].limit_length(0.9) + v[0]),
        case("outer", &[(5, 3, false), (9, 3, false)], |_, v| v[0].outer(v[1])),
        case("outer, added to", &[(3, 2, false), (4, 2, false)], |_, v| {
            v[0].outer(v[1]) + v[0].square().outer(v[1])
        }),
        positions(case("patches", &[(2, 5, false), (14, 6, false)], |_, v| {
            v[0].patches(v[1], patch_lattice(4, false, Interpolation::Linear))
        })),
        positions(case("patches wrapped, odd", &[(2, 3, false), (7, 6, false)], |_, v| {
            v[0].patches(v[1], patch_lattice(3, true, Interpolation::Linear))
        })),
        // positions do not matter inside a cell: they come from a constant
        case("patches of cells", &[(14, 6, false), (2, 5, false)], |t, v| {
            let xi = t.constant(2, 5, vec![0.02, 0.99, 0.51, 0.3, 0.7, 0.4, 0.98, 0.03, 0.6, 0.55]);
            let xi = xi + v[1] * 0.0;
            xi.patches(v[0], patch_lattice(4, false, Interpolation::Cell))
        }),
        positive(case("peak one", &[(5, 4, false)], |_, v| v[0].peak_one())),
        case("transpose", &[(5, 3, false)], |_, v| v[0].transpose()),
        case("transpose, added to", &[(5, 3, false), (3, 5, false)], |_, v| {
            v[0].transpose() * v[1] + v[0].transpose()
        }),
        case("transpose of whole blocks", &[(16, 20, false)], |_, v| v[0].transpose() + v[0].transpose()),
        case("transpose of a row", &[(1, 4, false), (4, 2, false)], |_, v| v[0].transpose() * v[1]),
        case("transpose of parameters", &[(4, 3, true), (3, 4, false)], |_, v| v[0].transpose() * v[1]),
        case("linear on columns", &[(3, 4, false)], |_, v| {
            v[0].linear_cols(&Sparse::from_rows(4, vec![vec![(0, 2.0), (3, -1.0)], vec![], vec![(2, 0.5)]]))
        }),
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

/// A value made of sequences, `build` given their shapes, for so many samples: in single and in double
/// precision.
fn evaluate(
    samples: usize,
    given: &[((usize, usize), &[f64])],
    build: impl for<'t> Fn(&[Var<'t>]) -> Var<'t>,
) -> [Vec<f64>; 2] {
    let t = Tracer::new();
    let vars: Vec<Var> = given.iter().map(|((rows, cols), _)| t.sequence("x", *rows, *cols)).collect();
    let y = t.record("y", build(&vars));
    let inputs: Vec<Input> = vars.iter().map(|x| x.input()).collect();
    let trace = t.finish();
    fn run<T: Real>(samples: usize, trace: &Trace, given: &[(Input, &[f64])], y: Record) -> Vec<f64> {
        let cast = |numbers: &[f64]| numbers.iter().map(|&x| T::of(x)).collect::<Vec<T>>();
        let numbers: Vec<(Input, Vec<T>)> = given.iter().map(|(x, all)| (*x, cast(all))).collect();
        let inputs = Inputs::new(samples, 1, &[]);
        let inputs = numbers.iter().fold(inputs, |inputs, (x, all)| inputs.with(*x, all));
        let outcome = Program::<T>::new(trace, samples).forward(&inputs, &Threads::one());
        outcome.record(y).iter().map(|x| x.f64()).collect()
    }
    let given: Vec<(Input, &[f64])> = inputs.into_iter().zip(given.iter().map(|(_, x)| *x)).collect();
    [run::<f32>(samples, &trace, &given, y), run::<f64>(samples, &trace, &given, y)]
}

#[test]
fn transpose_matches_its_definition() {
    for (rows, cols, samples) in [(2, 3, 1), (16, 16, 1), (33, 40, 1), (17, 18, 2), (5, 20, 3), (19, 3, 4)] {
        let x: Vec<f64> = (0..rows * cols * samples).map(|i| i as f64).collect();
        for y in evaluate(samples, &[((rows, cols), &x)], |v| v[0].transpose()) {
            for s in 0..samples {
                for (r, c) in (0..rows).flat_map(|r| (0..cols).map(move |c| (r, c))) {
                    let (from, to) = ((s * rows + r) * cols + c, (s * cols + c) * rows + r);
                    assert_eq!(y[to], x[from], "[{rows}][{cols}][{samples}] at {r} {c} {s}");
                }
            }
        }
    }
}

/// Derivative of the sum of `weights * build(x)` with respect to x, one sample.
fn derivative(shape: (usize, usize), x: &[f64], weights: &[f64], build: fn(Var<'_>) -> Var<'_>) -> Vec<f64> {
    let t = Tracer::new();
    let s = t.sequence("x", shape.0, shape.1);
    let y = build(s);
    let sum = t.term("sum", (y * t.constant(y.rows(), y.cols(), weights.to_vec())).sum());
    let s = s.input();
    let inputs = Inputs::new(1, 1, &[]).with(s, x).weighted(sum, vec![1.0]);
    let program = Program::<f64>::new(&t.finish(), 1);
    program.gradient(&inputs, &Threads::one(), Strategy::Recompute).input(s).to_vec()
}

#[test]
fn derivatives_at_zero_are_zero() {
    assert_eq!(derivative((1, 2), &[0.0, 4.0], &[1.0, 1.0], |x| x.sqrt()), [0.0, 0.25]);
    assert_eq!(derivative((2, 2), &[0.0, 4.0, 0.0, 0.0], &[1.0, 1.0], |x| x.length()), [0.0, 1.0, 0.0, 0.0]);
    assert_eq!(derivative((2, 1), &[0.0, 0.0], &[2.0, 3.0], |x| x.limit_length(1.0)), [2.0, 3.0]);
}

#[test]
fn of_equal_peaks_the_first_one_is_differentiated() {
    // y = x / x[1]
    let got = derivative((3, 1), &[1.0, 2.0, 2.0], &[1.0, 0.0, 4.0], |x| x.peak_one());
    assert_eq!(got, [0.5, -(1.0 * 1.0 + 4.0 * 2.0) / 4.0, 2.0]);
}

#[test]
fn outer_matches_its_definition() {
    for (nx, ny, m, samples) in
        [(5, 70, 3, 1), (4, 33, 2, 2), (7, 16, 5, 3), (3, 17, 4, 4), (2, 9, 3, 16), (6, 5, 2, 8)]
    {
        let (a, b) = (noise(3, nx * m * samples), noise(4, ny * m * samples));
        for y in evaluate(samples, &[((nx, m), &a), ((ny, m), &b)], |v| v[0].outer(v[1])) {
            for (at, y) in y.iter().enumerate() {
                let (j, i, s) = (at % ny, at / ny % nx, at / (nx * ny));
                let want: f64 = (0..m).map(|k| a[(s * nx + i) * m + k] * b[(s * ny + j) * m + k]).sum();
                assert!((y - want).abs() < 1e-6, "{nx} {ny} {m} {samples} at {i} {j} {s}: {y} {want}");
            }
        }
    }
}

#[test]
fn patches_match_their_definition() {
    for (patch, periodic, sampling, samples) in [
        (4, false, Interpolation::Cell, 1),
        (3, true, Interpolation::Cell, 2),
        (3, false, Interpolation::Linear, 4),
        (4, true, Interpolation::Linear, 1),
        (5, false, Interpolation::Linear, 3),
    ] {
        let (lattice, agents, channels) = (patch_lattice(patch, periodic, sampling), 6, 2);
        let [nx, ny] = lattice.n;
        // also positions outside and exactly at the ends
        let mut xi: Vec<f64> = noise(8, samples * 2 * agents).iter().map(|x| 0.5 + 0.7 * x).collect();
        (xi[0], xi[agents + 1]) = (1.0, 0.0);
        let fields = noise(9, samples * channels * nx * ny);
        let given = [((2, agents), &xi[..]), ((channels * nx, ny), &fields[..])];
        let [single, double] = evaluate(samples, &given, |v| v[0].patches(v[1], lattice));
        let mut at = 0;
        for s in 0..samples {
            let point = |ch: usize, x: i64, y: i64| {
                let index = |j: i64, n: usize| {
                    let n = n as i64;
                    (if periodic { j.rem_euclid(n) } else { j.clamp(0, n - 1) }) as usize
                };
                fields[((s * channels + ch) * nx + index(x, nx)) * ny + index(y, ny)]
            };
            for (i, j, ch, agent) in (0..patch * patch * channels * agents).map(|r| {
                (
                    r / agents / channels / patch,
                    r / agents / channels % patch,
                    r / agents % channels,
                    r % agents,
                )
            }) {
                let place = |axis: usize| {
                    let at = xi[(s * 2 + axis) * agents + agent] * lattice.density[axis];
                    let (c, n) = (at.floor() as i64, lattice.n[axis] as i64);
                    let c = if periodic { c } else { c.clamp(0, n - 1) };
                    (c - (patch / 2) as i64, at - c as f64)
                };
                let ((x, ax), (y, ay)) = (place(0), place(1));
                let (x, y) = (x + i as i64, y + j as i64);
                let mix = |a: f64, low: f64, high: f64| (1.0 - a) * low + a * high;
                let want = match sampling {
                    Interpolation::Cell => point(ch, x, y),
                    Interpolation::Linear => mix(
                        ay,
                        mix(ax, point(ch, x, y), point(ch, x + 1, y)),
                        mix(ax, point(ch, x, y + 1), point(ch, x + 1, y + 1)),
                    ),
                };
                for (got, tolerance) in [(single[at], 3e-5), (double[at], 1e-12)] {
                    assert!(
                        (got - want).abs() < tolerance,
                        "patch {patch} periodic {periodic} {sampling:?} sample {s} agent {agent} \
                         at {i} {j} {ch}: {got} {want}"
                    );
                }
                at += 1;
            }
        }
        assert_eq!(at, double.len());
    }
}
