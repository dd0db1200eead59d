//! L-BFGS in a box.
//!
//! The inverse Hessian is approximated from the last pairs `s = x' - x`, `y = g' - g` (two-loop recursion,
//! Nocedal 1980), restricted to the free variables. Variables at a bound that the gradient pushes out of the
//! box stay there. The line search follows the projection onto the box (Bertsekas 1982), so many variables
//! can reach or leave a bound at once.
//!
//! Pairs are kept from one minimisation to the next. In a receding horizon the next problem has almost the
//! same Hessian, so the optimiser starts with steps of the right length.

use std::collections::VecDeque;

use super::bounded::{Evaluation, Iterate, Solution, Stop, free};

/// A minimiser that remembers the curvature of earlier problems.
#[derive(Clone, Debug)]
pub struct Lbfgs {
    memory: usize,
    pairs: VecDeque<Pair>,
}

#[derive(Clone, Debug)]
struct Pair {
    s: Vec<f64>,
    y: Vec<f64>,
}

impl Lbfgs {
    /// Remembers up to `memory` pairs.
    pub fn new(memory: usize) -> Lbfgs {
        Lbfgs { memory, pairs: VecDeque::with_capacity(memory + 1) }
    }

    /// Minimises a function in `[-1, 1]^n`.
    pub fn minimise(
        &mut self,
        start: &[f64],
        stop: &Stop,
        mut evaluate: impl FnMut(&[f64]) -> Evaluation,
    ) -> Solution {
        let mut now = Iterate::begin(start, &mut evaluate);
        while now.iterations < stop.iterations && !now.is_good(stop) {
            let direction = self.direction(&now);
            let Some((x, at)) = now.search(&direction, &mut evaluate) else {
                if self.pairs.is_empty() {
                    break;
                }
                // pairs of an earlier problem may be misleading: start again from the gradient
                self.pairs.clear();
                continue;
            };
            self.remember(&now, &x, &at);
        }
        now.end(stop)
    }

    /// Minus the approximate inverse Hessian of the free variables times their gradient.
    fn direction(&self, now: &Iterate) -> Vec<f64> {
        let free = free(&now.x, &now.at.gradient);
        let dot = |a: &[f64], b: &[f64]| -> f64 {
            a.iter().zip(b).zip(&free).map(|((a, b), free)| if *free { a * b } else { 0.0 }).sum()
        };
        let mut d: Vec<f64> =
            now.at.gradient.iter().zip(&free).map(|(g, free)| if *free { -g } else { 0.0 }).collect();
        let add = |d: &mut [f64], factor: f64, v: &[f64]| {
            d.iter_mut()
                .zip(v)
                .zip(&free)
                .filter(|(_, free)| **free)
                .for_each(|((d, v), _)| *d += factor * v);
        };
        // restricted to the free variables, a pair may have no positive curvature
        let curved = |pair: &&Pair| dot(&pair.s, &pair.y) > 1e-12 * dot(&pair.y, &pair.y);
        let pairs: Vec<&Pair> = self.pairs.iter().filter(curved).collect();
        let mut factors = Vec::with_capacity(pairs.len());
        for Pair { s, y } in pairs.iter().rev() {
            let factor = dot(s, &d) / dot(s, y);
            add(&mut d, -factor, y);
            factors.push(factor);
        }
        let scale = match pairs.last() {
            Some(Pair { s, y }) => dot(s, y) / dot(y, y),
            // no curvature is known yet: step a tenth of the distance from the centre of the box to a face
            None => 0.1 / d.iter().fold(f64::MIN_POSITIVE, |most, d| d.abs().max(most)),
        };
        d.iter_mut().for_each(|d| *d *= scale);
        for (Pair { s, y }, factor) in pairs.iter().zip(factors.iter().rev()) {
            let other = dot(y, &d) / dot(s, y);
            add(&mut d, factor - other, s);
        }
        d
    }

    fn remember(&mut self, now: &Iterate, x: &[f64], at: &Evaluation) {
        let difference =
            |to: &[f64], from: &[f64]| to.iter().zip(from).map(|(to, from)| to - from).collect::<Vec<f64>>();
        self.pairs
            .push_back(Pair { s: difference(&now.x, x), y: difference(&now.at.gradient, &at.gradient) });
        if self.pairs.len() > self.memory {
            self.pairs.pop_front();
        }
    }
}
