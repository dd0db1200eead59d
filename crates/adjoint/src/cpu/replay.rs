//! Running a plan on one chunk of samples: set-up, steps forward, steps in reverse, set-up in reverse.
//!
//! Forward, only the carried states of every step are kept. In reverse, each step is first computed again
//! from its states (in cache, since a step is small) and then reversed: memory grows with steps times state,
//! whatever the network. With [`Strategy::Store`] values that take much arithmetic are kept instead of
//! computed again; buffers change hands by swapping, so nothing is copied. Cheaper values are computed again
//! in either case: they come faster from the arithmetic units than from main memory. Both run the same
//! kernels on the same numbers and give the same bits.

use super::ahead::Ahead;
use super::buffer::Buffer;
use super::kernels::{Adjoint, Kernel, Room, Seen, kernel};
use super::simd::{Isa, Real};
use crate::plan::{Op, Plan, Strategy, Target};
use crate::primitive::{Io, MAX_INPUTS};
use std::collections::HashMap;
use std::mem::{swap, take};
use std::ops::{Index, IndexMut};
use std::sync::Arc;

/// The kernels of a plan.
pub(crate) struct Kernels<T> {
    setup: Vec<Arc<dyn Kernel<T>>>,
    step: Vec<Arc<dyn Kernel<T>>>,
    isa: Isa,
}

impl<T: Real> Kernels<T> {
    pub fn new(plan: &Plan, isa: Isa) -> Kernels<T> {
        // operations that are one primitive on values of one shape share a kernel
        let mut built: HashMap<(*const (), Io), Arc<dyn Kernel<T>>> = HashMap::new();
        let mut build = |ops: &[Op]| {
            let shared = |op: &Op| {
                let key = (Arc::as_ptr(&op.primitive).cast(), op.io.clone());
                built.entry(key).or_insert_with(|| kernel(op.primitive.as_ref(), &op.io).into()).clone()
            };
            ops.iter().map(shared).collect()
        };
        Kernels { setup: build(&plan.setup), step: build(&plan.step), isa }
    }
}

/// Memory of one chunk. Kept between rollouts: nothing is allocated once it has its sizes.
pub(crate) struct Worker<T> {
    pub values: Vec<Buffer<T>>,
    pub adjoints: Vec<Buffer<T>>,
    /// Adjoints of the inputs of the primitive being reversed; empty in between.
    dx: [Adjoint<T>; MAX_INPUTS],
    room: Room<T>,
    /// States before every step and after the last.
    history: Shelf<T>,
    /// Stored values of every step, in the order of `Plan::stored`.
    store: Shelf<T>,
    /// Adjoint of every state, on its way back through the steps.
    carry: Vec<Buffer<T>>,
}

/// Some buffers for every step. Those of one step stand side by side.
struct Shelf<T> {
    lengths: Vec<usize>,
    buffers: Vec<Buffer<T>>,
}

impl<T: Real> Shelf<T> {
    fn new(lengths: Vec<usize>) -> Shelf<T> {
        Shelf { lengths, buffers: Vec::new() }
    }
    fn reserve(&mut self, steps: usize) {
        while self.buffers.len() < steps * self.lengths.len() {
            self.buffers.extend(self.lengths.iter().map(|&n| Buffer::new(n)));
        }
    }
}

impl<T> Index<usize> for Shelf<T> {
    type Output = [Buffer<T>];
    fn index(&self, step: usize) -> &[Buffer<T>] {
        &self.buffers[step * self.lengths.len()..][..self.lengths.len()]
    }
}

impl<T> IndexMut<usize> for Shelf<T> {
    fn index_mut(&mut self, step: usize) -> &mut [Buffer<T>] {
        &mut self.buffers[step * self.lengths.len()..][..self.lengths.len()]
    }
}

impl<T: Real> Worker<T> {
    pub fn new(plan: &Plan, kernels: &Kernels<T>) -> Worker<T> {
        let scratch = kernels.setup.iter().chain(&kernels.step).map(|k| k.scratch()).max().unwrap_or(0);
        let mut worker = Worker {
            values: plan.value_len.iter().map(|&n| Buffer::new(n)).collect(),
            adjoints: Vec::new(),
            dx: std::array::from_fn(|_| Adjoint { data: Buffer::default(), accumulate: true }),
            room: Room { memory: Buffer::new(scratch), ahead: Ahead::default() },
            history: Shelf::new(plan.states.iter().map(|state| plan.value_len[state.value]).collect()),
            store: Shelf::new(plan.stored.iter().map(|&slot| plan.value_len[slot]).collect()),
            carry: Vec::new(),
        };
        for (slot, data) in &plan.constants {
            for (to, x) in worker.values[*slot].iter_mut().zip(data.iter()) {
                *to = T::of(*x);
            }
        }
        worker
    }

