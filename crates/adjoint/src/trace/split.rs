//! A trace cut into two: what does not depend on one of its sequences, and the rest.
//!
//! The second part can then run many times for one run of the first: a swarm decides block by block, while
//! the field is prepared once for all blocks.

use super::{Declared, Input, InputKind, Node, Record, Source, Trace};

/// A trace in two parts.
pub struct Split {
    /// What does not depend on the sequence. Handles of the other inputs are valid here.
    pub before: Trace,
    /// The rest, with the records of the whole. Handles of these and of the fixed inputs are valid here.
    pub after: Trace,
    /// The sequence in `after`, its only one.
    pub on: Input,
    /// What `after` takes from `before`: a record there, a fixed input here.
    pub handed: Vec<(Record, Input)>,
}

impl Trace {
    /// Cuts the trace: one part does not depend on the sequence `on`, the other does. Set-up values belong to
    /// each part that needs them; what no record needs is left out. Both parts have all parameters.
    ///
    /// # Panics
    /// If there are states or terms, or if `on` is not the sequence that was declared last.
    pub fn split(&self, on: Input) -> Split {
        assert!(self.states.is_empty() && self.terms.is_empty(), "only a step without states can be cut");
        assert_eq!(on.kind, InputKind::Sequence, "a trace is cut at a sequence");
        assert_eq!(on.index + 1, self.sequences.len(), "a trace is cut at its last sequence");
        let (dependent, in_step) = self.dependence(on);

        let inside = |id: usize| dependent[id] || !in_step[id];
        let needed = self.needed(self.records.iter().map(|record| record.1), inside);
        let handed: Vec<usize> =
            (0..self.nodes.len()).filter(|&id| needed[id] && in_step[id] && !dependent[id]).collect();
        let mut before = Part::new(self);
        before.trace.sequences.pop();
        before.take_inputs(self, |id| !dependent[id]);
        before.take_computed(self, |id| !dependent[id], &self.needed(handed.iter().copied(), |_| true));
        before.trace.records = handed
            .iter()
            .map(|&id| (format!("handed {id}"), before.place[id], self.nodes[id].shape))
            .collect();

        let mut after = Part::new(self);
        after.trace.sequences.drain(..on.index);
        after.take_inputs(self, inside);
        for &id in &handed {
            let shape = self.nodes[id].shape;
            after.trace.fixed.push(Declared { name: format!("handed {id}"), shape });
            after.push(id, Node { source: Source::Fixed, shape, given: true });
        }
        after.take_computed(self, inside, &needed);
        after.trace.records =
            (self.records.iter()).map(|(name, id, shape)| (name.clone(), after.place[*id], *shape)).collect();

        let taken = |(k, &id): (usize, &usize)| {
            let shape = self.nodes[id].shape;
            let input = Input { kind: InputKind::Fixed, index: self.fixed.len() + k, shape };
            (Record { index: k, shape }, input)
        };
        Split {
            handed: handed.iter().enumerate().map(taken).collect(),
            before: before.trace,
            after: after.trace,
            on: Input { index: 0, ..on },
        }
    }

    /// Which nodes depend on the sequence `on`, and which on any sequence.
    fn dependence(&self, on: Input) -> (Vec<bool>, Vec<bool>) {
        let (mut dependent, mut in_step) = (Vec::new(), Vec::new());
        let mut sequences = 0;
        for node in &self.nodes {
            let sequence = matches!(node.source, Source::Sequence);
            let inputs = node.inputs();
            let on_it = sequence && sequences == on.index;
            dependent.push(on_it || inputs.iter().any(|&(i, _)| dependent[i]));
            in_step.push(sequence || inputs.iter().any(|&(i, _)| in_step[i]));
            sequences += usize::from(sequence);
        }
        (dependent, in_step)
    }

    /// Marks some nodes and what they are computed from; what is not `computed` is not looked behind.
    fn needed(&self, these: impl Iterator<Item = usize>, computed: impl Fn(usize) -> bool) -> Vec<bool> {
        let mut needed = vec![false; self.nodes.len()];
        these.for_each(|id| needed[id] = true);
        for (id, node) in self.nodes.iter().enumerate().rev() {
            if needed[id] && computed(id) {
                node.inputs().iter().for_each(|&(i, _)| needed[i] = true);
            }
        }
        needed
    }
}

/// A part in the making.
struct Part {
    trace: Trace,
    /// Where nodes of the whole are in it.
    place: Vec<usize>,
}

impl Part {
    /// All declarations of the whole, and nothing that is computed.
    fn new(whole: &Trace) -> Part {
        let trace = Trace { nodes: Vec::new(), records: Vec::new(), ..whole.clone() };
        Part { trace, place: vec![usize::MAX; whole.nodes.len()] }
    }

    fn push(&mut self, id: usize, mut node: Node) {
        if let Source::Primitive { inputs, .. } = &mut node.source {
            inputs.iter_mut().for_each(|(i, _)| *i = self.place[*i]);
        }
        self.place[id] = self.trace.nodes.len();
        self.trace.nodes.push(node);
    }

    /// Inputs of the whole, in their order: so their handles stay valid.
    fn take_inputs(&mut self, whole: &Trace, mine: impl Fn(usize) -> bool) {
        for (id, node) in whole.nodes.iter().enumerate().filter(|(id, _)| mine(*id)) {
            if matches!(node.source, Source::Param | Source::Fixed | Source::Sequence) {
                self.push(id, node.clone());
            }
        }
    }

    /// Constants and computed values that are needed.
    fn take_computed(&mut self, whole: &Trace, mine: impl Fn(usize) -> bool, needed: &[bool]) {
        for (id, node) in whole.nodes.iter().enumerate().filter(|(id, _)| mine(*id) && needed[*id]) {
            if matches!(node.source, Source::Constant(_) | Source::Primitive { .. }) {
                self.push(id, node.clone());
            }
        }
    }
}
