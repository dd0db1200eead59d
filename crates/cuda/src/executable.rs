//! A generated program as an executable of the engine: what goes to the processor and what comes back.

use crate::places::Places;
use crate::sweep::Code;
use cinoc_adjoint::backend::{Arranged, Executable, Gradient, Outcome, Placed, Plan, Strategy};
use cinoc_adjoint::{Real, Threads};
use std::marker::PhantomData;

/// The kernels of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// All steps forward.
    Forward,
    /// Forward and back; the steps are computed again.
    GradientAgain,
    /// Forward and back; what is expensive is stored, and what the parameters get is left for later.
    GradientStored,
    /// What the parameters get, added up.
    Late,
}

impl Entry {
    /// All of them.
    pub const ALL: [Entry; 4] = [Entry::Forward, Entry::GradientAgain, Entry::GradientStored, Entry::Late];

    /// Its name in the code.
    pub fn name(self) -> &'static str {
        match self {
            Entry::Forward => "forward_sweep",
            Entry::GradientAgain => "gradient_again",
            Entry::GradientStored => "gradient_stored",
            Entry::Late => "add_late",
        }
    }
}

/// What a launch is given.
pub struct Job<'a, T> {
    /// Inputs in the order of the plan.
    pub run: &'a Arranged<'a, T>,
    /// Numbers of all records, of the states after the last step, and of the adjoints of fixed inputs,
    /// states and sequences; 0 if they are not asked for.
    pub sizes: Sizes,
}

/// What kernels are given, as `device/kernel.h` declares it. Arrays are given by their addresses on the
/// processor.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Arguments<T> {
    pub samples: i32,
    pub steps: i32,
    pub share: f64,
    pub limit: T,
    /// Parameters, fixed inputs, states, sequences.
    pub given: [u64; 4],
    pub weights: u64,
    pub tables: u64,
    pub indices: u64,
    /// Memory, history, store.
    pub rooms: [u64; 3],
    pub terms: u64,
    /// Records, states at the end, and adjoints of what is given.
    pub answers: [u64; 6],
    pub clocks: u64,
}

impl<T: Real> Arguments<T> {
    /// The numbers of a run. Addresses are left at 0.
    pub fn of(run: &Arranged<'_, T>) -> Arguments<T> {
        let share = 1.0 / run.of as f64;
        Arguments {
            samples: run.samples as i32,
            steps: run.steps as i32,
            share,
            limit: T::of(run.carry_limit.map_or(-1.0, |limit| share * limit)),
            given: [0; 4],
            weights: 0,
            tables: 0,
            indices: 0,
            rooms: [0; 3],
            terms: 0,
            answers: [0; 6],
            clocks: 0,
        }
    }
}

/// Numbers that come back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sizes {
    /// Terms, one number per sample each.
    pub terms: usize,
    /// Records of all steps.
    pub records: usize,
    /// States after the last step.
    pub ends: usize,
    /// Adjoint of the parameters, each of which begins at a multiple of four.
    pub params: usize,
    /// Adjoints of the fixed inputs.
    pub fixed: usize,
    /// Adjoints of the first states.
    pub states: usize,
    /// Adjoints of the sequences.
    pub sequences: usize,
}

/// What a launch gives: arrays of a kind one after the other, each sample by sample.
#[derive(Default)]
pub struct Answer<T> {
    /// `[samples][terms]`.
    pub terms: Vec<f64>,
    /// Each `[samples][steps][size]`.
    pub records: Vec<T>,
    /// Each `[samples][size]`.
    pub ends: Vec<T>,
    /// The sum over all samples.
    pub params: Vec<T>,
    /// Each `[samples][size]`.
    pub fixed: Vec<T>,
    /// Each `[samples][size]`.
    pub states: Vec<T>,
    /// Each `[samples][steps][size]`.
    pub sequences: Vec<T>,
}

