//! The code of a program: a forward sweep and a gradient, each one launch.
//!
//! Every team takes a sample, runs all its steps forward and, for a gradient, back, then the next sample.
//! Values and adjoints of a step stay where the plan puts them. The states before every step go to the
//! history; with a store, values that take much arithmetic go there instead of being computed again.

use crate::calls::{Call, Slot};
use crate::cuts::cut_at_once;
use crate::executable::Entry;
use crate::fields::{Fields, Stored};
use crate::halves::pair;
use crate::late::{self, Late, Reversed};
use crate::lower::Lower;
use crate::memory::Memory;
use crate::places::{Fetched, Places, Store, copy, filled, send};
use crate::schedule::Schedule;
use crate::tables::Tables;
use crate::versions::{Lengths, separate};
use crate::weights;
use cinoc_adjoint::backend::{Op, Plan};
use std::collections::HashMap;
use std::fmt::Write;

/// How the work on a sample is spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Threads of a block.
    pub threads: usize,
    /// Blocks of a cluster.
    pub cluster: usize,
    /// Blocks that share a processor.
    pub beside: usize,
    /// Whether products of many terms are left to the matrix units; small ones always are.
    pub units: bool,
    /// Bytes of shared memory that a block may use.
    pub shared: usize,
    /// Whether every call is timed: the cycles of the first thread, from the end of the call before.
    pub timed: bool,
}

/// A program as source code, with what must be known to run it.
pub struct Code {
    /// The source, for both precisions: `REAL` decides.
    pub text: String,
    /// Constants.
    pub tables: Tables,
    /// How the work is spread.
    pub spread: Spread,
    /// Bytes of shared memory of a block.
    pub shared_bytes: usize,
    /// Numbers of memory of a team, of one step of its history and of its store.
    pub memory: usize,
    /// States of one step.
    pub history: usize,
    /// Stored values of one step, and what is kept for the parameters.
    pub store: usize,
    /// Numbers that a sample, or a part of its steps, contributes to the gradient of the parameters.
    pub row: usize,
    /// The kernel that adds up what the parameters get.
    pub late: LateCode,
    /// Barriers of a block and of a cluster in one step of the gradient.
    pub barriers: [usize; 2],
    /// Whether there are kernels for the gradient.
    pub differentiated: bool,
    /// Calls that are timed, in the order of their clocks.
    pub timed: Vec<String>,
}

/// The kernel that adds up what the parameters get after a sweep with a store. It has blocks of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LateCode {
    /// Whether there is something to add up.
    pub needed: bool,
    /// Bytes of shared memory of a block.
    pub shared_bytes: usize,
    /// Numbers of memory of a block.
    pub memory: usize,
}

/// Bytes of shared memory of such a block.
const SHARED_APART: usize = 96 << 10;

/// The device functions, in the order they need each other.
const FUNCTIONS: [&str; 12] = [
    include_str!("device/team.h"),
    include_str!("device/product.h"),
    include_str!("device/reduce.h"),
    include_str!("device/units.h"),
    include_str!("device/small.h"),
    include_str!("device/fields.h"),
    include_str!("device/fourier.h"),
    include_str!("device/layout.h"),
    include_str!("device/gaussian.h"),
    include_str!("device/advect.h"),
    include_str!("device/gather.h"),
    include_str!("device/conv.h"),
];

/// Functions of larger programs are compiled once and called, not inlined.
const LARGE: usize = 300;

/// Writes lists of calls one after the other; calls that do not depend on each other may change places.
fn all(schedule: &mut Schedule, lists: &[&[Call]]) {
    let calls: Vec<Call> = lists.iter().flat_map(|list| list.iter().cloned()).collect();
    schedule.calls(&calls);
}

/// A kernel: who this thread is and where its memory lies, then the code. It can be left out.
fn kernel(name: &str, body: &str, memory: &Memory) -> String {
    let slots = memory.declarations();
    let begin = format!("ENTRY {name}(Arguments a) {{\nBEGIN\n{slots}");
    format!("#ifndef WITHOUT_{name}\n{begin}{body}END\n}}\n#endif")
}

