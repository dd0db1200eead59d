//! Gaussian bumps around positions.

mod bumps;
mod sum;

use super::*;
