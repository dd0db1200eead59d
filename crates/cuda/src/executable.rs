//! A generated program as an executable of the engine: what goes to the processor and what comes back.

use crate::places::differentiated;
use crate::sweep::Code;
use cinoc_adjoint::backend::{
    Arranged, Descended, Descent, Executable, Gradient, Outcome, Placed, Plan, Rule, Strategy,
};
use cinoc_adjoint::{Real, Threads};
use std::marker::PhantomData;
use std::sync::Arc;

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
    /// Arrays that are asked for.
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

/// Lengths of the arrays that come back.
#[derive(Clone, Debug, Default)]
pub struct Sizes {
    /// Terms, one number per sample each.
    pub terms: usize,
    /// Records of all steps.
    pub records: Vec<usize>,
    /// States after the last step.
    pub ends: Vec<usize>,
    /// The adjoint of all parameters, if it is asked for.
    pub params: Vec<usize>,
    /// Adjoints of the fixed inputs that have some.
    pub fixed: Vec<usize>,
    /// Adjoints of the first states.
    pub states: Vec<usize>,
    /// Adjoints of the sequences that have some.
    pub sequences: Vec<usize>,
}

impl Sizes {
    /// Kinds of arrays in the order of [`Arguments::answers`].
    pub fn kinds(&self) -> [&[usize]; 6] {
        let Sizes { records, ends, params, fixed, states, sequences, .. } = self;
        [records, ends, params, fixed, states, sequences]
    }
}

/// What a launch gives: arrays of every kind, each sample by sample.
#[derive(Default)]
pub struct Answer<T> {
    /// `[samples][terms]`.
    pub terms: Vec<f64>,
    /// Of every kind in the order of [`Arguments::answers`], those that come back.
    pub arrays: [Vec<Vec<T>>; 6],
    /// Of an update: sums of the squares of parts of the gradient, then of parts of the parameters.
    pub squares: Vec<f64>,
}

/// Something that runs generated code. A failure of the device is told by a panic with [`DeviceError`].
pub trait Processor<T>: Send + Sync {
    /// Parameters and both means of their gradient, kept where the code runs.
    type Kept: Send;
    /// Keeps them.
    fn keep(&self, numbers: [&[T]; 3]) -> Self::Kept;
    /// What is kept.
    fn read(&self, kept: &Self::Kept) -> [Vec<T>; 3];
    /// Runs a kernel on all samples. With an update, the parameters are those that are kept, and are updated;
    /// only terms, squares and, if asked for, ends come back.
    fn launch(&self, entry: Entry, job: &Job<'_, T>, update: Option<(&mut Self::Kept, &Rule)>) -> Answer<T>;
    /// Whether what a run stores has room.
    fn stores(&self, run: &Arranged<'_, T>) -> bool;
    /// Numbers that tell how it runs.
    fn details(&self) -> Vec<(&'static str, usize)> {
        Vec::new()
    }
}

/// Which kinds of arrays come back: of an update at most the ends.
pub fn comes_back(update: Option<&Rule>) -> [bool; 6] {
    match update {
        None => [true; 6],
        Some(rule) => [false, rule.ends, false, false, false, false],
    }
}

/// A device that failed while it worked. It is thrown, since sweeps have no other way to fail: the command
/// line and the Python package catch it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceError(pub String);

/// A plan with its code and what runs it.
pub struct Generated<T, P> {
    inner: Arc<Inner<T, P>>,
}

struct Inner<T, P> {
    plan: Arc<Plan>,
    processor: P,
    number: PhantomData<fn() -> T>,
}

impl<T, P> Generated<T, P> {
    /// A program that is ready to run.
    pub fn new(plan: Arc<Plan>, processor: P) -> Generated<T, P> {
        Generated { inner: Arc::new(Inner { plan, processor, number: PhantomData }) }
    }
}

/// Lengths of arrays that have `per` times the numbers of an input each.
fn lengths<'a>(places: impl IntoIterator<Item = &'a Placed>, per: usize) -> Vec<usize> {
    places.into_iter().map(|place| place.shape.size() * per).collect()
}

/// Adjoints of all inputs from those that have one; zero for the others.
fn with_zeros<T: Real>(found: Vec<Vec<T>>, places: &[Placed], per: usize) -> Vec<Vec<T>> {
    let mut found = found.into_iter();
    let each = places.iter().map(|place| {
        let mine = place.adjoint.and_then(|_| found.next());
        mine.unwrap_or_else(|| vec![T::default(); place.shape.size() * per])
    });
    each.collect()
}

/// `[samples][terms]` term by term.
fn by_terms(all: &[f64], terms: usize) -> Vec<Vec<f64>> {
    (0..terms).map(|term| all.iter().skip(term).step_by(terms).copied().collect()).collect()
}

impl<T: Real, P: Processor<T>> Inner<T, P> {
    /// Runs the kernels of a gradient; what every term contributes to the mean, and the rest of the answer.
    fn launch(&self, run: &Arranged<'_, T>, update: Option<(&mut P::Kept, &Rule)>) -> (Vec<f64>, Answer<T>) {
        let (plan, samples, steps) = (&self.plan, run.samples, run.steps);
        let sizes = Sizes {
            terms: plan.terms.len() * samples,
            records: Vec::new(),
            ends: lengths(&plan.states, samples),
            params: vec![plan.param_len()],
            fixed: lengths(differentiated(&plan.fixed), samples),
            states: lengths(&plan.states, samples),
            sequences: lengths(differentiated(&plan.sequences), samples * steps),
        };
        // the store of the device is not that of the machine, so its own memory decides
        let stored = self.processor.stores(run);
        let entry = if stored { Entry::GradientStored } else { Entry::GradientAgain };
        let answer = self.processor.launch(entry, &Job { run, sizes }, update);
        let share = 1.0 / run.of as f64;
        let per_sample = by_terms(&answer.terms, plan.terms.len());
        (per_sample.iter().map(|of_term| of_term.iter().sum::<f64>() * share).collect(), answer)
    }
}

impl<T: Real, P: Processor<T> + 'static> Executable<T> for Generated<T, P> {
    fn plan(&self) -> &Plan {
        &self.inner.plan
    }

