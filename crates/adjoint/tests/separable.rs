//! Separable products, quadratic forms and combinations: values against their definitions, reverse rules
//! against central differences in double precision, on every instruction set, for numbers of samples that do
//! and do not divide a vector.

use cinoc_adjoint::*;

/// Numbers that look random but are the same everywhere.
fn noise(seed: u64, count: usize) -> Vec<f64> {
    let mut x = seed.wrapping_mul(0x9E3779B97F4A7C15) | 1;
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
    };
    (0..20).for_each(|_| {
        next();
    });
    (0..count).map(|_| next()).collect()
}

/// A matrix in both forms: for the engine, and column by column.
type Matrix = (AxisMatrix, Vec<Vec<f64>>);

fn dense(inputs: usize, outputs: usize, seed: u64) -> Matrix {
    let columns: Vec<Vec<f64>> = (0..inputs).map(|k| noise(seed + k as u64, outputs)).collect();
    (AxisMatrix::dense(columns.clone()), columns)
}

fn folded(counts: [usize; 4], order: [usize; 4], height: usize, seed: u64) -> Matrix {
    const SIGNS: [[f64; 4]; 4] =
        [[1.0, 1.0, 1.0, 1.0], [1.0, -1.0, -1.0, 1.0], [1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0]];
    let parts: [Vec<Vec<f64>>; 4] =
        std::array::from_fn(|p| (0..counts[p]).map(|k| noise(seed + (10 * p + k) as u64, height)).collect());
    let whole = |p: usize, quarter: &Vec<f64>| {
        SIGNS[p].iter().flat_map(|sign| quarter.iter().map(move |v| sign * v)).collect::<Vec<f64>>()
    };
    let columns = order.iter().flat_map(|&p| parts[p].iter().map(move |q| whole(p, q))).collect();
    (AxisMatrix::folded(parts, order), columns)
}

/// Matrices for the two axes, of sizes that fill tiles and vectors and that do not.
fn pairs() -> Vec<[Matrix; 2]> {
    vec![
        [dense(3, 5, 1), dense(4, 2, 2)],
        [dense(1, 1, 1), dense(1, 1, 2)],
        [dense(11, 20, 1), dense(9, 33, 2)],
        [folded([2, 2, 1, 2], [0, 1, 2, 3], 2, 1), folded([3, 2, 2, 2], [2, 3, 0, 1], 3, 50)],
        [folded([1, 0, 0, 0], [0, 1, 2, 3], 1, 1), folded([11, 11, 10, 11], [0, 1, 2, 3], 16, 50)],
        [folded([4, 5, 3, 4], [2, 3, 0, 1], 7, 1), dense(5, 6, 2)],
        [dense(5, 6, 1), folded([4, 4, 3, 4], [0, 1, 2, 3], 6, 2)],
    ]
}

/// Checks value and gradient of a linear map `[inputs][cols]` to `[outputs][cols]` against its matrix
/// `[output][input]`.
fn check_linear(label: &str, matrix: &[Vec<f64>], cols: usize, build: impl for<'t> Fn(Var<'t>) -> Var<'t>) {
    for isa in Isa::available() {
        for chunk in [1, 2, 3, 4, 8, 16] {
            let place = format!("{label}, {cols} columns, chunks of {chunk} on {}", isa.name());
            check_chunk::<f64>(&place, matrix, cols, &build, chunk, isa, 1e-12);
            check_chunk::<f32>(&place, matrix, cols, &build, chunk, isa, 1e-4);
        }
    }
}

fn check_chunk<T: Real>(
    place: &str,
    matrix: &[Vec<f64>],
    cols: usize,
    build: &impl for<'t> Fn(Var<'t>) -> Var<'t>,
    chunk: usize,
    isa: Isa,
    tolerance: f64,
) {
    let (outputs, inputs, samples) = (matrix.len(), matrix[0].len(), 3);
    let (x, weight) = (noise(3, samples * inputs * cols), noise(4, outputs * cols));
    let t = Tracer::new();
    let s = t.sequence("x", inputs, cols);
    // used twice, so that the second adjoint is added to the first
    let y = build(s) + build(s * 0.5);
    let value = t.term("value", (y * t.constant(outputs, cols, weight.clone())).sum());
    let (s, y) = (s.input(), t.record("y", y));
    let program = Program::<T>::with_isa(&t.finish(), chunk, isa);
    let threads = Threads::one();
    let cast: Vec<T> = x.iter().map(|&x| T::of(x)).collect();
    let given = Inputs::new(samples, 1, &[]).with(s, &cast).weighted(value, vec![1.0]);
    let (outcome, gradient) =
        (program.forward(&given, &threads), program.gradient(&given, &threads, Strategy::Recompute));
    let (values, gradient) = (outcome.record(y), gradient.input(s));
    for s in 0..samples {
        for c in 0..cols {
            for i in 0..outputs {
                let exact: f64 =
                    (0..inputs).map(|k| 1.5 * matrix[i][k] * x[(s * inputs + k) * cols + c]).sum();
                let got = values[(s * outputs + i) * cols + c].f64();
                assert!((got - exact).abs() < tolerance, "{place}: row {i}: {got} instead of {exact}");
            }
            for k in 0..inputs {
                let exact: f64 =
                    (0..outputs).map(|i| 1.5 * matrix[i][k] * weight[i * cols + c] / samples as f64).sum();
                let got = gradient[(s * inputs + k) * cols + c].f64();
                assert!((got - exact).abs() < tolerance, "{place}: adjoint {k}: {got} instead of {exact}");
            }
        }
    }
}

