//! Functions of one number, element by element.

use super::*;

impl Lower for Map {
    fn lower<T: Real>(&self, _io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(*self)
    }
}

impl<T: Real> Kernel<T> for Map {
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        forward(isa, *self, x[0], y);
    }
    unsafe fn reverse(&self, isa: Isa, seen: Seen<T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        let acc = dx[0].accumulate;
        let to = &mut dx[0].data[..];
        match self {
            Map::Affine { a, .. } => add_scaled(isa, T::of(*a), dy, acc, to),
            _ if self.by_output() => reverse(isa, *self, seen.y, dy, acc, to),
            _ => reverse(isa, *self, seen.x[0], dy, acc, to),
        }
    }
}

dispatched! {
    unsafe fn forward(kind: Map, x: &[T], y: &mut [T]) {
        macro_rules! each {
            (|$v:ident| $e:expr) => {
                sweep!(V, y.len(), |i, n| {
                    let $v = V::get(x, i, n);
                    $e.put(y, i, n);
                })
            };
        }
        macro_rules! values {
            ($($variant:ident $name:literal $flops:literal $reads:ident
               |$x:ident| $value:expr, |$seen:ident, $d:ident| $slope:expr;)*) => {
                match kind {
                    Map::Affine { a, b } => {
                        let (a, b) = (V::of(a), V::of(b));
                        each!(|v| v.fma(a, b))
                    }
                    Map::Clamp { low, high } => {
                        let (low, high) = (V::of(low), V::of(high));
                        each!(|v| v.max(low).min(high))
                    }
                    $(Map::$variant => each!(|$x| $value),)*
                }
            };
        }
        elementary_functions!(values)
    }
}

dispatched! {
    /// `to (+)= f'(x) dy`, with `seen` the input x or the output, whichever the derivative is simpler in.
    unsafe fn reverse(kind: Map, seen: &[T], dy: &[T], accumulate: bool, to: &mut [T]) {
        macro_rules! each {
            (|$v:ident, $d:ident| $e:expr) => {
                sweep!(V, to.len(), |i, n| {
                    let ($v, $d) = (V::get(seen, i, n), V::get(dy, i, n));
                    $e.put_or_add(accumulate, to, i, n);
                })
            };
        }
        macro_rules! slopes {
            ($($variant:ident $name:literal $flops:literal $reads:ident
               |$x:ident| $value:expr, |$seen:ident, $d:ident| $slope:expr;)*) => {
                match kind {
                    Map::Affine { .. } => unreachable!("does not look at its input"),
                    Map::Clamp { low, high } => {
                        let (low, high, zero) = (V::of(low), V::of(high), V::zero());
                        each!(|y, d| V::select_lt(low, y, V::select_lt(y, high, d, zero), zero))
                    }
                    $(Map::$variant => each!(|$seen, $d| $slope),)*
                }
            };
        }
        elementary_functions!(slopes)
    }
}
