//! From operations of a plan to calls of device functions, in files named after those of the primitives.

mod conv;
mod elementwise;
mod gather;
mod gaussian;
mod layout;
mod matrix;
mod product;
mod reduce;

use crate::calls::{Call, LANES, Part, Slot};
use crate::tables::Tables;
use cinoc_adjoint::Shape;
use cinoc_adjoint::backend::{Op, Parameters, ReverseOp, Target, Value};
use std::collections::HashMap;

/// What code is written for.
pub struct Lower<'a> {
    /// Constants found so far.
    pub tables: &'a mut Tables,
    /// Threads of a block.
    pub threads: usize,
    /// Blocks of a cluster.
    pub cluster: usize,
    /// Whether products of many terms are left to the matrix units.
    pub units: bool,
    /// Whether all numbers lie in global memory.
    pub far: bool,
    /// Share of the largest entry of a matrix below which others do not count.
    pub negligible: f64,
    /// Numbers of shared memory that products along both axes may use in a block.
    pub near: usize,
    /// The part that each block has of fields of so many numbers.
    pub parts: HashMap<usize, Part>,
    /// Numbers of the largest value of the operation that is being lowered.
    pub numbers: usize,
    /// Weights whose rows are apart, by their slots.
    pub spaced: HashMap<usize, usize>,
}

/// An operation with what its code needs to know.
struct Node<'a> {
    op: &'a Op,
    parameters: Parameters,
}

impl Node<'_> {
    fn input(&self, i: usize) -> Shape {
        self.op.io.inputs[i]
    }
    fn output(&self) -> Shape {
        self.op.io.output
    }
    fn x(&self, i: usize) -> Slot {
        Slot::Value(self.op.inputs[i])
    }
    fn y(&self) -> Slot {
        Slot::Value(self.op.output)
    }
    fn find(&self, name: &str) -> Option<&Value> {
        self.parameters.iter().find(|(other, _)| *other == name).map(|(_, value)| value)
    }
    fn number(&self, name: &str) -> f64 {
        match self.find(name) {
            Some(Value::Number(number)) => *number,
            other => unreachable!("{} has no number {name}: {other:?}", self.op.name()),
        }
    }
    fn count(&self, name: &str) -> usize {
        match self.find(name) {
            Some(Value::Count(count)) => *count,
            other => unreachable!("{} has no count {name}: {other:?}", self.op.name()),
        }
    }
    fn flag(&self, name: &str) -> bool {
        matches!(self.find(name), Some(Value::Flag(true)))
    }
    fn word(&self, name: &str) -> &'static str {
        match self.find(name) {
            Some(Value::Word(word)) => word,
            other => unreachable!("{} has no word {name}: {other:?}", self.op.name()),
        }
    }
    fn counts(&self, name: &str) -> &[usize] {
        match self.find(name) {
            Some(Value::Counts(counts)) => counts,
            other => unreachable!("{} has no counts {name}: {other:?}", self.op.name()),
        }
    }
    fn table(&self, name: &str) -> &[f64] {
        match self.find(name) {
            Some(Value::Table(table)) => table,
            other => unreachable!("{} has no table {name}: {other:?}", self.op.name()),
        }
    }
}

/// The reverse of an operation.
struct Reverse<'a> {
    node: Node<'a>,
    rule: &'a ReverseOp,
}

/// Where the adjoint of an input goes, and how.
struct To {
    slot: Slot,
    mode: &'static str,
}

impl To {
    fn write(slot: Slot) -> To {
        To { slot, mode: "WRITE" }
    }
}

impl Reverse<'_> {
    fn dy(&self) -> Slot {
        Slot::Adjoint(self.rule.from)
    }
    fn to(&self, i: usize) -> Option<To> {
        match self.rule.to[i] {
            Target::None => None,
            // on a device the adjoint is written next to that of the output: memory need not be handed over
            Target::Write(slot) | Target::HandOver(slot) => {
                Some(To { slot: Slot::Adjoint(slot), mode: "WRITE" })
            }
            Target::Add(slot) => Some(To { slot: Slot::Adjoint(slot), mode: "ADD" }),
        }
    }
    /// The value of input i, which the rule asked for.
    fn x(&self, i: usize) -> Slot {
        Slot::Value(self.rule.seen_inputs[i].expect("a value that the rule reads"))
    }
    fn y(&self) -> Slot {
        Slot::Value(self.rule.seen_output.expect("a value that the rule reads"))
    }
}

