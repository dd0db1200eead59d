//! Steps of single operations with sizes that the tasks do not have: rows and columns that fill no tile,
//! matrices whose rows differ in length.

use cinoc_adjoint::backend::Backend;
use cinoc_adjoint::{Input, Inputs, Program, Real, Sparse, Strategy, Term, Threads, Trace, Tracer, Var};
use std::sync::Arc;

/// `next = step(z, w)`, and the mean square of the states is the objective.
pub struct Step {
    pub name: String,
    /// The device function that its code calls.
    pub called: &'static str,
    pub trace: Trace,
    start: Input,
    term: Term,
    weights: usize,
    states: usize,
}

impl Step {
    fn new<F>(name: &str, called: &'static str, size: [usize; 2], weights: [usize; 2], step: F) -> Step
    where
        F: for<'t> Fn(Var<'t>, Var<'t>) -> Var<'t>,
    {
        let tracer = Tracer::new();
        let (w, z) = (tracer.param("w", weights[0], weights[1]), tracer.state("z", size[0], size[1]));
        let next = step(z, w);
        tracer.advance(z, next);
        let (start, term) = (z.input(), tracer.term("size", next.mean_square()));
        Step {
            name: name.to_string(),
            called,
            trace: tracer.finish(),
            start,
            term,
            weights: weights[0] * weights[1],
            states: size[0] * size[1],
        }
    }

    /// Losses and gradients of two samples over three steps agree with those on the CPU.
    pub fn agrees<T: Real>(&self, backend: Arc<dyn Backend>, tolerance: f64) {
        let program = Program::<T>::new(&self.trace, 2);
        let wave =
            |n: usize, speed: f64| -> Vec<T> { (0..n).map(|i| T::of((speed * i as f64).sin())).collect() };
        let (params, first) = (wave(self.weights, 0.7), wave(2 * self.states, 1.3));
        let inputs = || Inputs::new(2, 3, &params).with(self.start, &first).weighted(self.term, vec![1.0; 3]);
        let threads = [Threads::one(), Threads::one().with_backend(backend)];
        let [here, there] = threads.map(|threads| program.gradient(&inputs(), &threads, Strategy::Recompute));
        let close = |what: &str, one: &[T], other: &[T]| {
            let size = one.iter().fold(1e-30f64, |size, x| size.max(x.f64().abs()));
            let near = |(a, b): (&T, &T)| (a.f64() - b.f64()).abs() <= tolerance * size;
            assert!(one.len() == other.len() && one.iter().zip(other).all(near), "{}: {what}", self.name);
        };
        assert!((here.loss - there.loss).abs() <= tolerance * here.loss.abs(), "{}: losses", self.name);
        close("gradients of the parameters", &here.params, &there.params);
        close("gradients of the first states", &here.states[0], &there.states[0]);
    }
}

pub fn steps() -> Vec<Step> {
    let mut steps = Vec::new();
    for [outputs, agents] in [[33, 9], [20, 20], [64, 3], [16, 40], [64, 8]] {
        let name = format!("product of {outputs} x {agents}");
        steps.push(Step::new(&name, "small_product<", [outputs, agents], [outputs, outputs], |z, w| {
            z.dense(w, None).affine(0.1, 0.0)
        }));
    }
    for (called, size) in [("transpose_near<", [64, 32]), ("transpose<", [9, 5])] {
        let name = format!("transpose of {} x {}", size[0], size[1]);
        steps.push(Step::new(&name, called, size, [1, 1], |z, w| z.transpose().sin().transpose() * w));
    }
    // rows of about equal length are filled up; one long row among short ones is not worth that
    let n = 40;
    let mut rows: Vec<Vec<(usize, f64)>> = (0..n).map(|r| vec![(r, 0.5), ((r + 3) % n, 0.25)]).collect();
    rows[5] = vec![(7, 0.3)];
    rows[9] = Vec::new();
    let even = Sparse::from_rows(n, rows.clone());
    rows[0] = (0..n).map(|c| (c, 1.0 / (c + 1) as f64)).collect();
    let uneven = Sparse::from_rows(n, rows);
    for (name, called, matrix) in [("even rows", "stencil<", even), ("uneven rows", "sparse<", uneven)] {
        steps.push(Step::new(name, called, [n, 3], [1, 1], |z, w| z.linear(&matrix) * w));
    }
    steps.push(Step::new("norm of 70 x 5", "softnorm_tanh<", [70, 5], [1, 1], |z, w| z.softnorm_tanh() * w));
    steps
}
