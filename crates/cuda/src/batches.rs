//! Programs for few samples and for many.
//!
//! A few samples leave most of a device idle unless several blocks share each, and wait for each other
//! all the time. Enough samples keep it busy by themselves: then one block per sample is faster. The second
//! program is made when it is first needed. Both agree up to rounding.

use crate::executable::{Answer, Entry, Job, Processor};
use crate::launch::OnDevice;
use cinoc_adjoint::Real;
use cinoc_adjoint::backend::{Arranged, Rule};
use cudarc::driver::{CudaSlice, DeviceRepr, ValidAsZeroBits};
use std::sync::OnceLock;

/// Both programs.
pub(crate) struct Batches<T> {
    pub(crate) few: OnDevice<T>,
    pub(crate) many: Option<Many<T>>,
}

/// The program for many samples.
pub(crate) struct Many<T> {
    /// Samples from which it is faster.
    from: usize,
    make: Box<dyn Fn() -> OnDevice<T> + Send + Sync>,
    made: OnceLock<OnDevice<T>>,
}

impl<T> Many<T> {
    pub(crate) fn new(from: usize, make: impl Fn() -> OnDevice<T> + Send + Sync + 'static) -> Many<T> {
        Many { from, make: Box::new(make), made: OnceLock::new() }
    }
}

impl<T> Batches<T> {
    /// The program for a run. The whole batch decides, so that its parts have the same bits; but a process
    /// that has only a small part of it takes the program for few.
    fn of(&self, run: &Arranged<'_, T>) -> &OnDevice<T> {
        match &self.many {
            Some(many) if run.of >= many.from && run.samples >= many.from / 2 => {
                many.made.get_or_init(&many.make)
            }
            _ => &self.few,
        }
    }
}

impl<T: Real + DeviceRepr + ValidAsZeroBits> Processor<T> for Batches<T> {
    type Kept = CudaSlice<T>;

    fn keep(&self, numbers: [&[T]; 3]) -> CudaSlice<T> {
        self.few.keep(numbers)
    }

    fn read(&self, kept: &CudaSlice<T>) -> [Vec<T>; 3] {
        self.few.read(kept)
    }

    fn launch(
        &self,
        entry: Entry,
        job: &Job<'_, T>,
        update: Option<(&mut CudaSlice<T>, &Rule)>,
    ) -> Answer<T> {
        self.of(job.run).launch(entry, job, update)
    }

    fn stores(&self, run: &Arranged<'_, T>) -> bool {
        self.of(run).stores(run)
    }

    fn details(&self) -> Vec<(&'static str, usize)> {
        let many = self.many.as_ref().and_then(|many| many.made.get());
        many.unwrap_or(&self.few).details()
    }
}
