//! Plain layers: dense, tanh, dense, tanh, ..., dense.

use super::{Dense, Layer, layer};
use adjoint::Var;

/// `NAME.0, NAME.1, ..., head`.
pub(super) fn layers(name: &str, inputs: usize, hidden: &[usize], outputs: usize) -> Vec<Layer> {
    let mut layers = Vec::with_capacity(hidden.len() + 1);
    let mut width = inputs;
    for (k, &next) in hidden.iter().enumerate() {
        layers.push(layer(format!("{name}.{k}"), width, next));
        width = next;
    }
    layers.push(layer("head", width, outputs));
    layers
}

pub(super) struct Plain<'t> {
    hidden: Vec<Dense<'t>>,
    head: Dense<'t>,
}

impl<'t> Plain<'t> {
    pub fn new(hidden: &[usize], next: &mut impl FnMut() -> Dense<'t>) -> Plain<'t> {
        Plain { hidden: hidden.iter().map(|_| next()).collect(), head: next() }
    }

    pub fn apply(&self, x: Var<'t>) -> Var<'t> {
        self.head.apply(self.hidden.iter().fold(x, |x, layer| layer.apply(x).tanh()))
    }
}
