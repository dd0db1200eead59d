//! Threads that programs run on.

use rayon::prelude::*;
use std::sync::Mutex;

/// Threads that programs run on.
///
/// ```
/// use cinoc_adjoint::Threads;
///
/// assert_eq!(Threads::new(2).map(4, |i| i * i), [0, 1, 4, 9]);
/// ```
pub struct Threads {
    pool: Option<rayon::ThreadPool>,
}

impl Threads {
    /// `count` threads; one thread is the caller itself.
    pub fn new(count: usize) -> Threads {
        let pool = (count > 1).then(|| {
            rayon::ThreadPoolBuilder::new()
                .num_threads(count)
                .build()
                .expect("the system has room for threads")
        });
        Threads { pool }
    }

    /// Results of `f(0) .. f(count - 1)`, in order.
    pub fn map<R: Send>(&self, count: usize, f: impl Fn(usize) -> R + Sync) -> Vec<R> {
        let mut results: Vec<Option<R>> = (0..count).map(|_| None).collect();
        self.for_each(&mut results, |i, result| *result = Some(f(i)));
        results.into_iter().flatten().collect()
    }

    /// Does `f(0, first), f(1, second) ...` to all items.
    pub fn for_each<X: Send>(&self, items: &mut [X], f: impl Fn(usize, &mut X) + Sync) {
        // a lock that nobody waits for lets every thread change its own items
        let items: Vec<Mutex<&mut X>> = items.iter_mut().map(Mutex::new).collect();
        self.each(items.len(), &|i| f(i, &mut items[i].lock().expect("an item has one visitor")));
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
