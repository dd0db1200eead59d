//! Where slots live: in the shared memory of the first block of a team, which is fast and small, or in global
//! memory, which all its blocks see.

use crate::calls::{Call, Slot};
use crate::sweep::Spread;
use cinoc_adjoint::backend::Plan;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A place for every slot.
pub struct Memory {
    places: BTreeMap<Slot, (bool, usize)>,
    /// Numbers of shared memory of a block.
    pub shared: usize,
    /// Numbers of global memory of a team.
    pub global: usize,
}

/// Slots begin at multiples of this many numbers: several are read at once.
const ALIGNED: usize = 4;

impl Memory {
    /// Gives every slot that a call touches a place. Small slots come first: there are many of them, and short
    /// loops wait for memory more often than they use it.
    pub fn place<'a>(
        plan: &Plan,
        calls: impl Iterator<Item = &'a Call>,
        spread: Spread,
        number: usize,
    ) -> Memory {
        let (mut touched, mut by_all) = (BTreeSet::new(), BTreeSet::new());
        let mut rooms = BTreeMap::new();
        for call in calls {
            for room in call.rooms(spread.cluster) {
                let numbers = rooms.entry(room).or_insert(0);
                *numbers = call.room.max(*numbers);
            }
            for slot in call.touched().map(|(slot, ..)| slot).chain(call.rooms(spread.cluster)) {
                touched.insert(slot);
                if call.whole(spread.cluster) {
                    by_all.insert(slot);
                }
            }
        }
        touched.extend((0..plan.states.len()).map(Slot::Carry));
        let length = |slot: Slot| match slot {
            Slot::Value(i) => plan.value_len[i],
            Slot::Adjoint(i) => plan.adjoint_len[i],
            Slot::Carry(i) => plan.states[i].shape.size(),
            Slot::Room(_) | Slot::Desk(_) => rooms[&slot],
        };
        let mut order: Vec<Slot> = touched.into_iter().collect();
        order.sort_by_key(|&slot| (length(slot), slot));
        let (mut shared, mut global) = (0, 0);
        let mut places = BTreeMap::new();
        for slot in order {
            let n = length(slot).next_multiple_of(ALIGNED);
            let near = !by_all.contains(&slot) && (shared + n) * number <= spread.shared;
            let used = if near { &mut shared } else { &mut global };
            places.insert(slot, (near, *used));
            *used += n;
        }
        Memory { places, shared, global }
    }

    /// Whether a slot lies in shared memory.
    pub fn is_near(&self, slot: Slot) -> bool {
        self.places.get(&slot).is_some_and(|(near, _)| *near)
    }

    /// Code that declares all slots and the teams.
    pub fn declarations(&self) -> String {
        let mut text = String::new();
        for (slot, (near, at)) in &self.places {
            let base = if *near { "near" } else { "far" };
            let _ = writeln!(text, "T *const {} = {base} + {at};", slot.name());
        }
        text.push_str("TEAMS\n");
        for slot in self.places.keys() {
            let _ = write!(text, "(void){}; ", slot.name());
        }
        text.push('\n');
        text
    }
}
