//! From a trace to a plan: what runs once per rollout, what runs every step, what the reverse sweep needs,
//! and where in memory every value and every adjoint lives.
//!
//! # Stages
//! A primitive belongs to the *step* if it depends on a state or a sequence, else to the *set-up*, which runs
//! once per rollout. Adjoints of set-up values are summed over all steps and pushed back through the set-up
//! once.
//!
//! # Time line of a step
//! With n primitives in the step, primitive i runs forward at time i and in reverse at time 2n - i; at time n
//! the adjoints of the next states and of the terms are put in. A value lives from its own time to that of
//! its last reader, forward or reverse; an adjoint lives from its first contribution to the reverse of the
//! primitive that made the value. Two lifetimes that do not meet may share memory: a linear scan assigns the
//! slots.

mod adjoints;
mod analysis;
mod slots;
mod values;

use crate::primitive::{Formula, Io, MAX_INPUTS, Parameters, Primitive};
use crate::trace::{Input, InputKind, Shape, Source, Trace};
use adjoints::place_adjoints;
use analysis::{analyse, mark_inputs};
use std::sync::Arc;
use values::{Values, place_values};

/// One primitive of a stage, with its operands resolved to slots.
pub struct Op {
    /// Number of the node in the trace.
    pub node: usize,
    pub(crate) primitive: Arc<dyn Primitive>,
    /// Shapes of its operands.
    pub io: Io,
    /// Value slots of its inputs.
    pub inputs: Vec<usize>,
    /// Value slot of its output.
    pub output: usize,
    /// Whether the next states or the terms depend on it; if not, only a record does.
    pub essential: bool,
    /// Whether a reverse sweep computes it again: a rule reads it, or it leads to a value that one reads.
    pub recompute: bool,
    /// The same where expensive values were stored.
    pub recompute_beside_stored: bool,
    /// Present if its reverse runs.
    pub reverse: Option<ReverseOp>,
}

/// Where a reverse rule reads and writes.
pub struct ReverseOp {
    /// Input values it looks at.
    pub seen_inputs: [Option<usize>; MAX_INPUTS],
    /// Its output, if it looks at it.
    pub seen_output: Option<usize>,
    /// Adjoint slot of the output.
    pub from: usize,
    /// Where the adjoint of every input goes.
    pub to: Vec<Target>,
}

/// Where the adjoint of an input goes.
#[derive(Clone, Copy)]
pub enum Target {
    /// Nobody wants it.
    None,
    /// It overwrites this slot: it is the first contribution.
    Write(usize),
    /// It is added to what this slot holds.
    Add(usize),
    /// It is the first contribution, and the rule leaves it in the memory of the output's adjoint. The two
    /// slots exchange their memory afterwards.
    HandOver(usize),
}

/// How the reverse sweep gets the values inside a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Computes every step again: least memory.
    Recompute,
    /// Keeps what is expensive to compute, for all steps, and computes the rest again.
    Store,
}

/// An adjoint put in at the end of a step.
pub struct Seed {
    /// Adjoint slot.
    pub slot: usize,
    /// Whether something has been put in before.
    pub accumulate: bool,
}

/// A trace with everything decided: what runs when, and where every number lives.
pub struct Plan {
    /// Samples in a chunk.
    pub samples: usize,
    /// What runs once per rollout, in order.
    pub setup: Vec<Op>,
    /// What runs in every step, in order.
    pub step: Vec<Op>,
    /// Numbers in every value slot.
    pub value_len: Vec<usize>,
    /// Numbers in every adjoint slot.
    pub adjoint_len: Vec<usize>,
    /// Adjoint slots that are summed over all steps of a rollout.
    pub persistent_adjoints: Vec<usize>,
    /// Value slots worth keeping per step when storing instead of recomputing.
    pub stored: Vec<usize>,
    /// States whose next value is computed in the step, with its slot: the reverse finds it in the history.
    pub kept: Vec<(usize, usize)>,
    /// This slot for every state, if no other state has the same one. Then the buffers change hands and
    /// nothing is copied.
    pub handed_on: Vec<Option<usize>>,
    /// Slots of constants and their numbers.
    pub constants: Vec<(usize, Arc<[f64]>)>,
    /// Places of the parameters, in their order.
    pub params: Vec<Placed>,
    /// Places of the fixed inputs.
    pub fixed: Vec<Placed>,
    /// Places of the sequences.
    pub sequences: Vec<Placed>,
    /// Places of the states.
    pub states: Vec<Placed>,
    /// Value slot and seed of every next state.
    pub next: Vec<(usize, Seed)>,
    /// Value slot and seed of every term.
    pub terms: Vec<(usize, Seed)>,
    /// Places of the records.
    pub records: Vec<Placed>,
    /// What a reverse sweep does to get the value of every node.
    pub(crate) fates: Vec<Fate>,
    /// What was planned, for listings.
    pub(crate) trace: Trace,
}

/// How a reverse sweep gets a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// With [`Strategy::Store`] from the store, else it is computed again.
    Stored,
    /// It is computed again.
    Recomputed,
    /// From the history: it is a state, or the next value of one.
    Kept,
    /// It is not needed, or stays in its place for the whole rollout.
    Stays,
}