    /// Makes room for a reverse sweep over `steps`.
    pub fn reserve(&mut self, plan: &Plan, steps: usize, strategy: Strategy) {
        if self.adjoints.is_empty() {
            self.adjoints = plan.adjoint_len.iter().map(|&n| Buffer::new(n)).collect();
            self.carry = plan.states.iter().map(|s| Buffer::new(plan.value_len[s.value])).collect();
        }
        self.history.reserve(steps + 1);
        if strategy == Strategy::Store {
            self.store.reserve(steps);
        }
    }

    pub fn setup(&mut self, plan: &Plan, kernels: &Kernels<T>) {
        for (op, kernel) in plan.setup.iter().zip(&kernels.setup) {
            self.forward_op(op, kernel.as_ref(), kernels.isa);
        }
    }

    /// One step from the states in their slots; the next states stay in the slots of their values.
    pub fn step(&mut self, plan: &Plan, kernels: &Kernels<T>) {
        for (op, kernel) in plan.step.iter().zip(&kernels.step) {
            self.forward_op(op, kernel.as_ref(), kernels.isa);
        }
    }

    /// The same without what only records depend on.
    pub fn essential_step(&mut self, plan: &Plan, kernels: &Kernels<T>) {
        for (op, kernel) in plan.step.iter().zip(&kernels.step).filter(|(op, _)| op.essential) {
            self.forward_op(op, kernel.as_ref(), kernels.isa);
        }
    }

    /// Computes again what the reverse rules of a step read, and nothing else.
    pub fn step_for_reverse(&mut self, plan: &Plan, kernels: &Kernels<T>, strategy: Strategy) {
        for (op, kernel) in plan.step.iter().zip(&kernels.step) {
            let needed = match strategy {
                Strategy::Recompute => op.recompute,
                Strategy::Store => op.recompute_beside_stored,
            };
            if needed {
                self.forward_op(op, kernel.as_ref(), kernels.isa);
            }
        }
    }

    fn forward_op(&mut self, op: &Op, kernel: &dyn Kernel<T>, isa: Isa) {
        let mut y = take(&mut self.values[op.output]);
        let mut x: [&[T]; MAX_INPUTS] = [&[]; MAX_INPUTS];
        for (i, &slot) in op.inputs.iter().enumerate() {
            x[i] = &self.values[slot];
        }
        // SAFETY: slots have the lengths of the shapes that the plan and the kernel were made for, and the
        // room has the length that the most demanding kernel asked for.
        unsafe { kernel.forward(isa, x, &mut y, &mut self.room) };
        self.values[op.output] = y;
    }

    /// Puts the states at the start of step `t` into the history and the next ones into their place.
    pub fn remember_and_carry_on(&mut self, plan: &Plan, t: usize) {
        let copied = || plan.states.iter().enumerate().filter(|(i, _)| plan.handed_on[*i].is_none());
        // a next state may itself be a state (a delayed copy), so those are read before any buffer changes
        // hands; the carried adjoints are free as a meeting place outside the reverse sweep
        for (i, state) in copied() {
            self.history[t][i].copy_from_slice(&self.values[state.value]);
            self.carry[i].copy_from_slice(&self.values[plan.next[i].0]);
        }
        for (i, next) in plan.handed_on.iter().enumerate() {
            if let Some(next) = *next {
                let state = plan.states[i].value;
                swap(&mut self.history[t][i], &mut self.values[state]);
                self.values.swap(state, next);
            }
        }
        for (i, state) in copied() {
            self.values[state.value].copy_from_slice(&self.carry[i]);
        }
    }

    /// Remembers the states after the last step.
    pub fn remember_last(&mut self, plan: &Plan, steps: usize) {
        for (to, state) in self.history[steps].iter_mut().zip(&plan.states) {
            to.copy_from_slice(&self.values[state.value]);
        }
    }

    /// Brings the states at the start of step `t` from the history into their slots, and also the states at
    /// its end if the step computes them. After the reverse of the step, the same call puts them back.
    pub fn exchange_states(&mut self, plan: &Plan, t: usize) {
        for (i, state) in plan.states.iter().enumerate() {
            if let Some(next) = plan.handed_on[i] {
                swap(&mut self.history[t][i], &mut self.values[state.value]);
                swap(&mut self.history[t + 1][i], &mut self.values[next]);
            } else {
                self.values[state.value].copy_from_slice(&self.history[t][i]);
            }
        }
        for &(i, slot) in plan.kept.iter().filter(|(i, _)| plan.handed_on[*i].is_none()) {
            self.values[slot].copy_from_slice(&self.history[t + 1][i]);
        }
    }

    /// Exchanges the stored values of step `t` with the buffers in their slots: out after the step, back
    /// before its reverse.
    pub fn exchange_stored(&mut self, plan: &Plan, t: usize) {
        for (kept, &slot) in self.store[t].iter_mut().zip(&plan.stored) {
            swap(kept, &mut self.values[slot]);
        }
    }

