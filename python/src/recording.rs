//! A step that was written down in Python, ready to be traced by the engine as often as it likes: no Python
//! is needed for that.

use std::sync::Arc;

use cinoc::adjoint::{Shape, Sparse, Threads, Tridiagonal, Var};
use cinoc::pde::{Axis, Boundary, Dynamics, Grid, evolve};
use numpy::{PyArray1, PyReadonlyArray1, ToPyArray};
use pyo3::prelude::*;

use crate::errors::{guarded, wrong};

/// One operation; its inputs are the numbers of values.
enum Operation {
    Constant { rows: usize, cols: usize, data: Vec<f64> },
    Affine { a: f64, b: f64 },
    Clamp { low: f64, high: f64 },
    Map(for<'t> fn(Var<'t>) -> Var<'t>),
    Binary(for<'t> fn(Var<'t>, Var<'t>) -> Var<'t>),
    Slice { start: usize, end: usize },
    Stack,
    Reshape { rows: usize, cols: usize },
    Transpose,
    Linear(Sparse),
    Solve(Tridiagonal),
    Rfft,
    Irfft(usize),
    Symbol(Vec<[f64; 2]>),
}

/// An operation where it stands.
struct Node {
    operation: Operation,
    inputs: Vec<usize>,
    /// Whether the result depends on it.
    needed: bool,
    /// Whether it depends on the state, and so differs in every time step of a control interval.
    of_state: bool,
}

/// Values 0 and 1 are the state and the forcing; operation `i` makes value `i + 2`.
const GIVEN: usize = 2;

/// A PDE that was written in Python.
pub struct Recorded {
    grid: Grid,
    dt: f64,
    fields: usize,
    nodes: Vec<Node>,
    result: usize,
}

impl Recorded {
    /// Traces what is not yet there and what `wanted` chooses.
    fn replay<'t>(&self, values: &mut [Option<Var<'t>>], wanted: impl Fn(&Node) -> bool) {
        let tracer = values[0].expect("the state").tracer();
        for (i, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.needed && wanted(node)) {
            let input = |k: usize| values[node.inputs[k]].expect("operations stand in their order");
            let value = match &node.operation {
                Operation::Constant { rows, cols, data } => tracer.constant(*rows, *cols, data.clone()),
                Operation::Affine { a, b } => input(0).affine(*a, *b),
                Operation::Clamp { low, high } => input(0).clamp(*low, *high),
                Operation::Map(function) => function(input(0)),
                Operation::Binary(function) => function(input(0), input(1)),
                Operation::Slice { start, end } => input(0).slice(*start..*end),
                Operation::Stack => stacked(input(0), input(1)),
                Operation::Reshape { rows, cols } => input(0).reshape(*rows, *cols),
                Operation::Transpose => input(0).transpose(),
                Operation::Linear(matrix) => input(0).linear(matrix),
                Operation::Solve(system) => input(0).solve(system),
                Operation::Rfft => input(0).rfft(),
                Operation::Irfft(n) => input(0).irfft(*n),
                Operation::Symbol(symbol) => input(0).symbol(symbol),
            };
            values[i + GIVEN] = Some(value);
        }
    }
}

/// One value above the other; a table among values of samples is repeated.
fn stacked<'t>(above: Var<'t>, below: Var<'t>) -> Var<'t> {
    let shared = above.shape().shared && below.shape().shared;
    let alike = |value: Var<'t>| value.broadcast(Shape { shared, ..value.shape() });
    alike(above).stack(alike(below))
}

