//! `a + b`, `a - b`, `a b`, `a / b`, element by element, on operands of equal shape.

use super::*;
use crate::simd::{dispatched, sweep};

#[derive(Clone, Copy)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
}

impl Primitive for Binary {
    fn output(&self, inputs: &[Shape]) -> Shape {
        assert_eq!(inputs[0], inputs[1], "operands of one shape");
        inputs[0]
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        match self {
            Binary::Add | Binary::Sub => Reads::default(),
            Binary::Mul => Reads { inputs: 0b11, output: false },
            Binary::Div => Reads { inputs: 0b10, output: true },
        }
    }
    fn reads_for(&self, wanted: &[bool]) -> Reads {
        match self {
            // a factor is read for the adjoint of the other one
            Binary::Mul => Reads { inputs: u8::from(wanted[1]) | u8::from(wanted[0]) << 1, output: false },
            _ => self.reverse_reads(2),
        }
    }
    both_precisions!(|self, _io| *self);
}

impl<T: Real> Kernel<T> for Binary {
    fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        forward(isa, *self, x[0], x[1], y);
    }
    fn reverse(&self, isa: Isa, seen: Seen<T>, dy: &mut Buffer<T>, dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        // the first input at last, because dy itself can become the adjoint of a summand
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
                _ if i == 0 && !acc => std::mem::swap(dy, to),
                _ => add_scaled(isa, T::of(1.0), dy, acc, to),
            }
        }
    }
}

dispatched! {
    fn forward(kind: Binary, a: &[T], b: &[T], y: &mut [T]) {
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
    fn add_product(a: &[T], b: &[T], accumulate: bool, to: &mut [T]) {
        sweep!(V, to.len(), |i, n| {
            V::get(a, i, n).mul(V::get(b, i, n)).put_or_add(accumulate, to, i, n);
        });
    }
}

dispatched! {
    /// Adjoint of the numerator, `dy / b`, or of the denominator, `-y dy / b`, if the quotient y is given.
    fn add_quotient(b: &[T], y: Option<&[T]>, dy: &[T], accumulate: bool, to: &mut [T]) {
        sweep!(V, to.len(), |i, n| {
            let d = V::get(dy, i, n).div(V::get(b, i, n));
            let d = if let Some(y) = y { d.mul(V::get(y, i, n)).neg() } else { d };
            d.put_or_add(accumulate, to, i, n);
        });
    }
}

dispatched! {
    /// `to (+)= c a`.
    pub(crate) fn add_scaled(c: T, a: &[T], accumulate: bool, to: &mut [T]) {
        let c = V::splat(c);
        sweep!(V, to.len(), |i, n| {
            V::get(a, i, n).mul(c).put_or_add(accumulate, to, i, n);
        });
    }
}
