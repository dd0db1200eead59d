//! A constant matrix along each axis of a field in two dimensions: `y = (X ⊗ Y) x`, that is
//! `y[i][j] = sum over a, b of X[i][a] Y[j][b] x[a][b]`, or its transpose.
//!
//! Values are `[inputs of X * inputs of Y][cols]`, the second axis running fastest. Fourier transforms of a
//! few dozen points per axis are such products, and as products of small matrices they run near the peak of
//! the machine, which a fast Fourier transform of few samples does not; truncated modes, finer grids and
//! derivatives are other matrices.
//!
//! # Folding
//! Sines and cosines are even or odd about 0 and about a quarter of their period. On the m points
//! `(j + 1/2) / m` of a period it is enough to know them in its first quarter: with `h = m / 4`, points in
//! *folded* order `[4][h]`, one block per quarter, the second and the fourth backwards,
//!
//! ```text
//! s in [0, 1/4)   1/2 - s   1/2 + s   1 - s
//!       +            +         +        +       cosines of even wave number
//!       +            -         -        +       cosines of odd wave number
//!       +            -         +        -       sines of even wave number
//!       +            +         -        -       sines of odd wave number
//! ```
//!
//! so that a product with an `m x k` matrix is four products with `h x k/4` matrices, a quarter of the work,
//! between sums and differences of blocks.
//!
//! # Passes
//! Along the first axis everything right of it is a run of lanes. Along the second axis lanes would be the
//! samples alone, which do not fill a vector; there the outputs and the samples together are the vector axis,
//! matrices are laid out once per sample, and the numbers of all samples at an input are repeated along the
//! vector. Both are one kernel (`product.rs`).

mod product;

use super::*;
use product::{Operand, hadamard, multiply};

impl Lower for Separable {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(Passes::<T>::new(&self.axes, self.transposed, io.lanes(0)))
    }
}

/// The matrices of one axis, ready to multiply.
struct Packed<T> {
    inputs: usize,
    height: usize,
    parts: Vec<PackedPart<T>>,
    /// Lanes right of the axis.
    lanes: usize,
    /// Samples per input that are repeated along a vector of outputs; 0: the lanes themselves fill vectors.
    repeated: usize,
}

struct PackedPart<T> {
    first: usize,
    count: usize,
    /// `[input][output]`, and `[output][input]` for the transpose; with every number `repeated` times and
    /// rows padded to whole vectors, if it is to be the vector operand.
    forward: Vec<T>,
    reverse: Vec<T>,
    strides: [usize; 2],
}

/// Lanes of the widest vector.
const WIDEST: usize = 16;

impl<T: Real> Packed<T> {
    fn new(axis: &AxisMatrix, lanes: usize, repeated: usize) -> Self {
        let pack = |rows: usize, width: usize, at: &dyn Fn(usize, usize) -> f64| {
            if repeated == 0 {
                return ((0..rows * width).map(|i| T::of(at(i / width, i % width))).collect(), width);
            }
            let stride = (width * repeated).next_multiple_of(WIDEST);
            let mut data = vec![T::default(); rows * stride];
            for r in 0..rows {
                for c in 0..width * repeated {
                    data[r * stride + c] = T::of(at(r, c / repeated));
                }
            }
            (data, stride)
        };
        let parts = axis.parts.iter().map(|part| {
            let count = part.columns.len();
            let (forward, forward_stride) = pack(count, axis.height, &|k, r| part.columns[k][r]);
            let (reverse, reverse_stride) = pack(axis.height, count, &|r, k| part.columns[k][r]);
            PackedPart {
                first: part.first,
                count,
                forward,
                reverse,
                strides: [forward_stride, reverse_stride],
            }
        });
        Packed { inputs: axis.inputs, height: axis.height, parts: parts.collect(), lanes, repeated }
    }

    fn outputs(&self) -> usize {
        self.height * self.parts.len()
    }