impl Dynamics for Recorded {
    fn grid(&self) -> Grid {
        self.grid
    }
    fn dt(&self) -> f64 {
        self.dt
    }
    fn order(&self) -> u32 {
        1
    }
    fn fields(&self) -> usize {
        self.fields
    }
    /// The step itself says what it does with the forcing.
    fn response<'t>(&self, f: Var<'t>) -> Var<'t> {
        f
    }
    fn step<'t>(&self, z: Var<'t>, f: Var<'t>) -> Var<'t> {
        self.interval(z, f, 1)
    }
    /// What does not depend on the state is the same in all time steps, and traced once.
    fn interval<'t>(&self, z: Var<'t>, f: Var<'t>, substeps: usize) -> Var<'t> {
        let mut values = vec![None; self.nodes.len() + GIVEN];
        (values[0], values[1]) = (Some(z), Some(f));
        self.replay(&mut values, |node| !node.of_state);
        (0..substeps).fold(z, |z, _| {
            values[0] = Some(z);
            self.replay(&mut values, |node| node.of_state);
            values[self.result].expect("the result").broadcast(z.shape())
        })
    }
}

/// The same PDE wherever it is needed.
pub struct Shared(pub Arc<Recorded>);

impl Dynamics for Shared {
    fn grid(&self) -> Grid {
        self.0.grid()
    }
    fn dt(&self) -> f64 {
        self.0.dt()
    }
    fn order(&self) -> u32 {
        self.0.order()
    }
    fn fields(&self) -> usize {
        self.0.fields()
    }
    fn response<'t>(&self, f: Var<'t>) -> Var<'t> {
        self.0.response(f)
    }
    fn step<'t>(&self, z: Var<'t>, f: Var<'t>) -> Var<'t> {
        self.0.step(z, f)
    }
    fn interval<'t>(&self, z: Var<'t>, f: Var<'t>, substeps: usize) -> Var<'t> {
        self.0.interval(z, f, substeps)
    }
}

/// A traced step, as Python holds it.
#[pyclass(frozen, module = "cinoc")]
pub struct Recording(pub Arc<Recorded>);

#[pymethods]
impl Recording {
    #[new]
    fn new(
        axes: Vec<(usize, f64)>,
        boundary: &str,
        dt: f64,
        fields: usize,
        operations: Vec<(String, Vec<usize>, Bound<'_, PyAny>)>,
        result: usize,
    ) -> PyResult<Recording> {
        let boundary = boundary_of(boundary)?;
        let axis = |&(n, length): &(usize, f64)| Axis { n, length, boundary };
        let grid = match &axes[..] {
            [x, y] => Grid::rectangle(axis(x), axis(y)),
            [x] => Grid::line(axis(x)),
            _ => return Err(wrong("a domain has one axis or two")),
        };
        let mut nodes: Vec<Node> = Vec::with_capacity(operations.len());
        for (i, (name, inputs, data)) in operations.into_iter().enumerate() {
            let of_state = |&input: &usize| input == 0 || input >= GIVEN && nodes[input - GIVEN].of_state;
            if inputs.iter().any(|&input| input >= i + GIVEN) {
                return Err(wrong("an operation reads a value that comes later"));
            }
            let of_state = inputs.iter().any(of_state);
            let operation = guarded(|| operation(&name, &data))??;
            nodes.push(Node { operation, inputs, needed: false, of_state });
        }
        let mut open = vec![result];
        while let Some(value) = open.pop() {
            if let Some(node) = value.checked_sub(GIVEN).map(|i| &mut nodes[i]).filter(|node| !node.needed) {
                node.needed = true;
                open.extend(&node.inputs);
            }
        }
        let recorded = Arc::new(Recorded { grid, dt, fields, nodes, result });
        // shapes were checked in Python; should something have been missed, it is found here and not in a run
        guarded(|| evolve(recorded.as_ref(), &vec![0.0; fields * grid.size()], None, 1, &Threads::one()))?;
        Ok(Recording(recorded))
    }

    /// States after some time steps without agents.
    fn evolve<'py>(
        &self,
        py: Python<'py>,
        state: PyReadonlyArray1<'py, f64>,
        forcing: Option<PyReadonlyArray1<'py, f64>>,
        steps: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let forcing = forcing.as_ref().map(PyReadonlyArray1::as_slice).transpose()?;
        let (state, points) = (state.as_slice()?, self.0.grid.size());
        let size = self.0.fields * points;
        if state.is_empty() || !state.len().is_multiple_of(size) {
            return Err(wrong(format!("the state has {} numbers, must have {size}", state.len())));
        }
        let forced = state.len() / self.0.fields;
        if let Some(given) = forcing.filter(|forcing| forcing.len() != forced) {
            return Err(wrong(format!("the forcing has {} numbers, must have {forced}", given.len())));
        }
        let run = || evolve(self.0.as_ref(), state, forcing, steps, &Threads::one());
        Ok(guarded(|| py.detach(run))?.to_pyarray(py))
    }
}

