//! What the parameters get from every step, added up after the sweep.
//!
//! Nothing in a step waits for the adjoints of the parameters, and their products are a good part of its
//! work. So the sweep only keeps their factors, in the store. When it is done, a kernel of its own adds up
//! the products of all steps: steps are independent there, so all of the device works at once.
//!
//! Only programs for clusters do this. One block has warps to spare for such products beside its other work,
//! and copies of their factors take as long: `fkpp1d` was slower by 5 %.

use crate::calls::{Call, Slot};
use crate::places::{ALIGNED, Places, Store, copy, filled};
use crate::schedule::Schedule;
use cinoc_adjoint::backend::{Op, Plan};
use std::collections::HashMap;
use std::fmt::Write;

/// Parts that the steps of a sample are cut into, each added up by one block. The same for all batches, so
/// that a sample contributes the same bits to each.
pub const PARTS: usize = 32;
/// Threads of such a block.
pub const THREADS: usize = 256;

/// What the reverse of a program does, divided into what the sweep must do and what can wait.
pub struct Late {
    /// The calls of a step back. Those that can wait are replaced by copies of what they read.
    pub back: Vec<Call>,
    /// The calls of the set-up that the sweep makes after its last step back.
    pub setup_back: Vec<Call>,
    /// Calls of a step that can wait, in the order they had, for one block.
    pub calls: Vec<Call>,
    /// Calls of the set-up that follow when all steps are added up.
    pub last: Vec<Call>,
    /// Slots of those calls and where they lie in the store of a step.
    kept: Vec<(Slot, usize)>,
    /// Sums over all steps, and where each lies in the row of a part.
    sums: Vec<(Slot, usize)>,
    /// Numbers of a step in the store.
    pub store: usize,
    /// Numbers of a row: the parameters, each at a multiple of four, then other sums.
    pub row: usize,
}

/// The reverse of all steps or of the set-up: calls with the operation that each is part of.
pub type Reversed<'a> = Vec<(&'a Op, Call)>;

/// Slots that nothing touches but calls that can wait.
fn sums(plan: &Plan, back: &Reversed, setup_back: &Reversed) -> Vec<Slot> {
    let fixed = |slot: &usize| plan.fixed.iter().any(|place| place.adjoint == Some(*slot));
    let persistent = plan.persistent_adjoints.iter().filter(|slot| !fixed(slot));
    let mut found: Vec<Slot> = persistent.map(|&slot| Slot::Adjoint(slot)).collect();
    loop {
        let before = found.len();
        let steps = back.iter().map(|(_, call)| (call, waits(call, &found)));
        let setup = setup_back.iter().map(|(_, call)| (call, within(call, &found)));
        let now: Vec<&Call> = steps.chain(setup).filter(|(_, late)| !late).map(|(call, _)| call).collect();
        found.retain(|slot| !now.iter().any(|call| call.touched().any(|(other, ..)| other == *slot)));
        if found.len() == before {
            return found;
        }
    }
}

/// Code of a place in the store of a step.
fn in_store(at: impl std::fmt::Display) -> String {
    format!("(store + size_t(t) * STORE + {at})")
}

/// The place in the store that a call copies something to, and what.
fn kept_by(call: &Call) -> Option<(String, Slot)> {
    let (_, rest) = call.text.split_once(in_store("").trim_end_matches(')'))?;
    let (at, _) = rest.split_once(')').filter(|_| call.writes.is_empty())?;
    Some((in_store(at), call.reads.first()?.0))
}

