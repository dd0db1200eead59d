//! Numbers that come from outside a step and go there: inputs, states and their history, stored values,
//! terms, records, adjoints.

use crate::calls::{Call, Slot};
use crate::memory::Memory;
use crate::weights::Weights;
use cinoc_adjoint::backend::{Placed, Plan};
use std::fmt::Write;

/// `to[i] = value` for n numbers, each by its own thread.
pub fn filled(n: usize, mode: &str, to: &str, value: &str) -> Call {
    let text = format!("fill<{n}, {mode}, 4>(TEAM, {to}, [&](int i) {{ return {value}; }});");
    // where a thread has one or two numbers they need not be asked for at once
    let body = (n <= 512).then(|| format!("put<{mode}>({to} + i, {value});"));
    Call { body, ..Call::new(text, 8.0 * n as f64).items(n) }
}

/// A copy of n numbers, each by its own thread.
pub fn copy(n: usize, to: &str, from: &str) -> Call {
    filled(n, "WRITE", to, &format!("{from}[i]"))
}

/// The first of some choices whose number is `index`, as an expression.
pub fn chosen(index: &str, choices: &[String]) -> String {
    let last = choices.len() - 1;
    let mut text = String::new();
    for (k, choice) in choices[..last].iter().enumerate() {
        let _ = write!(text, "{index} == {k} ? {choice} : ");
    }
    text + &choices[last]
}

/// Slots begin at multiples of this many numbers.
pub const ALIGNED: usize = 4;

/// Numbers that a step back needs, in the history or in the store. `T_0` in the place stands for the step,
/// `T_1` for the one after it.
pub struct Fetched {
    pub slot: Slot,
    numbers: usize,
    from: String,
}

impl Fetched {
    pub fn from(&self, t: &str) -> String {
        self.from.replace("T_0", t).replace("T_1", &format!("({t} + 1)"))
    }

    /// Code that sends for the numbers of step t, if the slot has a second place for them.
    pub fn sent(&self, memory: &Memory, t: &str) -> Option<String> {
        let (to, n) = (memory.fetched(self.slot, t)?, self.numbers);
        Some(format!("send<{n}>(one, {to}, {});\n", self.from(t)))
    }

    /// A copy of the numbers of this step.
    pub fn copied(&self) -> Call {
        copy(self.numbers, &self.slot.name(), &self.from("t")).writes(self.slot)
    }
}

/// Code for the first block alone that sends for all numbers of step t.
pub fn send(fetched: &[Fetched], memory: &Memory, t: &str) -> String {
    let each: String = fetched.iter().filter_map(|one| one.sent(memory, t)).collect();
    if each.is_empty() { each } else { format!("if (leader) {{\n{each}}}\n") }
}

/// Copies between slots and arrays of the run; `at` is code of the place of a sample's numbers.
pub struct Places<'a> {
    pub plan: &'a Plan,
}

