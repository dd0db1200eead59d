//! The backend for processors: it runs a plan on chunks of samples.
//!
//! `chunk.rs` is its interface to programs: [`Cpu`] runs one chunk forward or in reverse. A backend for
//! another machine would take the same [`Plan`](crate::plan::Plan) and do the same. Below it, `replay.rs`
//! walks through the plan, `kernels/` computes, `simd/` has the vectors that kernels are written with, and
//! `ahead.rs` prefetches.

mod ahead;
mod buffer;
mod chunk;
mod kernels;
mod peak;
mod replay;
mod simd;

pub(crate) use chunk::Cpu;
pub use peak::peak_flops;
pub(crate) use replay::Worker;
pub use simd::{Isa, Real};
