//! Writing a step down once, as a list of primitives on symbolic values.
//!
//! A [`Tracer`] hands out [`Var`]s. Arithmetic on them does not compute anything: it appends primitives to
//! the trace. Shapes are fixed and checked here, so that replaying needs no checks.
//!
//! # Shapes
//! A value is a matrix of `rows x cols` *per sample*. Rows are what a kernel works along (grid points,
//! features), columns are items treated alike (the agents). In memory a value is `[rows][cols][samples]`:
//! everything to the right of the rows is a run of independent lanes, which is what SIMD wants. *Shared*
//! values (parameters, tables) have no sample axis: `[rows][cols]`.
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

mod handle;
mod split;
mod var;

pub(crate) use handle::InputKind;
pub use handle::{Input, Record, Term};
pub use split::Split;

use crate::primitive::*;
use std::cell::{Cell, RefCell};
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
#[derive(Clone)]
pub(crate) enum Source {
    Constant(Arc<[f64]>),
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

#[derive(Clone)]
pub(crate) struct Node {
    pub source: Source,
    pub shape: Shape,
    /// An input that no derivatives are asked of.
    pub given: bool,
}

impl Node {
    /// What it is computed from.
    pub fn inputs(&self) -> &[(usize, Shape)] {
        match &self.source {
            Source::Primitive { inputs, .. } => inputs,
            _ => &[],
        }
    }
}

/// An input as it was declared.
#[derive(Clone)]
pub(crate) struct Declared {
    /// Its name in listings and messages.
    pub name: String,
    pub shape: Shape,
}

/// A finished trace: what one step computes. It prints as a listing, one line per value.
#[derive(Clone)]
pub struct Trace {
    pub(crate) nodes: Vec<Node>,
    /// Parameters, in the order of the flat parameter vector.
    pub(crate) params: Vec<Declared>,
    /// Inputs that stay as they are during a rollout.
    pub(crate) fixed: Vec<Declared>,
    /// Inputs given for every step.
    pub(crate) sequences: Vec<Declared>,
    /// Values carried from step to step.
    pub(crate) states: Vec<Declared>,
    /// Next value of every state.
    pub(crate) next: Vec<usize>,
    /// Scalars the objective is made of.
    pub(crate) terms: Vec<(String, usize)>,
    /// Values a caller may watch at every step.
    pub(crate) records: Vec<(String, usize, Shape)>,
}

impl Trace {
    /// The same step with derivatives of parameters and states only: all fixed inputs and sequences are
    /// [`Tracer::given`].
    pub fn inputs_given(mut self) -> Trace {
        let inputs = |node: &&mut Node| matches!(node.source, Source::Fixed | Source::Sequence);
        self.nodes.iter_mut().filter(inputs).for_each(|node| node.given = true);
        self
    }
    /// Numbers in the flat parameter vector.
    pub fn param_len(&self) -> usize {
        self.params.iter().map(|p| p.shape.size()).sum()
    }
    /// What was declared as the inputs of a kind.
    pub(crate) fn declared(&self, kind: InputKind) -> &[Declared] {
        match kind {
            InputKind::Fixed => &self.fixed,
            InputKind::Sequence => &self.sequences,
            InputKind::State => &self.states,
        }
    }
}

#[derive(Default)]
struct Parts {
    nodes: Vec<Node>,
    params: Vec<Declared>,
    fixed: Vec<Declared>,
    sequences: Vec<Declared>,
    states: Vec<(Declared, usize, Option<usize>)>,
    terms: Vec<(String, usize)>,
    records: Vec<(String, usize, Shape)>,
    /// Primitives that may come again.
    shared: Vec<Arc<dyn Primitive>>,
}

/// Records primitives in the order they are written.
#[derive(Default)]
pub struct Tracer {
    parts: RefCell<Parts>,
    /// Whether inputs declared now are [`Tracer::given`].
    giving: Cell<bool>,
}

/// A symbolic value; copies are free.
///
/// ```
/// use cinoc_adjoint::Tracer;
///
/// // arithmetic on values computes nothing; it writes the step down
/// let tracer = Tracer::new();
/// let z = tracer.state("z", 100, 1);
/// let next = z + 0.1 * z * (1.0 - z);
/// tracer.advance(z, next);
/// assert_eq!((next.rows(), next.cols()), (100, 1));
/// ```
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
        parts.nodes.push(Node { source, shape, given: self.giving.get() });
        Var { tracer: self, id: parts.nodes.len() - 1, shape }
    }

    fn input(
        &self,
        name: &str,
        shape: Shape,
        source: Source,
        list: fn(&mut Parts) -> &mut Vec<Declared>,
    ) -> Var<'_> {
        list(&mut self.parts.borrow_mut()).push(Declared { name: name.into(), shape });
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

    /// Parameters, fixed inputs and sequences declared in here have no derivatives: a gradient says 0, and
    /// the reverse sweep leaves out what would only lead to them. Examples are the states of a minibatch, and
    /// a critic that judges an actor.
    pub fn given<'t, R>(&'t self, declare: impl FnOnce(&'t Tracer) -> R) -> R {
        let before = self.giving.replace(true);
        let declared = declare(self);
        self.giving.set(before);
        declared
    }

    /// A value carried from step to step; say how it goes on with [`Tracer::advance`].
    pub fn state(&self, name: &str, rows: usize, cols: usize) -> Var<'_> {
        let shape = Shape::per_sample(rows, cols);
        let var = self.push(Source::State, shape);
        self.parts.borrow_mut().states.push((Declared { name: name.into(), shape }, var.id, None));
        var
    }

    /// A table, shared by all samples.
    pub fn constant(&self, rows: usize, cols: usize, data: Vec<f64>) -> Var<'_> {
        assert_eq!(data.len(), rows * cols, "a constant's data must fill its shape");
        self.push(Source::Constant(data.into()), Shape::shared(rows, cols))
    }

    /// Declares the value of `state` after this step.
    pub fn advance(&self, state: Var<'_>, next: Var<'_>) {
        let mut parts = self.parts.borrow_mut();
        assert_eq!(state.shape, next.shape, "a state keeps its shape");
        let entry = parts.states.iter_mut().find(|s| s.1 == state.id).expect("advance takes a state");
        assert!(entry.2.replace(next.id).is_none(), "state {} advanced twice", entry.0.name);
    }

    /// Declares a scalar as a term of the objective.
    pub fn term(&self, name: &str, value: Var<'_>) -> Term {
        assert_eq!(value.shape, Shape::per_sample(1, 1), "a term is one number per sample");
        let terms = &mut self.parts.borrow_mut().terms;
        terms.push((name.into(), value.id));
        Term(terms.len() - 1)
    }

    /// Declares a value a caller may watch at every step.
    pub fn record(&self, name: &str, value: Var<'_>) -> Record {
        assert!(!value.shape.shared, "only values that differ between samples are recorded");
        let records = &mut self.parts.borrow_mut().records;
        records.push((name.into(), value.id, value.shape));
        Record { index: records.len() - 1, shape: value.shape }
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

    /// The handle of the input `id`.
    fn handle(&self, id: usize) -> Input {
        let nodes = &self.parts.borrow().nodes;
        let kind = |node: &Node| match node.source {
            Source::Fixed => Some(InputKind::Fixed),
            Source::Sequence => Some(InputKind::Sequence),
            Source::State => Some(InputKind::State),
            _ => None,
        };
        let Some(mine) = kind(&nodes[id]) else { panic!("value {id} of the trace is no input of a run") };
        let index = nodes[..id].iter().filter(|node| kind(node) == Some(mine)).count();
        Input { kind: mine, index, shape: nodes[id].shape }
    }

    fn apply<'t>(&'t self, primitive: impl Primitive + 'static, inputs: &[Var<'t>]) -> Var<'t> {
        // a reverse rule writes each input's adjoint once: a value used twice by one primitive goes in as a
        // copy
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