impl Op {
    /// What the primitive is called.
    pub fn name(&self) -> &'static str {
        self.primitive.name()
    }
    /// All that the primitive depends on besides its inputs and their shapes.
    pub fn parameters(&self) -> Parameters {
        self.primitive.parameters()
    }
    /// Value and derivative as text, if the primitive is an elementary function.
    pub fn formula(&self) -> Option<Formula> {
        self.primitive.formula()
    }
    /// Multiplications and additions of the forward run.
    pub fn flops(&self) -> f64 {
        self.primitive.flops(&self.io)
    }
}

/// Slots of an input; no adjoint slot if the objective does not depend on it.
pub struct Placed {
    /// Extent per sample.
    pub shape: Shape,
    /// Value slot.
    pub value: usize,
    /// Adjoint slot.
    pub adjoint: Option<usize>,
}

impl Plan {
    /// Numbers in the flat parameter vector.
    pub fn param_len(&self) -> usize {
        self.params.iter().map(|param| param.shape.size()).sum()
    }

    /// Where an input lives.
    pub(crate) fn place(&self, input: Input) -> &Placed {
        let places = match input.kind {
            InputKind::Fixed => &self.fixed,
            InputKind::Sequence => &self.sequences,
            InputKind::State => &self.states,
        };
        &places[input.index]
    }

    /// Plans a trace for chunks of so many samples.
    pub fn new(trace: &Trace, samples: usize) -> Plan {
        let facts = analyse(trace);
        let Values { value_of, stored, kept, fates, value_len, recompute, beside_stored } =
            place_values(trace, &facts, samples);
        let (adjoint_of, persistent_adjoints, adjoint_len) = place_adjoints(trace, &facts, samples);

        // contributions to an adjoint in the order they arrive: the first writes, the others add
        let mut touched = vec![false; trace.nodes.len()];
        let mut seed = |id: usize| {
            (
                value_of[id],
                Seed {
                    slot: adjoint_of[id].unwrap_or(0),
                    accumulate: std::mem::replace(&mut touched[id], true),
                },
            )
        };
        let next = trace.next.iter().map(|&id| seed(id)).collect();
        let terms = trace.terms.iter().map(|&(_, id)| seed(id)).collect();

        let mut essential = vec![false; trace.nodes.len()];
        trace.next.iter().chain(trace.terms.iter().map(|t| &t.1)).for_each(|&id| essential[id] = true);
        mark_inputs(trace, &mut essential, |_| true);

        let (mut setup, mut step) = (Vec::new(), Vec::new());
        for (id, node) in trace.nodes.iter().enumerate().rev() {
            let Source::Primitive { primitive, inputs } = &node.source else { continue };
            let io = Io { inputs: inputs.iter().map(|i| i.1).collect(), output: node.shape, samples };
            let reverse = facts.reached[id].then(|| {
                let reads = primitive.reads_for(&facts.wanted(inputs));
                let mut seen_inputs = [None; MAX_INPUTS];
                for (k, &(i, _)) in inputs.iter().enumerate() {
                    seen_inputs[k] = (reads.inputs >> k & 1 == 1).then_some(value_of[i]);
                }
                let to = inputs
                    .iter()
                    .enumerate()
                    .map(|(k, &(i, _))| {
                        let Some(slot) = adjoint_of[i] else { return Target::None };
                        let first = facts.in_step[i] && !std::mem::replace(&mut touched[i], true);
                        match first {
                            true if primitive.reverse_in_place() == Some(k) => Target::HandOver(slot),
                            true => Target::Write(slot),
                            false => Target::Add(slot),
                        }
                    })
                    .collect();
                ReverseOp {
                    seen_inputs,
                    seen_output: reads.output.then_some(value_of[id]),
                    from: adjoint_of[id].expect("a reached node has an adjoint"),
                    to,
                }
            });
            let inputs = inputs.iter().map(|&(i, _)| value_of[i]).collect();
            let op = Op {
                node: id,
                primitive: primitive.clone(),
                io,
                inputs,
                output: value_of[id],
                essential: essential[id],
                recompute: recompute[id],
                recompute_beside_stored: beside_stored[id],
                reverse,
            };
            if facts.in_step[id] { step.push(op) } else { setup.push(op) }
        }
        setup.reverse();
        step.reverse();
        let alone = |slot: &usize| kept.iter().filter(|(_, other)| other == slot).count() == 1;
        let slot_of = |state: usize| kept.iter().find(|(other, _)| *other == state).map(|&(_, slot)| slot);
        let handed_on = (0..trace.states.len()).map(|state| slot_of(state).filter(alone)).collect();

        let mut plan = Plan {
            samples,
            setup,
            step,
            value_len,
            adjoint_len,
            persistent_adjoints,
            stored,
            kept,
            handed_on,
            constants: Vec::new(),
            params: Vec::new(),
            fixed: Vec::new(),
            sequences: Vec::new(),
            states: Vec::new(),
            next,
            terms,
            records: trace
                .records
                .iter()
                .map(|&(_, id, shape)| Placed { shape, value: value_of[id], adjoint: None })
                .collect(),
            fates,
            trace: trace.clone(),
        };
        for (id, node) in trace.nodes.iter().enumerate() {
            let list = match &node.source {
                Source::Constant(data) => {
                    plan.constants.push((value_of[id], data.clone()));
                    continue;
                }
                Source::Param => &mut plan.params,
                Source::Fixed => &mut plan.fixed,
                Source::Sequence => &mut plan.sequences,
                Source::State => &mut plan.states,
                Source::Primitive { .. } => continue,
            };
            list.push(Placed { shape: node.shape, value: value_of[id], adjoint: adjoint_of[id] });
        }
        plan
    }
}
