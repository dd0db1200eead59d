//! Where slots live: in the shared memory of the first block of a team, which is fast and small, or in global
//! memory, which all its blocks see.

use crate::calls::{Call, Part, Slot};
use crate::fields::Field;
use crate::sweep::Spread;
use crate::tables::Matrix;
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
    /// Of every field in parts: its place in the shared memory of a block, and in global memory, where the
    /// host has it.
    fields: Vec<(Part, [usize; 2])>,
    /// Numbers of a box that blocks send each other numbers to, and of both boxes with their barriers.
    pub sent: usize,
    boxes: usize,
    /// Code of every matrix that blocks read.
    matrices: String,
    /// Numbers of shared memory of a block.
    pub shared: usize,
    /// Numbers of global memory of a team.
    pub global: usize,
}

/// Slots begin at multiples of this many numbers: several are read at once.
const ALIGNED: usize = 4;
/// Numbers whose place two barriers take, as in `device/fields.h`.
const BARRIERS: usize = 4;
/// Calls that must read a matrix for it to have a place in shared memory.
const OFTEN: usize = 12;

impl Memory {
    /// Gives every slot that a call touches a place, and those of `fetched` two if they are in shared
    /// memory. Small slots come first: there are many of them, and short loops wait for memory more often
    /// than they use it.
    pub fn place<'a>(
        plan: &Plan,
        lengths: &Lengths,
        (in_parts, matrices): (&[Field], &[Matrix]),
        calls: impl Iterator<Item = &'a Call>,
        fetched: &[Slot],
        spread: Spread,
        number: usize,
    ) -> Memory {
        let (mut touched, mut by_all) = (BTreeSet::new(), BTreeSet::new());
        let mut rooms = BTreeMap::new();
        let (mut local, mut sent) = (0, 0);
        let mut uses = vec![0; matrices.len()];
        for call in calls {
            local = local.max(call.local.next_multiple_of(ALIGNED));
            sent = sent.max(call.sent.next_multiple_of(ALIGNED));
            call.matrices.iter().for_each(|&matrix| uses[matrix] += 1);
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
        touched.retain(|slot| !matches!(slot, Slot::Field(_)));
        let length = |slot: Slot| match slot {
            Slot::Room(_) | Slot::Desk(_) => rooms[&slot],
            _ => lengths.of(slot),
        };
        let mut order: Vec<Slot> = touched.into_iter().collect();
        // in clusters, what is added up over all steps is added up later and elsewhere, if there is a store
        let late = |slot: Slot| {
            let mut sums = plan.persistent_adjoints.iter();
            spread.cluster > 1 && sums.any(|&sum| Slot::Adjoint(sum) == slot)
        };
        order.sort_by_key(|&slot| (late(slot), length(slot), slot));
        // memory that every block has for itself comes first: boxes, parts of fields, matrices, the most used
        // ones first, then parameters that all blocks read
        let boxes = if sent > 0 { BARRIERS + 2 * sent } else { 0 };
        let (mut shared, mut global) = (boxes + local, sent * spread.cluster);
        let mut fields = Vec::new();
        for field in in_parts {
            fields.push((field.part, [shared, global]));
            shared += field.own().next_multiple_of(ALIGNED);
            global += field.numbers.next_multiple_of(ALIGNED);
        }
        let mut of_matrices = String::new();
        let mut by_use: Vec<usize> = (0..matrices.len()).filter(|&i| uses[i] > 0).collect();
        by_use.sort_by_key(|&i| std::cmp::Reverse(uses[i]));
        for i in by_use {
            let Matrix { place, size } = &matrices[i];
            let near = uses[i] >= OFTEN && (shared + size) * number <= spread.shared * 7 / 8;
            let _ = if near {
                writeln!(of_matrices, "MATRIX_NEAR(m{i}, {shared}, {place}, {size})")
            } else {
                writeln!(of_matrices, "MATRIX_FAR(m{i}, {place})")
            };
            shared += if near { size.next_multiple_of(ALIGNED) } else { 0 };
        }
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
        Memory { places, twice, everywhere, fields, sent, boxes, matrices: of_matrices, shared, global }
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

    /// Whether all of a slot lies in global memory.
    pub fn is_far(&self, slot: Slot) -> bool {
        self.places.get(&slot).is_some_and(|(near, _)| !near)
    }

    /// Code that declares all slots and the teams.
    pub fn declarations(&self) -> String {
        let mut text = String::new();
        for (slot, (near, at)) in &self.places {
            let base = if *near { "near" } else { "far" };
            let _ = writeln!(text, "T *const {} = {base} + {at};", slot.name());
        }
        for (i, (part, [near, far])) in self.fields.iter().enumerate() {
            let _ = match part {
                Part::Rows(n) => {
                    writeln!(text, "const Rows<{n}> f{i} = ROWS({near}, {far}, {n}); (void)f{i};")
                }
                Part::Columns(w, ny) => {
                    writeln!(text, "const Columns<{ny}, {w}> f{i} = COLUMNS({near}, {far}); (void)f{i};")
                }
            };
        }
        text.push_str("TEAMS\n");
        if self.sent > 0 {
            let _ = writeln!(text, "TURNS({})", self.boxes);
        }
        text.push_str(&self.matrices);
        for slot in self.places.keys() {
            let _ = write!(text, "(void){}; ", slot.name());
        }
        text.push('\n');
        text
    }
}
