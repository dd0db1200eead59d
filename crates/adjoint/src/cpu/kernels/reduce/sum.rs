//! Sums over all numbers of a sample: `[rows][cols] -> [1][1]`.

use super::*;
use crate::cpu::kernels::samples::{add_sums, few, repeated};

impl Lower for Reduce {
    fn lower<T: Real>(&self, _io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(*self)
    }
}

impl<T: Real> Kernel<T> for Reduce {
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        match self {
            Reduce::Sum => sum(isa, x[0], y),
            Reduce::SumOfSquares => sum_of_squares(isa, x[0], y),
        }
    }
    unsafe fn reverse(&self, isa: Isa, seen: Seen<T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        dx[0].prepare();
        match self {
            Reduce::Sum => spread(isa, dy, &mut dx[0].data),
            Reduce::SumOfSquares => spread_scaled(isa, dy, seen.x[0], &mut dx[0].data),
        }
    }
}

dispatched! {
    unsafe fn sum(x: &[T], y: &mut [T]) {
        y.fill(T::default());
        add_sums::<V, false>(x, y);
    }
}

dispatched! {
    unsafe fn sum_of_squares(x: &[T], y: &mut [T]) {
        y.fill(T::default());
        add_sums::<V, true>(x, y);
    }
}

dispatched! {
    unsafe fn spread(dy: &[T], to: &mut [T]) {
        if few::<V>(dy.len()) {
            let dy: V = repeated(dy);
            sweep!(V, to.len(), |i, n| { dy.put_or_add(true, to, i, n); });
            return;
        }
        for run in to.chunks_exact_mut(dy.len()) {
            sweep!(V, run.len(), |i, n| { V::get(dy, i, n).put_or_add(true, run, i, n); });
        }
    }
}

dispatched! {
    unsafe fn spread_scaled(dy: &[T], x: &[T], to: &mut [T]) {
        if few::<V>(dy.len()) {
            let twice = repeated::<V>(dy).mul(V::of(2.0));
            sweep!(V, to.len(), |i, n| { V::get(x, i, n).mul(twice).put_or_add(true, to, i, n); });
            return;
        }
        for (run, to) in to.chunks_exact_mut(dy.len()).enumerate() {
            let x = &x[run * dy.len()..][..dy.len()];
            sweep!(V, to.len(), |i, n| {
                let x = V::get(x, i, n);
                x.add(x).mul(V::get(dy, i, n)).put_or_add(true, to, i, n);
            });
        }
    }
}
