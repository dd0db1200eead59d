//! Running a PDE without any control: spin-up of initial states, reference runs, tests of the schemes.

use crate::dynamics::Dynamics;
use adjoint::{Program, Run, Threads, Trace, Tracer};

/// Samples worked on together. The same for any number of samples: a chaotic field blown up from another rounding is
/// another field, and the first cases must not depend on how many follow.
const CHUNK: usize = 8;

/// The fields after `steps` time steps, in double precision.
///
/// `z0` holds any number of fields, one after the other; `forcing` holds what drives each of them
/// ([`Dynamics::forcing_fields`] fields per sample) and stays the same during the run.
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
    let n = dynamics.grid().size();
    assert!(z0.len().is_multiple_of(n), "fields of {n} points, got {} numbers", z0.len());
    let driving = dynamics.forcing_fields() * z0.len();
    assert!(forcing.is_none_or(|f| f.len() == driving), "forcing of every initial field");
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

/// One time step, with a fixed forcing or without any.
fn free_step(dynamics: &dyn Dynamics, forced: bool) -> Trace {
    let (tracer, (rows, cols)) = (Tracer::new(), dynamics.grid().shape());
    let z = tracer.state("z", rows, cols);
    let stacked = dynamics.forcing_fields() * rows;
    let forcing = if forced {
        tracer.fixed("forcing", stacked, cols)
    } else {
        tracer.constant(stacked, cols, vec![0.0; stacked * cols])
    };
    tracer.advance(z, dynamics.interval(z, dynamics.response(forcing), 1));
    tracer.finish()
}
