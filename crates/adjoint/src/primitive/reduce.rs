//! Sums over all numbers of a sample: `[rows][cols] -> [1][1]`.

use super::samples::{add_sums, few, repeated};
use super::*;
use crate::simd::{dispatched, sweep};

#[derive(Clone, Copy)]
pub(crate) enum Reduce {
    Sum,
    SumOfSquares,
}

impl Primitive for Reduce {
    fn output(&self, inputs: &[Shape]) -> Shape {
        assert!(!inputs[0].shared, "only values that differ between samples are summed");
        Shape::per_sample(1, 1)
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        Reads { inputs: matches!(self, Reduce::SumOfSquares) as u8, output: false }
    }
    fn flops(&self, io: &Io) -> f64 {
        2.0 * io.inputs[0].len(io.samples) as f64
    }
    both_precisions!(|self, _io| *self);
}

impl<T: Real> Kernel<T> for Reduce {
    fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        match self {
            Reduce::Sum => sum(isa, x[0], y),
            Reduce::SumOfSquares => sum_of_squares(isa, x[0], y),
        }
    }
    fn reverse(&self, isa: Isa, seen: Seen<T>, dy: &mut Buffer<T>, dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        dx[0].prepare();
        match self {
            Reduce::Sum => spread(isa, dy, &mut dx[0].data),
            Reduce::SumOfSquares => spread_scaled(isa, dy, seen.x[0], &mut dx[0].data),
        }
    }
}

dispatched! {
    fn sum(x: &[T], y: &mut [T]) {
        y.fill(T::default());
        add_sums::<V, false>(x, y);
    }
}

dispatched! {
    fn sum_of_squares(x: &[T], y: &mut [T]) {
        y.fill(T::default());
        add_sums::<V, true>(x, y);
    }
}

dispatched! {
    fn spread(dy: &[T], to: &mut [T]) {
        if few::<V>(dy.len()) {
            let dy: V = repeated(dy);
            sweep!(V, to.len(), |i, n| { dy.put_or_add(true, to, i, n); });
            return;
        }
        for run in to.chunks_exact_mut(dy.len()) {
            for (to, dy) in run.iter_mut().zip(dy) {
                *to += *dy;
            }
        }
    }
}

dispatched! {
    fn spread_scaled(dy: &[T], x: &[T], to: &mut [T]) {
        if few::<V>(dy.len()) {
            let twice = repeated::<V>(dy).mul(V::of(2.0));
            sweep!(V, to.len(), |i, n| { V::get(x, i, n).mul(twice).put_or_add(true, to, i, n); });
            return;
        }
        for (run, x) in to.chunks_exact_mut(dy.len()).zip(x.chunks_exact(dy.len())) {
            for ((to, dy), x) in run.iter_mut().zip(dy).zip(x) {
                *to += (*x + *x) * *dy;
            }
        }
    }
}
