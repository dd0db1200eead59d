//! `heat2d-obstacles`: `heat2d` around discs that agents may not enter.

use super::{heat2d, presets};
use crate::task::Task;

pub(super) fn task() -> Task {
    let (preset, paper) = presets!("heat2d-obstacles");
    let title = "heat in a square: the same around discs that agents may not enter";
    Task { name: "heat2d-obstacles".to_string(), preset, paper, ..heat2d::task().titled(title) }
}
