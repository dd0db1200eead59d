//! Constant matrices.

mod separable;
mod sparse;
mod tridiagonal;

use super::*;
