//! Dense layers, also on patches of feature maps.

mod few_lanes;
mod layer;
mod patches;
mod weight_adjoint;

use super::*;
pub(crate) use layer::{Target, Weights, filled_lanes, product, strip_width};
pub(crate) use weight_adjoint::outer_transposed;
