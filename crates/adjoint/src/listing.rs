//! Traces and plans as data and as text that people can read.

use crate::plan::{Fate, Plan};
use crate::primitive::Value;
use crate::trace::{Shape, Source, Trace};
use std::fmt;

/// The values of a program, in the order they are computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    /// Samples in a chunk: operations and bytes are those of one chunk.
    pub chunk: usize,
    /// All values.
    pub entries: Vec<Entry>,
}

/// One value of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its number: other entries name it as an input.
    pub id: usize,
    /// What makes it: the name of a primitive, or `constant`, `param`, `fixed`, `sequence`, `state`.
    pub primitive: &'static str,
    /// Its name, if it is an input.
    pub label: Option<String>,
    /// Parameters of the primitive, with their names.
    pub parameters: Vec<(&'static str, Value)>,
    /// The values it is computed from.
    pub inputs: Vec<usize>,
    /// Its extent.
    pub shape: Shape,
    /// What it is used for besides other values: `next z`, `term error`, `record u`.
    pub uses: Vec<String>,
    /// When it is computed: `input`, `set-up` (once per rollout) or `step`.
    pub stage: &'static str,
    /// Multiplications and additions of its forward run.
    pub flops: f64,
    /// Bytes of the value.
    pub bytes: usize,
    /// How a reverse sweep gets it: `stored`, that is kept for every step where memory allows and else
    /// computed again; `computed again`; `kept`, as states are; or `-` where it is not needed or stays where
    /// it is.
    pub reverse: &'static str,
}

/// A value as the trace has it.
fn described(trace: &Trace) -> Vec<Entry> {
    let (mut params, mut fixed) = (trace.params.iter(), trace.fixed.iter());
    let (mut sequences, mut states) = (trace.sequences.iter(), trace.states.iter());
    let mut entries = Vec::with_capacity(trace.nodes.len());
    for (id, node) in trace.nodes.iter().enumerate() {
        let (primitive, input) = match &node.source {
            Source::Constant(_) => ("constant", None),
            Source::Param => ("param", params.next()),
            Source::Fixed => ("fixed", fixed.next()),
            Source::Sequence => ("sequence", sequences.next()),
            Source::State => ("state", states.next()),
            Source::Primitive { primitive, .. } => (primitive.name(), None),
        };
        let (parameters, inputs) = match &node.source {
            Source::Constant(data) => (vec![("values", Value::Table(data.to_vec()))], Vec::new()),
            Source::Primitive { primitive, inputs } => {
                (primitive.parameters(), inputs.iter().map(|input| input.0).collect())
            }
            _ => Default::default(),
        };
        let label = input.map(|input| input.name.clone());
        let next = trace.states.iter().zip(&trace.next).filter(|next| *next.1 == id);
        let next = next.map(|(state, _)| format!("next {}", state.name));
        let terms = trace.terms.iter().filter(|term| term.1 == id).map(|term| format!("term {}", term.0));
        let records = trace.records.iter().filter(|record| record.1 == id);
        let records = records.map(|record| format!("record {}", record.0));
        entries.push(Entry {
            id,
            primitive,
            label,
            parameters,
            inputs,
            shape: node.shape,
            uses: next.chain(terms).chain(records).collect(),
            stage: "input",
            flops: 0.0,
            bytes: 0,
            reverse: "-",
        });
    }
    entries
}

impl Listing {
    /// Of a plan for numbers of so many bytes.
    pub(crate) fn new(plan: &Plan, number: usize) -> Listing {
        let mut entries = described(&plan.trace);
        for op in plan.setup.iter().chain(&plan.step) {
            entries[op.node].flops = op.flops();
        }
        plan.setup.iter().for_each(|op| entries[op.node].stage = "set-up");
        plan.step.iter().for_each(|op| entries[op.node].stage = "step");
        for (entry, fate) in entries.iter_mut().zip(&plan.fates) {
            entry.bytes = entry.shape.len(plan.samples) * number;
            entry.reverse = match fate {
                Fate::Stored => "stored",
                Fate::Recomputed => "computed again",
                Fate::Kept => "kept",
                Fate::Stays => "-",
            };
        }
        Listing { chunk: plan.samples, entries }
    }
}

impl fmt::Display for Entry {
    /// `%7 = window(%1, %5) {width = 16, periodic = true} : 16 x 20`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{} = {}", self.id, self.primitive)?;
        if let Some(label) = &self.label {
            write!(f, " {label}")?;
        }
        if !self.inputs.is_empty() {
            let inputs: Vec<String> = self.inputs.iter().map(|id| format!("%{id}")).collect();
            write!(f, "({})", inputs.join(", "))?;
        }
        if !self.parameters.is_empty() {
            let all: Vec<_> =
                self.parameters.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            write!(f, " {{{}}}", all.join(", "))?;
        }
        let Shape { rows, cols, shared } = self.shape;
        write!(f, " : {rows} x {cols}{}", if shared { " shared" } else { "" })?;
        if !self.uses.is_empty() {
            write!(f, " -> {}", self.uses.join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Display for Listing {
    /// The lines of the trace, each with stage, operations, bytes and what a reverse sweep does with the
    /// value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "stage   operations      bytes  in reverse      value (chunks of {} samples)",
            self.chunk
        )?;
        for entry in &self.entries {
            let Entry { stage, flops, bytes, reverse, .. } = entry;
            writeln!(f, "{stage:<7} {flops:>10} {bytes:>10}  {reverse:<14}  {entry}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Trace {
    /// One line per value: number, what makes it, parameters, inputs, shape, uses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        described(self).iter().try_for_each(|entry| writeln!(f, "{entry}"))
    }
}
