//! Generated code on the host: the same source, compiled by a C++ compiler as one thread. It is slow, and
//! for tests: machines without a GPU can check the code of every task.

use crate::executable::{Answer, Arguments, Entry, Generated, Job, Processor, comes_back, numbers};
use crate::late::PARTS;
use crate::sweep::{Code, Spread, generate};
use cinoc_adjoint::Real;
use cinoc_adjoint::backend::{Arranged, Backend, Executable, Plan, Rule};
use cinoc_adjoint::optimiser::Factors;
use libloading::{Library, Symbol};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Sums as the matrix units of a device have them.
const ROUNDING: &str = include_str!("rounding.h");

/// The host as a backend.
pub struct Host {
    /// Where libraries are kept while they are used.
    folder: PathBuf,
    spread: Spread,
    like_units: bool,
}

impl Host {
    /// Compiles into this folder, code that is meant for teams of this kind.
    pub fn new(folder: &Path, spread: Spread) -> Host {
        Host { folder: folder.into(), spread, like_units: false }
    }

    /// Large products in single precision are rounded as by the matrix units of a device.
    pub fn like_units(self) -> Host {
        Host { like_units: true, ..self }
    }

    fn compile<T: Real>(&self, plan: Plan) -> Arc<dyn Executable<T>> {
        let code = generate(&plan, self.spread, size_of::<T>());
        let like_units = self.like_units && size_of::<T>() == 4;
        let text = if like_units { ROUNDING.to_string() + &code.text } else { code.text.clone() };
        let name = format!("{}-{}", T::NAME, crate::compile::hash(&text));
        let (source, library) = (self.folder.join(name.clone() + ".cpp"), self.folder.join(name + ".so"));
        if !library.exists() {
            std::fs::write(&source, text).expect("the folder can be written to");
            let (real, single) =
                if size_of::<T>() == 4 { ("float", "-DSINGLE") } else { ("double", "-DDOUBLE") };
            let done = Command::new("g++")
                .args([
                    "-std=c++17",
                    "-O1",
                    "-shared",
                    "-fPIC",
                    "-Wall",
                    "-Wextra",
                    "-Wno-unused-parameter",
                    single,
                ])
                .arg(format!("-DREAL={real}"))
                // the emulation is arithmetic that the compiler must speed up
                .args(like_units.then_some("-O2"))
                .arg("-o")
                .args([&library, &source])
                .output()
                .expect("g++ is installed");
            let said = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success(), "{}: {said}", source.display());
            assert!(said.trim().is_empty(), "warnings in {}: {said}", source.display());
        }
        // SAFETY: the library is generated code without initialisers.
        let library = unsafe { Library::new(&library) }.expect("a library that was just made");
        Arc::new(Generated::new(plan.into(), OnHost { library, numbers: numbers::<T>(&code), code }))
    }
}

impl Backend for Host {
    fn name(&self) -> String {
        "host".into()
    }
    fn chunk(&self, _: usize) -> usize {
        1
    }
    fn singles(&self, plan: Plan) -> Arc<dyn Executable<f32>> {
        self.compile(plan)
    }
    fn doubles(&self, plan: Plan) -> Arc<dyn Executable<f64>> {
        self.compile(plan)
    }
}

fn address<X>(numbers: &[X]) -> u64 {
    numbers.as_ptr() as u64
}

struct OnHost<T> {
    library: Library,
    code: Code,
    numbers: Vec<T>,
}

impl<T: Real> Processor<T> for OnHost<T> {
    fn stores(&self, run: &Arranged<'_, T>) -> bool {
        // both kernels are worth a test: runs of an odd number of steps take one of them
        run.steps % 2 == 1
    }

    type Kept = Vec<T>;

    fn keep(&self, numbers: [&[T]; 3]) -> Vec<T> {
        numbers.concat()
    }

    fn read(&self, kept: &Vec<T>) -> [Vec<T>; 3] {
        let each = kept.len() / 3;
        std::array::from_fn(|k| kept[k * each..(k + 1) * each].to_vec())
    }

