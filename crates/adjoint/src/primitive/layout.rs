//! Numbers that are repeated, cut, put together or exchanged.

use super::*;
use std::ops::Range;

/// One row, one column or one shared value becomes many.
pub(crate) struct Broadcast {
    pub to: Shape,
}

impl Primitive for Broadcast {
    fn name(&self) -> &'static str {
        "broadcast"
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        let from = inputs[0];
        let fits = |a: usize, b: usize| a == b || a == 1;
        assert!(
            fits(from.rows, self.to.rows)
                && fits(from.cols, self.to.cols)
                && (from.shared || !self.to.shared),
            "{from:?} cannot be repeated to {:?}",
            self.to
        );
        self.to
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads::default()
    }
}

/// Some of the rows.
pub(crate) struct Slice {
    pub rows: Range<usize>,
}

impl Primitive for Slice {
    fn name(&self) -> &'static str {
        "slice"
    }
    fn parameters(&self) -> Parameters {
        vec![("start", Value::Count(self.rows.start)), ("end", Value::Count(self.rows.end))]
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        assert!(self.rows.end <= inputs[0].rows, "rows {:?} of {:?}", self.rows, inputs[0]);
        Shape { rows: self.rows.len(), ..inputs[0] }
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads::default()
    }
}

/// One value above the other.
pub(crate) struct Stack;

impl Primitive for Stack {
    fn name(&self) -> &'static str {
        "stack"
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        let (a, b) = (inputs[0], inputs[1]);
        assert!(a.cols == b.cols && a.shared == b.shared, "{a:?} and {b:?} do not stack");
        Shape { rows: a.rows + b.rows, ..a }
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads::default()
    }
}

/// Rows and columns exchanged.
pub(crate) struct Transpose;

impl Primitive for Transpose {
    fn name(&self) -> &'static str {
        "transpose"
    }
    fn output(&self, inputs: &[Shape]) -> Shape {
        Shape { rows: inputs[0].cols, cols: inputs[0].rows, ..inputs[0] }
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads::default()
    }
}
