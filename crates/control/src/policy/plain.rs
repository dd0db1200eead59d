//! Plain networks: dense layers with tanh, or another function, between them. Baselines act and judge with
//! them.

use super::{Dense, Layer, layer};
use cinoc_adjoint::{Tracer, Var};

/// A plain network in a trace.
pub struct Plain<'t> {
    hidden: Vec<Dense<'t>>,
    head: Dense<'t>,
}

impl<'t> Plain<'t> {
    /// Its layers: `NAME.0, NAME.1, ..., head`.
    pub fn layers(name: &str, inputs: usize, hidden: &[usize], outputs: usize) -> Vec<Layer> {
        let mut layers = Vec::with_capacity(hidden.len() + 1);
        let mut width = inputs;
        for (k, &next) in hidden.iter().enumerate() {
            layers.push(layer(format!("{name}.{k}"), width, next));
            width = next;
        }
        layers.push(layer("head", width, outputs));
        layers
    }

    /// Declares the parameters of such layers.
    pub fn declare(tracer: &'t Tracer, layers: &[Layer]) -> Plain<'t> {
        let mut declared = layers.iter().map(|layer| Dense::declare(tracer, layer));
        Plain::new(layers.len() - 1, &mut || {
            declared.next().expect("`layers` lists every layer of the network")
        })
    }

    pub(super) fn new(hidden: usize, next: &mut impl FnMut() -> Dense<'t>) -> Plain<'t> {
        Plain { hidden: (0..hidden).map(|_| next()).collect(), head: next() }
    }

    /// Its outputs, `[outputs][cols]`, with tanh between layers.
    pub fn apply(&self, x: Var<'t>) -> Var<'t> {
        self.apply_with(x, Var::tanh)
    }

    /// Its outputs with another function between layers.
    pub fn apply_with(&self, x: Var<'t>, between: impl Fn(Var<'t>) -> Var<'t>) -> Var<'t> {
        self.head.apply(self.hidden.iter().fold(x, |x, layer| between(layer.apply(x))))
    }
}
