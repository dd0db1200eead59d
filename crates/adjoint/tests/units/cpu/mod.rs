//! The modules under test, at the paths they have in the library.

#[path = "../../../src/cpu/ahead.rs"]
mod ahead;
#[path = "../../../src/cpu/simd/mod.rs"]
pub mod simd;
