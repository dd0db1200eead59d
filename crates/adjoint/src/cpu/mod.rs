//! The backend for CPUs.
//!
//! Samples are cut into chunks of fixed size; threads take chunks; what chunks contribute to the parameters'
//! gradient is added in the order of the chunks. Results therefore do not depend on the number of threads, to
//! the last bit.
//!
//! `chunk.rs` runs one chunk, `session.rs` keeps chunks that are driven step by step. Below them, `replay.rs`
//! walks through the plan, `kernels/` computes, `simd/` has the vectors that kernels are written with, and
//! `ahead.rs` prefetches.

mod ahead;
mod buffer;
mod chunk;
mod kernels;
mod peak;
mod replay;
mod session;
mod simd;

pub use peak::peak_flops;
pub use simd::{Isa, Real};

use crate::backend::{Arranged, Executable, Steps, Stepwise, as_is};
use crate::plan::{Plan, Strategy};
use crate::program::{Gradient, Outcome, join};
use crate::threads::Threads;
use chunk::Chunks;
use session::ChunksInProgress;
use std::any::TypeId;
use std::sync::Arc;

/// Makes a plan ready for an instruction set.
pub(crate) fn compile<T: Real>(plan: Plan, isa: Isa) -> Arc<dyn Stepwise<T>> {
    if TypeId::of::<T>() == TypeId::of::<f32>() {
        as_is(singles(plan, isa))
    } else {
        as_is(doubles(plan, isa))
    }
}

// Both precisions are compiled here, and not again in every crate that has programs.

#[inline(never)]
fn singles(plan: Plan, isa: Isa) -> Arc<dyn Stepwise<f32>> {
    Arc::new(Chunks::new(plan, isa))
}

#[inline(never)]
fn doubles(plan: Plan, isa: Isa) -> Arc<dyn Stepwise<f64>> {
    Arc::new(Chunks::new(plan, isa))
}

impl<T: Real> Executable<T> for Chunks<T> {
    fn plan(&self) -> &Plan {
        self.plan()
    }

    fn forward(&self, run: &Arranged<'_, T>, threads: &Threads) -> Outcome<T> {
        let parts = threads.map(self.count(run.samples), |c| self.forward_chunk(run, c));
        let plan = self.plan();
        let mut outcome = Outcome {
            terms: vec![Vec::new(); plan.terms.len()],
            records: vec![Vec::new(); plan.records.len()],
            states: vec![Vec::new(); plan.states.len()],
        };
        for part in parts {
            join(&mut outcome.terms, part.terms);
            join(&mut outcome.records, part.records);
            join(&mut outcome.states, part.states);
        }
        outcome
    }

    fn gradients(&self, run: &Arranged<'_, T>, threads: &Threads, strategy: Strategy) -> Vec<Gradient<T>> {
        threads.map(self.count(run.samples), |c| self.gradient_chunk(run, c, strategy))
    }
}

impl<T: Real> Stepwise<T> for Chunks<T> {
    fn start(self: Arc<Self>, run: &Arranged<'_, T>) -> Box<dyn Steps<T>> {
        Box::new(ChunksInProgress::new(self, run))
    }
}
