//! The code of a program: a forward sweep and a gradient, each one launch.
//!
//! Every team takes a sample, runs all its steps forward and, for a gradient, back, then the next sample. Values
//! and adjoints of a step stay where the plan puts them. The states before every step go to the history; with a
//! store, values that take much arithmetic go there instead of being computed again.

use crate::calls::{Call, Schedule, Slot};
use crate::executable::Entry;
use crate::lower::Lower;
use crate::memory::Memory;
use crate::tables::Tables;
use crate::versions::{Lengths, separate};
use cinoc_adjoint::backend::{Op, Placed, Plan};
use std::collections::HashMap;
use std::fmt::Write;

/// How the work on a sample is spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Threads of a block.
    pub threads: usize,
    /// Blocks of a cluster.
    pub cluster: usize,
    /// Bytes of shared memory that a block may use.
    pub shared: usize,
    /// Whether every call is timed. Nothing overlaps then, so sums are larger than the whole.
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
    /// Stored values of one step.
    pub store: usize,
    /// Barriers of a block and of a cluster in one step of the gradient.
    pub barriers: [usize; 2],
    /// Whether there are kernels for the gradient.
    pub differentiated: bool,
    /// Calls that are timed, in the order of their clocks.
    pub timed: Vec<String>,
}

/// The device functions, in the order they need each other.
const FUNCTIONS: [&str; 9] = [
    include_str!("device/team.h"),
    include_str!("device/product.h"),
    include_str!("device/reduce.h"),
    include_str!("device/fourier.h"),
    include_str!("device/layout.h"),
    include_str!("device/gaussian.h"),
    include_str!("device/advect.h"),
    include_str!("device/gather.h"),
    include_str!("device/conv.h"),
];

/// Functions of larger programs are compiled once and called, not inlined.
const LARGE: usize = 200;

/// `to[i] = value` for n numbers, each by its own thread.
fn filled(n: usize, mode: &str, to: &str, value: &str) -> Call {
    let text = format!("fill<{n}, {mode}, 4>(TEAM, {to}, [&](int i) {{ return {value}; }});");
    // where a thread has one or two numbers they need not be asked for at once
    let body = (n <= 512).then(|| format!("put<{mode}>({to} + i, {value});"));
    Call { body, ..Call::new(text, 8.0 * n as f64).items(n) }
}

/// A copy of n numbers, each by its own thread.
fn copy(n: usize, to: &str, from: &str) -> Call {
    filled(n, "WRITE", to, &format!("{from}[i]"))
}

/// The first of some choices whose number is `index`, as an expression.
fn chosen(index: &str, choices: &[String]) -> String {
    let last = choices.len() - 1;
    let mut text = String::new();
    for (k, choice) in choices[..last].iter().enumerate() {
        let _ = write!(text, "{index} == {k} ? {choice} : ");
    }
    text + &choices[last]
}

/// Slots begin at multiples of this many numbers.
const ALIGNED: usize = 4;

/// Numbers that a step back needs, in the history or in the store. `T_0` in the place stands for the step, `T_1` for
/// the one after it.
struct Fetched {
    slot: Slot,
    numbers: usize,
    from: String,
}

impl Fetched {
    fn from(&self, t: &str) -> String {
        self.from.replace("T_0", t).replace("T_1", &format!("({t} + 1)"))
    }

    /// Code that sends for the numbers of step t, if the slot has a second place for them.
    fn sent(&self, memory: &Memory, t: &str) -> Option<String> {
        let (to, n) = (memory.fetched(self.slot, t)?, self.numbers);
        Some(format!("send<{n}>(one, {to}, {});\n", self.from(t)))
    }

    /// A copy of the numbers of this step.
    fn copied(&self) -> Call {
        copy(self.numbers, &self.slot.name(), &self.from("t")).writes(self.slot)
    }
}

/// Code for the first block alone that sends for all numbers of step t.
fn send(fetched: &[Fetched], memory: &Memory, t: &str) -> String {
    let each: String = fetched.iter().filter_map(|one| one.sent(memory, t)).collect();
    if each.is_empty() { each } else { format!("if (leader) {{\n{each}}}\n") }
}

/// Copies between slots and arrays of the run; `at` is code of the place of a sample's numbers.
struct Places<'a> {
    plan: &'a Plan,
}

