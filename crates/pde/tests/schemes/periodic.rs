//! Running equations on periodic rectangles, for the tests of all of them.

use adjoint::{Program, Run, Threads, Tracer, Var};

/// `z` after `intervals` applications of a traced function of field and forcing.
pub fn advance(
    z: &[f64],
    forcing: &[f64],
    intervals: usize,
    f: impl for<'t> Fn(Var<'t>, Var<'t>) -> Var<'t>,
) -> Vec<f64> {
    let tracer = Tracer::new();
    let (state, fixed) = (tracer.state("z", z.len(), 1), tracer.fixed("f", z.len(), 1));
    tracer.advance(state, f(state, fixed));
    let run = Run {
        samples: 1,
        steps: intervals,
        params: &[],
        fixed: vec![forcing],
        states: vec![z],
        sequences: vec![],
        weights: vec![],
    };
    Program::<f64>::new(&tracer.finish(), 1).forward(&run, &Threads::new(1)).states.swap_remove(0)
}

/// Values of `f(x, y)`, in turns, on a grid.
pub fn on_grid([nx, ny]: [usize; 2], f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    (0..nx * ny).map(|i| f((i / ny) as f64 / nx as f64, (i % ny) as f64 / ny as f64)).collect()
}
