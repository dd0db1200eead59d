//! Helpers shared by the tests of all equations.

use cinoc_adjoint::{Inputs, Program, Threads, Tracer, Var};

/// Applies a traced function once to a field.
pub fn apply(z: &[f64], f: impl Fn(Var<'_>) -> Var<'_>) -> Vec<f64> {
    let tracer = Tracer::new();
    let field = tracer.sequence("z", z.len(), 1);
    let result = tracer.record("result", f(field));
    let inputs = Inputs::new(1, 1, &[]).with(field.input(), z);
    Program::<f64>::new(&tracer.finish(), 1).forward(&inputs, &Threads::one()).record(result).to_vec()
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