impl Places<'_> {
    /// First number of every input of a kind, and their sum.
    fn offsets(places: &[Placed]) -> (Vec<usize>, usize) {
        let mut sum = 0;
        let offsets = places
            .iter()
            .map(|place| {
                let at = sum;
                sum += place.shape.size();
                at
            })
            .collect();
        (offsets, sum)
    }

    /// Code of where the numbers of input `k` of a sample lie, `[samples][size]` one input after the other.
    fn sample(array: &str, offset: usize, size: usize) -> String {
        format!("(a.{array} + size_t(a.samples) * {offset} + size_t(sample) * {size})")
    }

    /// The same for `[samples][steps][size]` at step t.
    fn step(array: &str, offset: usize, size: usize) -> String {
        format!(
            "(a.{array} + size_t(a.samples) * a.steps * {offset} + (size_t(sample) * a.steps + t) * {size})"
        )
    }

    fn load_params(&self) -> Vec<Call> {
        let (offsets, _) = Places::offsets(&self.plan.params);
        let params = self.plan.params.iter().zip(offsets).map(|(place, offset)| {
            let slot = Slot::Value(place.value);
            copy(place.shape.size(), &slot.name(), &format!("(a.params + {offset})")).writes(slot)
        });
        params.collect()
    }

    fn load(&self, places: &[Placed], at: impl Fn(usize, usize) -> String) -> Vec<Call> {
        let (offsets, _) = Places::offsets(places);
        let each = places.iter().zip(offsets).map(|(place, offset)| {
            let (slot, size) = (Slot::Value(place.value), place.shape.size());
            copy(size, &slot.name(), &at(offset, size)).writes(slot)
        });
        each.collect()
    }

    /// First number of every state in the history of a step, and their sum.
    fn history(&self) -> (Vec<usize>, usize) {
        let mut sum = 0;
        let offsets = self.plan.states.iter().map(|state| {
            let at = sum;
            sum += state.shape.size().next_multiple_of(ALIGNED);
            at
        });
        (offsets.collect(), sum)
    }

    /// The states in their slots, to the history of step t.
    fn remember(&self, t: &str) -> Vec<Call> {
        let (offsets, all) = self.history();
        let each = self.plan.states.iter().zip(offsets).map(|(place, offset)| {
            let (slot, size) = (Slot::Value(place.value), place.shape.size());
            copy(size, &format!("(history + size_t({t}) * {all} + {offset})"), &slot.name()).flat(slot)
        });
        each.collect()
    }

    /// What a step back needs of the history: states, and next states that the step computes.
    fn recalled(&self) -> Vec<Fetched> {
        let (offsets, all) = self.history();
        let states = self.plan.states.iter().enumerate().map(|(i, state)| (i, state.value, 0));
        let kept = self.plan.kept.iter().map(|&(state, slot)| (state, slot, 1));
        let each = states.chain(kept).map(|(state, slot, later)| Fetched {
            slot: Slot::Value(slot),
            numbers: self.plan.states[state].shape.size(),
            from: format!("(history + size_t(T_{later}) * {all} + {})", offsets[state]),
        });
        each.collect()
    }

    /// Next states into the slots of the states. A next state may itself be a state: those are read first.
    fn carry_on(&self) -> Vec<Call> {
        let is_state = |slot: usize| self.plan.states.iter().any(|state| state.value == slot);
        let mut first = Vec::new();
        let mut last = Vec::new();
        for (i, (state, (next, _))) in self.plan.states.iter().zip(&self.plan.next).enumerate() {
            let (n, to, from) = (state.shape.size(), Slot::Value(state.value), Slot::Value(*next));
            if is_state(*next) {
                let via = Slot::Carry(i);
                first.push(copy(n, &via.name(), &from.name()).flat(from).writes(via));
                last.push(copy(n, &to.name(), &via.name()).flat(via).writes(to));
            } else {
                last.push(copy(n, &to.name(), &from.name()).flat(from).writes(to));
            }
        }
        first.extend(last);
        first
    }

    /// Weighted terms of a step, added up in double precision: term k by thread k.
    fn terms(&self) -> Vec<Call> {
        let count = self.plan.terms.len();
        if count == 0 {
            return Vec::new();
        }
        let values: Vec<String> = self.plan.terms.iter().map(|(slot, _)| Slot::Value(*slot).name()).collect();
        let text = format!(
            "for (int k = TEAM.me; k < {count}; k += TEAM.size) {{ const T *const value = {}; \
             SUM_OF_TERM(k) += a.weights[k * a.steps + t] * double(*value); }}",
            chosen("k", &values)
        );
        let call = Call::new(text, 1.0);
        vec![self.plan.terms.iter().fold(call, |call, (slot, _)| call.reads(Slot::Value(*slot)))]
    }

    /// Where a sum over the steps begins, and where it goes.
    fn clear_terms(&self) -> Call {
        let count = self.plan.terms.len();
        Call::new(format!("for (int k = TEAM.me; k < {count}; k += TEAM.size) SUM_OF_TERM(k) = 0;"), 1.0)
    }

    fn unload_terms(&self) -> Call {
        let count = self.plan.terms.len();
        let text = format!(
            "for (int k = TEAM.me; k < {count}; k += TEAM.size) a.terms[size_t(sample) * {count} + k] = SUM_OF_TERM(k);"
        );
        Call::new(text, 1.0)
    }

    /// What the weights of the terms put in at the end of a step.
    fn term_seeds(&self) -> Vec<Call> {
        let terms = &self.plan.terms;
        let mut slots: Vec<usize> = terms.iter().map(|(_, seed)| seed.slot).collect();
        slots.sort_unstable();
        slots.dedup();
        let weight = "T(a.share * a.weights[k * a.steps + t])";
        if slots.len() == terms.len() && !terms.is_empty() && terms.iter().all(|(_, seed)| !seed.accumulate) {
            let to: Vec<String> = terms.iter().map(|(_, seed)| Slot::Adjoint(seed.slot).name()).collect();
            let text = format!(
                "for (int k = TEAM.me; k < {}; k += TEAM.size) {{ T *const to = {}; *to = {weight}; }}",
                terms.len(),
                chosen("k", &to)
            );
            let call = Call::new(text, 1.0);
            return vec![terms.iter().fold(call, |call, (_, seed)| call.fills(Slot::Adjoint(seed.slot)))];
        }
        let each = terms.iter().enumerate().map(|(k, (_, seed))| {
            let to = Slot::Adjoint(seed.slot);
            let mode = if seed.accumulate { "ADD" } else { "WRITE" };
            let text = format!(
                "each<1>(TEAM, [&](int) {{ const int k = {k}; put<{mode}>({}, {weight}); }});",
                to.name()
            );
            Call::new(text, 1.0).items(1).writes(to)
        });
        each.collect()
    }

    fn unload(&self, places: &[Placed], at: impl Fn(usize, usize) -> String) -> Vec<Call> {
        let (offsets, _) = Places::offsets(places);
        let each = places.iter().zip(offsets).map(|(place, offset)| {
            let (slot, size) = (Slot::Value(place.value), place.shape.size());
            copy(size, &at(offset, size), &slot.name()).flat(slot)
        });
        each.collect()
    }

    /// Adjoints of inputs, zero where there are none.
    fn unload_adjoints(&self, places: &[Placed], at: impl Fn(usize, usize) -> String) -> Vec<Call> {
        let (offsets, _) = Places::offsets(places);
        let each = places.iter().zip(offsets).map(|(place, offset)| {
            let size = place.shape.size();
            let there = at(offset, size);
            match place.adjoint.map(Slot::Adjoint) {
                Some(slot) => copy(size, &there, &slot.name()).flat(slot),
                None => Call::new(
                    format!("each<{size}>(TEAM, [&](int i) {{ {there}[i] = 0; }});"),
                    8.0 * size as f64,
                ),
            }
        });
        each.collect()
    }
}

