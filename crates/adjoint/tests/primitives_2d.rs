//! The primitives of fields on a plane, held to the same comparisons as the others (`primitives.rs`).

mod differences;

use adjoint::*;
use differences::{Case, case, check_agreement, check_reverse_rules};

fn cases() -> Vec<Case> {
    vec![
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

/// What one sample and step of a value-only program records.
fn evaluate(samples: usize, inputs: &[&[f64]], trace: Trace) -> Vec<f64> {
    let run = Run {
        samples,
        steps: 1,
        params: &[],
        fixed: vec![],
        states: vec![],
        sequences: inputs.to_vec(),
        weights: vec![],
    };
    Program::new(&trace, samples).forward(&run, &Threads::new(1)).records.concat()
}

#[test]
fn transpose_matches_its_definition() {
    for (rows, cols, samples) in [(2, 3, 1), (16, 16, 1), (33, 40, 1), (17, 18, 2), (5, 20, 3), (19, 3, 4)] {
        let x: Vec<f64> = (0..rows * cols * samples).map(|i| i as f64).collect();
        let t = Tracer::new();
        t.record("y", t.sequence("x", rows, cols).transpose());
        let y = evaluate(samples, &[&x], t.finish());
        for s in 0..samples {
            for (r, c) in (0..rows).flat_map(|r| (0..cols).map(move |c| (r, c))) {
                let (from, to) = ((s * rows + r) * cols + c, (s * cols + c) * rows + r);
                assert_eq!(y[to], x[from], "[{rows}][{cols}][{samples}] at {r} {c} {s}");
            }
        }
    }
}