impl Spread {
    /// A block alone on its processor, or a cluster of such blocks, with so many bytes of shared memory each.
    /// Clusters have warps enough for the matrix units.
    pub fn new(threads: usize, cluster: usize, shared: usize) -> Spread {
        Spread { threads, cluster, beside: 1, units: cluster > 1, shared, timed: false }
    }

    /// Blocks per sample, by the work of a step.
    pub fn blocks(plan: &Plan) -> usize {
        match plan.step.iter().map(|op| op.flops()).sum::<f64>() {
            work if work < 3e6 => 1,
            work if work < 15e6 => 9,
            work if work < 40e6 => 6,
            _ => 16,
        }
    }

    /// The same for batches that fill the device however few blocks each sample has: then one block, which
    /// waits for no other, or two on a processor, whose blocks have so many bytes of shared memory together.
    /// None where one block would have too much to do.
    pub fn of_many(self, shared: usize) -> Option<Spread> {
        match self.cluster {
            1 => Some(Spread { threads: 256, beside: 2, shared: shared / 2 - RESERVED, ..self }),
            2..16 => Some(Spread { cluster: 1, ..self }),
            _ => None,
        }
    }
}

/// Bytes of shared memory that a device keeps for itself, of every block.
pub const RESERVED: usize = 1024;

impl Code {
    /// The source of one kernel: all of them take a compiler long.
    pub fn only(&self, entry: Entry) -> String {
        let others = Entry::ALL.into_iter().filter(|other| *other != entry);
        let without: String = others.map(|other| format!("#define WITHOUT_{}\n", other.name())).collect();
        let apart = if entry == Entry::Late { "#define LATE_KERNEL\n" } else { "" };
        without + apart + &self.text
    }
}

/// The reverse of operations, the last one first.
fn reverse<'a>(lower: &mut Lower, ops: &'a [Op]) -> Reversed<'a> {
    ops.iter().rev().flat_map(|op| lower.reverse(op).into_iter().map(move |call| (op, call))).collect()
}