/// Writes lists of calls one after the other; calls that do not depend on each other may change places.
fn all(schedule: &mut Schedule, lists: &[&[Call]]) {
    let calls: Vec<Call> = lists.iter().flat_map(|list| list.iter().cloned()).collect();
    schedule.calls(&calls);
}

/// Stored values of a step. Those of global memory are computed in the store, where they stay; those of shared memory
/// are copied.
struct Store {
    /// Slot, length, place and whether it is of shared memory.
    slots: Vec<(Slot, usize, usize, bool)>,
    /// Numbers of shared memory, which come first, and of all.
    near: usize,
    all: usize,
}

impl Store {
    fn new(plan: &Plan, memory: &Memory) -> Store {
        let mut store = Store { slots: Vec::new(), near: 0, all: 0 };
        for near in [true, false] {
            for &slot in &plan.stored {
                let (n, slot) = (plan.value_len[slot], Slot::Value(slot));
                if memory.is_near(slot) == near {
                    store.slots.push((slot, n, store.all, near));
                    store.all += n.next_multiple_of(ALIGNED);
                }
            }
            if near {
                store.near = store.all;
            }
        }
        store
    }

    /// Stored values of shared memory to the store.
    fn put_away(&self) -> Vec<Call> {
        let near = self.slots.iter().filter(|(.., near)| *near);
        let each = near.map(|&(slot, n, at, _)| {
            copy(n, &format!("(store + size_t(t) * STORE + {at})"), &slot.name()).flat(slot)
        });
        // shared memory is that of the first block
        each.map(|call| Call { work: 0.0, ..call }).collect()
    }

