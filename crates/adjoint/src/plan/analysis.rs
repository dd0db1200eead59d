//! What a trace says about its nodes: which stage they belong to, and which of them need an adjoint.

use crate::trace::{Shape, Source, Trace};

/// What the analysis of the trace finds out about its nodes.
pub(super) struct Facts {
    /// Runs every step.
    pub in_step: Vec<bool>,
    /// Depends on something a gradient may be asked for.
    pub active: Vec<bool>,
    /// The objective depends on it.
    pub reached: Vec<bool>,
    /// Position of a node's primitive in its stage.
    pub position: Vec<usize>,
    pub step_len: usize,
}

impl Facts {
    /// Which inputs of a primitive need an adjoint.
    pub fn wanted(&self, inputs: &[(usize, Shape)]) -> Vec<bool> {
        inputs.iter().map(|&(i, _)| self.reached[i]).collect()
    }
}

pub(super) fn analyse(trace: &Trace) -> Facts {
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

/// Marks everything that the marked nodes are computed from, and stops at nodes that are not computed.
pub(super) fn mark_inputs(trace: &Trace, marked: &mut [bool], computed: impl Fn(usize) -> bool) {
    for (id, node) in trace.nodes.iter().enumerate().rev() {
        if let Source::Primitive { inputs, .. } = &node.source
            && marked[id]
            && computed(id)
        {
            inputs.iter().for_each(|&(i, _)| marked[i] = true);
        }
    }
}
