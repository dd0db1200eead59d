//! Memory of their own for small values that share a slot of the plan.
//!
//! The plan gives a slot to one value after the other, to save memory. On a device the second value would
//! have to wait until all threads have read the first. Small slots are cheap: every value gets its own, and
//! only real dependences are left to wait for.

use crate::calls::{Call, Slot};
use crate::weights::Weights;
use cinoc_adjoint::backend::Plan;
use std::collections::HashMap;

/// Slots up to this length are small, and so many numbers in all are given away.
const SMALL: usize = 256;
const BUDGET: usize = 8192;

/// Lengths of all slots: those of the plan and those added to it.
#[derive(Clone)]
pub struct Lengths {
    values: Vec<usize>,
    adjoints: Vec<usize>,
    carries: Vec<usize>,
}

impl Lengths {
    /// Of a plan.
    pub fn new(plan: &Plan) -> Lengths {
        Lengths {
            values: plan.value_len.clone(),
            adjoints: plan.adjoint_len.clone(),
            carries: plan.states.iter().map(|state| state.shape.size()).collect(),
        }
    }

    /// With weights whose rows are apart.
    pub fn spaced(mut self, weights: &[Weights]) -> Lengths {
        weights.iter().for_each(|of| self.values[of.slot] = of.rows * of.apart);
        self
    }

    /// Of a slot that is not room.
    pub fn of(&self, slot: Slot) -> usize {
        match slot {
            Slot::Value(i) => self.values[i],
            Slot::Adjoint(i) => self.adjoints[i],
            Slot::Carry(i) => self.carries[i],
            Slot::Kept(_) | Slot::Field(_) | Slot::Room(_) | Slot::Desk(_) => 0,
        }
    }

    /// Another slot of the same kind and length; number `taken` of those that were added, which lists share.
    fn another(&mut self, slot: Slot, added: &mut [usize; 2], plan: &Plan) -> Slot {
        let n = self.of(slot);
        let (kind, lengths, own) = match slot {
            Slot::Value(_) => (0, &mut self.values, plan.value_len.len()),
            _ => (1, &mut self.adjoints, plan.adjoint_len.len()),
        };
        let index = own + added[kind];
        added[kind] += 1;
        if index == lengths.len() {
            lengths.push(0);
        }
        lengths[index] = lengths[index].max(n);
        if kind == 0 { Slot::Value(index) } else { Slot::Adjoint(index) }
    }
}

/// Gives values that are written and read in this list of calls slots of their own. What the list reads
/// before it writes it comes from elsewhere and keeps its place, as do the slots of `fixed`.
pub fn separate(calls: &mut [Call], fixed: &[Slot], lengths: &mut Lengths, plan: &Plan) {
    let mut current: HashMap<Slot, Slot> = HashMap::new();
    let (mut added, mut spent) = ([0; 2], 0);
    for call in calls {
        let fresh: Vec<Slot> =
            call.writes.iter().map(|(slot, _)| *slot).filter(|slot| call.begins(*slot)).collect();
        // what is touched for the first time and not written anew keeps its place
        for (slot, _) in call.reads.iter().chain(&call.writes) {
            if !fresh.contains(slot) {
                current.entry(*slot).or_insert(*slot);
            }
        }
        for slot in fresh {
            let n = lengths.of(slot);
            let kept = fixed.contains(&slot) || current.get(&slot).is_some_and(|same| *same == slot);
            let may = matches!(slot, Slot::Value(_) | Slot::Adjoint(_)) && n <= SMALL && spent + n <= BUDGET;
            if kept || !may {
                current.insert(slot, slot);
                continue;
            }
            spent += n.next_multiple_of(4);
            current.insert(slot, lengths.another(slot, &mut added, plan));
        }
        call.rename(|slot| current.get(&slot).copied().unwrap_or(slot));
    }
}
