//! Where threads must wait for each other.
//!
//! Two calls need a barrier between them if one writes what the other reads or writes, unless both touch
//! every number with the same thread: most elementwise chains need none.
//!
//! Calls that do not depend on each other may change places. Of those that could be next, one that needs no
//! barrier is taken before one that needs a barrier: there are then about as many barriers as calls in the
//! longest chain.

use crate::calls::{Access, Call, LANES, Part, Slot};
use std::collections::HashMap;
use std::fmt::Write;

/// Something that happened to a slot since the last barrier of the cluster.
struct Event {
    write: bool,
    access: Access,
    whole: bool,
    /// The thread that its call was counted from, and the part that each block touched.
    first: usize,
    part: Option<Part>,
    /// Whether the threads of the block that it happened in have waited for each other since.
    settled: bool,
}

/// What a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wait {
    No,
    /// The threads of the first block for each other.
    Block,
    /// The threads of every block for each other.
    Blocks,
    /// All for all.
    Cluster,
}

/// A loop that several calls can be part of: its indices, the part of each block, whether all blocks share
/// it, and the thread that it is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Loop {
    items: usize,
    part: Option<Part>,
    whole: bool,
    first: usize,
}

impl Loop {
    /// The loop of a call, if it is one.
    fn of(call: &Call, whole: bool, first: usize) -> Option<Loop> {
        let Call { items, part, .. } = *call;
        call.body.is_some().then_some(Loop { items, part, whole, first })
    }
}

/// Writes calls, with barriers where they are needed.
pub struct Schedule {
    cluster: usize,
    /// What the warps of a block do until the next barrier, in cycles, roughly.
    load: Vec<f64>,
    events: HashMap<Slot, Vec<Event>>,
    alone: bool,
    /// The loop that is being written.
    open: Option<Loop>,
    /// Code so far.
    pub text: String,
    /// Barriers of one block and of the cluster that were written.
    pub barriers: [usize; 2],
    /// Calls that are timed, if they are.
    timed: Option<Vec<String>>,
}

impl Schedule {
    /// For clusters of so many blocks with so many threads.
    pub fn new(cluster: usize, threads: usize) -> Schedule {
        Schedule {
            cluster,
            load: vec![0.0; (threads / LANES).max(1)],
            events: HashMap::new(),
            alone: false,
            open: None,
            text: String::new(),
            barriers: [0; 2],
            timed: None,
        }
    }

    /// The same with every call timed; `calls` are those of other schedules.
    pub fn timed(self, calls: Option<Vec<String>>) -> Schedule {
        Schedule { timed: calls, ..self }
    }

