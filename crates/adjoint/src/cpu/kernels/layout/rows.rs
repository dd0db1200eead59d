//! Taking some rows of a value, and putting two values on top of each other.

use super::*;

impl Lower for Slice {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(Cut { range: self.rows.start * io.lanes(0)..self.rows.end * io.lanes(0) })
    }
}

impl Lower for Stack {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(Join { first: io.inputs[0].len(io.samples) })
    }
}

struct Cut {
    range: Range<usize>,
}

impl<T: Real> Kernel<T> for Cut {
    unsafe fn forward(&self, _: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        y.copy_from_slice(&x[0][self.range.clone()]);
    }
    unsafe fn reverse(&self, isa: Isa, _: Seen<T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        dx[0].prepare();
        add_scaled(isa, T::of(1.0), dy, true, &mut dx[0].data[self.range.clone()]);
    }
}

struct Join {
    first: usize,
}

impl<T: Real> Kernel<T> for Join {
    unsafe fn forward(&self, _: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        y[..self.first].copy_from_slice(x[0]);
        y[self.first..].copy_from_slice(x[1]);
    }
    unsafe fn reverse(&self, isa: Isa, _: Seen<T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        let (above, below) = dy.split_at(self.first);
        for (part, to) in [above, below].into_iter().zip(dx) {
            if to.wanted() {
                add_scaled(isa, T::of(1.0), part, to.accumulate, &mut to.data);
            }
        }
    }
}