/// Lets what is kept be computed where it is kept, instead of being copied there, if nothing is written to
/// its slot afterwards and the slot is in global memory. Returns code that declares the places of such slots.
pub fn stay(calls: &mut Vec<Call>, is_far: impl Fn(Slot) -> bool, known: &[Slot]) -> String {
    let mut declared = String::new();
    let mut i = 0;
    while i < calls.len() {
        let found = kept_by(&calls[i]).filter(|(_, slot)| {
            let touched = |call: &&Call| call.touched().any(|(other, ..)| other == *slot);
            let begun = calls.iter().find(touched).is_some_and(|call| call.begins(*slot));
            let written = |call: &Call| call.writes.iter().any(|(other, _)| other == slot);
            begun && is_far(*slot) && !known.contains(slot) && !calls[i..].iter().any(written)
        });
        let Some((place, slot)) = found else {
            i += 1;
            continue;
        };
        calls.remove(i);
        let _ = writeln!(declared, "T *const {0} = {place}; (void){0};", slot.name());
    }
    declared
}

/// Whether a call of a step does nothing but add to such slots.
fn waits(call: &Call, sums: &[Slot]) -> bool {
    let to_sums = |(slot, _): &(Slot, _)| sums.contains(slot);
    !call.writes.is_empty()
        && call.adds()
        && call.writes.iter().all(to_sums)
        && !call.reads.iter().any(to_sums)
}

/// Whether a call touches nothing but such slots.
fn within(call: &Call, sums: &[Slot]) -> bool {
    call.touched().all(|(slot, ..)| sums.contains(&slot))
}

/// Numbers of a value or adjoint that the reverse of an operation reads.
fn size(op: &Op, slot: Slot) -> Option<usize> {
    let rule = op.reverse.as_ref()?;
    let inputs =
        rule.seen_inputs.iter().zip(&op.io.inputs).map(|(seen, shape)| (seen.map(Slot::Value), shape));
    let outputs =
        [rule.seen_output.map(Slot::Value), Some(Slot::Adjoint(rule.from))].map(|seen| (seen, &op.io.output));
    inputs.chain(outputs).find(|(seen, _)| *seen == Some(slot)).map(|(_, shape)| shape.size())
}

impl Late {
    /// Divides the reverse of steps and set-up. `alone` is the same, written for a block of the kernel that
    /// adds up.
    pub fn new(
        plan: &Plan,
        cluster: usize,
        [back, setup_back]: [Reversed; 2],
        alone: [Reversed; 2],
        stored: &Store,
    ) -> Late {
        let slots = if cluster > 1 { sums(plan, &back, &setup_back) } else { Vec::new() };
        let [alone, alone_setup] = alone;
        let moved = |call: &Call| within(call, &slots);
        let mut late = Late {
            back: Vec::new(),
            setup_back: setup_back.into_iter().map(|(_, call)| call).filter(|call| !moved(call)).collect(),
            calls: Vec::new(),
            last: alone_setup.into_iter().map(|(_, call)| call).filter(moved).collect(),
            kept: Vec::new(),
            sums: Vec::new(),
            store: stored.all,
            row: 0,
        };
        let (offsets, all) = Places::aligned(&plan.params);
        late.row = all;
        for &slot in &slots {
            let param = plan.params.iter().position(|place| place.adjoint.map(Slot::Adjoint) == Some(slot));
            late.sums.push((slot, param.map_or(late.row, |i| offsets[i])));
            if let (None, Slot::Adjoint(i)) = (param, slot) {
                late.row += plan.adjoint_len[i].next_multiple_of(ALIGNED);
            }
        }
        // a slot has one content after the other: how often it was written, and where each content is kept
        let mut written: HashMap<Slot, usize> = HashMap::new();
        let mut known: HashMap<(Slot, usize), Slot> = HashMap::new();
        for ((op, call), (_, mut own)) in back.into_iter().zip(alone) {
            if !waits(&call, &slots) {
                call.writes.iter().for_each(|(slot, _)| *written.entry(*slot).or_default() += 1);
                late.back.push(call);
                continue;
            }
            let mut names = HashMap::new();
            for &(slot, _) in &call.reads {
                let content = (slot, written.get(&slot).copied().unwrap_or(0));
                let kept = *known.entry(content).or_insert_with(|| late.keep(op, content, stored));
                names.insert(slot, kept);
            }
            own.rename(|slot| names.get(&slot).copied().unwrap_or(slot));
            late.calls.push(own);
        }
        late
    }

