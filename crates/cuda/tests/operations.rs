//! Operations of sizes that the tasks do not have, on the host: rows and columns that fill no tile, matrices
//! whose rows differ in length.

use cinoc_adjoint::backend::Plan;
use cinoc_adjoint::{Inputs, Program, Sparse, Strategy, Threads, Tracer, Var};
use cinoc_cuda::host::Host;
use cinoc_cuda::{Spread, generate};
use std::sync::Arc;

/// The gradient of a step `next = step(z, w)` agrees with that on the CPU. Its code calls a function.
fn check<F>(name: &str, called: &str, [rows, cols]: [usize; 2], weights: [usize; 2], step: F)
where
    F: for<'t> Fn(Var<'t>, Var<'t>) -> Var<'t>,
{
    let tracer = Tracer::new();
    let (w, z) = (tracer.param("w", weights[0], weights[1]), tracer.state("z", rows, cols));
    let next = step(z, w);
    tracer.advance(z, next);
    let (start, term) = (z.input(), tracer.term("size", next.mean_square()));
    let trace = tracer.finish();
    let folder = tempfile::tempdir().unwrap();
    for cluster in [1, 4] {
        let spread = Spread::new(256, cluster, 200_000);
        let text = generate(&Plan::new(&trace, 1), spread, 8).text;
        let code = text.split_once("ENTRY gradient_stored").unwrap().1;
        assert!(code.contains(called), "{name}: {called} is not called");
        let program = Program::<f64>::new(&trace, 2);
        let wave = |n: usize, speed: f64| -> Vec<f64> { (0..n).map(|i| (speed * i as f64).sin()).collect() };
        let (params, first) = (wave(weights[0] * weights[1], 0.7), wave(2 * rows * cols, 1.3));
        let inputs = || Inputs::new(2, 3, &params).with(start, &first).weighted(term, vec![1.0; 3]);
        let host = Threads::one().with_backend(Arc::new(Host::new(folder.path(), spread)));
        let [here, there] =
            [Threads::one(), host].map(|threads| program.gradient(&inputs(), &threads, Strategy::Recompute));
        let close = |one: &[f64], other: &[f64]| {
            let size = one.iter().fold(1e-30f64, |size, x| size.max(x.abs()));
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| (a - b).abs() <= 1e-12 * size)
        };
        assert!(close(&[here.loss], &[there.loss]), "{name}: losses {} and {}", here.loss, there.loss);
        assert!(close(&here.params, &there.params), "{name}: gradients of the parameters");
        assert!(close(&here.states[0], &there.states[0]), "{name}: gradients of the first states");
    }
}

#[test]
fn small_products() {
    for [outputs, agents] in [[33, 9], [20, 20], [64, 3], [16, 40]] {
        let name = format!("{outputs} x {agents}");
        check(&name, "small_product<", [outputs, agents], [outputs, outputs], |z, w| {
            z.dense(w, None).affine(0.1, 0.0)
        });
    }
}

#[test]
fn transposes() {
    check("64 x 32", "transpose_near<", [64, 32], [1, 1], |z, w| (z.transpose().sin().transpose()) * w);
    check("9 x 5", "transpose<", [9, 5], [1, 1], |z, w| (z.transpose().sin().transpose()) * w);
}

/// Rows of about equal length are filled up; one long row among short ones is not worth that.
#[test]
fn sparse_matrices() {
    let n = 40;
    let short = |r: usize| vec![(r, 0.5), ((r + 3) % n, 0.25)];
    let mut rows: Vec<Vec<(usize, f64)>> = (0..n).map(short).collect();
    rows[5] = vec![(7, 0.3)];
    rows[9] = Vec::new();
    let even = Sparse::from_rows(n, rows.clone());
    rows[0] = (0..n).map(|c| (c, 1.0 / (c + 1) as f64)).collect();
    let uneven = Sparse::from_rows(n, rows);
    for (name, called, matrix) in [("even", "stencil<", &even), ("uneven", "sparse<", &uneven)] {
        check(name, called, [n, 3], [1, 1], |z, w| z.linear(matrix) * w);
    }
}
