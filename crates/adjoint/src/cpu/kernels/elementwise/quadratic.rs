//! `a p² + b p q + c q²`, element by element: the products of a pseudo-spectral method in one pass.

use super::*;

impl Lower for Quadratic {
    fn lower<T: Real>(&self, _io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(*self)
    }
}

impl<T: Real> Kernel<T> for Quadratic {
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        form(isa, [self.a, self.b, self.c].map(T::of), x[0], x[1], y);
    }
    unsafe fn reverse(&self, isa: Isa, seen: Seen<T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        // d/dp = 2 a p + b q, d/dq = 2 c q + b p
        for (i, own) in [self.a, self.c].into_iter().enumerate() {
            if dx[i].wanted() {
                let weights = [2.0 * own, self.b].map(T::of);
                slope(isa, weights, seen.x[i], seen.x[1 - i], dy, dx[i].accumulate, &mut dx[i].data);
            }
        }
    }
}

dispatched! {
    unsafe fn form(c: [T; 3], p: &[T], q: &[T], y: &mut [T]) {
        let c = [V::splat(c[0]), V::splat(c[1]), V::splat(c[2])];
        sweep!(V, y.len(), |i, n| {
            let (p, q) = (V::get(p, i, n), V::get(q, i, n));
            p.fma(c[0].mul(p), q.mul(c[1].fma(p, c[2].mul(q)))).put(y, i, n);
        });
    }
}

dispatched! {
    /// `to (+)= (w_0 p + w_1 q) dy`.
    unsafe fn slope(w: [T; 2], p: &[T], q: &[T], dy: &[T], accumulate: bool, to: &mut [T]) {
        let w = [V::splat(w[0]), V::splat(w[1])];
        sweep!(V, to.len(), |i, n| {
            let slope = w[0].fma(V::get(p, i, n), w[1].mul(V::get(q, i, n)));
            slope.mul(V::get(dy, i, n)).put_or_add(accumulate, to, i, n);
        });
    }
}
