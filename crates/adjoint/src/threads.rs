//! Threads that programs run on.

use rayon::prelude::*;

/// Threads that programs run on.
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
    pub fn map<R: Send>(&self, count: usize, f: impl Fn(usize) -> R + Sync + Send) -> Vec<R> {
        match &self.pool {
            Some(pool) if count > 1 => {
                pool.install(|| (0..count).into_par_iter().with_max_len(1).map(f).collect())
            }
            _ => (0..count).map(f).collect(),
        }
    }

    /// Does `f(0, first), f(1, second) ...` to all items.
    pub fn for_each<X: Send>(&self, items: &mut [X], f: impl Fn(usize, &mut X) + Sync + Send) {
        match &self.pool {
            Some(pool) if items.len() > 1 => {
                pool.install(|| items.par_iter_mut().with_max_len(1).enumerate().for_each(|(i, x)| f(i, x)));
            }
            _ => items.iter_mut().enumerate().for_each(|(i, x)| f(i, x)),
        }
    }
}
