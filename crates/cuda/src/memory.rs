//! Where slots live: in the shared memory of the first block of a team, which is fast and small, or in global
//! memory, which all its blocks see.

use crate::calls::{Call, Slot};
use crate::sweep::Spread;
use crate::versions::Lengths;
use cinoc_adjoint::backend::Plan;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A place for every slot.
pub struct Memory {
    places: BTreeMap<Slot, (bool, usize)>,
    /// Numbers of a slot whose numbers of the next step arrive while those of this one are in use: it has
    /// two places.
    twice: BTreeMap<Slot, usize>,
    /// Slots of which every block has its own copy.
    everywhere: BTreeSet<Slot>,
    /// Numbers of shared memory of a block.
    pub shared: usize,
    /// Numbers of global memory of a team.
    pub global: usize,
}

/// Slots begin at multiples of this many numbers: several are read at once.
const ALIGNED: usize = 4;

impl Memory {
    /// Gives every slot that a call touches a place, and those of `fetched` two if they are in shared
    /// memory. Small slots come first: there are many of them, and short loops wait for memory more often
    /// than they use it.
    pub fn place<'a>(
        plan: &Plan,
        lengths: &Lengths,
        calls: impl Iterator<Item = &'a Call>,
        fetched: &[Slot],
        spread: Spread,
        number: usize,
    ) -> Memory {
        let (mut touched, mut by_all) = (BTreeSet::new(), BTreeSet::new());
        let mut rooms = BTreeMap::new();
        let mut local = 0;
        for call in calls {
            local = local.max(call.local.next_multiple_of(ALIGNED));
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
            Slot::Room(_) | Slot::Desk(_) => rooms[&slot],
            _ => lengths.of(slot),
        };
        let mut order: Vec<Slot> = touched.into_iter().collect();
        order.sort_by_key(|&slot| (length(slot), slot));
        // memory that every block has for itself comes first, then parameters that all blocks read
        let (mut shared, mut global) = (local, 0);
        let (mut places, mut twice, mut everywhere) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        let params: Vec<Slot> = plan.params.iter().map(|param| Slot::Value(param.value)).collect();
        for slot in order.iter().filter(|slot| params.contains(slot) && by_all.contains(slot)) {
            let n = length(*slot).next_multiple_of(ALIGNED);
            if (shared + n) * number <= spread.shared / 2 {
                places.insert(*slot, (true, shared));
                everywhere.insert(*slot);
                shared += n;
            }
        }
        order.retain(|slot| !everywhere.contains(slot));
        for slot in order {
            let n = length(slot).next_multiple_of(ALIGNED);
            let all = if fetched.contains(&slot) { 2 * n } else { n };
            let near = !by_all.contains(&slot) && (shared + all) * number <= spread.shared;
            let used = if near { &mut shared } else { &mut global };
            places.insert(slot, (near, *used));
            if near && all > n {
                twice.insert(slot, n);
            }
            *used += if near { all } else { n };
        }
        Memory { places, twice, everywhere, shared, global }
    }

    /// Whether every block has its own copy of a slot.
    pub fn is_everywhere(&self, slot: Slot) -> bool {
        self.everywhere.contains(&slot)
    }

    /// Code of the place of a slot for step `t`, if it has two.
    pub fn fetched(&self, slot: Slot, t: &str) -> Option<String> {
        let n = self.twice.get(&slot)?;
        Some(format!("(near + {} + (({t}) & 1) * {n})", self.places[&slot].1))
    }

    /// Code that declares the slots with two places for step t.
    pub fn of_step(&self) -> String {
        let declared = self.twice.keys().map(|&slot| {
            let place = self.fetched(slot, "t").unwrap_or_default();
            format!("T *const {0} = {place}; (void){0};\n", slot.name())
        });
        declared.collect()
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
