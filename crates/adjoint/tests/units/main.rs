//! Unit tests of the modules that stand alone, without compiling the kernels of the library a second time.

#![allow(dead_code, unused_imports, unused_macros)]

mod cpu;

use cpu::simd::{Isa, Real};

#[test]
fn some_arithmetic_happens() {
    assert!(cinoc_adjoint::peak_flops::<f32>(1) > 1e6);
}