/// The boundary of a name.
pub fn boundary_of(name: &str) -> PyResult<Boundary> {
    match name {
        "dirichlet" => Ok(Boundary::Dirichlet),
        "periodic" => Ok(Boundary::Periodic),
        "zero-flux" => Ok(Boundary::ZeroFlux),
        other => {
            let known = "\"dirichlet\", \"periodic\" or \"zero-flux\"";
            Err(wrong(format!("boundary {other:?} is not known; use {known}")))
        }
    }
}

fn operation(name: &str, data: &Bound<'_, PyAny>) -> PyResult<Operation> {
    let numbers = |array: PyReadonlyArray1<'_, f64>| Ok::<_, PyErr>(array.as_slice()?.to_vec());
    Ok(match name {
        "constant" => {
            let (rows, cols, values) = data.extract()?;
            Operation::Constant { rows, cols, data: numbers(values)? }
        }
        "affine" => {
            let (a, b) = data.extract()?;
            Operation::Affine { a, b }
        }
        "clamp" => {
            let (low, high) = data.extract()?;
            Operation::Clamp { low, high }
        }
        "slice" => {
            let (start, end) = data.extract()?;
            Operation::Slice { start, end }
        }
        "reshape" => {
            let (rows, cols) = data.extract()?;
            Operation::Reshape { rows, cols }
        }
        "linear" => Operation::Linear(sparse(data)?),
        "solve" => {
            let (lower, diagonal, upper) = data.extract()?;
            Operation::Solve(Tridiagonal::new(numbers(lower)?, numbers(diagonal)?, numbers(upper)?))
        }
        "symbol" => {
            let values = numbers(data.extract()?)?;
            Operation::Symbol(values.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect())
        }
        "irfft" => Operation::Irfft(data.extract()?),
        "rfft" => Operation::Rfft,
        "stack" => Operation::Stack,
        "transpose" => Operation::Transpose,
        "add" => Operation::Binary(|a, b| a + b),
        "subtract" => Operation::Binary(|a, b| a - b),
        "multiply" => Operation::Binary(|a, b| a * b),
        "divide" => Operation::Binary(|a, b| a / b),
        "sum" => Operation::Map(|a| a.broadcast(Shape { shared: false, ..a.shape() }).sum()),
        "sin" => Operation::Map(|a| a.sin()),
        "cos" => Operation::Map(|a| a.cos()),
        "tanh" => Operation::Map(|a| a.tanh()),
        "exp" => Operation::Map(|a| a.exp()),
        "sqrt" => Operation::Map(|a| a.sqrt()),
        "square" => Operation::Map(|a| a.square()),
        "reciprocal" => Operation::Map(|a| a.recip()),
        "abs" => Operation::Map(|a| a.abs()),
        "relu" => Operation::Map(|a| a.relu()),
        other => return Err(wrong(format!("there is no operation {other:?}"))),
    })
}

/// A matrix from the arrays of its rows.
fn sparse(data: &Bound<'_, PyAny>) -> PyResult<Sparse> {
    type Rows<'py> =
        (usize, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, f64>);
    let (columns, starts, indices, values): Rows<'_> = data.extract()?;
    let (indices, values) = (indices.as_slice()?, values.as_slice()?);
    let row = |ends: &[i64]| {
        let part = ends[0] as usize..ends[1] as usize;
        indices[part.clone()]
            .iter()
            .map(|&column| column as usize)
            .zip(values[part].iter().copied())
            .collect()
    };
    Ok(Sparse::from_rows(columns, starts.as_slice()?.windows(2).map(row).collect()))
}
