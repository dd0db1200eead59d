//! Slots of the adjoints.

use super::analysis::Facts;
use super::slots::{Lifetime, assign};
use crate::trace::{Source, Trace};

/// Adjoint slot of every node that has one, the slots summed over a rollout, and the length of every slot.
pub(super) fn place_adjoints(
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
