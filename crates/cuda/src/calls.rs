//! Calls of device functions, what they read and write, and where threads must wait for each other.
//!
//! A call is made by all threads of a team. Two calls need a barrier between them if one writes what the other
//! reads or writes, unless both touch every number with the same thread: most elementwise chains need none.
//!
//! In a cluster of several blocks, small calls are made by the first block alone, which waits ten times faster
//! for its own threads than for the others.

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
    /// Memory that a call of all blocks uses for itself.
    Room,
    /// The same for a call of the first block.
    Desk,
}

impl Slot {
    /// What it is called in the code.
    pub fn name(self) -> String {
        match self {
            Slot::Value(i) => format!("v{i}"),
            Slot::Adjoint(i) => format!("d{i}"),
            Slot::Carry(i) => format!("c{i}"),
            Slot::Room => "room".into(),
            Slot::Desk => "desk".into(),
        }
    }
}

/// Which thread touches a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Number i is touched by thread i modulo their count.
    Flat,
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
}

impl Call {
    /// A call that uses no room yet.
    pub fn new(text: String, work: f64) -> Call {
        Call { text, reads: Vec::new(), writes: Vec::new(), room: 0, work }
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
    /// Uses so many numbers of room.
    pub fn room(mut self, numbers: usize) -> Call {
        self.room = numbers;
        if numbers > 0 {
            self.reads.push((Slot::Room, Access::Free));
            self.writes.push((Slot::Room, Access::Free));
        }
        self
    }
    /// All that it touches, and whether it writes there.
    pub fn touched(&self, cluster: usize) -> impl Iterator<Item = (Slot, Access, bool)> + '_ {
        let desk = cluster > 1 && !self.whole(cluster);
        let place = move |slot: Slot| if desk && slot == Slot::Room { Slot::Desk } else { slot };
        let reads = self.reads.iter().map(move |&(slot, access)| (place(slot), access, false));
        reads.chain(self.writes.iter().map(move |&(slot, access)| (place(slot), access, true)))
    }
    /// Whether all blocks of a cluster make it.
    pub fn whole(&self, cluster: usize) -> bool {
        cluster > 1 && self.work >= WHOLE
    }
}

/// From so many operations on, all blocks share the work: the barrier around it costs about as much as one block
/// needs for them.
const WHOLE: f64 = 30e3;

/// Something that happened to a slot since the last barrier of the cluster.
struct Event {
    write: bool,
    access: Access,
    whole: bool,
    /// Whether the first block has waited for its own threads since.
    settled: bool,
}

/// Writes calls one after the other, with barriers where they are needed.
pub struct Schedule {
    cluster: usize,
    events: HashMap<Slot, Vec<Event>>,
    alone: bool,
    /// Code so far.
    pub text: String,
    /// Barriers of one block and of the cluster that were written.
    pub barriers: [usize; 2],
}

impl Schedule {
    /// For clusters of so many blocks.
    pub fn new(cluster: usize) -> Schedule {
        Schedule { cluster, events: HashMap::new(), alone: false, text: String::new(), barriers: [0; 2] }
    }

    /// Code that is not a call: a loop, a brace.
    pub fn line(&mut self, text: &str) {
        self.leave();
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn leave(&mut self) {
        if std::mem::take(&mut self.alone) {
            self.text.push_str("}\n");
        }
    }

    /// All threads wait for each other.
    pub fn meet(&mut self) {
        self.leave();
        self.text.push_str("meet(all);\n");
        self.barriers[usize::from(self.cluster > 1)] += 1;
        self.events.clear();
    }

    /// Writes a call.
    pub fn call(&mut self, call: &Call) {
        let whole = call.whole(self.cluster);
        let (mut settle, mut meet) = (false, false);
        for (slot, access, write) in call.touched(self.cluster) {
            for event in self.events.get(&slot).into_iter().flatten().filter(|e| e.write || write) {
                let same = event.whole == whole && event.access == Access::Flat && access == Access::Flat;
                if same {
                    continue;
                }
                if self.cluster > 1 && (event.whole || whole) {
                    meet = true;
                } else if !event.settled {
                    settle = true;
                }
            }
        }
        if meet {
            self.meet();
        } else if settle {
            if self.cluster == 1 {
                self.meet();
            } else {
                debug_assert!(!whole);
                self.enter();
                self.text.push_str("meet(one);\n");
                self.barriers[0] += 1;
                let alone = self.events.values_mut().flatten().filter(|event| !event.whole);
                alone.for_each(|event| event.settled = true);
            }
        }
        if self.cluster > 1 && !whole {
            self.enter();
        } else {
            self.leave();
        }
        let team = if self.cluster > 1 && !whole { "one" } else { "all" };
        self.text.push_str(&call.text.replace("TEAM", team));
        self.text.push('\n');
        for (slot, access, write) in call.touched(self.cluster) {
            self.events.entry(slot).or_default().push(Event { write, access, whole, settled: false });
        }
    }

    /// What follows is for the first block alone.
    fn enter(&mut self) {
        if !std::mem::replace(&mut self.alone, true) {
            self.text.push_str("if (leader) {\n");
        }
    }

    /// The code.
    pub fn finish(mut self) -> (String, [usize; 2]) {
        self.leave();
        (self.text, self.barriers)
    }
}