    /// The same back.
    fn fetched(&self) -> Vec<Fetched> {
        let near = self.slots.iter().filter(|(.., near)| *near);
        let each = near.map(|&(slot, numbers, at, _)| Fetched {
            slot,
            numbers,
            from: format!("(store + size_t(T_0) * STORE + {at})"),
        });
        each.collect()
    }

    fn declarations(&self) -> String {
        let far = self.slots.iter().filter(|(.., near)| !near);
        far.map(|(slot, _, at, _)| format!("T *const {} = store + size_t(t) * STORE + {at};\n", slot.name()))
            .collect()
    }
}

/// A kernel: who this thread is and where its memory lies, then the code. It can be left out.
fn kernel(name: &str, body: &str, memory: &Memory) -> String {
    let slots = memory.declarations();
    let begin = format!("ENTRY {name}(Arguments a) {{\nBEGIN\n{slots}SUMS_OF_TERMS\n");
    format!("#ifndef WITHOUT_{name}\n{begin}{body}END\n}}\n#endif")
}

impl Code {
    /// The source of one kernel: all of them take a compiler long.
    pub fn only(&self, entry: Entry) -> String {
        let others = Entry::ALL.into_iter().filter(|other| *other != entry);
        let without: String = others.map(|other| format!("#define WITHOUT_{}\n", other.name())).collect();
        without + &self.text
    }
}