impl Places<'_> {
    /// First number of every input of a kind, and their sum.
    pub fn offsets<'a>(places: impl IntoIterator<Item = &'a Placed>) -> (Vec<usize>, usize) {
        let mut sum = 0;
        let offsets = places
            .into_iter()
            .map(|place| {
                let at = sum;
                sum += place.shape.size();
                at
            })
            .collect();
        (offsets, sum)
    }

    /// The same for inputs that begin at multiples of four numbers.
    pub fn aligned(places: &[Placed]) -> (Vec<usize>, usize) {
        let mut sum = 0;
        let offsets = places.iter().map(|place| {
            let at = sum;
            sum += place.shape.size().next_multiple_of(ALIGNED);
            at
        });
        (offsets.collect(), sum)
    }

    /// Code of where the numbers of input `k` of a sample lie, `[samples][size]` one input after the other.
    pub fn sample(array: &str, offset: usize, size: usize) -> String {
        format!("(a.{array} + size_t(a.samples) * {offset} + size_t(sample) * {size})")
    }

    /// The same for `[samples][steps][size]` at step t.
    pub fn step(array: &str, offset: usize, size: usize) -> String {
        format!(
            "(a.{array} + size_t(a.samples) * a.steps * {offset} + (size_t(sample) * a.steps + t) * {size})"
        )
    }

    pub fn load_params(&self, spaced: &[Weights]) -> Vec<Call> {
        let (offsets, _) = Places::offsets(&self.plan.params);
        let params = self.plan.params.iter().zip(offsets).map(|(place, offset)| {
            let (slot, from) = (Slot::Value(place.value), format!("(a.params + {offset})"));
            let call = match spaced.iter().find(|of| of.slot == place.value) {
                Some(of) => filled(of.rows * of.apart, "WRITE", &slot.name(), &of.number(&from)),
                None => copy(place.shape.size(), &slot.name(), &from),
            };
            call.writes(slot)
        });
        params.collect()
    }

    pub fn load(&self, places: &[Placed], at: impl Fn(usize, usize) -> String) -> Vec<Call> {
        let (offsets, _) = Places::offsets(places);
        let each = places.iter().zip(offsets).map(|(place, offset)| {
            let (slot, size) = (Slot::Value(place.value), place.shape.size());
            copy(size, &slot.name(), &at(offset, size)).writes(slot)
        });
        each.collect()
    }

    /// First number of every state in the history of a step, and their sum.
    pub fn history(&self) -> (Vec<usize>, usize) {
        Places::aligned(&self.plan.states)
    }

    /// The states in their slots, to the history of step t.
    pub fn remember(&self, t: &str) -> Vec<Call> {
        let (offsets, all) = self.history();
        let each = self.plan.states.iter().zip(offsets).map(|(place, offset)| {
            let (slot, size) = (Slot::Value(place.value), place.shape.size());
            copy(size, &format!("(history + size_t({t}) * {all} + {offset})"), &slot.name()).flat(slot)
        });
        each.collect()
    }

    /// What a step back needs of the history: states, and next states that the step computes.
    pub fn recalled(&self) -> Vec<Fetched> {
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
    pub fn carry_on(&self) -> Vec<Call> {
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
    pub fn terms(&self) -> Vec<Call> {
        let count = self.plan.terms.len();
        if count == 0 {
            return Vec::new();
        }
        let values: Vec<String> = self.plan.terms.iter().map(|(slot, _)| Slot::Value(*slot).name()).collect();
        let text = format!(
            "each<{count}>(TEAM, [&](int k) {{ const T *const value = {}; \
             SUM_OF_TERM(k) += a.weights[k * a.steps + t] * double(*value); }});",
            chosen("k", &values)
        );
        let call = Call::new(text, 1.0);
        vec![self.plan.terms.iter().fold(call, |call, (slot, _)| call.reads(Slot::Value(*slot)))]
    }

    /// Where a sum over the steps begins, and where it goes.
    pub fn clear_terms(&self) -> Call {
        let count = self.plan.terms.len();
        Call::new(format!("each<{count}>(TEAM, [&](int k) {{ SUM_OF_TERM(k) = 0; }});"), 1.0)
    }

    pub fn unload_terms(&self) -> Call {
        let count = self.plan.terms.len();
        let text = format!(
            "each<{count}>(TEAM, [&](int k) {{ a.terms[size_t(sample) * {count} + k] = SUM_OF_TERM(k); }});"
        );
        Call::new(text, 1.0)
    }

    /// What the weights of the terms put in at the end of a step.
    pub fn term_seeds(&self) -> Vec<Call> {
        let terms = &self.plan.terms;
        let mut slots: Vec<usize> = terms.iter().map(|(_, seed)| seed.slot).collect();
        slots.sort_unstable();
        slots.dedup();
        let weight = "T(a.share * a.weights[k * a.steps + t])";
        if slots.len() == terms.len() && !terms.is_empty() && terms.iter().all(|(_, seed)| !seed.accumulate) {
            let to: Vec<String> = terms.iter().map(|(_, seed)| Slot::Adjoint(seed.slot).name()).collect();
            let text = format!(
                "each<{}>(TEAM, [&](int k) {{ T *const to = {}; *to = {weight}; }});",
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

    pub fn unload(&self, places: &[Placed], at: impl Fn(usize, usize) -> String) -> Vec<Call> {
        let (offsets, _) = Places::offsets(places);
        let each = places.iter().zip(offsets).map(|(place, offset)| {
            let (slot, size) = (Slot::Value(place.value), place.shape.size());
            copy(size, &at(offset, size), &slot.name()).flat(slot)
        });
        each.collect()
    }

    /// Adjoints of inputs; those that have none are left out.
    pub fn unload_adjoints(&self, places: &[Placed], at: impl Fn(usize, usize) -> String) -> Vec<Call> {
        let (offsets, _) = Places::offsets(differentiated(places));
        let each = differentiated(places).zip(offsets).filter_map(|(place, offset)| {
            let (size, slot) = (place.shape.size(), place.adjoint.map(Slot::Adjoint)?);
            Some(copy(size, &at(offset, size), &slot.name()).flat(slot))
        });
        each.collect()
    }
}

/// Inputs that have adjoints.
pub fn differentiated(places: &[Placed]) -> impl Iterator<Item = &Placed> {
    places.iter().filter(|place| place.adjoint.is_some())
}

/// Stored values of a step. Those of global memory are computed in the store, where they stay; those of
/// shared memory are copied.
pub struct Store {
    /// Slot, length and place.
    slots: Vec<(Slot, usize, usize)>,
    /// Numbers of all.
    pub all: usize,
}

impl Store {
    pub fn new(plan: &Plan) -> Store {
        let mut store = Store { slots: Vec::new(), all: 0 };
        for &slot in &plan.stored {
            let n = plan.value_len[slot];
            store.slots.push((Slot::Value(slot), n, store.all));
            store.all += n.next_multiple_of(ALIGNED);
        }
        store
    }

    /// Where a slot lies, if it is stored.
    pub fn place(&self, slot: Slot) -> Option<usize> {
        self.slots.iter().find(|(other, ..)| *other == slot).map(|(_, _, at)| *at)
    }

    /// Stored values of shared memory to the store.
    pub fn put_away(&self, memory: &Memory) -> Vec<Call> {
        let near = self.slots.iter().filter(|(slot, ..)| memory.is_near(*slot));
        let each = near.map(|&(slot, n, at)| {
            copy(n, &format!("(store + size_t(t) * STORE + {at})"), &slot.name()).flat(slot)
        });
        // shared memory is that of the first block
        each.map(|call| Call { work: 0.0, ..call }).collect()
    }

    /// The same back.
    pub fn fetched(&self, memory: &Memory) -> Vec<Fetched> {
        let near = self.slots.iter().filter(|(slot, ..)| memory.is_near(*slot));
        let each = near.map(|&(slot, numbers, at)| Fetched {
            slot,
            numbers,
            from: format!("(store + size_t(T_0) * STORE + {at})"),
        });
        each.collect()
    }

    pub fn declarations(&self, memory: &Memory) -> String {
        let far = self.slots.iter().filter(|(slot, ..)| !memory.is_near(*slot));
        far.map(|(slot, _, at)| format!("T *const {} = store + size_t(t) * STORE + {at};\n", slot.name()))
            .collect()
    }
}
