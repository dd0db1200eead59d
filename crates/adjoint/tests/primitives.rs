//! Every primitive's reverse rule against central differences in double precision, on every instruction set,
//! for chunk sizes that do and do not fill a vector, inside the step and hoisted out of it, with clean and
//! with dirty memory.

mod differences;

use cinoc_adjoint::*;
use differences::{Case, case, check_agreement, check_reverse_rules, noise};

fn lattice(periodic: bool, sampling: Interpolation) -> Lattice {
    Lattice { width: 4, n: 9, density: if periodic { 9.0 } else { 8.0 }, periodic, sampling }
}

fn bump(period: Option<f64>) -> Bump {
    Bump { points: (0..11).map(|i| i as f64 / 10.0).collect(), sigma: 0.2, period, height: 1.5 }
}

fn cases() -> Vec<Case> {
    let positions = |case: Case| Case { scale: 0.45, shift: 0.5, ..case };
    vec![
        case("add", &[(3, 2, false), (3, 2, false)], |_, v| v[0] + v[1]),
        case("sub", &[(3, 2, false), (3, 2, false)], |_, v| v[0] - v[1]),
        case("mul", &[(3, 2, false), (3, 2, false)], |_, v| v[0] * v[1]),
        case("mul with itself", &[(3, 2, false)], |_, v| v[0] * v[0]),
        case("broadcast rows", &[(1, 2, false), (3, 2, false)], |_, v| v[0] * v[1]),
        case("broadcast columns", &[(3, 1, false), (3, 2, false)], |_, v| v[0] - v[1]),
        case("broadcast shared", &[(3, 1, true), (3, 2, false)], |_, v| v[0] * v[1]),
        case("scalars", &[(3, 2, false)], |_, v| 2.0 - (3.0 * v[0] + 1.0) * (-v[0] - 0.5)),
        case("tanh", &[(5, 3, false)], |_, v| v[0].tanh()),
        case("sin", &[(5, 3, false)], |_, v| (v[0] * 9.0).sin()),
        case("cos", &[(5, 3, false)], |_, v| (v[0] * 9.0).cos()),
        case("exp", &[(5, 3, false)], |_, v| v[0].exp()),
        case("abs", &[(5, 3, false)], |_, v| v[0].abs()),
        case("relu", &[(5, 3, false)], |_, v| v[0].relu()),
        case("square", &[(5, 3, false)], |_, v| v[0].square()),
        case("clamp", &[(5, 3, false)], |_, v| v[0].clamp(-0.4, 0.3)),
        case("slice", &[(5, 3, false)], |_, v| v[0].slice(1..4)),
        case("stack", &[(2, 3, false), (4, 3, false)], |_, v| v[0].stack(v[1])),
        case("reshape", &[(2, 6, false)], |_, v| v[0].reshape(4, 3).slice(1..3)),
        case("linear", &[(4, 3, false)], |_, v| {
            let rows = vec![vec![(0, 2.0), (3, -1.0)], vec![], vec![(2, 0.5)]];
            v[0].linear(&Sparse::from_rows(4, rows))
        }),
        case("linear on parameters", &[(4, 3, true), (2, 3, false)], |_, v| {
            let rows = vec![vec![(0, 2.0), (3, -1.0)], vec![(1, 1.0)]];
            v[0].linear(&Sparse::from_rows(4, rows)) * v[1]
        }),
        case("solve", &[(5, 3, false)], |_, v| {
            let bands =
                (vec![-1.0, -0.5, -1.0, -0.2, -1.0], vec![2.5; 5], vec![-0.7, -1.0, -0.1, -1.2, -1.0]);
            v[0].solve(&Tridiagonal::new(bands.0, bands.1, bands.2))
        }),
        case("rfft even", &[(12, 3, false)], |_, v| v[0].rfft()),
        case("rfft odd", &[(9, 2, false)], |_, v| v[0].rfft()),
        case("rfft power of two", &[(16, 2, false)], |_, v| v[0].rfft()),
        case("symbols", &[(6, 2, false), (6, 2, false)], |_, v| {
            let symbol = |c: f64| [[c, 0.0], [0.3, -c], [0.7 * c, 0.2]];
            Var::symbols(&[(&symbol(1.3), v[0]), (&symbol(-0.4), v[1])]).square()
        }),
        case("irfft even", &[(14, 2, false)], |_, v| v[0].irfft(12)),
        case("irfft odd", &[(10, 2, false)], |_, v| v[0].irfft(9)),
        case("symbol", &[(6, 2, false)], |_, v| v[0].symbol(&[[1.0, 0.0], [0.3, -2.0], [-1.0, 0.7]])),
        case("sum", &[(3, 4, false)], |_, v| v[0].sum()),
        case("mean square", &[(3, 4, false)], |_, v| v[0].mean_square()),
        case("dense", &[(7, 5, false), (7, 11, true), (11, 1, true)], |_, v| v[0].dense(v[1], Some(v[2]))),
        case("dense with something to add", &[(7, 5, false), (7, 11, true), (11, 5, false)], |_, v| {
            v[0].dense(v[1], Some(v[2])).square()
        }),
        case("dense without bias", &[(3, 5, false), (3, 2, true)], |_, v| v[0].dense(v[1], None)),
        case("dense, inputs in blocks", &[(515, 1, false), (515, 2, true), (2, 1, true)], |_, v| {
            v[0].dense(v[1], Some(v[2])).square()
        }),
        // enough inputs that the output is worth storing: its reverse takes the other way through memory
        case("dense, stored", &[(52, 2, false), (52, 3, true)], |_, v| {
            v[0].tanh().dense(v[1], None).tanh().square()
        }),
        case("softnorm tanh", &[(6, 3, false)], |_, v| (v[0] * 3.0).softnorm_tanh()),
        positions(case("gaussian", &[(1, 4, false)], |_, v| v[0].gaussian(bump(None)))),
        positions(case("gaussian periodic", &[(1, 4, false)], |_, v| v[0].gaussian(bump(Some(1.1))))),
        case("contract", &[(5, 3, false), (1, 3, false)], |_, v| v[0].contract(v[1])),
        positions(case("window linear", &[(1, 5, false), (9, 1, false), (9, 1, false)], |_, v| {
            v[0].windows(&v[1..], lattice(false, Interpolation::Linear))
        })),
        positions(case("window linear wrapped", &[(1, 5, false), (9, 1, false)], |_, v| {
            v[0].windows(&v[1..], lattice(true, Interpolation::Linear))
        })),
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

/// The transform against its definition.
#[test]
fn transform_matches_its_definition() {
    let lengths = [1, 2, 3, 8, 12, 15, 22, 64, 128, 100];
    // four or eight samples fill a vector
    for (n, samples) in lengths.into_iter().flat_map(|n| [2, 4, 8].map(|samples| (n, samples))) {
        let t = Tracer::new();
        let x = t.sequence("x", n, 1);
        let (hat, back) = (t.record("hat", x.rfft()), t.record("back", x.rfft().irfft(n)));
        let data = noise(n as u64, samples * n);
        let inputs = Inputs::new(samples, 1, &[]).with(x.input(), &data);
        let outcome = Program::<f64>::new(&t.finish(), samples).forward(&inputs, &Threads::one());
        for s in 0..samples {
            let x = &data[s * n..][..n];
            let hat = &outcome.record(hat)[s * 2 * (n / 2 + 1)..][..2 * (n / 2 + 1)];
            for k in 0..n / 2 + 1 {
                let angle = |j: usize| -std::f64::consts::TAU * (j * k % n) as f64 / n as f64;
                let re: f64 = (0..n).map(|j| x[j] * angle(j).cos()).sum();
                let im: f64 = (0..n).map(|j| x[j] * angle(j).sin()).sum();
                assert!((hat[2 * k] - re).abs() < 1e-12 * n as f64, "n {n} mode {k}");
                assert!((hat[2 * k + 1] - im).abs() < 1e-12 * n as f64, "n {n} mode {k}");
            }
            for (a, b) in x.iter().zip(&outcome.record(back)[s * n..]) {
                assert!((a - b).abs() < 1e-14 * n as f64, "n {n}");
            }
        }
    }
}

/// Away from what causes it a solution falls by a factor per row, and is 0 before it is a denormal number.
#[test]
fn a_solution_fades_to_zero_without_denormal_numbers() {
    let n = 200;
    let t = Tracer::new();
    let x = t.sequence("x", n, 1);
    let band = vec![-1.0; n];
    let y = t.record("y", x.solve(&Tridiagonal::new(band.clone(), vec![8.0; n], band)));
    let mut spike = vec![0f32; n];
    spike[n / 2] = 1.0;
    let inputs = Inputs::new(1, 1, &[]).with(x.input(), &spike);
    let trace = t.finish();
    for isa in Isa::available() {
        let outcome = Program::<f32>::with_isa(&trace, 1, isa).forward(&inputs, &Threads::one());
        // the factor solves f + 1/f = 8
        let factor = 4.0 - 15f64.sqrt();
        for (row, y) in outcome.record(y).iter().enumerate() {
            let away = row.abs_diff(n / 2) as i32;
            let exact = factor.powi(away) / (8.0 - 2.0 * factor);
            assert!(*y == 0.0 || y.is_normal(), "{isa:?}: {y:e} at {row}");
            assert!(
                (*y as f64 - exact).abs() < 1e-5 * exact + 1e-24,
                "{isa:?}: {y:e} for {exact:e} at {row}"
            );
        }
    }
}

/// States whose next value is another state (a delay) or the next value of another one cannot hand their
/// buffers on.
#[test]
fn delayed_and_shared_states_are_differentiated() {
    let t = Tracer::new();
    let p = t.param("p", 1, 1);
    let [a, b, c] = ["a", "b", "c"].map(|name| t.state(name, 2, 1));
    let next = p * a.tanh() + 0.5 * b * c;
    t.advance(a, next);
    t.advance(b, a);
    t.advance(c, next);
    let square = t.term("square", (a + 2.0 * b + c * c).mean_square());
    let states = [a, b, c].map(|state| state.input());
    let program = Program::<f64>::new(&t.finish(), 2);
    let (samples, steps, threads) = (3, 5, Threads::one());
    let start = noise(3, 1 + 3 * 2 * samples);
    let run = |x: &[f64], strategy| {
        let inputs = Inputs::new(samples, steps, &x[..1]).weighted(square, vec![1.0; steps]);
        let starts = states.into_iter().zip(x[1..].chunks(2 * samples));
        let inputs = starts.fold(inputs, |inputs, (state, start)| inputs.with(state, start));
        let gradient = program.gradient(&inputs, &threads, strategy);
        let starts = states.map(|state| gradient.input(state)).concat();
        (gradient.loss, [gradient.params, starts].concat())
    };
    let (_, got) = run(&start, Strategy::Recompute);
    assert_eq!(got, run(&start, Strategy::Store).1);
    for (k, got) in got.iter().enumerate() {
        let moved = |by: f64| {
            let mut x = start.clone();
            x[k] += by;
            run(&x, Strategy::Recompute).0
        };
        let difference = (moved(1e-6) - moved(-1e-6)) / 2e-6;
        assert!(
            (difference - got).abs() < 1e-8 * (1.0 + got.abs()),
            "{k}: {got} but differences say {difference}"
        );
    }
}