/// The source code of a plan.
pub fn generate(plan: &Plan, spread: Spread, number: usize) -> Code {
    assert_eq!(plan.samples, 1, "a team works on one sample");
    let mut tables = Tables::default();
    // far below rounding
    let negligible = if number == 4 { 1e-10 } else { 1e-19 };
    let mut lower = Lower {
        tables: &mut tables,
        threads: spread.threads,
        cluster: spread.cluster,
        negligible,
        slabs: HashMap::new(),
    };
    lower.find_slabs(plan.setup.iter().chain(&plan.step));
    let mut forward =
        |ops: &mut dyn Iterator<Item = &Op>| -> Vec<Call> { ops.flat_map(|op| lower.forward(op)).collect() };
    let setup = forward(&mut plan.setup.iter());
    let step = forward(&mut plan.step.iter());
    let essential = forward(&mut plan.step.iter().filter(|op| op.essential));
    let again = forward(&mut plan.step.iter().filter(|op| op.recompute));
    let beside_stored = forward(&mut plan.step.iter().filter(|op| op.recompute_beside_stored));
    let mut reverse =
        |ops: &[Op]| -> Vec<Call> { ops.iter().rev().flat_map(|op| lower.reverse(op)).collect() };
    let step_back = reverse(&plan.step);
    let setup_back = reverse(&plan.setup);

    let places = Places { plan };
    let constants: Vec<Call> = plan
        .constants
        .iter()
        .map(|(slot, numbers)| {
            let slot = Slot::Value(*slot);
            copy(numbers.len(), &slot.name(), &tables.numbers(numbers)).writes(slot)
        })
        .collect();
    let params = places.load_params();
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
    let cleared: Vec<Call> = plan
        .persistent_adjoints
        .iter()
        .map(|&slot| (Slot::Adjoint(slot), plan.adjoint_len[slot]))
        .chain(plan.states.iter().enumerate().map(|(i, state)| (Slot::Carry(i), state.shape.size())))
        .map(|(slot, n)| filled(n, "WRITE", &slot.name(), "T(0)").writes(slot))
        .collect();

    let records = places.unload(&plan.records, |offset, size| Places::step("records", offset, size));
    let dsequences =
        places.unload_adjoints(&plan.sequences, |offset, size| Places::step("dsequences", offset, size));
    let (terms, carry_on, remembered) = (places.terms(), places.carry_on(), places.remember("t"));
    // what other parts of a kernel know by its name
    let mut known: Vec<Slot> = plan.states.iter().map(|state| Slot::Value(state.value)).collect();
    known.extend(plan.stored.iter().map(|&slot| Slot::Value(slot)));
    known.extend(plan.persistent_adjoints.iter().map(|&slot| Slot::Adjoint(slot)));
    let mut lengths = Lengths::new(plan);
    let mut together = |lists: &[&[Call]]| -> Vec<Call> {
        let mut calls = lists.concat();
        separate(&mut calls, &known, &mut lengths, plan);
        calls
    };
    let step = together(&[&sequences, &step, &terms, &records, &carry_on]);
    let step_first = together(&[&sequences, &remembered, &essential, &terms, &carry_on]);
    let mut back = |rerun: &[Call]| together(&[&sequences, rerun, &seeds, &step_back, &carried, &dsequences]);
    let (back_again, back_stored) = (back(&again), back(&beside_stored));

    let everything = [
        &params,
        &constants,
        &given,
        &cleared,
        &setup,
        &setup_back,
        &step,
        &step_first,
        &back_again,
        &back_stored,
    ]
    .into_iter()
    .flatten();
    let recalled = places.recalled();
    let mut fetched: Vec<Slot> = recalled.iter().map(|one| one.slot).collect();
    fetched.extend(plan.stored.iter().map(|&slot| Slot::Value(slot)));
    let memory = Memory::place(plan, &lengths, everything, &fetched, spread, number);

    // copies that every block makes for itself
    let of_all = |call: &&Call| memory.is_everywhere(call.writes[0].0);
    let everywhere: String =
        params.iter().filter(of_all).map(|call| call.text.replace("TEAM", "one") + "\n").collect();
    let mut begun: Vec<Call> = params.iter().filter(|call| !of_all(call)).cloned().collect();
    begun.extend(constants);
    let store = Store::new(plan, &memory);
    let mut text = String::new();
    if plan.step.len() > LARGE {
        text.push_str("#define LARGE_PROGRAM\n");
    }
    if spread.timed {
        text.push_str("#define TIMED_CALLS\n");
    }
    let _ = writeln!(text, "#define CLUSTER {}\n#define THREADS {}", spread.cluster, spread.threads);
    let _ = writeln!(text, "#define MEMORY {}\n#define PARAMS {}", memory.global, plan.param_len());
    let _ = writeln!(text, "#define TERMS {}", plan.terms.len());
    let history = places.history().1;
    let _ = writeln!(text, "#define HISTORY {history}\n#define STORE {}", store.all);
    FUNCTIONS.iter().for_each(|part| text.push_str(part));
    text.push_str(include_str!("device/kernel.h"));

    // forward
    let ends = places.unload(&plan.states, |offset, size| Places::sample("ends", offset, size));
    let (clear_terms, sums) = ([places.clear_terms()], [places.unload_terms()]);
    let mut schedule = Schedule::new(spread.cluster, spread.threads).timed(spread.timed.then(Vec::new));
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
        let put_away = if stored { store.put_away() } else { Vec::new() };
        let fetched: Vec<Fetched> =
            places.recalled().into_iter().chain(store.fetched().into_iter().filter(|_| stored)).collect();
        let places_in_store = if stored { store.declarations() } else { String::new() };
        let mut schedule = Schedule::new(spread.cluster, spread.threads).timed(timed);
        schedule.line("T *const history = a.history + size_t(team) * (a.steps + 1) * HISTORY;");
        schedule.line("T *const store = a.store + size_t(team) * a.steps * STORE;");
        schedule.line("(void)history; (void)store;");
        schedule.line(&everywhere);
        all(&mut schedule, &[&begun]);
        schedule.line("for (int sample = team; sample < a.samples; sample += teams) {");
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
        schedule.line("if (t > 0) {");
        schedule.line(&send(&fetched, &memory, "(t - 1)"));
        schedule.line("}");
        all(&mut schedule, &[&copied, back]);
        schedule.line("arrived();");
        schedule.meet();
        schedule.line("}");
        all(&mut schedule, &[&setup_back]);
        let (offsets, params) = Places::offsets(&plan.params);
        for (place, offset) in plan.params.iter().zip(offsets) {
            let size = place.shape.size();
            let there = format!("(a.dparams + size_t(sample) * {params} + {offset})");
            schedule.call(&match place.adjoint.map(Slot::Adjoint) {
                Some(slot) => copy(size, &there, &slot.name()).flat(slot),
                None => Call::new(
                    format!("each<{size}>(TEAM, [&](int i) {{ {there}[i] = 0; }});"),
                    8.0 * size as f64,
                ),
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
    Code {
        text,
        tables,
        spread,
        shared_bytes: memory.shared * number,
        memory: memory.global,
        history,
        store: store.all,
        barriers,
        differentiated,
        timed: timed.unwrap_or_default(),
    }
}