    /// Code that is not a call: a loop, a brace.
    pub fn line(&mut self, text: &str) {
        self.leave();
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// Ends the loop that is being written.
    fn close(&mut self) {
        if self.open.take().is_some() {
            self.text.push_str("});\n");
        }
    }

    fn leave(&mut self) {
        self.close();
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
        self.load.fill(0.0);
        self.time("meet(all)");
    }

    /// What must be waited for before something is touched by a call that is counted from `first`.
    fn wait(&self, touched: impl Iterator<Item = (Slot, Access, bool)>, call: &Call, first: usize) -> Wait {
        let (whole, mut wait) = (call.whole(self.cluster), Wait::No);
        for (slot, access, write) in touched {
            for event in self.events.get(&slot).into_iter().flatten().filter(|e| e.write || write) {
                let part = call.part_of(access);
                let alike = event.whole == whole && event.part == part;
                if alike && event.access == Access::Flat && access == Access::Flat && event.first == first {
                    continue;
                }
                // a block touches no numbers of others
                let apart = alike && part.is_some();
                if self.cluster > 1 && (event.whole || whole) && !apart {
                    return Wait::Cluster;
                }
                if !event.settled {
                    wait = wait.max(if whole { Wait::Blocks } else { Wait::Block });
                }
            }
        }
        wait
    }

    /// The best room for a call, and what it must wait for.
    fn room(&self, call: &Call) -> (Option<Slot>, Wait) {
        let used = |slot: Slot| self.wait([(slot, Access::Free, true)].into_iter(), call, 0);
        let best =
            call.rooms(self.cluster).into_iter().map(|slot| (used(slot), slot)).min_by_key(|(wait, _)| *wait);
        best.map_or((None, Wait::No), |(wait, slot)| (Some(slot), wait))
    }

    /// Warps that a call keeps busy.
    fn warps(&self, call: &Call) -> usize {
        call.items.div_ceil(LANES).clamp(1, self.load.len())
    }

    /// The thread that a call is best counted from, and what it must wait for: if possible nothing, then
    /// where there is least to do.
    fn place(&self, call: &Call) -> (Wait, usize) {
        let (whole, warps, all) = (call.whole(self.cluster), self.warps(call), self.load.len());
        if whole || 2 * warps > all {
            return (self.wait(call.touched(), call, 0), 0);
        }
        let busy = |first: usize| (0..warps).map(|i| self.load[(first + i) % all]).fold(0.0, f64::max);
        let choices = (0..all)
            .step_by(warps)
            .map(|first| (self.wait(call.touched(), call, first * LANES), busy(first), first * LANES));
        let best = choices.min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        best.map_or((Wait::No, 0), |(wait, _, first)| (wait, first))
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
                let wait = self.place(call).0.max(self.room(call).1);
                let whole = call.whole(self.cluster);
                // while the first block is at work alone, it goes on; and a loop goes on if it can
                let apart = !self.open.is_some_and(|open| Loop::of(call, whole, open.first) == Some(open));
                (wait, self.alone == whole, apart, *i)
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
        match wait.max(self.place(call).0) {
            Wait::No => {}
            Wait::Block if self.cluster > 1 => {
                self.close();
                self.enter();
                self.text.push_str("meet(one);\n");
                self.barriers[0] += 1;
                self.settle(false);
            }
            Wait::Blocks if self.cluster > 1 => {
                self.leave();
                self.text.push_str("meet(one);\n");
                self.barriers[0] += 1;
                self.settle(true);
            }
            Wait::Block | Wait::Blocks | Wait::Cluster => self.meet(),
        }
        let (_, first) = self.place(call);
        let warps = self.warps(call);
        let busy = 50.0 + 6.0 * call.work / (warps * LANES) as f64;
        let all = self.load.len();
        (0..warps).for_each(|i| self.load[(first / LANES + i) % all] += busy);
        let this = Loop::of(call, whole, first);
        let goes_on = this.is_some() && self.open == this;
        if !goes_on {
            self.close();
            if self.cluster > 1 && !whole { self.enter() } else { self.leave() }
        }
        match &call.body {
            Some(body) => {
                if !goes_on {
                    let Call { items, part, .. } = call;
                    let text = match part {
                        None => format!("each<{items}>(TEAM, [&](int i) {{\n"),
                        Some(Part::Rows(n)) => format!("each_in_rows<{items}, {n}>(one, [&](int i) {{\n"),
                        Some(Part::Columns(w, ny)) => {
                            format!("each_in_columns<{items}, {ny}, {w}>(one, [&](int i) {{\n")
                        }
                    };
                    self.text.push_str(&Call { text, ..call.clone() }.code(self.cluster, room, first));
                    self.open = this;
                }
                let _ = writeln!(self.text, "{{ {body} }}");
            }
            None => {
                self.text.push_str(&call.code(self.cluster, room, first));
                self.text.push('\n');
            }
        }
        let room = room.map(|slot| (slot, Access::Free, true));
        for (slot, access, write) in call.touched().chain(room) {
            self.events.entry(slot).or_default().push(Event {
                write,
                access,
                whole,
                first,
                part: call.part_of(access),
                settled: false,
            });
        }
        self.time(&call.text);
    }

    /// The threads of the first block, or of every block, have waited for each other.
    fn settle(&mut self, every: bool) {
        let waited = |event: &&mut Event| every || !event.whole;
        self.events.values_mut().flatten().filter(waited).for_each(|event| event.settled = true);
        self.load.fill(0.0);
    }

    /// Times what was just written, if calls are timed.
    fn time(&mut self, text: &str) {
        let Some(calls) = &mut self.timed else { return };
        let number = calls.len();
        calls.push(text.to_string());
        self.close();
        let _ = writeln!(self.text, "TIMED({number})");
    }

    /// What follows is for the first block alone.
    fn enter(&mut self) {
        if !std::mem::replace(&mut self.alone, true) {
            self.text.push_str("if (leader) {\n");
        }
    }

    /// The code, its barriers, and the calls that are timed.
    pub fn finish(mut self) -> (String, [usize; 2], Option<Vec<String>>) {
        self.leave();
        (self.text, self.barriers, self.timed)
    }
}