    fn operand<'a>(
        &self,
        weights: &'a [T],
        stride: usize,
        x: &'a [T],
        x_at: usize,
        x_row: usize,
        inner: usize,
    ) -> Operand<'a, T> {
        if self.repeated == 0 {
            Operand {
                a: weights,
                a_at: 0,
                a_row: 1,
                a_inner: stride,
                b: x,
                b_at: x_at,
                b_inner: self.lanes,
                inner,
            }
        } else {
            let a_inner = self.repeated;
            Operand { a: x, a_at: x_at, a_row: x_row, a_inner, b: weights, b_at: 0, b_inner: stride, inner }
        }
    }

    /// The matrix on every one of `outer` inputs that follow each other in memory.
    unsafe fn expand(&self, isa: Isa, outer: usize, x: &[T], accumulate: bool, y: &mut [T]) {
        let (from, to) = (self.inputs * self.lanes, self.outputs() * self.lanes);
        let block = self.height * self.lanes;
        let operands = |at: usize| -> [Operand<'_, T>; 4] {
            std::array::from_fn(|p| {
                let part = &self.parts[p.min(self.parts.len() - 1)];
                self.operand(
                    &part.forward,
                    part.strides[0],
                    x,
                    at + part.first * self.lanes,
                    from,
                    part.count,
                )
            })
        };
        let folded = self.parts.len() == 4;
        if self.repeated == 0 {
            for o in 0..outer {
                multiply(
                    isa,
                    1,
                    folded,
                    &operands(o * from),
                    self.height,
                    self.lanes,
                    self.lanes,
                    false,
                    block,
                    accumulate,
                    &mut y[o * to..][..to],
                );
            }
        } else {
            multiply(isa, self.repeated, folded, &operands(0), outer, to, block, true, block, accumulate, y);
        }
    }

    /// The transposed matrix on outputs whose blocks have been folded.
    unsafe fn reduce(&self, isa: Isa, outer: usize, x: &[T], accumulate: bool, y: &mut [T]) {
        let (from, to) = (self.outputs() * self.lanes, self.inputs * self.lanes);
        for (p, part) in self.parts.iter().enumerate().filter(|(_, part)| part.count > 0) {
            let (x_at, y_at) = (p * self.height * self.lanes, part.first * self.lanes);
            if self.repeated == 0 {
                for o in 0..outer {
                    let operand =
                        self.operand(&part.reverse, part.strides[1], x, o * from + x_at, from, self.height);
                    multiply(
                        isa,
                        1,
                        false,
                        &[operand; 4],
                        part.count,
                        self.lanes,
                        self.lanes,
                        false,
                        0,
                        accumulate,
                        &mut y[o * to + y_at..],
                    );
                }
            } else {
                let operand = self.operand(&part.reverse, part.strides[1], x, x_at, from, self.height);
                let width = part.count * self.repeated;
                multiply(
                    isa,
                    self.repeated,
                    false,
                    &[operand; 4],
                    outer,
                    to,
                    width,
                    true,
                    0,
                    accumulate,
                    &mut y[y_at..],
                );
            }
        }
    }
}

struct Passes<T> {
    axes: [Packed<T>; 2],
    transposed: bool,
    lanes: usize,
}

impl<T: Real> Passes<T> {
    fn new(axes: &[AxisMatrix; 2], transposed: bool, lanes: usize) -> Self {
        let groups: &[usize] = if size_of::<T>() == 4 { &[1, 2, 4, 8] } else { &[1] };
        let repeated = if groups.contains(&lanes) { lanes } else { 0 };
        let first = Packed::new(&axes[0], axes[1].outputs() * lanes, 0);
        Passes { axes: [first, Packed::new(&axes[1], lanes, repeated)], transposed, lanes }
    }

    /// Numbers between the two passes.
    fn middle(&self) -> usize {
        self.axes[0].inputs * self.axes[1].outputs() * self.lanes
    }

    unsafe fn expand(&self, isa: Isa, x: &[T], accumulate: bool, y: &mut [T], room: &mut [T]) {
        let [first, second] = &self.axes;
        let middle = &mut room[..self.middle()];
        second.expand(isa, first.inputs, x, false, middle);
        first.expand(isa, 1, middle, accumulate, y);
    }

    unsafe fn reduce(&self, isa: Isa, x: &[T], accumulate: bool, y: &mut [T], room: &mut [T]) {
        let [first, second] = &self.axes;
        let (middle, rest) = room.split_at_mut(self.middle());
        if first.parts.len() == 4 {
            let all = &mut rest[..x.len()];
            fold(isa, 1, first.height * first.lanes, x, all);
            first.reduce(isa, 1, all, false, middle);
        } else {
            first.reduce(isa, 1, x, false, middle);
        }
        if second.parts.len() == 4 {
            let all = &mut rest[..middle.len()];
            fold(isa, first.inputs, second.height * second.lanes, middle, all);
            second.reduce(isa, first.inputs, all, accumulate, y);
        } else {
            second.reduce(isa, first.inputs, middle, accumulate, y);
        }
    }
}

impl<T: Real> Kernel<T> for Passes<T> {
    fn scratch(&self) -> usize {
        let [first, second] = &self.axes;
        self.middle() + first.outputs().max(first.inputs) * second.outputs() * self.lanes
    }
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], room: &mut Room<T>) {
        if self.transposed {
            self.reduce(isa, x[0], false, y, room)
        } else {
            self.expand(isa, x[0], false, y, room)
        }
    }
    unsafe fn reverse(&self, isa: Isa, _: Seen<T>, dy: &mut [T], dx: &mut [Adjoint<T>], room: &mut Room<T>) {
        if self.transposed {
            self.expand(isa, dy, dx[0].accumulate, &mut dx[0].data, room)
        } else {
            self.reduce(isa, dy, dx[0].accumulate, &mut dx[0].data, room)
        }
    }
}

dispatched! {
    /// Sums and differences of four blocks: `outer` times `[4][block]`.
    unsafe fn fold(outer: usize, block: usize, x: &[T], y: &mut [T]) {
        for o in 0..outer {
            let (x, y) = (&x[4 * o * block..][..4 * block], &mut y[4 * o * block..][..4 * block]);
            sweep!(V, block, |i, n| {
                let [a, b, c, d] = hadamard([
                    V::get(x, i, n),
                    V::get(x, block + i, n),
                    V::get(x, 2 * block + i, n),
                    V::get(x, 3 * block + i, n),
                ]);
                a.put(y, i, n);
                b.put(y, block + i, n);
                c.put(y, 2 * block + i, n);
                d.put(y, 3 * block + i, n);
            });
        }
    }
}
