//! What can be done with a value: every primitive as a method, arithmetic as operators.

use super::{Input, Shape, Tracer, Var};
use crate::primitive::*;
use std::ops::{Add, Div, Mul, Neg, Range, Sub};

/// The shape two operands broadcast to.
fn common_shape(a: Shape, b: Shape) -> Shape {
    let fits = |x: usize, y: usize| x == y || x == 1 || y == 1;
    assert!(fits(a.rows, b.rows) && fits(a.cols, b.cols), "shapes do not fit together: {a:?} and {b:?}");
    Shape { rows: a.rows.max(b.rows), cols: a.cols.max(b.cols), shared: a.shared && b.shared }
}

impl<'t> Var<'t> {
    /// Its extent.
    pub fn shape(self) -> Shape {
        self.shape
    }
    /// Rows per sample.
    pub fn rows(self) -> usize {
        self.shape.rows
    }
    /// Columns per sample.
    pub fn cols(self) -> usize {
        self.shape.cols
    }
    /// The trace it belongs to.
    pub fn tracer(self) -> &'t Tracer {
        self.tracer
    }

    /// The handle of a fixed input, a sequence or a state: runs are given numbers for it.
    ///
    /// # Panics
    /// If the value is none of these.
    pub fn input(self) -> Input {
        self.tracer.handle(self.id)
    }

    fn unary(self, primitive: impl Primitive + 'static) -> Var<'t> {
        self.tracer.apply(primitive, &[self])
    }

    /// The same numbers with another extent; costs nothing.
    pub fn reshape(self, rows: usize, cols: usize) -> Var<'t> {
        assert_eq!(rows * cols, self.shape.size(), "a reshaped value keeps its size");
        Var { shape: Shape { rows, cols, ..self.shape }, ..self }
    }

    /// Repeated to a larger shape: rows, columns or samples that were one become many.
    pub fn broadcast(self, shape: Shape) -> Var<'t> {
        if self.shape == shape { self } else { self.unary(Broadcast { to: shape }) }
    }

    fn binary(self, other: Var<'t>, kind: Binary) -> Var<'t> {
        let shape = common_shape(self.shape, other.shape);
        self.tracer.apply(kind, &[self.broadcast(shape), other.broadcast(shape)])
    }

    /// `a self + b`.
    pub fn affine(self, a: f64, b: f64) -> Var<'t> {
        self.unary(Map::Affine { a, b })
    }
    /// Hyperbolic tangent.
    pub fn tanh(self) -> Var<'t> {
        self.unary(Map::Tanh)
    }
    /// Sine.
    pub fn sin(self) -> Var<'t> {
        self.unary(Map::Sin)
    }
    /// Cosine.
    pub fn cos(self) -> Var<'t> {
        self.unary(Map::Cos)
    }
    /// Exponential.
    pub fn exp(self) -> Var<'t> {
        self.unary(Map::Exp)
    }
    /// Absolute value (derivative 0 at 0).
    pub fn abs(self) -> Var<'t> {
        self.unary(Map::Abs)
    }
    /// `max(self, 0)`.
    pub fn relu(self) -> Var<'t> {
        self.unary(Map::Relu)
    }
    /// `self²`.
    pub fn square(self) -> Var<'t> {
        self.unary(Map::Square)
    }
    /// Square root (derivative 0 at 0).
    pub fn sqrt(self) -> Var<'t> {
        self.unary(Map::Sqrt)
    }
    /// `1 / self`.
    pub fn recip(self) -> Var<'t> {
        self.unary(Map::Recip)
    }
    /// Limited to `[low, high]`; no gradient passes where the limit acts.
    pub fn clamp(self, low: f64, high: f64) -> Var<'t> {
        self.unary(Map::Clamp { low, high })
    }

    /// Some of the rows.
    pub fn slice(self, rows: Range<usize>) -> Var<'t> {
        if rows == (0..self.shape.rows) { self } else { self.unary(Slice { rows }) }
    }
    /// One value above the other.
    pub fn stack(self, below: Var<'t>) -> Var<'t> {
        self.tracer.apply(Stack, &[self, below])
    }
    /// A constant sparse matrix applied to the rows.
    pub fn linear(self, matrix: &Sparse) -> Var<'t> {
        self.unary(Linear { matrix: matrix.clone() })
    }
    /// Rows and columns exchanged.
    pub fn transpose(self) -> Var<'t> {
        let Shape { rows, cols, .. } = self.shape;
        // a single row and a single column lie in memory alike
        if rows == 1 || cols == 1 { self.reshape(cols, rows) } else { self.unary(Transpose) }
    }
    /// A constant sparse matrix applied to the columns.
    pub fn linear_cols(self, matrix: &Sparse) -> Var<'t> {
        self.transpose().linear(matrix).transpose()
    }
    /// The solution of a constant tridiagonal system along the rows.
    pub fn solve(self, system: &Tridiagonal) -> Var<'t> {
        self.unary(Solve { system: system.clone() })
    }
    /// Coefficients of the real Fourier series along the rows: `2 (n/2 + 1)` rows, real and imaginary parts
    /// in turn.
    pub fn rfft(self) -> Var<'t> {
        self.unary(Fourier { n: self.shape.rows, inverse: false })
    }
    /// The real field of `n` points whose [`Var::rfft`] this is.
    pub fn irfft(self, n: usize) -> Var<'t> {
        self.unary(Fourier { n, inverse: true })
    }
    /// Fourier coefficients times a constant complex symbol, given as `[re, im]` per mode.
    pub fn symbol(self, symbol: &[[f64; 2]]) -> Var<'t> {
        Var::symbols(&[(symbol, self)])
    }
    /// The sum of some Fourier coefficients, each times its own symbol.
    ///
    /// # Panics
    /// If there is none.
    pub fn symbols(parts: &[(&[[f64; 2]], Var<'t>)]) -> Var<'t> {
        let (values, inputs): (Vec<_>, Vec<_>) =
            parts.iter().map(|(symbol, var)| (symbol.to_vec(), *var)).unzip();
        inputs[0].tracer.apply(Symbol { values }, &inputs)
    }

    /// A constant matrix along each axis of a field: `[x.inputs * y.inputs][cols]` to
    /// `[x.outputs * y.outputs][cols]`, the second axis running fastest.
    pub fn separable(self, x: &AxisMatrix, y: &AxisMatrix) -> Var<'t> {
        self.unary(Separable { axes: [x.clone(), y.clone()], transposed: false })
    }
    /// The transpose of [`Var::separable`].
    pub fn separable_transposed(self, x: &AxisMatrix, y: &AxisMatrix) -> Var<'t> {
        self.unary(Separable { axes: [x.clone(), y.clone()], transposed: true })
    }
    /// `a self² + b self other + c other²`, element by element.
    pub fn quadratic(self, other: Var<'t>, [a, b, c]: [f64; 3]) -> Var<'t> {
        self.tracer.apply(Quadratic { a, b, c }, &[self, other])
    }
    /// `sum of table * value` over up to six values of one shape; a table is a number per row, or one for all
    /// rows.
    pub fn combination(terms: &[(&[f64], Var<'t>)]) -> Var<'t> {
        // a value that all samples share is laid out like the others
        let shape = terms.iter().map(|t| t.1.shape).reduce(common_shape).expect("something to combine");
        let values: Vec<Var<'t>> = terms.iter().map(|t| t.1.broadcast(shape)).collect();
        let tables = terms.iter().map(|t| t.0.to_vec()).collect();
        values[0].tracer.apply(Combination { tables }, &values)
    }

    /// Sum of all numbers of a sample.
    pub fn sum(self) -> Var<'t> {
        self.unary(Reduce::Sum)
    }
    /// Mean of all numbers of a sample.
    pub fn mean(self) -> Var<'t> {
        self.sum() * (1.0 / self.shape.size() as f64)
    }
    /// Mean of the squares of all numbers of a sample.
    pub fn mean_square(self) -> Var<'t> {
        self.unary(Reduce::SumOfSquares) * (1.0 / self.shape.size() as f64)
    }

    /// Euclidean norm of every column, `[1][cols]` (derivative 0 where it is 0).
    pub fn length(self) -> Var<'t> {
        self.unary(Length)
    }
    /// Columns longer than `limit` are scaled to it, the others pass.
    pub fn limit_length(self, limit: f64) -> Var<'t> {
        self.unary(LimitLength { limit })
    }
    /// Every column divided by its largest value; the maximum is differentiated, at the first row that
    /// attains it.
    pub fn peak_one(self) -> Var<'t> {
        self.unary(PeakOne)
    }

    /// `weightᵀ self (+ bias)`: a dense layer along the rows. The weight is `[inputs][outputs]`, the bias a
    /// parameter `[outputs][1]` or any value of the result's shape.
    pub fn dense(self, weight: Var<'t>, bias: Option<Var<'t>>) -> Var<'t> {
        match bias {
            Some(bias) => self.tracer.apply(Dense, &[self, weight, bias]),
            None => self.tracer.apply(Dense, &[self, weight]),
        }
    }
    /// A 3 x 3 convolution with a rectifier on patches of `patch` points, `[px * py * channels][agents]` with
    /// rows in (x, y, channel) order, zero outside them. The weight is `[9 * channels][outputs]` with rows in
    /// (x offset, y offset, channel) order.
    pub fn conv_patch(self, patch: (usize, usize), weight: Var<'t>, bias: Var<'t>) -> Var<'t> {
        self.tracer.apply(ConvPatch { patch: [patch.0, patch.1] }, &[self, weight, bias])
    }
    /// The same convolution on fields `[channels * nx][ny]`, wrapped or with repeated ends beyond them.
    pub fn conv_field(self, nx: usize, weight: Var<'t>, bias: Var<'t>, periodic: bool) -> Var<'t> {
        self.tracer.apply(ConvField { nx, periodic }, &[self, weight, bias])
    }
    /// `tanh` of every column divided by its Euclidean norm plus one.
    pub fn softnorm_tanh(self) -> Var<'t> {
        self.unary(SoftNormTanh)
    }

    /// The field carried for one step by a flow, `displacement` (`[2 rows][cols]`: along the rows, then along
    /// the columns) in cells, each component at most 1; traced back, bilinear, the source clamped to the
    /// grid.
    pub fn advect(self, displacement: Var<'t>) -> Var<'t> {
        let [rho, displacement] = [self, displacement]
            .map(|value| value.broadcast(Shape::per_sample(value.shape.rows, value.shape.cols)));
        self.tracer.apply(Advect, &[rho, displacement])
    }
    /// What agents at positions `self` (`[1][agents]`) see of fields `[n][1]`: `width` lattice points of
    /// each, stacked.
    pub fn windows(self, fields: &[Var<'t>], lattice: Lattice) -> Var<'t> {
        let mut inputs = vec![self];
        inputs.extend_from_slice(fields);
        self.tracer.apply(Window { lattice }, &inputs)
    }
    /// What agents at positions `self` (`[2][agents]`: x, y) see of fields `[channels * nx][ny]`: squares of
    /// `patch²` points of each, `[patch² * channels][agents]` with rows in the order (x, y, channel).
    pub fn patches(self, fields: Var<'t>, lattice: PatchLattice) -> Var<'t> {
        self.tracer.apply(Patches { lattice }, &[self, fields])
    }
    /// A dense layer on what agents at positions `self` (`[2][agents]`) see of feature maps
    /// `[channels * nx][ny]`: `[outputs][agents]`. The weight is `[p * p * channels][outputs]` with rows in
    /// (x, y, channel) order. No gradient flows to the positions.
    pub fn patch_dense(self, features: Var<'t>, weight: Var<'t>, lattice: PatchLattice) -> Var<'t> {
        self.tracer.apply(PatchDense { lattice }, &[self, features, weight])
    }
    /// Sum of the squares of everything agents at positions `self` see of feature maps: `[1][agents]`. No
    /// gradient flows to the positions.
    pub fn patch_squares(self, features: Var<'t>, lattice: PatchLattice) -> Var<'t> {
        self.tracer.apply(PatchSquares { lattice }, &[self, features])
    }
    /// Gaussian bumps around positions `self` (`[1][agents]`), sampled on a grid: `[points][agents]`.
    pub fn gaussian(self, bump: Bump) -> Var<'t> {
        self.unary(Gaussian { bump })
    }
    /// The same bumps times `weights` (`[1][agents]`), added up: `[points][1]`.
    pub fn gaussian_sum(self, weights: Var<'t>, bump: Bump) -> Var<'t> {
        self.tracer.apply(GaussianSum { bump }, &[self, weights])
    }
    /// `sum over columns of self * weights`, weights `[1][cols]`: `[rows][1]`.
    pub fn contract(self, weights: Var<'t>) -> Var<'t> {
        self.tracer.apply(Contract, &[self, weights])
    }
    /// `sum over columns k of self[i][k] * other[j][k]`: `[rows of self][rows of other]`.
    pub fn outer(self, other: Var<'t>) -> Var<'t> {
        self.tracer.apply(Outer, &[self, other])
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $kind:expr, |$x:ident, $c:ident| $right:expr, $left:expr) => {
        impl<'t> $trait<Var<'t>> for Var<'t> {
            type Output = Var<'t>;
            fn $method(self, other: Var<'t>) -> Var<'t> {
                self.binary(other, $kind)
            }
        }
        impl<'t> $trait<f64> for Var<'t> {
            type Output = Var<'t>;
            fn $method(self, $c: f64) -> Var<'t> {
                let $x = self;
                $right
            }
        }
        impl<'t> $trait<Var<'t>> for f64 {
            type Output = Var<'t>;
            fn $method(self, $x: Var<'t>) -> Var<'t> {
                let $c = self;
                $left
            }
        }
    };
}
operator!(Add, add, Binary::Add, |x, c| x.affine(1.0, c), x.affine(1.0, c));
operator!(Sub, sub, Binary::Sub, |x, c| x.affine(1.0, -c), x.affine(-1.0, c));
operator!(Mul, mul, Binary::Mul, |x, c| x.affine(c, 0.0), x.affine(c, 0.0));
operator!(Div, div, Binary::Div, |x, c| x.affine(1.0 / c, 0.0), x.recip().affine(c, 0.0));

impl<'t> Neg for Var<'t> {
    type Output = Var<'t>;
    fn neg(self) -> Var<'t> {
        self.affine(-1.0, 0.0)
    }
}
