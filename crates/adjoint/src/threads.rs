//! Threads that programs run on.

use crate::backend::Backend;
use rayon::prelude::*;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Threads that programs run on. They are made once and shared: a clone is another handle to the same
/// threads.
///
/// ```
/// use cinoc_adjoint::Threads;
///
/// let threads = Threads::new(2)?;
/// assert_eq!(threads.map(4, |i| i * i), [0, 1, 4, 9]);
/// # Ok::<(), cinoc_adjoint::TooManyThreads>(())
/// ```
#[derive(Clone)]
pub struct Threads {
    /// None if the caller's own thread does everything.
    pool: Option<Arc<rayon::ThreadPool>>,
    /// Where programs run instead of on these threads.
    backend: Option<Arc<dyn Backend>>,
}

/// More threads than the system can start.
#[derive(Clone, Debug, PartialEq)]
pub struct TooManyThreads {
    /// How many were asked for.
    pub count: usize,
    /// What the system said.
    pub reason: String,
}

impl fmt::Display for TooManyThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooManyThreads { count, reason } = self;
        write!(f, "cannot start {count} threads: {reason}; ask for fewer: this machine has {} cores", cores())
    }
}

impl std::error::Error for TooManyThreads {}

/// Threads that this machine runs at the same time.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl Threads {
    /// More are refused without asking the system: it would start thousands before it refuses the last one.
    pub const MOST: usize = 4096;

    /// `count` threads. One thread, or none, is the caller's own.
    pub fn new(count: usize) -> Result<Threads, TooManyThreads> {
        let refused = |reason: String| TooManyThreads { count, reason };
        match count {
            0 | 1 => Ok(Threads::one()),
            2..=Self::MOST => {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build();
                let pool = pool.map_err(|error| refused(error.to_string()))?;
                Ok(Threads { pool: Some(Arc::new(pool)), backend: None })
            }
            _ => Err(refused(format!("the most are {}", Self::MOST))),
        }
    }

    /// The caller's own thread.
    pub fn one() -> Threads {
        Threads { pool: None, backend: None }
    }

    /// One thread per core of this machine.
    pub fn all() -> Result<Threads, TooManyThreads> {
        Threads::new(cores())
    }

    /// The same threads for what a CPU does, and another backend for the sweeps of programs.
    pub fn with_backend(self, backend: Arc<dyn Backend>) -> Threads {
        Threads { backend: Some(backend), ..self }
    }

    /// The same threads, with programs on the CPU again: for what must not depend on the device.
    pub fn on_cpu(&self) -> Threads {
        Threads { pool: self.pool.clone(), backend: None }
    }

    /// Where programs run, if not on these threads.
    pub fn backend(&self) -> Option<&dyn Backend> {
        self.backend.as_deref()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.pool.as_ref().map_or(1, |pool| pool.current_num_threads())
    }

    /// Results of `f(0) .. f(count - 1)`, in order.
    pub fn map<R: Send>(&self, count: usize, f: impl Fn(usize) -> R + Sync) -> Vec<R> {
        let mut results: Vec<Option<R>> = (0..count).map(|_| None).collect();
        self.for_each(&mut results, |i, result| *result = Some(f(i)));
        results.into_iter().flatten().collect()
    }

    /// Does `f(0, first), f(1, second) ...` to all items. One thread neither allocates nor locks.
    pub fn for_each<X: Send>(&self, items: &mut [X], f: impl Fn(usize, &mut X) + Sync) {
        if self.pool.is_none() || items.len() < 2 {
            return items.iter_mut().enumerate().for_each(|(i, item)| f(i, item));
        }
        // a lock that nobody waits for lets every thread change its own items
        let items: Vec<Mutex<&mut X>> = items.iter_mut().map(Mutex::new).collect();
        self.each(items.len(), &|i| f(i, &mut items[i].lock().expect("an item has one visitor")));
    }

    /// Does `f(worker, i, item)` to all items. Every thread has a worker of its own and takes the next item
    /// when it is done with one; workers that have no thread do nothing. One thread neither allocates nor
    /// locks.
    ///
    /// # Panics
    /// If there are items and no workers.
    pub fn share<W: Send, X: Send>(
        &self,
        workers: &mut [W],
        items: &mut [X],
        f: impl Fn(&mut W, usize, &mut X) + Sync,
    ) {
        if self.pool.is_none() || items.len() < 2 || workers.len() < 2 {
            return items.iter_mut().enumerate().for_each(|(i, item)| f(&mut workers[0], i, item));
        }
        let items: Vec<Mutex<&mut X>> = items.iter_mut().map(Mutex::new).collect();
        let next = AtomicUsize::new(0);
        let threads = self.count().min(workers.len());
        self.for_each(&mut workers[..threads], |_, worker| {
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some(item) = items.get(i) else { break };
                f(worker, i, &mut item.lock().expect("an item has one visitor"));
            }
        });
    }

    /// Calls `f(0) .. f(count - 1)`, not in order. Not generic: what lies below is large and compiled once.
    fn each(&self, count: usize, f: &(dyn Fn(usize) + Sync)) {
        match &self.pool {
            Some(pool) if count > 1 => {
                pool.install(|| (0..count).into_par_iter().with_max_len(1).for_each(f));
            }
            _ => (0..count).for_each(f),
        }
    }
}
