//! What agents see of fields.

mod patches;
mod squares;
mod window;

use super::*;
