//! Calls of device functions: their code, what they read and write, and by which threads.
//!
//! A call is made by all threads of a team. In a cluster of several blocks, small calls are made by the
//! first block alone, which waits ten times faster for its own threads than for the others.

use crate::halves::{Halves, Transform};
use std::collections::HashMap;

/// Memory that calls share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Slot {
    /// A value of the plan.
    Value(usize),
    /// An adjoint of the plan.
    Adjoint(usize),
    /// The adjoint of a state, on its way to the step before.
    Carry(usize),
    /// Something that a step kept for later.
    Kept(usize),
    /// A field of which every block has a part in its shared memory.
    Field(usize),
    /// Memory that a call of all blocks uses for itself. There are several, so that calls need not wait for
    /// it.
    Room(usize),
    /// The same for a call of the first block.
    Desk(usize),
}

impl Slot {
    /// What it is called in the code.
    pub fn name(self) -> String {
        match self {
            Slot::Value(i) => format!("v{i}"),
            Slot::Adjoint(i) => format!("d{i}"),
            Slot::Carry(i) => format!("c{i}"),
            Slot::Kept(i) => format!("k{i}"),
            Slot::Field(i) => format!("f{i}"),
            Slot::Room(i) => format!("room{i}"),
            Slot::Desk(i) => format!("desk{i}"),
        }
    }
}

/// The part of a field that each block of a cluster has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// Whole rows, so many numbers.
    Rows(usize),
    /// So many numbers of every row, and the numbers of a row.
    Columns(usize, usize),
}

/// Which thread touches a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Number i is touched by thread i modulo their count, or, in a call on parts of a field, by a thread of
    /// the block that has it.
    Flat,
    /// Number i is touched by some thread of the block that has it.
    Within(Part),
    /// Any other.
    Free,
}

/// A call of a device function. `TEAM` in the text stands for the team that makes it.
#[derive(Clone, Debug)]
pub struct Call {
    /// Code.
    pub text: String,
    /// What it reads.
    pub reads: Vec<(Slot, Access)>,
    /// What it writes.
    pub writes: Vec<(Slot, Access)>,
    /// Numbers of room that it needs.
    pub room: usize,
    /// Operations, roughly.
    pub work: f64,
    /// Numbers of the largest value of its operation.
    pub numbers: usize,
    /// Threads that have something to do; the others may be at work on the next call.
    pub items: usize,
    /// Threads that share a sum.
    pub shares: usize,
    /// Numbers of shared memory that every block uses for itself.
    pub local: usize,
    /// What each block of a cluster works on, if all threads do not share all numbers.
    pub part: Option<Part>,
    /// Numbers of a box that blocks send each other numbers to.
    pub sent: usize,
    /// The products along both axes that it is.
    pub halves: Option<(Halves, Vec<Transform>)>,
    /// Matrices that it reads, by number.
    pub matrices: Vec<usize>,
    /// Code for one index i, if the call is nothing else for all i below `items`: neighbours become one loop.
    pub body: Option<String>,
}

/// Up to so many threads add up a sum without a barrier.
pub const LANES: usize = 32;