    fn launch(&self, entry: Entry, job: &Job<'_, T>, update: Option<(&mut Vec<T>, &Rule)>) -> Answer<T> {
        let (code, run, sizes) = (&self.code, job.run, &job.sizes);
        let room = |n: usize| vec![T::of(f64::NAN); n]; // what is not written shows
        let (fixed, states) = (run.fixed.concat(), run.states.concat());
        let (sequences, weights) = (run.sequences.concat(), run.weights.concat());
        // both kernels have their shared memory behind the global memory of the sweep
        let numbers = |bytes: usize| bytes / size_of::<T>();
        let near = numbers(code.shared_bytes).max(numbers(code.late.shared_bytes));
        let mut memory = room(code.memory.max(code.late.memory) + near);
        let mut history = room((run.steps + 1) * code.history);
        let mut store = room(run.samples * run.steps * code.store);
        let (mut terms, mut squares) = (vec![f64::NAN; sizes.terms], vec![f64::NAN; 2]);
        let mut kinds = sizes.kinds().map(|lens| room(lens.iter().sum()));
        let late = entry == Entry::GradientStored && code.late.needed;
        let rows = run.samples * if late { 1 + PARTS } else { 1 };
        let params = !sizes.params.is_empty();
        let mut dparams = room(if params { rows * code.row } else { 0 });
        let mut answers = kinds.each_mut().map(|numbers| numbers.as_mut_ptr());
        let gradient = std::mem::replace(&mut answers[2], dparams.as_mut_ptr());
        let parameters = update.as_ref().map_or(run.params, |(kept, _)| &kept[..kept.len() / 3]);
        let arguments = Arguments {
            given: [address(parameters), address(&fixed), address(&states), address(&sequences)],
            weights: address(&weights),
            tables: address(&self.numbers),
            indices: address(&code.tables.indices),
            rooms: [&mut memory, &mut history, &mut store].map(|room| room.as_mut_ptr() as u64),
            terms: terms.as_mut_ptr() as u64,
            answers: answers.map(|numbers| numbers as u64),
            ..Arguments::of(run)
        };
        let comes_back = comes_back(update.as_ref().map(|(_, rule)| *rule));
        // SAFETY: the kernel is compiled for this structure and this precision, and all arrays have the
        // lengths that the plan says.
        unsafe {
            let kernel: Symbol<'_, unsafe extern "C" fn(Arguments<T>)> =
                self.library.get(entry.name().as_bytes()).expect("a kernel of the code");
            kernel(arguments);
            if late {
                let kernel: Symbol<'_, unsafe extern "C" fn(Arguments<T>)> =
                    self.library.get(Entry::Late.name().as_bytes()).expect("a kernel of the code");
                kernel(arguments);
            }
            if params {
                type AddUp<T> = unsafe extern "C" fn(Arguments<T>, i32, *mut T, *mut f64);
                let add_up: Symbol<'_, AddUp<T>> = self.library.get(b"add_up").expect("a kernel of the code");
                let squares = squares.as_mut_ptr();
                add_up(arguments, rows as i32, gradient, squares);
                if let Some((kept, rule)) = update {
                    type Descend<T> =
                        unsafe extern "C" fn(Arguments<T>, Factors, T, *const T, *mut f64, *mut T);
                    let descend: Symbol<'_, Descend<T>> =
                        self.library.get(b"descend").expect("a kernel of the code");
                    let clip = T::of(f64::from(rule.clip));
                    descend(arguments, rule.factors, clip, gradient, squares, kept.as_mut_ptr());
                }
            }
        }
        let arrays = std::array::from_fn(|kind| {
            if comes_back[kind] { cut(&kinds[kind], sizes.kinds()[kind]) } else { Vec::new() }
        });
        Answer { terms, arrays, squares }
    }
}

/// Cuts arrays of a kind apart.
fn cut<T: Copy>(mut all: &[T], lens: &[usize]) -> Vec<Vec<T>> {
    let each = lens.iter().map(|&len| {
        let (mine, others) = all.split_at(len);
        all = others;
        mine.to_vec()
    });
    each.collect()
}
