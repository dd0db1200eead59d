//! Numbers that are repeated, cut, put together or exchanged.

mod broadcast;
mod rows;
mod transpose;

use super::*;
pub(crate) use transpose::transpose;
