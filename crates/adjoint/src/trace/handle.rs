//! Handles: what a caller keeps of a trace to say which input, term or record is meant.
//!
//! A handle belongs to the trace that it was declared in. Programs of this trace understand it.

use super::Shape;

/// An input that differs between samples: a fixed value, a sequence or a state.
///
/// It says where numbers of a run go ([`crate::Inputs::with`]) and which derivative of a gradient is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    pub(crate) kind: InputKind,
    /// Place among the inputs of its kind.
    pub(crate) index: usize,
    pub(crate) shape: Shape,
}

/// When an input is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputKind {
    /// Once per rollout.
    Fixed,
    /// In every step.
    Sequence,
    /// Before the first step; the program carries it on.
    State,
}

impl Input {
    /// Its extent per sample.
    pub fn shape(self) -> Shape {
        self.shape
    }
    /// Numbers per sample.
    pub fn size(self) -> usize {
        self.shape.size()
    }
    /// Place among the states.
    pub(crate) fn state_index(self) -> usize {
        assert_eq!(self.kind, InputKind::State, "only states have a value after a step");
        self.index
    }
}

/// A term of the objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term(pub(crate) usize);

/// A value that can be read in every step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    pub(crate) index: usize,
    pub(crate) shape: Shape,
}

impl Record {
    /// Its extent per sample.
    pub fn shape(self) -> Shape {
        self.shape
    }
}