/// The source code of a plan.
pub fn generate(plan: &Plan, spread: Spread, number: usize) -> Code {
    assert_eq!(plan.samples, 1, "a team works on one sample");
    let mut tables = Tables::default();
    // far below rounding
    let negligible = if number == 4 { 1e-10 } else { 1e-19 };
    let spaced = weights::spaced(plan);
    let mut lower = Lower {
        tables: &mut tables,
        threads: spread.threads,
        cluster: spread.cluster,
        units: spread.units,
        far: false,
        negligible,
        near: spread.shared / number / 3,
        parts: HashMap::new(),
        numbers: 0,
        spaced: spaced.iter().map(|of| (of.slot, of.apart)).collect(),
    };
    lower.find_parts(plan.setup.iter().chain(&plan.step));
    let mut forward =
        |ops: &mut dyn Iterator<Item = &Op>| -> Vec<Call> { ops.flat_map(|op| lower.forward(op)).collect() };
    let setup = forward(&mut plan.setup.iter());
    let step = forward(&mut plan.step.iter());
    let essential = forward(&mut plan.step.iter().filter(|op| op.essential));
    let again = forward(&mut plan.step.iter().filter(|op| op.recompute));
    let beside_stored = forward(&mut plan.step.iter().filter(|op| op.recompute_beside_stored));
    let reversed = [&plan.step, &plan.setup].map(|ops| reverse(&mut lower, ops));
    let calls = |list: &Reversed| -> Vec<Call> { list.iter().map(|(_, call)| call.clone()).collect() };
    let [step_back, setup_back] = reversed.each_ref().map(calls);
    // the same for the blocks that add up what the parameters get
    (lower.threads, lower.cluster, lower.units, lower.far) = (late::THREADS, 1, true, true);
    let alone = [&plan.step, &plan.setup].map(|ops| reverse(&mut lower, ops));
    let store = Store::new(plan);
    let late = Late::new(plan, spread.cluster, reversed, alone, &store);

    let places = Places { plan };
    let constants: Vec<Call> = plan
        .constants
        .iter()
        .map(|(slot, numbers)| {
            let slot = Slot::Value(*slot);
            copy(numbers.len(), &slot.name(), &tables.numbers(numbers)).writes(slot)
        })
        .collect();
    let params = places.load_params(&spaced);
    let mut given = places.load(&plan.fixed, |offset, size| Places::sample("fixed", offset, size));
    given.extend(places.load(&plan.states, |offset, size| Places::sample("states", offset, size)));
    let sequences = places.load(&plan.sequences, |offset, size| Places::step("sequences", offset, size));

    // all calls that may run, to see what they touch
    let (mut seeds, mut carried) = (Vec::new(), Vec::new());
    // without an objective there are no adjoints, and no gradient
    let differentiated = !plan.terms.is_empty();
    for (i, (_, seed)) in plan.next.iter().enumerate().filter(|_| differentiated) {
        let (n, to, from) = (plan.states[i].shape.size(), Slot::Adjoint(seed.slot), Slot::Carry(i));
        let mode = if seed.accumulate { "ADD" } else { "WRITE" };
        seeds.push(filled(n, mode, &to.name(), &format!("{}[i]", from.name())).flat(from).writes(to));
    }
    seeds.extend(places.term_seeds());
    for (i, state) in plan.states.iter().enumerate() {
        let (n, to) = (state.shape.size(), Slot::Carry(i));
        let call = match state.adjoint.map(Slot::Adjoint) {
            Some(from) => {
                filled(n, "WRITE", &to.name(), &format!("limited({}[i], a.limit)", from.name())).flat(from)
            }
            None => filled(n, "WRITE", &to.name(), "T(0)"),
        };
        carried.push(call.writes(to));
    }
    let cleared: Vec<(Slot, Call)> = plan
        .persistent_adjoints
        .iter()
        .map(|&slot| (Slot::Adjoint(slot), plan.adjoint_len[slot]))
        .chain(plan.states.iter().enumerate().map(|(i, state)| (Slot::Carry(i), state.shape.size())))
        .map(|(slot, n)| (slot, filled(n, "WRITE", &slot.name(), "T(0)").writes(slot)))
        .collect();

    let records = places.unload(&plan.records, |offset, size| Places::step("records", offset, size));
    let dsequences =
        places.unload_adjoints(&plan.sequences, |offset, size| Places::step("dsequences", offset, size));
    let (terms, carry_on, remembered) = (places.terms(), places.carry_on(), places.remember("t"));
    // what other parts of a kernel know by its name
    let mut known: Vec<Slot> = plan.states.iter().map(|state| Slot::Value(state.value)).collect();
    known.extend(plan.stored.iter().map(|&slot| Slot::Value(slot)));
    known.extend(plan.persistent_adjoints.iter().map(|&slot| Slot::Adjoint(slot)));
    let mut lengths = Lengths::new(plan).spaced(&spaced);
    let mut fields = Fields::new(spread.shared / number / 4);
    let (stored, fixed): (Vec<Slot>, Vec<Slot>) =
        known.iter().partition(|slot| plan.stored.iter().any(|&i| Slot::Value(i) == **slot));
    let mut together = |lists: &[&[Call]], fate: Stored| -> Vec<Call> {
        let mut calls = lists.concat();
        cut_at_once(&mut calls);
        pair(&mut calls);
        separate(&mut calls, &known, &mut lengths, plan);
        fields.keep(&mut calls, &fixed, &stored, fate);
        calls
    };
    let step = together(&[&sequences, &step, &terms, &records, &carry_on], Stored::OfNoUse);
    let step_first = together(&[&sequences, &remembered, &essential, &terms, &carry_on], Stored::Copied);
    let mut back = |rerun: &[Call], back: &[Call], fate: Stored| {
        together(&[&sequences, rerun, &seeds, back, &carried, &dsequences], fate)
    };
    let back_again = back(&again, &step_back, Stored::OfNoUse);
    let mut back_stored = back(&beside_stored, &late.back, Stored::Given);

    let everything =
        [&params, &constants, &given, &setup, &setup_back, &step, &step_first, &back_again, &back_stored]
            .into_iter()
            .flatten()
            .chain(cleared.iter().map(|(_, call)| call));
    let recalled = places.recalled();
    let mut fetched: Vec<Slot> = recalled.iter().map(|one| one.slot).collect();
    fetched.extend(plan.stored.iter().map(|&slot| Slot::Value(slot)));
    let memory =
        Memory::place(plan, &lengths, (&fields.list, &tables.matrices), everything, &fetched, spread, number);

    let staying = late::stay(&mut back_stored, |slot| memory.is_far(slot), &known);

    // copies that every block makes for itself
    let of_all = |call: &&Call| memory.is_everywhere(call.writes[0].0);
    let everywhere: String =
        params.iter().filter(of_all).map(|call| call.text.replace("TEAM", "one") + "\n").collect();
    let mut begun: Vec<Call> = params.iter().filter(|call| !of_all(call)).cloned().collect();
    begun.extend(constants);
    // the kernel that adds up has no slots of its own besides the room of its calls
    let bare = |call: &Call| Call { reads: Vec::new(), writes: Vec::new(), ..call.clone() };
    let bare: Vec<Call> = late.calls.iter().chain(&late.last).map(bare).collect();
    let apart = Spread { timed: spread.timed, ..Spread::new(late::THREADS, 1, SHARED_APART) };
    let memory_apart =
        Memory::place(plan, &lengths, (&[], &tables.matrices), bare.iter(), &[], apart, number);
    let (params_at, _) = Places::aligned(&plan.params);
    let in_row = plan.params.iter().zip(&params_at).flat_map(|(place, at)| *at..at + place.shape.size());
    let in_row = tables.indices(in_row.map(|at| at as i32).collect());
    let mut text = String::new();
    if plan.step.len() > LARGE {
        text.push_str("#define LARGE_PROGRAM\n");
    }
    if spread.timed {
        text.push_str("#define TIMED_CALLS\n");
    }
    let sizes = |spread: Spread, memory: &Memory| {
        let Spread { cluster, threads, beside, .. } = spread;
        let Memory { global, sent, .. } = memory;
        format!(
            "#define CLUSTER {cluster}\n#define THREADS {threads}\n#define BESIDE {beside}\n\
             #define MEMORY {global}\n#define BOX {sent}\n"
        )
    };
    let _ = write!(text, "#ifdef LATE_KERNEL\n{}#else\n", sizes(apart, &memory_apart));
    let _ = writeln!(text, "{}#endif", sizes(spread, &memory));
    let _ = writeln!(text, "#define PARAMS {}\n#define ROW {}", plan.param_len(), late.row);
    let _ = writeln!(text, "#define PLACES_OF_PARAMS {in_row}");
    let _ = writeln!(text, "#define TERMS {}", plan.terms.len());
    let history = places.history().1;
    let _ = writeln!(text, "#define HISTORY {history}\n#define STORE {}", late.store);
    FUNCTIONS.iter().for_each(|part| text.push_str(part));
    text.push_str(include_str!("device/kernel.h"));
    text.push_str(include_str!("device/update.h"));

    // forward
    let ends = places.unload(&plan.states, |offset, size| Places::sample("ends", offset, size));
    let (clear_terms, sums) = ([places.clear_terms()], [places.unload_terms()]);
    let mut schedule = Schedule::new(spread.cluster, spread.threads).timed(spread.timed.then(Vec::new));
    schedule.line("SUMS_OF_TERMS");
    schedule.line(&everywhere);
    all(&mut schedule, &[&begun]);
    schedule.line("for (int sample = team; sample < a.samples; sample += teams) {");
    schedule.meet();
    all(&mut schedule, &[&clear_terms, &given, &setup]);
    schedule.meet();
    schedule.line("for (int t = 0; t < a.steps; t++) {");
    all(&mut schedule, &[&step]);
    schedule.meet();
    schedule.line("}");
    all(&mut schedule, &[&ends, &sums]);
    schedule.line("}");
    let (body, _, mut timed) = schedule.finish();
    let _ = writeln!(text, "{}", kernel("forward_sweep", &body, &memory));

    // gradient, with and without a store
    let mut barriers = [0; 2];
    let last = places.remember("a.steps");
    let copied = |one: &&Fetched| memory.fetched(one.slot, "t").is_none();
    let copied: Vec<Call> = recalled.iter().filter(copied).map(Fetched::copied).collect();
    let gradients = [("gradient_again", false, &back_again), ("gradient_stored", true, &back_stored)];
    for (name, stored, back) in gradients.into_iter().filter(|_| differentiated) {
        let is_late = |slot: Slot| stored && late.has(slot);
        let put_away = if stored { store.put_away(&memory) } else { Vec::new() };
        let fetched = store.fetched(&memory).into_iter().filter(|_| stored);
        let fetched: Vec<Fetched> = places.recalled().into_iter().chain(fetched).collect();
        let places_in_store = if stored { store.declarations(&memory) } else { String::new() };
        let cleared = cleared.iter().filter(|(slot, _)| !is_late(*slot)).map(|(_, call)| call.clone());
        let cleared: Vec<Call> = cleared.collect();
        let mut schedule = Schedule::new(spread.cluster, spread.threads).timed(timed);
        schedule.line("T *const history = a.history + size_t(team) * (a.steps + 1) * HISTORY;");
        schedule.line("(void)history;");
        schedule.line("SUMS_OF_TERMS");
        schedule.line(&everywhere);
        all(&mut schedule, &[&begun]);
        schedule.line("for (int sample = team; sample < a.samples; sample += teams) {");
        schedule.line("T *const store = a.store + size_t(sample) * a.steps * STORE; (void)store;");
        schedule.meet();
        all(&mut schedule, &[&clear_terms, &given, &setup]);
        schedule.meet();
        schedule.line("for (int t = 0; t < a.steps; t++) {");
        schedule.line(&places_in_store);
        all(&mut schedule, &[&step_first, &put_away]);
        schedule.meet();
        schedule.line("}");
        all(&mut schedule, &[&last, &ends, &sums, &cleared]);
        schedule.meet();
        schedule.line(&send(&fetched, &memory, "(a.steps - 1)"));
        schedule.line("arrived();");
        schedule.meet();
        schedule.line("for (int t = a.steps - 1; t >= 0; t--) {");
        schedule.line(&memory.of_step());
        schedule.line(&places_in_store);
        if stored {
            schedule.line(&staying);
        }
        schedule.line("if (t > 0) {");
        schedule.line(&send(&fetched, &memory, "(t - 1)"));
        schedule.line("}");
        all(&mut schedule, &[&copied, back]);
        schedule.line("arrived();");
        schedule.meet();
        schedule.line("}");
        all(&mut schedule, &[if stored { &late.setup_back } else { &setup_back }]);
        for (place, offset) in plan.params.iter().zip(&params_at) {
            let size = place.shape.size();
            let there = format!("(a.dparams + size_t(sample) * ROW + {offset})");
            schedule.call(&match place.adjoint.map(Slot::Adjoint).filter(|slot| !is_late(*slot)) {
                Some(slot) => copy(size, &there, &slot.name()).flat(slot),
                None => filled(size, "WRITE", &there, "T(0)"),
            });
        }
        let dfixed =
            places.unload_adjoints(&plan.fixed, |offset, size| Places::sample("dfixed", offset, size));
        all(&mut schedule, &[&dfixed]);
        let (offsets, _) = Places::offsets(&plan.states);
        for (i, (state, offset)) in plan.states.iter().zip(offsets).enumerate() {
            let (size, slot) = (state.shape.size(), Slot::Carry(i));
            schedule.call(&copy(size, &Places::sample("dstates", offset, size), &slot.name()).flat(slot));
        }
        schedule.line("}");
        let (body, counted, calls) = schedule.finish();
        (barriers, timed) = (counted, calls);
        let _ = writeln!(text, "{}", kernel(name, &body, &memory));
    }
    if !late.calls.is_empty() {
        let (body, calls) = late.body(timed);
        timed = calls;
        let _ = writeln!(text, "{}", kernel(Entry::Late.name(), &body, &memory_apart));
    }
    Code {
        text,
        tables,
        spread,
        shared_bytes: memory.shared * number,
        memory: memory.global,
        history,
        store: late.store,
        row: late.row,
        late: LateCode {
            needed: !late.calls.is_empty(),
            shared_bytes: memory_apart.shared * number,
            memory: memory_apart.global,
        },
        barriers,
        differentiated,
        timed: timed.unwrap_or_default(),
    }
}
