//! The code of a program: a forward sweep and a gradient, each one launch.
//!
//! Every team takes a sample, runs all its steps forward and, for a gradient, back, then the next sample. Values
//! and adjoints of a step stay where the plan puts them. The states before every step go to the history; with a
//! store, values that take much arithmetic go there instead of being computed again.

use crate::calls::{Call, Schedule, Slot};
use crate::lower::Lower;
use crate::memory::Memory;
use crate::tables::Tables;
use cinoc_adjoint::backend::{Op, Placed, Plan};
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

/// A copy of n numbers, each by its own thread.
fn copy(n: usize, to: &str, from: &str) -> Call {
    Call::new(format!("copy<{n}>(TEAM, {to}, {from});"), n as f64)
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

    /// The states in their slots, to the history or from it.
    fn history(&self, forth: bool, t: &str) -> Vec<Call> {
        let (offsets, all) = Places::offsets(&self.plan.states);
        let each = self.plan.states.iter().zip(offsets).map(|(place, offset)| {
            let (slot, size) = (Slot::Value(place.value), place.shape.size());
            let there = format!("(history + size_t({t}) * {all} + {offset})");
            match forth {
                true => copy(size, &there, &slot.name()).flat(slot),
                false => copy(size, &slot.name(), &there).writes(slot),
            }
        });
        each.collect()
    }

    /// Next states that the step computes, from the history.
    fn kept(&self) -> Vec<Call> {
        let (offsets, all) = Places::offsets(&self.plan.states);
        let each = self.plan.kept.iter().map(|&(state, slot)| {
            let (slot, size) = (Slot::Value(slot), self.plan.states[state].shape.size());
            let there = format!("(history + size_t(t + 1) * {all} + {})", offsets[state]);
            copy(size, &slot.name(), &there).writes(slot)
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
            Call::new(text, 1.0).writes(to)
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
                None => {
                    Call::new(format!("each<{size}>(TEAM, [&](int i) {{ {there}[i] = 0; }});"), size as f64)
                }
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
                    store.all += n.next_multiple_of(4);
                }
            }
            if near {
                store.near = store.all;
            }
        }
        store
    }

    fn copies(&self, forth: bool) -> Vec<Call> {
        let near = self.slots.iter().filter(|(.., near)| *near);
        let each = near.map(|&(slot, n, at, _)| {
            let there = format!("(store + size_t(t) * STORE + {at})");
            match forth {
                true => copy(n, &there, &slot.name()).flat(slot),
                false => copy(n, &slot.name(), &there).writes(slot),
            }
        });
        // shared memory is that of the first block
        each.map(|call| Call { work: 0.0, ..call }).collect()
    }

    fn declarations(&self) -> String {
        let far = self.slots.iter().filter(|(.., near)| !near);
        far.map(|(slot, _, at, _)| format!("T *const {} = store + size_t(t) * STORE + {at};\n", slot.name()))
            .collect()
    }
}

/// What a kernel begins with: who this thread is and where its memory lies.
fn begin(name: &str, memory: &Memory) -> String {
    let mut text = format!("ENTRY {name}(Arguments a) {{\nBEGIN\n");
    text.push_str(&memory.declarations());
    text.push_str("SUMS_OF_TERMS\n");
    text
}

