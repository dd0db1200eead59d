//! Unit tests of the modules that stand alone, without compiling the kernels of the library a second time.

#![allow(dead_code, unused_imports, unused_macros)]

mod cpu;

use cinoc_adjoint::Threads;
use cpu::simd::{Isa, Real};

#[test]
fn some_arithmetic_happens() {
    assert!(cinoc_adjoint::peak_flops::<f32>(&Threads::one()) > 1e6);
}

#[test]
fn threads_return_results_in_order() {
    for count in [1, 2, 3] {
        let threads = Threads::new(count).unwrap();
        assert_eq!(threads.count(), count);
        assert_eq!(threads.map(50, |i| i * i), (0..50).map(|i| i * i).collect::<Vec<_>>());
        let mut items = vec![1; 50];
        threads.for_each(&mut items, |i, item| *item += i);
        assert_eq!(items, (1..=50).collect::<Vec<_>>());
    }
}

#[test]
fn work_on_threads_may_use_the_same_threads() {
    let threads = Threads::new(2).unwrap();
    let clone = threads.clone();
    let sums = threads.map(4, |i| clone.map(3, |k| i * k).iter().sum::<usize>());
    assert_eq!(sums, [0, 3, 6, 9]);
}

#[test]
fn too_many_threads_are_an_error() {
    for count in [Threads::MOST + 1, 1_000_000, usize::MAX] {
        let error = Threads::new(count).err().expect("more than any system can start").to_string();
        assert!(error.contains(&count.to_string()) && error.contains("ask for fewer"), "{error}");
    }
}
