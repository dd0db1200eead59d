//! Writing a step down once, as a list of primitives on symbolic values.
//!
//! A [`Tracer`] hands out [`Var`]s. Arithmetic on them does not compute anything: it appends primitives to the trace.
//! Shapes are fixed and checked here, so that replaying needs no checks.
//!
//! # Shapes
//! A value is a matrix of `rows x cols` *per sample*. Rows are what a kernel works along (grid points, features), columns
//! are items treated alike (the agents). In memory a value is `[rows][cols][samples]`: everything to the right of
//! the rows is a run of independent lanes, which is what SIMD wants. *Shared* values (parameters, tables) have no sample
//! axis: `[rows][cols]`.
//!
//! # What can change when
//! | made by | differs between samples | changes during a rollout |
//! |---|---|---|
//! | [`Tracer::constant`] | no | no |
//! | [`Tracer::param`] | no | no |
//! | [`Tracer::fixed`] | yes | no |
//! | [`Tracer::sequence`] | yes | yes, given for every step |
//! | [`Tracer::state`] | yes | yes, carried from step to step |
//!
//! Whatever depends on the first three rows only is computed once per rollout, without anybody asking for it.

use crate::primitive::*;
use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Range, Sub};
use std::sync::Arc;

/// Extent of a value per sample, and whether all samples share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// What kernels work along: grid points or features.
    pub rows: usize,
    /// Items treated alike: agents.
    pub cols: usize,
    /// One value for all samples.
    pub shared: bool,
}

impl Shape {
    /// A value of its own in every sample.
    pub fn per_sample(rows: usize, cols: usize) -> Shape {
        Shape { rows, cols, shared: false }
    }
    /// One value for all samples.
    pub fn shared(rows: usize, cols: usize) -> Shape {
        Shape { rows, cols, shared: true }
    }
    /// Numbers per sample.
    pub fn size(self) -> usize {
        self.rows * self.cols
    }
    /// Contiguous numbers behind one row, for a chunk of `samples`.
    pub fn lanes(self, samples: usize) -> usize {
        if self.shared { self.cols } else { self.cols * samples }
    }
    /// Numbers in memory, for a chunk of `samples`.
    pub fn len(self, samples: usize) -> usize {
        self.rows * self.lanes(samples)
    }
}

/// Where a value comes from.
pub(crate) enum Source {
    Constant(Vec<f64>),
    Param,
    Fixed,
    Sequence,
    State,
    Primitive {
        primitive: Arc<dyn Primitive>,
        /// Values it reads; the shapes are those at this use (a value may be reshaped).
        inputs: Vec<(usize, Shape)>,
    },
}

pub(crate) struct Node {
    pub source: Source,
    pub shape: Shape,
}

/// A named input of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Its name in files and messages.
    pub name: String,
    /// Its extent.
    pub shape: Shape,
}

/// A finished trace: what one step computes.
pub struct Trace {
    pub(crate) nodes: Vec<Node>,
    /// Parameters, in the order of the flat parameter vector.
    pub params: Vec<Input>,
    /// Inputs that stay as they are during a rollout.
    pub fixed: Vec<Input>,
    /// Inputs given for every step.
    pub sequences: Vec<Input>,
    /// Values carried from step to step.
    pub states: Vec<Input>,
    /// Next value of every state.
    pub(crate) next: Vec<usize>,
    /// Scalars the objective is made of.
    pub(crate) terms: Vec<(String, usize)>,
    /// Values a caller may watch at every step.
    pub(crate) records: Vec<(String, usize, Shape)>,
}

impl Trace {
    /// Numbers in the flat parameter vector.
    pub fn param_len(&self) -> usize {
        self.params.iter().map(|p| p.shape.size()).sum()
    }
    /// Names of the objective's terms.
    pub fn term_names(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().map(|(name, _)| name.as_str())
    }
    /// Names and shapes of the recorded values.
    pub fn records(&self) -> impl Iterator<Item = (&str, Shape)> {
        self.records.iter().map(|(name, _, shape)| (name.as_str(), *shape))
    }
}

#[derive(Default)]
struct Parts {
    nodes: Vec<Node>,
    params: Vec<Input>,
    fixed: Vec<Input>,
    sequences: Vec<Input>,
    states: Vec<(Input, usize, Option<usize>)>,
    terms: Vec<(String, usize)>,
    records: Vec<(String, usize, Shape)>,
    /// Primitives that may come again.
    shared: Vec<Arc<dyn Primitive>>,
}

/// Records primitives in the order they are written.
#[derive(Default)]
pub struct Tracer {
    parts: RefCell<Parts>,
}

/// A symbolic value; copies are free.
#[derive(Clone, Copy)]
pub struct Var<'t> {
    tracer: &'t Tracer,
    id: usize,
    shape: Shape,
}