impl Lower<'_> {
    /// Finds out of which fields each block has a part. A product along both axes takes rows to columns and
    /// columns to rows; the larger field gets the columns.
    pub fn find_parts<'o>(&mut self, ops: impl Iterator<Item = &'o Op>) {
        for op in ops.filter(|op| op.name() == "separable" && self.cluster > 1) {
            let node = Node { op, parameters: op.parameters() };
            let found = matrix::parts(self, &node);
            self.parts.extend(found);
        }
    }

    /// Numbers from a row of weights to the next.
    fn apart(&self, weights: Slot, cols: usize) -> usize {
        let Slot::Value(slot) = weights else { return cols };
        self.spaced.get(&slot).copied().unwrap_or(cols)
    }

    /// Calls that compute an operation.
    pub fn forward(&mut self, op: &Op) -> Vec<Call> {
        self.of_size(op, |lower| lower.lower(op))
    }

    /// Calls that propagate the adjoint of its output to its inputs.
    pub fn reverse(&mut self, op: &Op) -> Vec<Call> {
        self.of_size(op, |lower| lower.lower_reverse(op))
    }

    /// Calls of an operation, which know how large its values are.
    fn of_size(&mut self, op: &Op, calls: impl Fn(&mut Self) -> Vec<Call>) -> Vec<Call> {
        let shapes = op.io.inputs.iter().chain([&op.io.output]);
        let largest = shapes.map(|shape| shape.size()).max().unwrap_or(0);
        // beside fields in parts, and the matrices of their products, no other value is near
        let numbers = if self.parts.is_empty() { largest } else { usize::MAX };
        self.numbers = numbers;
        calls(self).into_iter().map(|call| Call { numbers, ..call }).collect()
    }

    fn lower(&mut self, op: &Op) -> Vec<Call> {
        let node = Node { op, parameters: op.parameters() };
        if op.formula().is_some() {
            return elementwise::map(self, &node);
        }
        match op.name() {
            "add" | "subtract" | "multiply" | "divide" => elementwise::binary(self, &node),
            "quadratic" => elementwise::quadratic(self, &node),
            "combination" => elementwise::combination(self, &node),
            "symbol" => elementwise::symbol(self, &node),
            "dense" => product::dense(self, &node),
            "outer" => product::outer(self, &node),
            "solve" => matrix::solve(self, &node),
            "rfft" | "irfft" => matrix::fourier(self, &node),
            "separable" => matrix::separable(self, &node),
            "linear" => matrix::sparse(self, &node),
            "broadcast" | "slice" | "stack" | "transpose" => layout::forward(self, &node),
            "sum" | "sum_of_squares" | "length" | "limit_length" | "peak_one" | "softnorm_tanh"
            | "contract" => reduce::forward(self, &node),
            "gaussian" | "gaussian_sum" => gaussian::forward(self, &node),
            "advect" => gather::advect(&node),
            "window" => gather::window(&node),
            "patches" | "patch_squares" | "patch_dense" => gather::patches(self, &node),
            "conv_patch" | "conv_field" => conv::forward(self, &node),
            other => unreachable!("no device code for {other}"),
        }
    }

    fn lower_reverse(&mut self, op: &Op) -> Vec<Call> {
        let Some(rule) = &op.reverse else { return Vec::new() };
        let reverse = Reverse { node: Node { op, parameters: op.parameters() }, rule };
        if op.formula().is_some() {
            return elementwise::map_reverse(self, &reverse);
        }
        match op.name() {
            "add" | "subtract" | "multiply" | "divide" => elementwise::binary_reverse(self, &reverse),
            "quadratic" => elementwise::quadratic_reverse(self, &reverse),
            "combination" => elementwise::combination_reverse(self, &reverse),
            "symbol" => elementwise::symbol_reverse(self, &reverse),
            "dense" => product::dense_reverse(self, &reverse),
            "outer" => product::outer_reverse(self, &reverse),
            "solve" => matrix::solve_reverse(self, &reverse),
            "rfft" | "irfft" => matrix::fourier_reverse(self, &reverse),
            "separable" => matrix::separable_reverse(self, &reverse),
            "linear" => matrix::sparse_reverse(self, &reverse),
            "broadcast" | "slice" | "stack" | "transpose" => layout::reverse(self, &reverse),
            "sum" | "sum_of_squares" | "length" | "limit_length" | "peak_one" | "softnorm_tanh"
            | "contract" => reduce::reverse(self, &reverse),
            "gaussian" | "gaussian_sum" => gaussian::reverse(self, &reverse),
            "advect" => gather::advect_reverse(&reverse),
            "window" => gather::window_reverse(self, &reverse),
            "patches" | "patch_squares" | "patch_dense" => gather::patches_reverse(self, &reverse),
            "conv_patch" | "conv_field" => conv::reverse(self, &reverse),
            other => unreachable!("no device code for the reverse of {other}"),
        }
    }

    /// Threads that work on something of so many operations.
    fn team(&self, work: f64) -> usize {
        let numbers = self.numbers;
        if (Call { numbers, ..Call::new(String::new(), work) }).whole(self.cluster) {
            self.threads * self.cluster
        } else {
            self.threads
        }
    }

    /// Warps of the same.
    fn warps(&self, work: f64) -> usize {
        (self.team(work) / LANES).max(1)
    }

    /// How many threads share each of `sums` sums of `terms` terms: a power of two of the threads of a warp,
    /// or, of long sums, more.
    fn shares(&self, terms: usize, sums: usize, work: f64) -> usize {
        let free = self.team(work) / sums;
        if free > LANES && terms > LONG {
            return free.clamp(LANES + 1, 256);
        }
        let most = free.min(terms / 2).clamp(1, LANES);
        1 << most.ilog2()
    }

    /// The same where a thread keeps its terms: few threads, but not too many terms for its registers.
    fn shares_of_own(&self, terms: usize, sums: usize, work: f64) -> usize {
        let few = terms.div_ceil(OWN).next_power_of_two();
        self.shares(terms, sums, work).clamp(few.min(LANES), few.clamp(8, LANES))
    }

    /// Numbers whose operands a thread asks for at once, if it computes its share of n.
    fn batch(&self, n: usize, work: f64) -> usize {
        match n / self.team(work) {
            0 | 1 => 1,
            2 | 3 => 2,
            // all blocks of a cluster work in global memory, which is far
            8.. if self.cluster > 1 => 8,
            _ => 4,
        }
    }

    /// `to[i] = value`, an expression of i, or statements that return it; number i by thread i.
    fn fill(&self, n: usize, to: &To, work: f64, value: &str) -> Call {
        let (mode, slot, work) = (to.mode, to.slot.name(), work * n as f64);
        let (before, value) =
            value.strip_suffix(';').and_then(|v| v.split_once("return ")).unwrap_or(("", value));
        let batch = self.batch(n, work);
        let text =
            format!("fill<{n}, {mode}, {batch}>(TEAM, {slot}, [&](int i) {{ {before}return {value}; }});");
        let part = self.parts.get(&n).copied();
        let body =
            (batch == 1 || part.is_some()).then(|| format!("{before}put<{mode}>({slot} + i, {value});"));
        Call { body, ..Call::new(text, work).items(n).parts(part).writes(to.slot) }
    }
}

/// Terms that a thread keeps.
const OWN: usize = 16;

/// Terms from which a sum is long.
const LONG: usize = 4096;

/// A literal of the precision of the program.
fn literal(x: f64) -> String {
    format!("T({x:?})")
}

/// Largest of the sizes that divides n.
fn divisor(n: usize, sizes: &[usize]) -> usize {
    sizes.iter().copied().find(|size| n.is_multiple_of(*size)).unwrap_or(1)
}