impl Call {
    /// A call that uses no room yet.
    pub fn new(text: String, work: f64) -> Call {
        Call {
            text,
            reads: Vec::new(),
            writes: Vec::new(),
            room: 0,
            work,
            numbers: usize::MAX,
            items: usize::MAX,
            shares: 1,
            local: 0,
            part: None,
            sent: 0,
            halves: None,
            matrices: Vec::new(),
            body: None,
        }
    }
    /// Reads a slot, number i by thread i.
    pub fn flat(mut self, slot: Slot) -> Call {
        self.reads.push((slot, Access::Flat));
        self
    }
    /// Reads a slot in another way.
    pub fn reads(mut self, slot: Slot) -> Call {
        self.reads.push((slot, Access::Free));
        self
    }
    /// Writes a slot, number i by thread i.
    pub fn writes(mut self, slot: Slot) -> Call {
        self.writes.push((slot, Access::Flat));
        self
    }
    /// Writes a slot in another way.
    pub fn fills(mut self, slot: Slot) -> Call {
        self.writes.push((slot, Access::Free));
        self
    }
    /// Keeps so many threads busy.
    pub fn items(self, items: usize) -> Call {
        Call { items, ..self }
    }
    /// Computes so many sums, each by `shares` threads.
    pub fn sums(mut self, count: usize, shares: usize) -> Call {
        self.items = (count * shares).next_multiple_of(LANES);
        self.shares = shares;
        self.room(if shares > LANES { count * shares } else { 0 })
    }
    /// Writes the sums to a slot: sum i by thread i, unless several threads share it.
    pub fn takes(self, slot: Slot) -> Call {
        if self.shares > 1 { self.fills(slot) } else { self.writes(slot) }
    }
    /// Each block reads a part of a field.
    pub fn reads_part(mut self, slot: Slot, part: Part) -> Call {
        self.reads.push((slot, Access::Within(part)));
        self
    }
    /// Each block writes a part of a field.
    pub fn writes_part(mut self, slot: Slot, part: Part) -> Call {
        self.writes.push((slot, Access::Within(part)));
        self
    }
    /// What each block works on.
    pub fn parts(self, part: Option<Part>) -> Call {
        Call { part, ..self }
    }
    /// The part of a slot that a block touches, if it touches no other number.
    pub fn part_of(&self, access: Access) -> Option<Part> {
        match access {
            Access::Flat => self.part,
            Access::Within(part) => Some(part),
            Access::Free => None,
        }
    }
    /// Uses so many numbers of room.
    pub fn room(mut self, numbers: usize) -> Call {
        self.room = numbers;
        self
    }
    /// Its code for a cluster of so many blocks, with the room it got, counted from thread `first`.
    pub(crate) fn code(&self, cluster: usize, room: Option<Slot>, first: usize) -> String {
        let team = if cluster > 1 && !self.whole(cluster) { "one" } else { "all" };
        let team = if first > 0 { &format!("from({team}, {first})") } else { team };
        let Some(room) = room else { return self.text.replace("TEAM", team) };
        let text = self.text.replace("TEAM.room", &room.name());
        text.replace("TEAM", &format!("with_room({team}, {})", room.name()))
    }
    /// Whether it adds to what it writes, as its text says.
    pub fn adds(&self) -> bool {
        self.text.contains("ADD") || self.text.contains("+=")
    }
    /// Whether it writes a slot anew, whatever was there.
    pub fn begins(&self, slot: Slot) -> bool {
        let read = self.reads.iter().any(|(read, _)| *read == slot);
        match &self.halves {
            Some((_, products)) => {
                let first = products.iter().find(|product| product.to == slot);
                !read && first.is_some_and(|product| product.mode == "WRITE")
            }
            None => !read && !self.adds(),
        }
    }
    /// Touches other slots instead.
    pub fn rename(&mut self, other: impl Fn(Slot) -> Slot) {
        let changed = |slot: Slot| Some((slot.name(), other(slot).name())).filter(|(old, new)| old != new);
        let names: HashMap<String, String> = self.touched().filter_map(|(slot, ..)| changed(slot)).collect();
        if names.is_empty() {
            return;
        }
        self.reads.iter_mut().chain(&mut self.writes).for_each(|(slot, _)| *slot = other(*slot));
        self.text = renamed(&self.text, &names);
        self.body = self.body.as_ref().map(|body| renamed(body, &names));
        for product in self.halves.iter_mut().flat_map(|(_, products)| products) {
            (product.from, product.to) = (other(product.from), other(product.to));
        }
    }
    /// All that it touches besides its room, and whether it writes there.
    pub fn touched(&self) -> impl Iterator<Item = (Slot, Access, bool)> + '_ {
        let reads = self.reads.iter().map(|&(slot, access)| (slot, access, false));
        reads.chain(self.writes.iter().map(|&(slot, access)| (slot, access, true)))
    }
    /// Rooms that would do.
    pub fn rooms(&self, cluster: usize) -> Vec<Slot> {
        let place = if cluster > 1 && !self.whole(cluster) { Slot::Desk } else { Slot::Room };
        match self.room {
            0 => Vec::new(),
            // room 0 is for those that need much
            1..=SMALL => (1..=ROOMS).map(place).collect(),
            _ => vec![place(0)],
        }
    }
    /// Whether the order of two calls matters.
    pub(crate) fn conflicts(&self, other: &Call) -> bool {
        let met = |(slot, _, write): (Slot, Access, bool)| {
            other.touched().any(|(same, _, also)| same == slot && (write || also))
        };
        self.touched().any(met)
    }
    /// Whether all blocks of a cluster make it.
    pub fn whole(&self, cluster: usize) -> bool {
        let enough = if self.numbers < FAR { WHOLE_NEAR } else { WHOLE };
        cluster > 1 && (self.work >= enough || self.part.is_some())
    }
}

/// The text with other words.
fn renamed(text: &str, names: &HashMap<String, String>) -> String {
    let mut changed = String::new();
    let mut word = String::new();
    for c in text.chars().chain([' ']) {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        changed.push_str(names.get(&word).unwrap_or(&word));
        changed.push(c);
        word.clear();
    }
    changed.pop();
    changed
}

/// From so many operations on, all blocks share the work: the barrier around it costs about as much as one
/// block needs for them.
const WHOLE: f64 = 30e3;

/// The same for values that fit into the shared memory of a block, which they leave if all blocks touch them.
/// `heat2d-obstacles` takes 47 ms with it, and 55 without.
const WHOLE_NEAR: f64 = 70e3;

/// Numbers of a value from which it does not fit there beside all the others.
const FAR: usize = 4096;

/// Rooms for calls that need little, and how much that is.
pub const ROOMS: usize = 6;
const SMALL: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    /// What fits into the shared memory of a block stays there longer.
    #[test]
    fn all_blocks_share_large_calls() {
        let whole = |work, numbers| Call { numbers, ..Call::new(String::new(), work) }.whole(6);
        assert!(whole(50e3, 5120) && !whole(50e3, 1024) && whole(80e3, 1024) && !whole(20e3, 5120));
        assert!(!Call::new(String::new(), 1e9).whole(1), "one block is all there is");
    }

    /// Who writes a sum decides who must wait for it.
    #[test]
    fn sums_that_threads_share_are_not_those_of_the_thread_with_their_number() {
        for (shares, access) in [(1, Access::Flat), (8, Access::Free), (192, Access::Free)] {
            let call = Call::new(String::new(), 1.0).sums(16, shares).takes(Slot::Value(0));
            assert_eq!(call.writes[0].1, access, "{shares} threads");
        }
    }
}
