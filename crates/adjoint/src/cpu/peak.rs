//! What the arithmetic units of this machine reach when nothing hinders them.

use super::simd::{Isa, Real, dispatched};
use crate::threads::Threads;
use std::time::Instant;

/// Multiplications and additions per second of threads that do nothing but fused products in registers: the
/// best of some short trials.
pub fn peak_flops<T: Real>(threads: &Threads) -> f64 {
    const ROUNDS: usize = 400_000;
    let isa = Isa::best();
    (0..5)
        .map(|_| {
            let start = Instant::now();
            let done = threads.map(threads.count(), |_| {
                let mut flops = [0.0];
                // SAFETY: it touches no memory but its argument.
                unsafe { fused_products::<T>(isa, ROUNDS, &mut flops) };
                flops[0]
            });
            done.iter().sum::<f64>() / start.elapsed().as_secs_f64()
        })
        .fold(0.0, f64::max)
}

dispatched! {
    unsafe fn fused_products(rounds: usize, flops: &mut [f64; 1]) {
        // enough independent sums to hide the latency of a fused product
        const SUMS: usize = 12;
        let factor = std::hint::black_box(V::of(0.999));
        let mut sums = [V::of(1.0); SUMS];
        for _ in 0..rounds {
            for sum in &mut sums {
                *sum = sum.fma(factor, factor);
            }
        }
        let mut all = V::zero();
        for sum in sums {
            all = all.add(sum);
        }
        std::hint::black_box(all.sum());
        flops[0] = (2 * SUMS * V::LANES * rounds) as f64;
    }
}