/// Something that runs generated code.
pub trait Processor<T>: Send + Sync {
    /// Runs a kernel on all samples. A failure of the device is told by a panic with [`DeviceError`].
    fn launch(&self, entry: Entry, job: &Job<'_, T>) -> Answer<T>;
    /// Whether so many samples and steps can be stored.
    fn stores(&self, samples: usize, steps: usize) -> bool;
}

/// A device that failed while it worked. It is thrown, since sweeps have no other way to fail: the command
/// line and the Python package catch it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceError(pub String);

/// A plan with its code and what runs it.
pub struct Generated<T, P> {
    plan: Plan,
    processor: P,
    details: Vec<(&'static str, usize)>,
    number: PhantomData<T>,
}

impl<T, P> Generated<T, P> {
    /// A program that is ready to run.
    pub fn new(plan: Plan, processor: P) -> Generated<T, P> {
        Generated { plan, processor, details: Vec::new(), number: PhantomData }
    }

    /// The same with numbers that tell how it runs.
    pub fn with_details(self, details: Vec<(&'static str, usize)>) -> Generated<T, P> {
        Generated { details, ..self }
    }
}

fn size(places: &[Placed]) -> usize {
    places.iter().map(|place| place.shape.size()).sum()
}

/// Cuts arrays of a kind apart.
fn cut<T: Copy>(all: &[T], places: &[Placed], per: usize) -> Vec<Vec<T>> {
    let mut rest = all;
    let each = places.iter().map(|place| {
        let (mine, others) = rest.split_at(place.shape.size() * per);
        rest = others;
        mine.to_vec()
    });
    each.collect()
}

/// Numbers of inputs that begin at multiples of four, without the gaps.
fn compact<T: Copy>(all: &[T], places: &[Placed]) -> Vec<T> {
    let (offsets, _) = Places::aligned(places);
    let each = places.iter().zip(offsets).flat_map(|(place, at)| &all[at..at + place.shape.size()]);
    each.copied().collect()
}

/// `[samples][terms]` term by term.
fn by_terms(all: &[f64], terms: usize) -> Vec<Vec<f64>> {
    (0..terms).map(|term| all.iter().skip(term).step_by(terms).copied().collect()).collect()
}

impl<T: Real, P: Processor<T>> Executable<T> for Generated<T, P> {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn details(&self) -> Vec<(&'static str, usize)> {
        self.details.clone()
    }

    fn forward(&self, run: &Arranged<'_, T>, _: &Threads) -> Outcome<T> {
        let (plan, samples, steps) = (&self.plan, run.samples, run.steps);
        let sizes = Sizes {
            terms: plan.terms.len() * samples,
            records: size(&plan.records) * samples * steps,
            ends: size(&plan.states) * samples,
            ..Sizes::default()
        };
        let answer = self.processor.launch(Entry::Forward, &Job { run, sizes });
        Outcome {
            terms: by_terms(&answer.terms, plan.terms.len()),
            records: cut(&answer.records, &plan.records, samples * steps),
            states: cut(&answer.ends, &plan.states, samples),
        }
    }

    fn gradients(&self, run: &Arranged<'_, T>, _: &Threads, _: Strategy) -> Vec<Gradient<T>> {
        let (plan, samples, steps) = (&self.plan, run.samples, run.steps);
        let sizes = Sizes {
            terms: plan.terms.len() * samples,
            records: 0,
            ends: size(&plan.states) * samples,
            params: Places::aligned(&plan.params).1,
            fixed: size(&plan.fixed) * samples,
            states: size(&plan.states) * samples,
            sequences: size(&plan.sequences) * samples * steps,
        };
        // the store of the device is not that of the machine, so its own memory decides
        let stored = self.processor.stores(samples, steps);
        let entry = if stored { Entry::GradientStored } else { Entry::GradientAgain };
        let answer = self.processor.launch(entry, &Job { run, sizes });
        let share = 1.0 / run.of as f64;
        let terms: Vec<f64> = by_terms(&answer.terms, plan.terms.len())
            .iter()
            .map(|per_sample| per_sample.iter().sum::<f64>() * share)
            .collect();
        vec![Gradient {
            loss: terms.iter().sum(),
            params: compact(&answer.params, &plan.params),
            terms,
            fixed: cut(&answer.fixed, &plan.fixed, samples),
            states: cut(&answer.states, &plan.states, samples),
            sequences: cut(&answer.sequences, &plan.sequences, samples * steps),
            ends: cut(&answer.ends, &plan.states, samples),
        }]
    }
}

/// Constants in the precision of the program.
pub fn numbers<T: Real>(code: &Code) -> Vec<T> {
    code.tables.numbers.iter().map(|&x| T::of(x)).collect()
}
