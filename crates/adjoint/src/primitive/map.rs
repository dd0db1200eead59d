//! Functions of one number, element by element.

use super::binary::add_scaled;
use super::*;
use crate::simd::{self, dispatched, sweep};

#[derive(Clone, Copy)]
pub(crate) enum Map {
    Affine { a: f64, b: f64 },
    Tanh,
    Sin,
    Cos,
    Exp,
    Abs,
    Relu,
    Square,
    Sqrt,
    Recip,
    Clamp { low: f64, high: f64 },
}

impl Map {
    /// Whether the derivative is a function of the output, too. That is preferred: an output may be there already, as a next state is.
    fn by_output(&self) -> bool {
        matches!(self, Map::Tanh | Map::Exp | Map::Sqrt | Map::Recip | Map::Relu | Map::Clamp { .. })
    }
}

impl Primitive for Map {
    fn output(&self, inputs: &[Shape]) -> Shape {
        inputs[0]
    }
    fn reverse_reads(&self, _: usize) -> Reads {
        match self {
            Map::Affine { .. } => Reads::default(),
            _ if self.by_output() => Reads { inputs: 0, output: true },
            _ => Reads { inputs: 1, output: false },
        }
    }
    fn flops(&self, io: &Io) -> f64 {
        // the polynomials of the elementary functions, see simd::math
        let each = match self {
            Map::Tanh | Map::Sin | Map::Cos | Map::Exp => 20.0,
            Map::Affine { .. } => 2.0,
            _ => 1.0,
        };
        each * io.output.len(io.samples) as f64
    }
    both_precisions!(|self, _io| *self);
}

impl<T: Real> Kernel<T> for Map {
    fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        forward(isa, *self, x[0], y);
    }
    fn reverse(&self, isa: Isa, seen: Seen<T>, dy: &mut Buffer<T>, dx: &mut [Adjoint<T>], _: &mut Room<T>) {
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
    fn forward(kind: Map, x: &[T], y: &mut [T]) {
        macro_rules! each {
            (|$v:ident| $e:expr) => {
                sweep!(V, y.len(), |i, n| { let $v = V::get(x, i, n); $e.put(y, i, n); })
            };
        }
        match kind {
            Map::Affine { a, b } => {
                let (a, b) = (V::of(a), V::of(b));
                each!(|v| v.fma(a, b))
            }
            Map::Tanh => each!(|v| simd::tanh(v)),
            Map::Sin => each!(|v| simd::sin(v)),
            Map::Cos => each!(|v| simd::cos(v)),
            Map::Exp => each!(|v| simd::exp(v)),
            Map::Abs => each!(|v| v.abs()),
            Map::Relu => each!(|v| v.max(V::zero())),
            Map::Square => each!(|v| v.mul(v)),
            Map::Sqrt => each!(|v| v.sqrt()),
            Map::Recip => each!(|v| V::of(1.0).div(v)),
            Map::Clamp { low, high } => {
                let (low, high) = (V::of(low), V::of(high));
                each!(|v| v.max(low).min(high))
            }
        }
    }
}

dispatched! {
    /// `to (+)= f'(x) dy`, with `seen` the input x or the output, whichever the derivative is simpler in.
    fn reverse(kind: Map, seen: &[T], dy: &[T], accumulate: bool, to: &mut [T]) {
        macro_rules! each {
            (|$v:ident, $d:ident| $e:expr) => {
                sweep!(V, to.len(), |i, n| {
                    let ($v, $d) = (V::get(seen, i, n), V::get(dy, i, n));
                    $e.put_or_add(accumulate, to, i, n);
                })
            };
        }
        let zero = V::zero();
        match kind {
            Map::Affine { .. } => unreachable!("does not look at its input"),
            Map::Tanh => each!(|y, d| y.mul(y).fnma(d, d)),
            Map::Exp => each!(|y, d| y.mul(d)),
            Map::Sqrt => each!(|y, d| V::select_lt(zero, y, d.div(y.add(y)), zero)),
            Map::Recip => each!(|y, d| y.mul(y).mul(d).neg()),
            Map::Sin => each!(|x, d| simd::cos(x).mul(d)),
            Map::Cos => each!(|x, d| simd::sin(x).neg().mul(d)),
            Map::Square => each!(|x, d| x.add(x).mul(d)),
            Map::Relu => each!(|y, d| V::select_lt(zero, y, d, zero)),
            Map::Abs => each!(|x, d| V::select_lt(x, zero, d.neg(), V::select_lt(zero, x, d, zero))),
            Map::Clamp { low, high } => {
                let (low, high) = (V::of(low), V::of(high));
                each!(|y, d| V::select_lt(low, y, V::select_lt(y, high, d, zero), zero))
            }
        }
    }
}
