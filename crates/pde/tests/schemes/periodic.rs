//! Runs equations on periodic rectangles, for their tests.

use cinoc_adjoint::{Inputs, Program, Threads, Tracer};
use cinoc_pde::{Axis, Boundary, Dynamics};

/// A periodic axis.
pub fn ring(n: usize, length: f64) -> Axis {
    Axis { n, length, boundary: Boundary::Periodic }
}

/// `z` after one control interval of `steps` steps under a forcing.
pub fn advance(z: &[f64], forcing: &[f64], steps: usize, dynamics: &dyn Dynamics) -> Vec<f64> {
    let (tracer, (rows, cols)) = (Tracer::new(), dynamics.grid().shape());
    let (state, fixed) = (tracer.state("z", rows, cols), tracer.fixed("f", rows, cols));
    tracer.advance(state, dynamics.interval(state, dynamics.response(fixed), steps));
    let (state, fixed) = (state.input(), fixed.input());
    let inputs = Inputs::new(1, 1, &[]).with(state, z).with(fixed, forcing);
    Program::<f64>::new(&tracer.finish(), 1).forward(&inputs, &Threads::one()).end(state).to_vec()
}

/// Values of `f(x, y)`, in turns, on a grid.
pub fn on_grid([nx, ny]: [usize; 2], f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    (0..nx * ny).map(|i| f((i / ny) as f64 / nx as f64, (i % ny) as f64 / ny as f64)).collect()
}
