//! Running a PDE without any control: spin-up of initial states, reference runs, tests of the schemes.

use crate::dynamics::Dynamics;
use cinoc_adjoint::{Inputs, Program, Real, Threads, Tracer};

/// Samples per chunk in 1D, where they must fill the SIMD vectors; a 2D field fills them by itself. The chunk
/// size must not depend on the number of samples: in a chaotic field another rounding grows into another
/// field, and the first cases must not depend on how many follow.
const CHUNK: usize = 8;

/// Largest number of time steps traced as one interval: a scheme in Fourier space transforms once per
/// interval.
const INTERVAL: usize = 20;

/// The states after `steps` time steps, in double precision.
///
/// `z0` holds any number of states, one after the other; `forcing` holds what drives each of them
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
    evolve_in::<f64>(dynamics, z0, forcing, steps, threads)
}

/// The same in precision `T`.
///
/// # Panics
/// If an extent is wrong.
pub fn evolve_in<T: Real>(
    dynamics: &dyn Dynamics,
    z0: &[T],
    forcing: Option<&[T]>,
    steps: usize,
    threads: &Threads,
) -> Vec<T> {
    let n = dynamics.fields() * dynamics.grid().size();
    assert!(z0.len().is_multiple_of(n), "states of {n} numbers, got {} numbers", z0.len());
    let driving = dynamics.forcing_fields() * z0.len() / dynamics.fields();
    assert!(forcing.is_none_or(|f| f.len() == driving), "forcing of every initial field");
    if steps == 0 || z0.is_empty() {
        return z0.to_vec();
    }
    let samples = z0.len() / n;
    let interval = (1..=INTERVAL).rev().find(|k| steps.is_multiple_of(*k)).expect("1 divides all");
    let chunk = if dynamics.grid().dims() == 1 { CHUNK } else { 1 };
    let (tracer, (rows, cols)) = (Tracer::new(), dynamics.grid().shape());
    let z = tracer.state("z", dynamics.fields() * rows, cols);
    let stacked = dynamics.forcing_fields() * rows;
    let mut inputs = Inputs::new(samples, steps / interval, &[]).with(z.input(), z0);
    let driven = match forcing {
        Some(values) => {
            let driven = tracer.fixed("forcing", stacked, cols);
            inputs = inputs.with(driven.input(), values);
            driven
        }
        None => tracer.constant(stacked, cols, vec![0.0; stacked * cols]),
    };
    tracer.advance(z, dynamics.interval(z, dynamics.response(driven), interval));
    let z = z.input();
    Program::new(&tracer.finish(), chunk).forward(&inputs, &threads.on_cpu()).end(z).to_vec()
}