    /// Prefetches the history and the store of a step while the present one computes. In reverse this is the
    /// step that comes next. Forward it is the present one: its buffers are exchanged at its end, and the
    /// next step writes to them.
    pub fn expect(&mut self, step: usize, strategy: Strategy) {
        let stored = if strategy == Strategy::Store { &self.store[step][..] } else { &[] };
        self.room.ahead.expect(self.history[step].iter().chain(stored).map(|buffer| &buffer[..]));
    }

    /// Moves the next states into the state slots.
    pub fn carry_on(&mut self, plan: &Plan) {
        // a next state may itself be a state (a delayed copy), so all are read before any is written; the
        // carried adjoints are free as a meeting place outside the reverse sweep
        if self.carry.is_empty() {
            self.carry = plan.states.iter().map(|s| Buffer::new(plan.value_len[s.value])).collect();
        }
        for (to, (next, _)) in self.carry.iter_mut().zip(&plan.next) {
            to.copy_from_slice(&self.values[*next]);
        }
        for (from, state) in self.carry.iter().zip(&plan.states) {
            self.values[state.value].copy_from_slice(from);
        }
    }

    /// Starts a reverse sweep: no adjoint has arrived yet.
    pub fn begin_reverse(&mut self, plan: &Plan) {
        for &slot in &plan.persistent_adjoints {
            self.adjoints[slot].fill(T::default());
        }
        for carry in &mut self.carry {
            carry.fill(T::default());
        }
    }

    /// Reverses the step whose values are in the slots. `term_seed(term, sample)` is dL/d(term).
    pub fn reverse_step(&mut self, plan: &Plan, kernels: &Kernels<T>, term_seed: impl Fn(usize, usize) -> T) {
        for (carry, (_, seed)) in self.carry.iter().zip(&plan.next) {
            let to = &mut self.adjoints[seed.slot];
            if seed.accumulate {
                to.iter_mut().zip(carry.iter()).for_each(|(to, c)| *to += *c);
            } else {
                to.copy_from_slice(carry);
            }
        }
        for (term, (_, seed)) in plan.terms.iter().enumerate() {
            for (sample, to) in self.adjoints[seed.slot].iter_mut().enumerate() {
                let value = term_seed(term, sample);
                *to = if seed.accumulate { *to + value } else { value };
            }
        }
        for (op, kernel) in plan.step.iter().zip(&kernels.step).rev() {
            self.reverse_op(op, kernel.as_ref(), kernels.isa);
        }
        for (carry, state) in self.carry.iter_mut().zip(&plan.states) {
            match state.adjoint {
                Some(slot) => carry.copy_from_slice(&self.adjoints[slot]),
                None => carry.fill(T::default()),
            }
        }
    }

    pub fn reverse_setup(&mut self, plan: &Plan, kernels: &Kernels<T>) {
        for (op, kernel) in plan.setup.iter().zip(&kernels.setup).rev() {
            self.reverse_op(op, kernel.as_ref(), kernels.isa);
        }
    }

    /// Bounds every adjoint that goes on to the step before.
    pub fn limit_carried(&mut self, limit: T) {
        for value in self.carry.iter_mut().flat_map(|carry| carry.iter_mut()) {
            if *value > limit {
                *value = limit;
            } else if *value < -limit {
                *value = -limit;
            }
        }
    }

    /// Adjoint of every state before the step reversed last.
    pub fn carried(&self) -> &[Buffer<T>] {
        &self.carry
    }

    fn reverse_op(&mut self, op: &Op, kernel: &dyn Kernel<T>, isa: Isa) {
        let Some(r) = &op.reverse else { return };
        let mut dy = take(&mut self.adjoints[r.from]);
        for (i, to) in r.to.iter().enumerate() {
            let dx = &mut self.dx[i];
            if let Target::Add(slot) | Target::Write(slot) = *to {
                swap(&mut dx.data, &mut self.adjoints[slot]);
                dx.accumulate = matches!(to, Target::Add(_));
            }
        }
        let mut seen = Seen { x: [&[]; MAX_INPUTS], y: &[] };
        for (i, slot) in r.seen_inputs.iter().enumerate() {
            if let Some(slot) = slot {
                seen.x[i] = &self.values[*slot];
            }
        }
        if let Some(slot) = r.seen_output {
            seen.y = &self.values[slot];
        }
        // SAFETY: as in `forward_op`; the plan lists the values that the rule reads.
        unsafe { kernel.reverse(isa, seen, &mut dy, &mut self.dx[..r.to.len()], &mut self.room) };
        for (i, to) in r.to.iter().enumerate() {
            match *to {
                Target::Add(slot) | Target::Write(slot) => {
                    swap(&mut self.dx[i].data, &mut self.adjoints[slot])
                }
                Target::HandOver(slot) => swap(&mut dy, &mut self.adjoints[slot]),
                Target::None => {}
            }
        }
        self.adjoints[r.from] = dy;
    }
}
