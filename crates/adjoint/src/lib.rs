//! Trace a step once, get its exact reverse, replay both at machine speed.
mod buffer;
mod peak;
mod plan;
mod primitive;
mod program;
mod replay;
mod simd;
mod trace;

pub use peak::peak_flops;
pub use primitive::{Bump, Lattice, Sampling, Sparse, Tridiagonal};
pub use program::{Gradient, Outcome, Program, Run, Session, Threads};
pub use replay::Strategy;
pub use simd::{Isa, Real};
pub use trace::{Input, Shape, Trace, Tracer, Var};