/// The source code of a plan.
pub fn generate(plan: &Plan, spread: Spread, number: usize) -> Code {
    assert_eq!(plan.samples, 1, "a team works on one sample");
    let mut tables = Tables::default();
    // far below rounding
    let negligible = if number == 4 { 1e-10 } else { 1e-19 };
    let mut lower =
        Lower { tables: &mut tables, threads: spread.threads, cluster: spread.cluster, negligible };
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
    let mut begun = places.load_params();
    begun.extend(constants);
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
        let text =
            format!("each<{n}>(TEAM, [&](int i) {{ put<{mode}>({} + i, {}[i]); }});", to.name(), from.name());
        seeds.push(Call::new(text, n as f64).flat(from).writes(to));
    }
    seeds.extend(places.term_seeds());
    for (i, state) in plan.states.iter().enumerate() {
        let (n, to) = (state.shape.size(), Slot::Carry(i));
        let call = match state.adjoint.map(Slot::Adjoint) {
            Some(from) => {
                let body = format!("{}[i] = limited({}[i], a.limit);", to.name(), from.name());
                Call::new(format!("each<{n}>(TEAM, [&](int i) {{ {body} }});"), n as f64).flat(from)
            }
            None => Call::new(format!("each<{n}>(TEAM, [&](int i) {{ {}[i] = 0; }});", to.name()), n as f64),
        };
        carried.push(call.writes(to));
    }
    let cleared: Vec<Call> = plan
        .persistent_adjoints
        .iter()
        .map(|&slot| (Slot::Adjoint(slot), plan.adjoint_len[slot]))
        .chain(plan.states.iter().enumerate().map(|(i, state)| (Slot::Carry(i), state.shape.size())))
        .map(|(slot, n)| {
            Call::new(format!("each<{n}>(TEAM, [&](int i) {{ {}[i] = 0; }});", slot.name()), n as f64)
                .writes(slot)
        })
        .collect();

    let everything =
        [&begun, &given, &sequences, &seeds, &carried, &cleared, &setup, &step, &step_back, &setup_back]
            .into_iter()
            .flatten();
    let memory = Memory::place(plan, everything, spread, number);

    let store = Store::new(plan, &memory);
    let mut text = String::new();
    if plan.step.len() > LARGE {
        text.push_str("#define LARGE_PROGRAM\n");
    }
    let _ = writeln!(text, "#define CLUSTER {}\n#define THREADS {}", spread.cluster, spread.threads);
    let _ = writeln!(text, "#define MEMORY {}\n#define PARAMS {}", memory.global, plan.param_len());
    let _ = writeln!(text, "#define TERMS {}", plan.terms.len());
    FUNCTIONS.iter().for_each(|part| text.push_str(part));
    text.push_str(include_str!("device/kernel.h"));

    // forward
    let records = places.unload(&plan.records, |offset, size| Places::step("records", offset, size));
    let ends = places.unload(&plan.states, |offset, size| Places::sample("ends", offset, size));
    let (terms, carry_on, clear_terms) = (places.terms(), places.carry_on(), [places.clear_terms()]);
    let sums = [places.unload_terms()];
    let mut schedule = Schedule::new(spread.cluster);
    all(&mut schedule, &[&begun]);
    schedule.line("for (int sample = team; sample < a.samples; sample += teams) {");
    schedule.meet();
    all(&mut schedule, &[&clear_terms, &given, &setup]);
    schedule.meet();
    schedule.line("for (int t = 0; t < a.steps; t++) {");
    all(&mut schedule, &[&sequences, &step, &terms, &records, &carry_on]);
    schedule.meet();
    schedule.line("}");
    all(&mut schedule, &[&ends, &sums]);
    schedule.line("}");
    let (body, _) = schedule.finish();
    let _ = writeln!(text, "{}{body}END\n}}", begin("forward_sweep", &memory));

    // gradient, with and without a store
    let mut barriers = [0; 2];
    let history: usize = plan.states.iter().map(|state| state.shape.size()).sum();
    let (remembered, recalled, kept) = (places.history(true, "t"), places.history(false, "t"), places.kept());
    let last = places.history(true, "a.steps");
    let dsequences =
        places.unload_adjoints(&plan.sequences, |offset, size| Places::step("dsequences", offset, size));
    let gradients = [("gradient_again", false, &again), ("gradient_stored", true, &beside_stored)];
    for (name, stored, rerun) in gradients.into_iter().filter(|_| differentiated) {
        let [put_away, fetch] =
            if stored { [store.copies(true), store.copies(false)] } else { [vec![], vec![]] };
        let places_in_store = if stored { store.declarations() } else { String::new() };
        let mut schedule = Schedule::new(spread.cluster);
        schedule.line("T *const history = a.history + size_t(team) * (a.steps + 1) * HISTORY;");
        schedule.line("T *const store = a.store + size_t(team) * a.steps * STORE;");
        schedule.line("(void)history; (void)store;");
        all(&mut schedule, &[&begun]);
        schedule.line("for (int sample = team; sample < a.samples; sample += teams) {");
        schedule.meet();
        all(&mut schedule, &[&clear_terms, &given, &setup]);
        schedule.meet();
        schedule.line("for (int t = 0; t < a.steps; t++) {");
        schedule.line(&places_in_store);
        all(&mut schedule, &[&sequences, &remembered, &essential, &terms, &put_away, &carry_on]);
        schedule.meet();
        schedule.line("}");
        all(&mut schedule, &[&last, &ends, &sums, &cleared]);
        schedule.meet();
        schedule.line("for (int t = a.steps - 1; t >= 0; t--) {");
        schedule.line(&places_in_store);
        schedule.line("if (t > 0) {");
        schedule.line("expect<HISTORY>(all, history + size_t(t - 1) * HISTORY);");
        if stored && store.near > 0 {
            schedule.line(&format!("expect<{}>(all, store + size_t(t - 1) * STORE);", store.near));
        }
        schedule.line("}");
        all(
            &mut schedule,
            &[&recalled, &kept, &sequences, &fetch, rerun, &seeds, &step_back, &carried, &dsequences],
        );
        schedule.meet();
        schedule.line("}");
        all(&mut schedule, &[&setup_back]);
        let (offsets, params) = Places::offsets(&plan.params);
        for (place, offset) in plan.params.iter().zip(offsets) {
            let size = place.shape.size();
            let there = format!("(a.dparams + size_t(sample) * {params} + {offset})");
            schedule.call(&match place.adjoint.map(Slot::Adjoint) {
                Some(slot) => copy(size, &there, &slot.name()).flat(slot),
                None => {
                    Call::new(format!("each<{size}>(TEAM, [&](int i) {{ {there}[i] = 0; }});"), size as f64)
                }
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
        let (body, counted) = schedule.finish();
        barriers = counted;
        let begin = begin(name, &memory);
        let _ = writeln!(
            text,
            "#define HISTORY {history}\n#define STORE {}\n{begin}{body}END\n}}\n#undef HISTORY\n#undef STORE",
            store.all
        );
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
    }
}
