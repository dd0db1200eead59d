//! Unit tests of the modules that stand alone, without compiling the kernels of the library a second time.

#![allow(dead_code, unused_imports, unused_macros)]

mod cpu;

use cpu::simd::{Isa, Real};

#[test]
fn some_arithmetic_happens() {
    assert!(cinoc_adjoint::peak_flops::<f32>(1) > 1e6);
}

#[test]
fn threads_return_results_in_order() {
    for count in [1, 2, 3] {
        let threads = cinoc_adjoint::Threads::new(count);
        assert_eq!(threads.map(50, |i| i * i), (0..50).map(|i| i * i).collect::<Vec<_>>());
        let mut items = vec![1; 50];
        threads.for_each(&mut items, |i, item| *item += i);
        assert_eq!(items, (1..=50).collect::<Vec<_>>());
    }
}
