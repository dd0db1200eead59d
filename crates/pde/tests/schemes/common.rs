//! Helpers shared by the tests of all equations.

use cinoc_adjoint::{Program, Run, Threads, Tracer, Var};

/// Applies a traced function once to a field.
pub fn apply(z: &[f64], f: impl Fn(Var<'_>) -> Var<'_>) -> Vec<f64> {
    let tracer = Tracer::new();
    tracer.record("result", f(tracer.sequence("z", z.len(), 1)));
    let run = Run {
        samples: 1,
        steps: 1,
        params: &[],
        fixed: vec![],
        states: vec![],
        sequences: vec![z],
        weights: vec![],
        carry_limit: None,
    };
    Program::<f64>::new(&tracer.finish(), 1).forward(&run, &Threads::new(1)).records.swap_remove(0)
}

/// Largest absolute difference of two fields.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Largest absolute value.
pub fn size(a: &[f64]) -> f64 {
    a.iter().fold(0.0, |largest, value| value.abs().max(largest))
}
