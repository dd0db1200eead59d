//! Sums over rows, columns or all numbers of a sample.

mod contract;
mod length;
mod outer;
mod peak;
mod softnorm;
mod sum;

use super::*;
