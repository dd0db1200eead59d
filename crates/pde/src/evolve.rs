//! Running a PDE without any control: spin-up of initial states, reference runs, tests of the schemes.

use crate::dynamics::Dynamics;
use adjoint::{Program, Run, Threads, Trace, Tracer};

/// Samples worked on together. The same for any number of samples: a chaotic field blown up from another rounding is
/// another field, and the first cases must not depend on how many follow.
const CHUNK: usize = 8;

/// The fields after `steps` time steps, in double precision.
///
/// `z0` holds any number of fields `[samples][n]`; `forcing`, of the same extent, stays the same during the run.
///
/// # Panics
/// If an extent is wrong.
pub fn evolve(
    dynamics: &dyn Dynamics,
    z0: &[f64],
    forcing: Option<&[f64]>,
    steps: usize,
    threads: &Threads,
) -> Vec<f64> {
    let n = dynamics.grid().n;
    assert!(z0.len().is_multiple_of(n), "fields of {n} points, got {} numbers", z0.len());
    assert!(forcing.is_none_or(|f| f.len() == z0.len()), "one forcing field per initial field");
    if steps == 0 || z0.is_empty() {
        return z0.to_vec();
    }
    let samples = z0.len() / n;
    let program = Program::new(&free_step(dynamics, forcing.is_some()), CHUNK);
    let run = Run {
        samples,
        steps,
        params: &[],
        fixed: forcing.into_iter().collect(),
        states: vec![z0],
        sequences: Vec::new(),
        weights: Vec::new(),
    };
    program.forward(&run, threads).states.swap_remove(0)
}

/// One time step, with a fixed forcing field or without any.
fn free_step(dynamics: &dyn Dynamics, forced: bool) -> Trace {
    let (tracer, n) = (Tracer::new(), dynamics.grid().n);
    let z = tracer.state("z", n, 1);
    let response = if forced {
        dynamics.response(tracer.fixed("forcing", n, 1))
    } else {
        tracer.constant(n, 1, vec![0.0; n])
    };
    tracer.advance(z, dynamics.step(z, response));
    tracer.finish()
}
