//! Calls of device functions, what they read and write, and where threads must wait for each other.
//!
//! A call is made by all threads of a team. Two calls need a barrier between them if one writes what the other
//! reads or writes, unless both touch every number with the same thread: most elementwise chains need none.
//!
//! In a cluster of several blocks, small calls are made by the first block alone, which waits ten times faster
//! for its own threads than for the others.
//!
//! Calls that do not depend on each other may change places. Of those that could be next, one that needs no barrier
//! is taken before one that needs a barrier: there are then about as many barriers as calls in the longest chain.

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
    /// Memory that a call of all blocks uses for itself. There are several, so that calls need not wait for it.
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
            Slot::Room(i) => format!("room{i}"),
            Slot::Desk(i) => format!("desk{i}"),
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
        self
    }
    /// Its code for a cluster of so many blocks, with the room it got.
    fn code(&self, cluster: usize, room: Option<Slot>) -> String {
        let team = if cluster > 1 && !self.whole(cluster) { "one" } else { "all" };
        let Some(room) = room else { return self.text.replace("TEAM", team) };
        let text = self.text.replace("TEAM.room", &room.name());
        text.replace("TEAM", &format!("with_room({team}, {})", room.name()))
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
    fn conflicts(&self, other: &Call) -> bool {
        let met = |(slot, _, write): (Slot, Access, bool)| {
            other.touched().any(|(same, _, also)| same == slot && (write || also))
        };
        self.touched().any(met)
    }
    /// Whether all blocks of a cluster make it.
    pub fn whole(&self, cluster: usize) -> bool {
        cluster > 1 && self.work >= WHOLE
    }
}

/// From so many operations on, all blocks share the work: the barrier around it costs about as much as one block
/// needs for them.
const WHOLE: f64 = 30e3;

/// Rooms for calls that need little, and how much that is.
pub const ROOMS: usize = 6;
const SMALL: usize = 1024;

/// Something that happened to a slot since the last barrier of the cluster.
struct Event {
    write: bool,
    access: Access,
    whole: bool,
    /// Whether the first block has waited for its own threads since.
    settled: bool,
}

/// What a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wait {
    No,
    Block,
    Cluster,
}

/// Writes calls, with barriers where they are needed.
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

    /// What must be waited for before something is touched.
    fn wait(&self, touched: impl Iterator<Item = (Slot, Access, bool)>, whole: bool) -> Wait {
        let mut wait = Wait::No;
        for (slot, access, write) in touched {
            for event in self.events.get(&slot).into_iter().flatten().filter(|e| e.write || write) {
                let same = event.whole == whole && event.access == Access::Flat && access == Access::Flat;
                if same {
                    continue;
                }
                if self.cluster > 1 && (event.whole || whole) {
                    return Wait::Cluster;
                }
                if !event.settled {
                    wait = Wait::Block;
                }
            }
        }
        wait
    }

    /// The best room for a call, and what it must wait for.
    fn room(&self, call: &Call) -> (Option<Slot>, Wait) {
        let whole = call.whole(self.cluster);
        let used = |slot: Slot| self.wait([(slot, Access::Free, true)].into_iter(), whole);
        let best =
            call.rooms(self.cluster).into_iter().map(|slot| (used(slot), slot)).min_by_key(|(wait, _)| *wait);
        best.map_or((None, Wait::No), |(wait, slot)| (Some(slot), wait))
    }

    /// Writes calls, those first that need no barrier.
    pub fn calls(&mut self, calls: &[Call]) {
        let mut left: Vec<usize> = (0..calls.len()).collect();
        // of every call, how many earlier ones must come before it
        let mut before = vec![0; calls.len()];
        let mut after = vec![Vec::new(); calls.len()];
        for (i, call) in calls.iter().enumerate() {
            for (j, earlier) in calls[..i].iter().enumerate().filter(|(_, earlier)| call.conflicts(earlier)) {
                let _ = earlier;
                before[i] += 1;
                after[j].push(i);
            }
        }
        while !left.is_empty() {
            let ready = left.iter().enumerate().filter(|(_, i)| before[**i] == 0);
            let cost = |&(_, i): &(usize, &usize)| {
                let call = &calls[*i];
                let wait = self.wait(call.touched(), call.whole(self.cluster)).max(self.room(call).1);
                // while the first block is at work alone, it goes on
                (wait, self.alone == call.whole(self.cluster), *i)
            };
            let (place, &i) = ready.min_by_key(cost).expect("the first one left is ready");
            left.remove(place);
            after[i].iter().for_each(|&j| before[j] -= 1);
            self.call(&calls[i]);
        }
    }

    /// Writes a call.
    pub fn call(&mut self, call: &Call) {
        let whole = call.whole(self.cluster);
        let (room, wait) = self.room(call);
        match wait.max(self.wait(call.touched(), whole)) {
            Wait::No => {}
            Wait::Block if self.cluster > 1 => {
                self.enter();
                self.text.push_str("meet(one);\n");
                self.barriers[0] += 1;
                let alone = self.events.values_mut().flatten().filter(|event| !event.whole);
                alone.for_each(|event| event.settled = true);
            }
            Wait::Block | Wait::Cluster => self.meet(),
        }
        if self.cluster > 1 && !whole {
            self.enter();
        } else {
            self.leave();
        }
        self.text.push_str(&call.code(self.cluster, room));
        self.text.push('\n');
        let room = room.map(|slot| (slot, Access::Free, true));
        for (slot, access, write) in call.touched().chain(room) {
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
