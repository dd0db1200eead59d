//! Slots of the values, and how the reverse sweep gets each of them: from the history, from the store, or by
//! computing it again.

use super::Fate;
use super::analysis::{Facts, mark_inputs};
use super::slots::{Lifetime, assign};
use crate::primitive::Io;
use crate::trace::{Source, Trace};

pub(super) struct Values {
    /// Value slot of every node.
    pub value_of: Vec<usize>,
    /// Slots worth storing.
    pub stored: Vec<usize>,
    /// States and slots of next values that the history holds.
    pub kept: Vec<(usize, usize)>,
    /// How the reverse sweep gets every node.
    pub fates: Vec<Fate>,
    /// Length of every slot.
    pub value_len: Vec<usize>,
    /// Nodes that must be computed again before a step is reversed.
    pub recompute: Vec<bool>,
    /// The same if the stored ones were kept.
    pub beside_stored: Vec<bool>,
}

/// Who reads a value.
struct Uses {
    /// Time of its last reader, on the time line of a step.
    last: Vec<usize>,
    /// Whether a reverse rule reads it.
    in_reverse: Vec<bool>,
}

fn uses(trace: &Trace, facts: &Facts) -> Uses {
    let n = facts.step_len;
    let mut last = vec![0; trace.nodes.len()];
    let mut in_reverse = vec![false; trace.nodes.len()];
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
                in_reverse[i] = true;
            }
        }
        if facts.reached[id] && reads.output {
            last[id] = last[id].max(2 * n - at);
            in_reverse[id] = true;
        }
    }
    let watched =
        trace.next.iter().chain(trace.terms.iter().map(|t| &t.1)).chain(trace.records.iter().map(|r| &r.1));
    for &id in watched {
        last[id] = last[id].max(n);
    }
    Uses { last, in_reverse }
}

pub(super) fn place_values(trace: &Trace, facts: &Facts, samples: usize) -> Values {
    let Uses { last, in_reverse: read_in_reverse } = uses(trace, facts);
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
