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

use crate::primitive::{Io, MAX_INPUTS, Primitive};
use crate::trace::{Input, InputKind, Shape, Source, Trace};
use std::collections::HashMap;
use std::sync::Arc;

/// One primitive of a stage, with its operands resolved to slots.
pub(crate) struct Op {
    /// Number of the node in the trace.
    pub node: usize,
    pub primitive: Arc<dyn Primitive>,
    pub io: Io,
    pub inputs: Vec<usize>,
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
pub(crate) struct ReverseOp {
    /// Input values it looks at.
    pub seen_inputs: [Option<usize>; MAX_INPUTS],
    pub seen_output: Option<usize>,
    /// Adjoint slot of the output.
    pub from: usize,
    /// Where the adjoint of every input goes.
    pub to: Vec<Target>,
}

/// Where the adjoint of an input goes.
#[derive(Clone, Copy)]
pub(crate) enum Target {
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
pub(crate) struct Seed {
    pub slot: usize,
    pub accumulate: bool,
}

pub(crate) struct Plan {
    /// Samples in a chunk.
    pub samples: usize,
    pub setup: Vec<Op>,
    pub step: Vec<Op>,
    /// Numbers in every value slot and every adjoint slot.
    pub value_len: Vec<usize>,
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
    pub constants: Vec<(usize, Arc<[f64]>)>,
    pub params: Vec<Placed>,
    pub fixed: Vec<Placed>,
    pub sequences: Vec<Placed>,
    pub states: Vec<Placed>,
    /// Value slot and seed of every next state and term.
    pub next: Vec<(usize, Seed)>,
    pub terms: Vec<(usize, Seed)>,
    pub records: Vec<Placed>,
    /// What a reverse sweep does to get the value of every node.
    pub fates: Vec<Fate>,
    /// What was planned, for listings.
    pub trace: Trace,
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
    /// Multiplications and additions of the forward run.
    pub fn flops(&self) -> f64 {
        self.primitive.flops(&self.io)
    }
}

/// Slots of an input; no adjoint slot if the objective does not depend on it.
pub(crate) struct Placed {
    pub shape: Shape,
    pub value: usize,
    pub adjoint: Option<usize>,
}

/// First and last time something is in use.
#[derive(Clone, Copy)]
struct Lifetime {
    first: usize,
    last: usize,
}

/// What the analysis of the trace finds out about its nodes.
struct Facts {
    /// Runs every step.
    in_step: Vec<bool>,
    /// Depends on something a gradient may be asked for.
    active: Vec<bool>,
    /// The objective depends on it.
    reached: Vec<bool>,
    /// Position of a node's primitive in its stage.
    position: Vec<usize>,
    step_len: usize,
}

impl Facts {
    /// Which inputs of a primitive need an adjoint.
    fn wanted(&self, inputs: &[(usize, Shape)]) -> Vec<bool> {
        inputs.iter().map(|&(i, _)| self.reached[i]).collect()
    }
}

fn analyse(trace: &Trace) -> Facts {
    let count = trace.nodes.len();
    let mut facts = Facts {
        in_step: vec![false; count],
        active: vec![false; count],
        reached: vec![false; count],
        position: vec![0; count],
        step_len: 0,
    };
    let mut setup_len = 0;
    for (id, node) in trace.nodes.iter().enumerate() {
        match &node.source {
            Source::Constant(_) => {}
            Source::Param | Source::Fixed => facts.active[id] = !node.given,
            Source::Sequence => {
                facts.active[id] = !node.given;
                facts.in_step[id] = true;
            }
            Source::State => {
                facts.active[id] = true;
                facts.in_step[id] = true;
            }
            Source::Primitive { inputs, .. } => {
                facts.in_step[id] = inputs.iter().any(|&(i, _)| facts.in_step[i]);
                facts.active[id] = inputs.iter().any(|&(i, _)| facts.active[i]);
                let length = if facts.in_step[id] { &mut facts.step_len } else { &mut setup_len };
                facts.position[id] = *length;
                *length += 1;
            }
        }
    }
    for id in trace.next.iter().copied().chain(trace.terms.iter().map(|t| t.1)) {
        assert!(facts.in_step[id], "a next state or term must depend on a state or a sequence");
        facts.reached[id] = true;
    }
    for id in (0..count).rev() {
        if let Source::Primitive { inputs, .. } = &trace.nodes[id].source
            && facts.reached[id]
        {
            for &(i, _) in inputs {
                facts.reached[i] |= facts.active[i];
            }
        }
    }
    for id in 0..count {
        // without an objective nothing is differentiated, and no value has to wait for its reverse
        facts.reached[id] &= facts.active[id] && !trace.terms.is_empty();
    }
    facts
}

/// Gives a slot to every lifetime; slots are reused by equally long values.
fn assign(lifetimes: &[(usize, Lifetime, usize)], slots: &mut Vec<usize>) -> HashMap<usize, usize> {
    let mut order: Vec<_> = lifetimes.to_vec();
    order.sort_by_key(|(id, life, _)| (life.first, *id));
    let mut free: HashMap<usize, Vec<(usize, usize)>> = HashMap::new();
    let mut placed = HashMap::new();
    for (id, life, len) in order {
        let idle = free.entry(len).or_default();
        let slot = match idle.iter().position(|&(until, _)| until < life.first) {
            Some(i) => idle.swap_remove(i).1,
            None => {
                slots.push(len);
                slots.len() - 1
            }
        };
        idle.push((life.last, slot));
        placed.insert(id, slot);
    }
    placed
}

impl Plan {
    /// Numbers in the flat parameter vector.
    pub fn param_len(&self) -> usize {
        self.params.iter().map(|param| param.shape.size()).sum()
    }

