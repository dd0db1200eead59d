//! Every primitive's reverse rule against central differences in double precision, on every instruction set, for chunk
//! sizes that do and do not fill a vector, inside the step and hoisted out of it, with clean and with dirty memory.

use adjoint::*;

/// Numbers that look random but are the same everywhere.
fn noise(seed: u64, count: usize) -> Vec<f64> {
    let mut x = seed.wrapping_mul(0x9E3779B97F4A7C15) | 1;
    let next = |x: &mut u64| {
        *x ^= *x << 13;
        *x ^= *x >> 7;
        *x ^= *x << 17;
        (*x >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
    };
    (0..20).for_each(|_| {
        next(&mut x);
    });
    (0..count).map(|_| next(&mut x)).collect()
}

type Build = for<'t> fn(&'t Tracer, &[Var<'t>]) -> Var<'t>;

struct Case {
    name: &'static str,
    /// Shapes of its inputs; `true` marks a parameter (shared).
    inputs: &'static [(usize, usize, bool)],
    /// Inputs are drawn from `shift + scale * [-1, 1]`.
    scale: f64,
    shift: f64,
    build: Build,
}

const fn case(name: &'static str, inputs: &'static [(usize, usize, bool)], build: Build) -> Case {
    Case { name, inputs, scale: 1.0, shift: 0.0, build }
}

fn lattice(periodic: bool, sampling: Sampling) -> Lattice {
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
        case("irfft even", &[(14, 2, false)], |_, v| v[0].irfft(12)),
        case("irfft odd", &[(10, 2, false)], |_, v| v[0].irfft(9)),
        case("symbol", &[(6, 2, false)], |_, v| v[0].symbol(&[[1.0, 0.0], [0.3, -2.0], [-1.0, 0.7]])),
        case("sum", &[(3, 4, false)], |_, v| v[0].sum()),
        case("mean square", &[(3, 4, false)], |_, v| v[0].mean_square()),
        case("dense", &[(7, 5, false), (7, 11, true), (11, 1, true)], |_, v| v[0].dense(v[1], Some(v[2]))),
        case("dense without bias", &[(3, 5, false), (3, 2, true)], |_, v| v[0].dense(v[1], None)),
        // enough inputs that the output is worth storing: its reverse takes the other way through memory
        case("dense, stored", &[(52, 2, false), (52, 3, true)], |_, v| {
            v[0].tanh().dense(v[1], None).tanh().square()
        }),
        case("softnorm tanh", &[(6, 3, false)], |_, v| (v[0] * 3.0).softnorm_tanh()),
        positions(case("gaussian", &[(1, 4, false)], |_, v| v[0].gaussian(bump(None)))),
        positions(case("gaussian periodic", &[(1, 4, false)], |_, v| v[0].gaussian(bump(Some(1.1))))),
        case("contract", &[(5, 3, false), (1, 3, false)], |_, v| v[0].contract(v[1])),
        positions(case("window linear", &[(1, 5, false), (9, 1, false), (9, 1, false)], |_, v| {
            v[0].windows(&v[1..], lattice(false, Sampling::Linear))
        })),
        positions(case("window linear wrapped", &[(1, 5, false), (9, 1, false)], |_, v| {
            v[0].windows(&v[1..], lattice(true, Sampling::Linear))
        })),
    ]
}

/// Trace of a case; inputs that are not parameters come as sequences (step) or as fixed inputs (set-up).
fn trace(case: &Case, in_step: bool) -> Trace {
    let t = Tracer::new();
    let inputs: Vec<Var> = case
        .inputs
        .iter()
        .map(|&(rows, cols, shared)| match (shared, in_step) {
            (true, _) => t.param("p", rows, cols),
            (false, true) => t.sequence("s", rows, cols),
            (false, false) => t.fixed("f", rows, cols),
        })
        .collect();
    let y = (case.build)(&t, &inputs);
    let shape = y.shape();
    let weight = t.constant(shape.rows, shape.cols, noise(77, shape.size()));
    let clock = t.sequence("clock", 1, 1);
    t.term("value", (y * weight).sum() * clock);
    t.record("y", y * clock);
    t.finish()
}

struct Data {
    params: Vec<f64>,
    others: Vec<Vec<f64>>,
}

fn data(case: &Case, samples: usize, steps: usize, in_step: bool, seed: u64) -> Data {
    let copies = samples * if in_step { steps } else { 1 };
    let (mut params, mut others) = (Vec::new(), Vec::new());
    for (i, &(rows, cols, shared)) in case.inputs.iter().enumerate() {
        let count = rows * cols * if shared { 1 } else { copies };
        let numbers = noise(seed + i as u64, count).into_iter().map(|x| case.shift + case.scale * x);
        if shared { params.extend(numbers) } else { others.push(numbers.collect()) }
    }
    Data { params, others }
}

fn run<'a, T>(
    data: &'a (Vec<T>, Vec<Vec<T>>),
    clock: &'a [T],
    samples: usize,
    steps: usize,
    in_step: bool,
) -> Run<'a, T> {
    let others: Vec<&[T]> = data.1.iter().map(|v| &v[..]).collect();
    let (fixed, mut sequences) = if in_step { (vec![], others) } else { (others, vec![]) };
    sequences.push(clock);
    Run { samples, steps, params: &data.0, fixed, states: vec![], sequences, weights: vec![vec![1.0; steps]] }
}

fn cast<T: Real>(d: &Data) -> (Vec<T>, Vec<Vec<T>>) {
    let all = |v: &Vec<f64>| v.iter().map(|&x| T::of(x)).collect();
    (all(&d.params), d.others.iter().map(all).collect())
}

