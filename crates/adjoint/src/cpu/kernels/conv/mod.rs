//! 3 x 3 convolutions with a rectifier.

mod field;
mod lines;
mod patch;
mod products;
mod winograd;

use super::*;
pub(crate) use products::{copy_runs, filled, transpose};