impl Tracer {
    /// An empty trace.
    pub fn new() -> Tracer {
        Tracer::default()
    }

    fn push(&self, source: Source, shape: Shape) -> Var<'_> {
        assert!(shape.size() > 0, "a traced value must not be empty, got {shape:?}");
        let mut parts = self.parts.borrow_mut();
        parts.nodes.push(Node { source, shape });
        Var { tracer: self, id: parts.nodes.len() - 1, shape }
    }

    fn input(
        &self,
        name: &str,
        shape: Shape,
        source: Source,
        list: fn(&mut Parts) -> &mut Vec<Input>,
    ) -> Var<'_> {
        list(&mut self.parts.borrow_mut()).push(Input { name: name.into(), shape });
        self.push(source, shape)
    }

    /// A trained matrix `[rows][cols]`, shared by all samples.
    pub fn param(&self, name: &str, rows: usize, cols: usize) -> Var<'_> {
        self.input(name, Shape::shared(rows, cols), Source::Param, |p| &mut p.params)
    }

    /// An input that stays as it is during a rollout.
    pub fn fixed(&self, name: &str, rows: usize, cols: usize) -> Var<'_> {
        self.input(name, Shape::per_sample(rows, cols), Source::Fixed, |p| &mut p.fixed)
    }

    /// An input given for every step.
    pub fn sequence(&self, name: &str, rows: usize, cols: usize) -> Var<'_> {
        self.input(name, Shape::per_sample(rows, cols), Source::Sequence, |p| &mut p.sequences)
    }

    /// A value carried from step to step; say how it goes on with [`Tracer::advance`].
    pub fn state(&self, name: &str, rows: usize, cols: usize) -> Var<'_> {
        let shape = Shape::per_sample(rows, cols);
        let var = self.push(Source::State, shape);
        self.parts.borrow_mut().states.push((Input { name: name.into(), shape }, var.id, None));
        var
    }

    /// A table, shared by all samples.
    pub fn constant(&self, rows: usize, cols: usize, data: Vec<f64>) -> Var<'_> {
        assert_eq!(data.len(), rows * cols, "a constant's data must fill its shape");
        self.push(Source::Constant(data), Shape::shared(rows, cols))
    }

    /// Declares the value of `state` after this step.
    pub fn advance(&self, state: Var<'_>, next: Var<'_>) {
        let mut parts = self.parts.borrow_mut();
        assert_eq!(state.shape, next.shape, "a state keeps its shape");
        let entry = parts.states.iter_mut().find(|s| s.1 == state.id).expect("advance takes a state");
        assert!(entry.2.replace(next.id).is_none(), "state {} advanced twice", entry.0.name);
    }

    /// Declares a scalar as a term of the objective.
    pub fn term(&self, name: &str, value: Var<'_>) {
        assert_eq!(value.shape, Shape::per_sample(1, 1), "a term is one number per sample");
        self.parts.borrow_mut().terms.push((name.into(), value.id));
    }

    /// Declares a value a caller may watch at every step.
    pub fn record(&self, name: &str, value: Var<'_>) {
        assert!(!value.shape.shared, "only values that differ between samples are recorded");
        self.parts.borrow_mut().records.push((name.into(), value.id, value.shape));
    }

    /// Closes the trace. Every state must have been advanced.
    pub fn finish(self) -> Trace {
        let parts = self.parts.into_inner();
        let next = parts
            .states
            .iter()
            .map(|(input, _, next)| next.unwrap_or_else(|| panic!("state {} was never advanced", input.name)))
            .collect();
        Trace {
            nodes: parts.nodes,
            params: parts.params,
            fixed: parts.fixed,
            sequences: parts.sequences,
            states: parts.states.into_iter().map(|(input, ..)| input).collect(),
            next,
            terms: parts.terms,
            records: parts.records,
        }
    }

    fn apply<'t>(&'t self, primitive: impl Primitive + 'static, inputs: &[Var<'t>]) -> Var<'t> {
        // a reverse rule writes each input's adjoint once: a value used twice by one primitive goes in as a copy
        let mut inputs = inputs.to_vec();
        for i in 1..inputs.len() {
            if inputs[..i].iter().any(|v| v.id == inputs[i].id) {
                inputs[i] = inputs[i].affine(1.0, 0.0);
            }
        }
        let shapes: Vec<Shape> = inputs.iter().map(|v| v.shape).collect();
        let shape = primitive.output(&shapes);
        let inputs = inputs.iter().map(|v| (v.id, v.shape)).collect();
        self.push(Source::Primitive { primitive: self.once(primitive), inputs }, shape)
    }

    /// The primitive, or the same one from before.
    fn once(&self, primitive: impl Primitive + 'static) -> Arc<dyn Primitive> {
        let shared = &mut self.parts.borrow_mut().shared;
        if let Some(before) = shared.iter().find(|before| primitive.same(before.as_ref())) {
            return before.clone();
        }
        let primitive: Arc<dyn Primitive> = Arc::new(primitive);
        if primitive.same(primitive.as_ref()) {
            shared.push(primitive.clone());
        }
        primitive
    }
}

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
    /// Coefficients of the real Fourier series along the rows: `2 (n/2 + 1)` rows, real and imaginary parts in turn.
    pub fn rfft(self) -> Var<'t> {
        self.unary(Fourier::forward(self.shape.rows))
    }
    /// The real field of `n` points whose [`Var::rfft`] this is.
    pub fn irfft(self, n: usize) -> Var<'t> {
        self.unary(Fourier::inverse(n))
    }
    /// Fourier coefficients times a constant complex symbol, given as `[re, im]` per mode.
    pub fn symbol(self, symbol: &[[f64; 2]]) -> Var<'t> {
        self.unary(Symbol { values: symbol.to_vec() })
    }

    /// A constant matrix along each axis of a field: `[x.inputs * y.inputs][cols]` to `[x.outputs * y.outputs][cols]`, the second
    /// axis running fastest.
    pub fn separable(self, x: &Axis, y: &Axis) -> Var<'t> {
        self.unary(Separable { axes: [x.clone(), y.clone()], transposed: false })
    }
    /// The transpose of [`Var::separable`].
    pub fn separable_transposed(self, x: &Axis, y: &Axis) -> Var<'t> {
        self.unary(Separable { axes: [x.clone(), y.clone()], transposed: true })
    }
    /// `a self² + b self other + c other²`, element by element.
    pub fn quadratic(self, other: Var<'t>, [a, b, c]: [f64; 3]) -> Var<'t> {
        self.tracer.apply(Quadratic { a, b, c }, &[self, other])
    }
    /// `sum of table * value` over up to six values of one shape; a table is a number per row, or one for all rows.
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
    /// Every column divided by its largest value; the maximum is differentiated, at the first row that attains it.
    pub fn peak_one(self) -> Var<'t> {
        self.unary(PeakOne)
    }

    /// `weightᵀ self (+ bias)`: a dense layer along the rows. The weight is `[inputs][outputs]`.
    pub fn dense(self, weight: Var<'t>, bias: Option<Var<'t>>) -> Var<'t> {
        match bias {
            Some(bias) => self.tracer.apply(Dense, &[self, weight, bias]),
            None => self.tracer.apply(Dense, &[self, weight]),
        }
    }
    /// A 3 x 3 convolution with a rectifier on patches of `patch` points, `[px * py * channels][agents]` with rows in (x, y, channel) order,
    /// zero outside them. The weight is `[9 * channels][outputs]` with rows in (x offset, y offset, channel) order.
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

    /// The field carried for one step by a flow, `displacement` (`[2 rows][cols]`: along the rows, then along the columns) in
    /// cells, each component at most 1; traced back, bilinear, the source clamped to the grid.
    pub fn advect(self, displacement: Var<'t>) -> Var<'t> {
        let [rho, displacement] = [self, displacement]
            .map(|value| value.broadcast(Shape::per_sample(value.shape.rows, value.shape.cols)));
        self.tracer.apply(Advect, &[rho, displacement])
    }
    /// What agents at positions `self` (`[1][agents]`) see of fields `[n][1]`: `width` lattice points of each, stacked.
    pub fn windows(self, fields: &[Var<'t>], lattice: Lattice) -> Var<'t> {
        let mut inputs = vec![self];
        inputs.extend_from_slice(fields);
        self.tracer.apply(Window { lattice }, &inputs)
    }
    /// What agents at positions `self` (`[2][agents]`: x, y) see of fields `[channels * nx][ny]`: squares of `patch²` points of each,
    /// `[patch² * channels][agents]` with rows in the order (x, y, channel).
    pub fn patches(self, fields: Var<'t>, lattice: PatchLattice) -> Var<'t> {
        self.tracer.apply(Patches { lattice }, &[self, fields])
    }
    /// A dense layer on what agents at positions `self` (`[2][agents]`) see of feature maps `[channels * nx][ny]`: `[outputs][agents]`. The weight is `[p * p * channels][outputs]`
    /// with rows in (x, y, channel) order. No gradient flows to the positions.
    pub fn patch_dense(self, features: Var<'t>, weight: Var<'t>, lattice: PatchLattice) -> Var<'t> {
        self.tracer.apply(PatchDense { lattice }, &[self, features, weight])
    }
    /// Sum of the squares of everything agents at positions `self` see of feature maps: `[1][agents]`. No gradient flows to the positions.
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