    fn details(&self) -> Vec<(&'static str, usize)> {
        self.inner.processor.details()
    }

    fn forward(&self, run: &Arranged<'_, T>, _: &Threads) -> Outcome<T> {
        let (plan, samples, steps) = (&self.inner.plan, run.samples, run.steps);
        let sizes = Sizes {
            terms: plan.terms.len() * samples,
            records: lengths(&plan.records, samples * steps),
            ends: lengths(&plan.states, samples),
            ..Sizes::default()
        };
        let answer = self.inner.processor.launch(Entry::Forward, &Job { run, sizes }, None);
        let [records, states, ..] = answer.arrays;
        Outcome { terms: by_terms(&answer.terms, plan.terms.len()), records, states }
    }

    fn gradients(&self, run: &Arranged<'_, T>, _: &Threads, _: Strategy) -> Vec<Gradient<T>> {
        let (plan, samples, steps) = (&self.inner.plan, run.samples, run.steps);
        let (terms, answer) = self.inner.launch(run, None);
        let [_, ends, params, fixed, states, sequences] = answer.arrays;
        vec![Gradient {
            fixed: with_zeros(fixed, &plan.fixed, samples),
            states,
            sequences: with_zeros(sequences, &plan.sequences, samples * steps),
            ends,
            ..Gradient::of_parameters(params.into_iter().next().unwrap_or_default(), terms)
        }]
    }

    fn descent(&self, params: &[T], means: [&[T]; 2]) -> Option<Box<dyn Descent<T>>> {
        let kept = self.inner.processor.keep([params, means[0], means[1]]);
        Some(Box::new(Resident { inner: self.inner.clone(), kept }))
    }
}

/// Parameters in training that stay where the code runs.
struct Resident<T, P: Processor<T>> {
    inner: Arc<Inner<T, P>>,
    kept: P::Kept,
}

impl<T: Real, P: Processor<T>> Descent<T> for Resident<T, P> {
    fn update(&mut self, run: &Arranged<'_, T>, rule: &Rule) -> Descended<T> {
        let (terms, answer) = self.inner.launch(run, Some((&mut self.kept, rule)));
        let [_, ends, ..] = answer.arrays;
        let gradient = Gradient { ends, ..Gradient::of_parameters(Vec::new(), terms) };
        let (of_gradient, of_parameters) = answer.squares.split_at(answer.squares.len() / 2);
        let norm = |squares: &[f64]| squares.iter().sum::<f64>().sqrt();
        Descended { gradient, gradient_norm: norm(of_gradient), parameter_norm: norm(of_parameters) }
    }

    fn read(&self) -> [Vec<T>; 3] {
        self.inner.processor.read(&self.kept)
    }
}

/// Constants in the precision of the program.
pub fn numbers<T: Real>(code: &Code) -> Vec<T> {
    code.tables.numbers.iter().map(|&x| T::of(x)).collect()
}