    /// Keeps what is in a slot after so many writes, unless the store has it.
    fn keep(&mut self, op: &Op, (slot, writes): (Slot, usize), stored: &Store) -> Slot {
        let at = stored.place(slot).filter(|_| writes == 0).unwrap_or_else(|| {
            let (at, n) = (self.store, size(op, slot).expect("a slot that the rule reads"));
            self.store += n.next_multiple_of(ALIGNED);
            self.back.push(copy(n, &in_store(at), &slot.name()).flat(slot));
            at
        });
        let kept = Slot::Kept(self.kept.len());
        self.kept.push((kept, at));
        kept
    }

    /// Whether an adjoint is added up late.
    pub fn has(&self, slot: Slot) -> bool {
        self.sums.iter().any(|(other, _)| *other == slot)
    }

    /// The code of the kernel that adds up: a block takes some of the steps of a sample, and writes a row.
    /// Also tells which calls are timed.
    pub fn body(&self, timed: Option<Vec<String>>) -> (String, Option<Vec<String>>) {
        let mut schedule = Schedule::new(1, THREADS).timed(timed);
        schedule.line(&format!("const int parts = {PARTS};"));
        schedule.line("for (int part = team; part < a.samples * parts; part += teams) {");
        schedule.line("const T *const store = a.store + size_t(part / parts) * a.steps * STORE;");
        schedule.line("T *const row = a.dparams + (size_t(a.samples) + part) * ROW;");
        schedule.line(&self.sums());
        schedule.call(&filled(self.row, "WRITE", "row", "T(0)"));
        schedule.meet();
        schedule.line("for (int t = part % parts; t < a.steps; t += parts) {");
        schedule.line(&self.kept());
        schedule.calls(&self.calls);
        schedule.meet();
        schedule.line("}");
        schedule.calls(&self.last);
        schedule.line("}");
        let (body, _, timed) = schedule.finish();
        (body, timed)
    }

    /// Code that declares the sums in the row of a part.
    fn sums(&self) -> String {
        let each = self.sums.iter().map(|(slot, at)| format!("T *const {} = row + {at};\n", slot.name()));
        each.collect()
    }

    /// Code that declares what a step kept.
    fn kept(&self) -> String {
        let each = self.kept.iter().map(|(slot, at)| {
            format!("const T *const {0} = store + size_t(t) * STORE + {at}; (void){0};\n", slot.name())
        });
        each.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const D: Slot = Slot::Adjoint(1);

    fn begun() -> Call {
        Call::new("fill<8, WRITE, 4>(TEAM, d1, 0);".into(), 1.0).writes(D)
    }
    fn kept() -> Call {
        copy(8, &in_store(40), "d1").flat(D)
    }

    #[test]
    fn what_is_kept_is_computed_where_it_is_kept() {
        let mut calls = vec![begun(), kept(), Call::new("other<8>(TEAM, d1);".into(), 1.0).reads(D)];
        let declared = stay(&mut calls, |_| true, &[]);
        assert_eq!(calls.len(), 2);
        assert_eq!(declared, "T *const d1 = (store + size_t(t) * STORE + 40); (void)d1;\n");
    }

    #[test]
    fn it_is_copied_if_its_slot_is_near_or_known_or_used_again_or_comes_from_before() {
        let cases = [
            (vec![begun(), kept()], false, vec![]),
            (vec![begun(), kept()], true, vec![D]),
            (vec![begun(), kept(), begun()], true, vec![]),
            (vec![kept()], true, vec![]),
        ];
        for (mut calls, far, known) in cases {
            let before = calls.len();
            assert_eq!(stay(&mut calls, |_| far, &known), "");
            assert_eq!(calls.len(), before);
        }
    }
}
