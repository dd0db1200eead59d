//! Taking some rows of a value, and putting two values on top of each other.

use super::binary::add_scaled;
use super::*;
use std::ops::Range;

pub(crate) struct Slice {
    pub rows: Range<usize>,
}

impl Primitive for Slice {
    fn output(&self, inputs: &[Shape]) -> Shape {
        assert!(self.rows.end <= inputs[0].rows, "rows {:?} of {:?}", self.rows, inputs[0]);
        Shape { rows: self.rows.len(), ..inputs[0] }
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads::default()
    }
    both_precisions!(|self, io| Cut { range: self.rows.start * io.lanes(0)..self.rows.end * io.lanes(0) });
}

struct Cut {
    range: Range<usize>,
}

impl<T: Real> Kernel<T> for Cut {
    fn forward(&self, _: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        y.copy_from_slice(&x[0][self.range.clone()]);
    }
    fn reverse(&self, isa: Isa, _: Seen<T>, dy: &mut Buffer<T>, dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        dx[0].prepare();
        add_scaled(isa, T::of(1.0), dy, true, &mut dx[0].data[self.range.clone()]);
    }
}

pub(crate) struct Stack;

impl Primitive for Stack {
    fn output(&self, inputs: &[Shape]) -> Shape {
        let (a, b) = (inputs[0], inputs[1]);
        assert!(a.cols == b.cols && a.shared == b.shared, "{a:?} and {b:?} do not stack");
        Shape { rows: a.rows + b.rows, ..a }
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads::default()
    }
    both_precisions!(|self, io| Join { first: io.inputs[0].len(io.samples) });
}

struct Join {
    first: usize,
}

impl<T: Real> Kernel<T> for Join {
    fn forward(&self, _: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        y[..self.first].copy_from_slice(x[0]);
        y[self.first..].copy_from_slice(x[1]);
    }
    fn reverse(&self, isa: Isa, _: Seen<T>, dy: &mut Buffer<T>, dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        let (above, below) = dy.split_at(self.first);
        for (part, to) in [above, below].into_iter().zip(dx) {
            if to.wanted() {
                add_scaled(isa, T::of(1.0), part, to.accumulate, &mut to.data);
            }
        }
    }
}