    /// Where an input lives.
    pub fn place(&self, input: Input) -> &Placed {
        let places = match input.kind {
            InputKind::Fixed => &self.fixed,
            InputKind::Sequence => &self.sequences,
            InputKind::State => &self.states,
        };
        &places[input.index]
    }

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

/// Marks everything that the marked nodes are computed from, and stops at nodes that are not computed.
fn mark_inputs(trace: &Trace, marked: &mut [bool], computed: impl Fn(usize) -> bool) {
    for (id, node) in trace.nodes.iter().enumerate().rev() {
        if let Source::Primitive { inputs, .. } = &node.source
            && marked[id]
            && computed(id)
        {
            inputs.iter().for_each(|&(i, _)| marked[i] = true);
        }
    }
}

struct Values {
    /// Value slot of every node.
    value_of: Vec<usize>,
    /// Slots worth storing.
    stored: Vec<usize>,
    /// States and slots of next values that the history holds.
    kept: Vec<(usize, usize)>,
    /// How the reverse sweep gets every node.
    fates: Vec<Fate>,
    /// Length of every slot.
    value_len: Vec<usize>,
    /// Nodes that must be computed again before a step is reversed.
    recompute: Vec<bool>,
    /// The same if the stored ones were kept.
    beside_stored: Vec<bool>,
}

fn place_values(trace: &Trace, facts: &Facts, samples: usize) -> Values {
    let n = facts.step_len;
    let mut last = vec![0; trace.nodes.len()];
    let mut read_in_reverse = vec![false; trace.nodes.len()];
    for (id, node) in trace.nodes.iter().enumerate() {
        let Source::Primitive { primitive, inputs } = &node.source else { continue };
        if !facts.in_step[id] {
            continue; // what the set-up reads keeps its place anyway
        }
        let at = facts.position[id];
        let reads = primitive.reads_for(&facts.wanted(inputs));
        for (k, &(i, _)) in inputs.iter().enumerate() {
            last[i] = last[i].max(at);
            if facts.reached[id] && reads.inputs >> k & 1 == 1 {
                last[i] = last[i].max(2 * n - at);
                read_in_reverse[i] = true;
            }
        }
        if facts.reached[id] && reads.output {
            last[id] = last[id].max(2 * n - at);
            read_in_reverse[id] = true;
        }
    }
    let watched =
        trace.next.iter().chain(trace.terms.iter().map(|t| &t.1)).chain(trace.records.iter().map(|r| &r.1));
    for &id in watched {
        last[id] = last[id].max(n);
    }

    let computed_in_step =
        |id: usize| facts.in_step[id] && matches!(trace.nodes[id].source, Source::Primitive { .. });
    let mut kept = vec![false; trace.nodes.len()];
    trace.next.iter().filter(|&&id| computed_in_step(id)).for_each(|&id| kept[id] = true);
    let mut recompute = read_in_reverse.clone();
    mark_inputs(trace, &mut recompute, |id| !kept[id]);
    recompute.iter_mut().zip(&kept).for_each(|(rerun, kept)| *rerun &= !kept);
    let cost = recompute_cost(trace, samples, computed_in_step, |id| read_in_reverse[id] || kept[id]);
    let stored: Vec<bool> = (0..trace.nodes.len())
        .map(|id| {
            computed_in_step(id)
                && recompute[id]
                && read_in_reverse[id]
                && cost[id] >= EXPENSIVE * trace.nodes[id].shape.len(samples) as f64
        })
        .collect();
    let mut beside_stored = read_in_reverse;
    mark_inputs(trace, &mut beside_stored, |id| !stored[id] && !kept[id]);
    beside_stored.iter_mut().zip(&recompute).for_each(|(rerun, recompute)| *rerun &= recompute);
    beside_stored.iter_mut().zip(&stored).for_each(|(rerun, stored)| *rerun &= !stored);

    let (mut slots, mut value_of, mut shared) = (Vec::new(), vec![usize::MAX; trace.nodes.len()], Vec::new());
    for (id, node) in trace.nodes.iter().enumerate() {
        let len = node.shape.len(samples);
        if computed_in_step(id) && !stored[id] && !kept[id] {
            let first = facts.position[id];
            shared.push((id, Lifetime { first, last: last[id].max(first) }, len));
        } else {
            // inputs and set-up values keep their place for the whole rollout, stored ones and next states
            // for the whole step: they are put back before anything else is computed again
            slots.push(len);
            value_of[id] = slots.len() - 1;
        }
    }
    for (id, slot) in assign(&shared, &mut slots) {
        value_of[id] = slot;
    }
    let fate = |id: usize| match trace.nodes[id].source {
        _ if kept[id] => Fate::Kept,
        Source::State => Fate::Kept,
        _ if stored[id] => Fate::Stored,
        _ if recompute[id] && computed_in_step(id) => Fate::Recomputed,
        _ => Fate::Stays,
    };
    let fates = (0..trace.nodes.len()).map(fate).collect();
    let stored = (0..trace.nodes.len()).filter(|&id| stored[id]).map(|id| value_of[id]).collect();
    let next = trace.next.iter().enumerate();
    let kept = next.filter(|&(_, &id)| kept[id]).map(|(state, &id)| (state, value_of[id])).collect();
    Values { value_of, stored, kept, fates, value_len: slots, recompute, beside_stored }
}

/// A value that takes this many operations per number is cheaper to read back from memory than to compute
/// again: the output of a dense layer with many inputs, or of several smaller ones in a row, or numbers
/// gathered from a field.
const EXPENSIVE: f64 = 80.0;

/// Cost of reading a number from the cache, in operations on registers.
const READING: f64 = 4.0;

/// Work to compute every value of a step again from the values that the reverse sweep has anyway: arithmetic,
/// and reading the inputs.
fn recompute_cost(
    trace: &Trace,
    samples: usize,
    computed_in_step: impl Fn(usize) -> bool,
    there: impl Fn(usize) -> bool,
) -> Vec<f64> {
    let mut cost = vec![0.0; trace.nodes.len()];
    for (id, node) in trace.nodes.iter().enumerate().filter(|(id, _)| computed_in_step(*id)) {
        let Source::Primitive { primitive, inputs } = &node.source else { continue };
        let io = Io { inputs: inputs.iter().map(|i| i.1).collect(), output: node.shape, samples };
        let before: f64 = inputs.iter().filter(|i| !there(i.0)).map(|i| cost[i.0]).sum();
        let read: usize =
            io.inputs.iter().filter(|shape| !shape.shared).map(|shape| shape.len(samples)).sum();
        cost[id] = primitive.effort(&io) + READING * read as f64 + before;
    }
    cost
}

/// Adjoint slot of every node that has one, the slots summed over a rollout, and the length of every slot.
fn place_adjoints(
    trace: &Trace,
    facts: &Facts,
    samples: usize,
) -> (Vec<Option<usize>>, Vec<usize>, Vec<usize>) {
    let n = facts.step_len;
    let mut first = vec![usize::MAX; trace.nodes.len()];
    for &id in trace.next.iter().chain(trace.terms.iter().map(|t| &t.1)) {
        first[id] = n;
    }
    for (id, node) in trace.nodes.iter().enumerate() {
        let Source::Primitive { inputs, .. } = &node.source else { continue };
        if facts.reached[id] && facts.in_step[id] {
            for &(i, _) in inputs {
                first[i] = first[i].min(2 * n - facts.position[id]);
            }
        }
    }
    let (mut slots, mut persistent, mut shared) = (Vec::new(), Vec::new(), Vec::new());
    let mut adjoint_of = vec![None; trace.nodes.len()];
    for (id, node) in trace.nodes.iter().enumerate().filter(|(id, _)| facts.reached[*id]) {
        let len = node.shape.len(samples);
        match node.source {
            Source::Primitive { .. } if facts.in_step[id] => {
                let life = Lifetime { first: first[id], last: 2 * n - facts.position[id] };
                shared.push((id, life, len));
            }
            _ => {
                slots.push(len);
                adjoint_of[id] = Some(slots.len() - 1);
                if !facts.in_step[id] {
                    persistent.push(slots.len() - 1);
                }
            }
        }
    }
    for (id, slot) in assign(&shared, &mut slots) {
        adjoint_of[id] = Some(slot);
    }
    (adjoint_of, persistent, slots)
}