#[test]
fn separable_products_and_their_transposes_agree_with_their_matrices() {
    for (i, [x, y]) in pairs().into_iter().enumerate() {
        let (nx, ny) = (x.0.outputs(), y.0.outputs());
        let entry =
            |row: usize, column: usize| x.1[column / y.1.len()][row / ny] * y.1[column % y.1.len()][row % ny];
        let (rows, columns) = (nx * ny, x.1.len() * y.1.len());
        let matrix: Vec<Vec<f64>> = (0..rows).map(|r| (0..columns).map(|c| entry(r, c)).collect()).collect();
        let transpose: Vec<Vec<f64>> =
            (0..columns).map(|c| (0..rows).map(|r| entry(r, c)).collect()).collect();
        for cols in if rows < 200 { vec![1, 3] } else { vec![1] } {
            check_linear(&format!("pair {i}"), &matrix, cols, |v| v.separable(&x.0, &y.0));
            check_linear(&format!("pair {i} transposed"), &transpose, cols, |v| {
                v.separable_transposed(&x.0, &y.0)
            });
        }
    }
}

#[test]
fn combinations_agree_with_their_tables() {
    for count in 1..=6 {
        let tables: Vec<Vec<f64>> =
            // the last of them is one number for all rows
            (0..count).map(|k| noise(90 + k as u64, if k == 5 { 1 } else { 7 })).collect();
        let factors = noise(80, count);
        let diagonal: Vec<Vec<f64>> = (0..7)
            .map(|i| {
                let sum: f64 = tables.iter().zip(&factors).map(|(t, f)| t[i % t.len()] * f).sum();
                (0..7).map(|k| if i == k { sum } else { 0.0 }).collect()
            })
            .collect();
        check_linear(&format!("combination of {count}"), &diagonal, 2, |v| {
            let terms: Vec<_> = tables.iter().zip(&factors).map(|(t, f)| (&t[..], v * *f)).collect();
            Var::combination(&terms)
        });
    }
}

#[test]
fn quadratic_forms_agree_with_central_differences() {
    let (samples, rows, form) = (3, 5, [0.7, -1.3, 0.4]);
    let (p, q) = (noise(1, samples * rows), noise(2, samples * rows));
    for isa in Isa::available() {
        for chunk in [1, 2, 16] {
            let t = Tracer::new();
            let (a, b) = (t.sequence("p", rows, 1), t.sequence("q", rows, 1));
            let term = t.term("value", (a.quadratic(b, form).sin() + a * b).sum());
            let (a, b) = (a.input(), b.input());
            fn given<'a>([a, b]: [(Input, &'a [f64]); 2], samples: usize, term: Term) -> Inputs<'a, f64> {
                Inputs::new(samples, 1, &[]).with(a.0, a.1).with(b.0, b.1).weighted(term, vec![1.0])
            }
            let program = Program::<f64>::with_isa(&t.finish(), chunk, isa);
            let threads = Threads::one();
            let value = |p: &[f64], q: &[f64]| {
                let outcome = program.forward(&given([(a, p), (b, q)], samples, term), &threads);
                outcome.term(term).iter().sum::<f64>() / samples as f64
            };
            let exact: f64 = p
                .iter()
                .zip(&q)
                .map(|(p, q)| (form[0] * p * p + form[1] * p * q + form[2] * q * q).sin() + p * q)
                .sum();
            assert!((value(&p, &q) - exact / samples as f64).abs() < 1e-12);
            let inputs = given([(a, &p), (b, &q)], samples, term);
            let gradient = program.gradient(&inputs, &threads, Strategy::Recompute);
            let gradient = [gradient.input(a), gradient.input(b)];
            for k in 0..samples * rows {
                let moved = |by: f64| {
                    let (mut p, mut q) = (p.clone(), q.clone());
                    p[k] += by;
                    let first = value(&p, &q);
                    p[k] -= by;
                    q[k] += by;
                    [first, value(&p, &q)]
                };
                let (up, down) = (moved(1e-6), moved(-1e-6));
                for i in 0..2 {
                    let difference = (up[i] - down[i]) / 2e-6;
                    assert!((difference - gradient[i][k]).abs() < 2e-8, "{} input {i} {k}", isa.name());
                }
            }
        }
    }
}
