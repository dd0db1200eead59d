//! Weights whose rows lie apart, so that lanes meet different banks of shared memory.
//!
//! The matrix units want numbers of four neighbouring rows from the lanes of a warp. Rows of 32 or 64
//! numbers all begin in the same bank: the lanes would wait for each other. With eight numbers between
//! them they do not.

use cinoc_adjoint::backend::{Op, Plan};

/// A parameter that is copied so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Of its value.
    pub slot: usize,
    pub rows: usize,
    pub cols: usize,
    /// Numbers from one row to the next.
    pub apart: usize,
}

impl Weights {
    /// Code of number i of the copy, for weights that begin at `from`.
    pub fn number(&self, from: &str) -> String {
        let Weights { cols, apart, .. } = self;
        format!("i % {apart} < {cols} ? {from}[i / {apart} * {cols} + i % {apart}] : T(0)")
    }
}

/// Weights of more numbers stay in global memory, as they are.
const MANY: usize = 20_000;

/// The parameters that nothing but layers reads, as their weights, and whose rows begin in the same bank.
pub fn spaced(plan: &Plan) -> Vec<Weights> {
    let ops = || plan.setup.iter().chain(&plan.step);
    let only_weights = |slot: usize| {
        let as_weights = |op: &Op, i: usize| i == 1 && matches!(op.name(), "dense" | "conv_patch");
        let read =
            |op: &Op| op.inputs.iter().enumerate().all(|(i, &other)| other != slot || as_weights(op, i));
        ops().all(read)
    };
    let each = plan.params.iter().filter_map(|place| {
        let (slot, rows, cols) = (place.value, place.shape.rows, place.shape.cols);
        let fits = rows > 1 && cols % 16 == 0 && rows * cols <= MANY;
        (fits && only_weights(slot)).then_some(Weights { slot, rows, cols, apart: cols + 8 })
    });
    each.collect()
}
