//! `a + b`, `a - b`, `a b`, `a / b`, element by element, on operands of equal shape.

use super::*;

impl Lower for Binary {
    fn lower<T: Real>(&self, _io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(*self)
    }
}

impl<T: Real> Kernel<T> for Binary {
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        forward(isa, *self, x[0], x[1], y);
    }
    unsafe fn reverse(&self, isa: Isa, seen: Seen<T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        for i in [1, 0] {
            let Adjoint { data: to, accumulate } = &mut dx[i];
            if to.is_empty() {
                continue;
            }
            let acc = *accumulate;
            match self {
                Binary::Mul => add_product(isa, seen.x[1 - i], dy, acc, to),
                Binary::Div => add_quotient(isa, seen.x[1], (i == 1).then_some(seen.y), dy, acc, to),
                Binary::Sub if i == 1 => add_scaled(isa, T::of(-1.0), dy, acc, to),
                _ => add_scaled(isa, T::of(1.0), dy, acc, to),
            }
        }
    }
}

dispatched! {
    unsafe fn forward(kind: Binary, a: &[T], b: &[T], y: &mut [T]) {
        macro_rules! each {
            ($op:ident) => {
                sweep!(V, y.len(), |i, n| { V::get(a, i, n).$op(V::get(b, i, n)).put(y, i, n); })
            };
        }
        match kind {
            Binary::Add => each!(add),
            Binary::Sub => each!(sub),
            Binary::Mul => each!(mul),
            Binary::Div => each!(div),
        }
    }
}

dispatched! {
    unsafe fn add_product(a: &[T], b: &[T], accumulate: bool, to: &mut [T]) {
        sweep!(V, to.len(), |i, n| {
            V::get(a, i, n).mul(V::get(b, i, n)).put_or_add(accumulate, to, i, n);
        });
    }
}

dispatched! {
    /// Adjoint of the numerator, `dy / b`, or of the denominator, `-y dy / b`, if the quotient y is given.
    unsafe fn add_quotient(b: &[T], y: Option<&[T]>, dy: &[T], accumulate: bool, to: &mut [T]) {
        sweep!(V, to.len(), |i, n| {
            let d = V::get(dy, i, n).div(V::get(b, i, n));
            let d = if let Some(y) = y { d.mul(V::get(y, i, n)).neg() } else { d };
            d.put_or_add(accumulate, to, i, n);
        });
    }
}

dispatched! {
    /// `to (+)= c a`.
    pub(crate) unsafe fn add_scaled(c: T, a: &[T], accumulate: bool, to: &mut [T]) {
        let c = V::splat(c);
        sweep!(V, to.len(), |i, n| {
            V::get(a, i, n).mul(c).put_or_add(accumulate, to, i, n);
        });
    }
}