/// All derivatives of a gradient in one list: parameters, then the other inputs.
fn flat(g: Gradient<f64>, in_step: bool) -> Vec<f64> {
    let mut others = if in_step { g.sequences } else { g.fixed };
    if in_step {
        others.pop(); // the clock
    }
    [g.params, others.concat()].concat()
}

fn check(case: &Case, isa: Isa, chunk: usize, in_step: bool) {
    let (samples, steps) = (3, 2);
    let program = Program::<f64>::with_isa(&trace(case, in_step), chunk, isa);
    let threads = Threads::new(1);
    let clock = noise(5, samples * steps);
    let base = data(case, samples, steps, in_step, 1);
    let value = |d: &Data| {
        let d = cast::<f64>(d);
        program.forward(&run(&d, &clock, samples, steps, in_step), &threads).terms[0].iter().sum::<f64>()
            / samples as f64
    };
    let gradient = |d: &Data, strategy| {
        let d = cast::<f64>(d);
        flat(program.gradient(&run(&d, &clock, samples, steps, in_step), &threads, strategy), in_step)
    };
    let got = gradient(&base, Strategy::Recompute);

    // dirty memory: other numbers run through the same buffers in between
    gradient(&data(case, samples, steps, in_step, 50), Strategy::Store);
    let label = format!("{} on {} in chunks of {chunk}, in step: {in_step}", case.name, isa.name());
    assert_eq!(got, gradient(&base, Strategy::Recompute), "{label}: repeated");
    assert_eq!(got, gradient(&base, Strategy::Store), "{label}: stored");

    let eps = 1e-6;
    let moved = |k: usize, by: f64| {
        let mut d = data(case, samples, steps, in_step, 1);
        let mut k = k;
        for list in std::iter::once(&mut d.params).chain(&mut d.others) {
            if k < list.len() {
                list[k] += by;
                return d;
            }
            k -= list.len();
        }
        unreachable!()
    };
    for (k, g) in got.iter().enumerate() {
        let difference = (value(&moved(k, eps)) - value(&moved(k, -eps))) / (2.0 * eps);
        assert!(
            (difference - g).abs() < 2e-8 * (1.0 + g.abs()),
            "{label}: input {k}: {g} but differences say {difference}"
        );
    }
}

#[test]
fn reverse_rules_agree_with_central_differences() {
    for case in cases() {
        for isa in Isa::available() {
            for (chunk, in_step) in [(1, true), (2, false), (16, true)] {
                check(&case, isa, chunk, in_step);
            }
        }
    }
}

/// Forward values agree between instruction sets and precisions.
#[test]
fn instruction_sets_and_precisions_agree() {
    for case in cases() {
        let trace = trace(&case, true);
        let base = data(&case, 3, 2, true, 9);
        let clock = noise(5, 6);
        let clock32: Vec<f32> = clock.iter().map(|&x| x as f32).collect();
        let threads = Threads::new(1);
        let exact = Program::<f64>::with_isa(&trace, 2, Isa::available()[0])
            .forward(&run(&cast(&base), &clock, 3, 2, true), &threads)
            .records
            .concat();
        for isa in Isa::available() {
            let double = Program::<f64>::with_isa(&trace, 2, isa)
                .forward(&run(&cast(&base), &clock, 3, 2, true), &threads)
                .records
                .concat();
            let single = Program::<f32>::with_isa(&trace, 2, isa)
                .forward(&run(&cast(&base), &clock32, 3, 2, true), &threads)
                .records
                .concat();
            for ((a, b), c) in exact.iter().zip(&double).zip(&single) {
                assert!((a - b).abs() < 1e-13 * (1.0 + a.abs()), "{} on {}: {a} {b}", case.name, isa.name());
                assert!(
                    (a - *c as f64).abs() < 1e-5 * (1.0 + a.abs()),
                    "{} on {}: {a} {c}",
                    case.name,
                    isa.name()
                );
            }
        }
    }
}

/// The transform against its definition.
#[test]
fn transform_matches_its_definition() {
    for n in [1, 2, 3, 8, 12, 15, 22, 64, 128, 100] {
        let t = Tracer::new();
        let x = t.sequence("x", n, 1);
        let hat = x.rfft();
        t.record("hat", hat);
        t.record("back", hat.irfft(n));
        let data = noise(n as u64, 2 * n);
        let outcome = Program::<f64>::new(&t.finish(), 2).forward(
            &Run {
                samples: 2,
                steps: 1,
                params: &[],
                fixed: vec![],
                states: vec![],
                sequences: vec![&data],
                weights: vec![],
            },
            &Threads::new(1),
        );
        for s in 0..2 {
            let x = &data[s * n..][..n];
            let hat = &outcome.records[0][s * 2 * (n / 2 + 1)..][..2 * (n / 2 + 1)];
            for k in 0..n / 2 + 1 {
                let angle = |j: usize| -std::f64::consts::TAU * (j * k % n) as f64 / n as f64;
                let re: f64 = (0..n).map(|j| x[j] * angle(j).cos()).sum();
                let im: f64 = (0..n).map(|j| x[j] * angle(j).sin()).sum();
                assert!((hat[2 * k] - re).abs() < 1e-12 * n as f64, "n {n} mode {k}");
                assert!((hat[2 * k + 1] - im).abs() < 1e-12 * n as f64, "n {n} mode {k}");
            }
            for (a, b) in x.iter().zip(&outcome.records[1][s * n..]) {
                assert!((a - b).abs() < 1e-14 * n as f64, "n {n}");
            }
        }
    }
}
