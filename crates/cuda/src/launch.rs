//! A program on a device: its kernels, its memory there, and how they are launched.

use crate::compile::Cache;
use crate::executable::{Answer, Arguments, Entry, Job, Processor, comes_back, numbers};
use crate::late::{self, PARTS};
use crate::places::ALIGNED;
use crate::sweep::{Code, Spread};
use crate::transfer::{Dock, reserve};
use cinoc_adjoint::Real;
use cinoc_adjoint::backend::{Arranged, Rule};
use cinoc_adjoint::optimiser::Factors;
use cudarc::driver::sys::CUfunction_attribute_enum as FunctionAttribute;
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, DeviceRepr, DriverError, LaunchConfig,
    PushKernelArg, ValidAsZeroBits,
};
use cudarc::nvrtc::Ptx;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

/// What makes kernels.
#[derive(Clone)]
pub(crate) struct Compiler {
    pub(crate) context: Arc<CudaContext>,
    pub(crate) cache: Cache,
    /// `sm_90`, for example.
    pub(crate) architecture: String,
}

/// A kernel with those that add up what samples contribute and that update the parameters.
#[derive(Clone)]
struct Kernel {
    sweep: CudaFunction,
    add_up: CudaFunction,
    descend: CudaFunction,
}

impl Compiler {
    /// One kernel of a program, from the cache or compiled now.
    fn kernel(&self, code: &Code, real: &str, entry: Entry) -> Result<Kernel, String> {
        let source = code.only(entry);
        let binary = self.cache.binary(&source, real, &self.architecture).map_err(|error| error.0)?;
        let loaded = |error: DriverError| format!("the device does not load its code: {error}");
        let module = self.context.load_module(Ptx::from_binary(binary)).map_err(loaded)?;
        let sweep = module.load_function(entry.name()).map_err(loaded)?;
        let set = |attribute, value| sweep.set_attribute(attribute, value).map_err(loaded);
        let late = entry == Entry::Late;
        let shared = if late { code.late.shared_bytes } else { code.shared_bytes };
        set(FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared as i32)?;
        if code.spread.cluster > 8 && !late {
            set(FunctionAttribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)?;
        }
        let other = |name| module.load_function(name).map_err(loaded);
        Ok(Kernel { sweep, add_up: other("add_up")?, descend: other("descend")? })
    }
}

pub(crate) fn throw(error: String) -> ! {
    std::panic::panic_any(crate::DeviceError(error))
}

// SAFETY: plain numbers in the layout of C.
unsafe impl<T: DeviceRepr> DeviceRepr for Arguments<T> {}

/// [`Factors`] on their way to a kernel.
#[repr(transparent)]
struct Sent(Factors);

// SAFETY: plain numbers in the layout of C.
unsafe impl DeviceRepr for Sent {}

/// Parameters that a block of the kernels after the sweep works on.
const UPDATED: usize = 256;

/// Memory on the device, kept between launches.
struct Rooms<T> {
    /// Parameters, fixed inputs, states, sequences.
    given: Option<CudaSlice<T>>,
    memory: Option<CudaSlice<T>>,
    history: Option<CudaSlice<T>>,
    store: Option<CudaSlice<T>>,
    /// What samples and parts of them contribute to the gradient of the parameters.
    rows: Option<CudaSlice<T>>,
    /// Memory of the kernel that adds up what comes late.
    late: Option<CudaSlice<T>>,
    answers: Option<CudaSlice<T>>,
    weights: Option<CudaSlice<f64>>,
    /// Terms, then sums of squares of gradient and parameters.
    terms: Option<CudaSlice<f64>>,
    /// For what is given and answered, and for weights and terms.
    docks: [Dock<T>; 2],
    docks_of_terms: [Dock<f64>; 2],
}

impl<T> Default for Rooms<T> {
    fn default() -> Rooms<T> {
        Rooms {
            given: None,
            memory: None,
            history: None,
            store: None,
            rows: None,
            late: None,
            answers: None,
            weights: None,
            terms: None,
            docks: Default::default(),
            docks_of_terms: Default::default(),
        }
    }
}

/// Where arrays lie that travel together, each at a multiple of four numbers, and how long all of them are.
fn together<const N: usize>(lens: [usize; N]) -> ([usize; N], usize) {
    let mut all = 0;
    let at = lens.map(|len| {
        let at = all;
        all += len.next_multiple_of(ALIGNED);
        at
    });
    (at, all)
}

/// Places of arrays one after the other.
fn ranges(lens: &[usize], first: usize) -> impl Iterator<Item = Range<usize>> {
    lens.iter().scan(first, |at, len| {
        let begin = std::mem::replace(at, *at + len);
        Some(begin..*at)
    })
}

/// Lists with their places, one after the other.
fn placed<'a, X>(lists: &'a [&'a [X]], first: usize) -> impl Iterator<Item = (usize, &'a [X])> {
    lists.iter().scan(first, |at, list| Some((std::mem::replace(at, *at + list.len()), *list)))
}

/// How much of the device a run takes.
struct Extent {
    /// Teams of the sweep.
    teams: usize,
    /// Blocks that add up what the parameters get late; 0 if nothing is late.
    adding: usize,
    /// Rows that contribute to the gradient of the parameters.
    rows: usize,
}

/// Where everything lies that belongs to a run.
struct Layout<T> {
    arguments: Arguments<T>,
    /// Memory of the kernel that adds up what comes late.
    late: u64,
    gradient: u64,
    /// All answers, and the first of every kind in them.
    answers: u64,
    answers_at: [usize; 6],
    /// Blocks that work on the parameters, and the sums of squares that they leave.
    blocks: usize,
    squares: u64,
}

/// A program on the device.
pub(crate) struct OnDevice<T> {
    /// Kernels by their entry; each is compiled when it is first needed.
    kernels: [OnceLock<Kernel>; 4],
    compiler: Compiler,
    tables: CudaSlice<T>,
    indices: CudaSlice<i32>,
    stream: Arc<CudaStream>,
    processors: usize,
    code: Code,
    clocks: CudaSlice<i64>,
    rooms: Mutex<Rooms<T>>,
    /// Whether values are stored, by samples and steps.
    decided: Mutex<HashMap<(usize, usize), bool>>,
    /// Teams of a kernel that work at the same time.
    most: [OnceLock<usize>; 4],
}

/// Tells what timed calls took, longest first.
impl<T> Drop for OnDevice<T> {
    fn drop(&mut self) {
        if self.code.timed.is_empty() {
            return;
        }
        let clocks = self.stream.clone_dtoh(&self.clocks).unwrap_or_default();
        let told = clocks.iter().zip(&self.code.timed).filter(|(cycles, _)| **cycles > 0);
        eprintln!("cycles of all calls, in their order");
        told.for_each(|(cycles, call)| eprintln!("cycles {cycles} {call}"));
    }
}

impl<T: Real + DeviceRepr + ValidAsZeroBits> OnDevice<T> {
    /// A program with its constants on the device of a stream.
    pub(crate) fn new(
        code: Code,
        compiler: Compiler,
        stream: &Arc<CudaStream>,
        processors: usize,
    ) -> Result<OnDevice<T>, String> {
        let loaded = |error: DriverError| format!("the device does not take its tables: {error}");
        let indices = if code.tables.indices.is_empty() { vec![0] } else { code.tables.indices.clone() };
        let mut constants = numbers::<T>(&code);
        constants.resize(constants.len().max(1), T::default());
        Ok(OnDevice {
            kernels: std::array::from_fn(|_| OnceLock::new()),
            compiler,
            tables: stream.clone_htod(&constants).map_err(loaded)?,
            indices: stream.clone_htod(&indices).map_err(loaded)?,
            stream: stream.clone(),
            processors,
            clocks: stream.alloc_zeros(code.timed.len().max(1)).map_err(loaded)?,
            code,
            rooms: Mutex::new(Rooms::default()),
            decided: Mutex::default(),
            most: std::array::from_fn(|_| OnceLock::new()),
        })
    }

    /// Kernels, ready to be launched. Those that are missing are compiled at the same time.
    fn prepare(&self, entries: &[Entry]) -> Result<(), String> {
        if entries.iter().all(|&entry| self.kernels[entry as usize].get().is_some()) {
            return Ok(());
        }
        std::thread::scope(|scope| {
            let each: Vec<_> = entries.iter().map(|&entry| scope.spawn(move || self.kernel(entry))).collect();
            each.into_iter().try_for_each(|one| match one.join() {
                Ok(made) => made.map(|_| ()),
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })
    }

    /// A kernel, ready to be launched.
    fn kernel(&self, entry: Entry) -> Result<&Kernel, String> {
        let place = &self.kernels[entry as usize];
        if place.get().is_none() {
            let real = if size_of::<T>() == 4 { "float" } else { "double" };
            let _ = place.set(self.compiler.kernel(&self.code, real, entry)?);
        }
        place.get().ok_or_else(|| "a kernel that was just made is missing".into())
    }

    /// How `teams` teams of a kernel are launched.
    fn launch_config(&self, entry: Entry, teams: usize) -> LaunchConfig {
        let Code { spread: Spread { threads, cluster, .. }, shared_bytes, late: apart, .. } = &self.code;
        let (threads, cluster, shared) = match entry {
            Entry::Late => (late::THREADS, 1, apart.shared_bytes),
            _ => (*threads, *cluster, *shared_bytes),
        };
        LaunchConfig {
            grid_dim: ((teams * cluster) as u32, 1, 1),
            block_dim: (threads as u32, 1, 1),
            shared_mem_bytes: shared as u32,
        }
    }

    /// Teams of a kernel that work at the same time.
    fn teams(&self, entry: Entry, kernel: &CudaFunction, wanted: usize) -> Result<usize, String> {
        // the question takes the driver longer than a launch: it is asked once
        if let Some(&most) = self.most[entry as usize].get() {
            return Ok(wanted.min(most));
        }
        let failed =
            |error: DriverError| format!("the device does not say how much it can do at once: {error}");
        let config = self.launch_config(entry, self.processors);
        let (threads, shared) = (config.block_dim.0, config.shared_mem_bytes);
        let cluster = config.grid_dim.0 as usize / self.processors;
        let most = if cluster > 1 {
            kernel.occupancy_max_active_clusters(config, &self.stream).map_err(failed)? as usize
        } else {
            let blocks =
                kernel.occupancy_max_active_blocks_per_multiprocessor(threads, shared as usize, None);
            blocks.map_err(failed)? as usize * self.processors
        };
        if most == 0 {
            return Err(format!(
                "{cluster} blocks with {shared} bytes of shared memory each do not fit on the device at \
                 once; try CINOC_CUDA_CLUSTER={}",
                (cluster / 2).max(1)
            ));
        }
        Ok(wanted.min(*self.most[entry as usize].get_or_init(|| most)))
    }

    /// How much of the device a run takes. Kernels that are missing are compiled.
    fn extent(&self, entry: Entry, samples: usize) -> Result<Extent, String> {
        let late = entry == Entry::GradientStored && self.code.late.needed;
        self.prepare(if late {
            &[Entry::GradientStored, Entry::Late]
        } else {
            std::slice::from_ref(&entry)
        })?;
        let adding = match late {
            true => self.teams(Entry::Late, &self.kernel(Entry::Late)?.sweep, samples * PARTS)?,
            false => 0,
        };
        let rows = if entry == Entry::Forward { 0 } else { samples * if late { 1 + PARTS } else { 1 } };
        Ok(Extent { teams: self.teams(entry, &self.kernel(entry)?.sweep, samples)?, adding, rows })
    }

    /// Sends what a run is given, and reserves memory for what it makes. Parameters that are kept on the
    /// device are not sent.
    fn lay_out(
        &self,
        rooms: &mut Rooms<T>,
        entry: Entry,
        job: &Job<'_, T>,
        kept: Option<u64>,
        extent: &Extent,
    ) -> Result<Layout<T>, String> {
        let (code, run, stream) = (&self.code, job.run, &self.stream);
        let bytes = |at: usize| (at * size_of::<T>()) as u64;
        let params: &[&[T]] = if kept.is_some() { &[] } else { &[run.params] };
        let kinds: [&[&[T]]; 4] = [params, &run.fixed, &run.states, &run.sequences];
        let (given_at, all) = together(kinds.map(|lists| lists.iter().map(|list| list.len()).sum()));
        let lists = kinds.into_iter().zip(given_at).flat_map(|(lists, first)| placed(lists, first));
        let given = reserve(stream, &mut rooms.given, all)?;
        rooms.docks[0].send(stream, &lists.collect::<Vec<_>>(), given)?;
        let mut given = given_at.map(|at| given + bytes(at));
        given[0] = kept.unwrap_or(given[0]);
        let weights = reserve(stream, &mut rooms.weights, run.weights.len() * run.steps)?;
        rooms.docks_of_terms[0].send(stream, &placed(&run.weights, 0).collect::<Vec<_>>(), weights)?;

        let memory = reserve(stream, &mut rooms.memory, extent.teams * code.memory)?;
        let history = if extent.rows > 0 { extent.teams * (run.steps + 1) * code.history } else { 0 };
        let history = reserve(stream, &mut rooms.history, history)?;
        let stored = entry == Entry::GradientStored;
        let store = if stored { run.samples * run.steps * code.store } else { 0 };
        let store = reserve(stream, &mut rooms.store, store)?;
        let parts = reserve(stream, &mut rooms.rows, extent.rows * code.row)?;
        let late = reserve(stream, &mut rooms.late, extent.adding * code.late.memory)?;

        let lens = job.sizes.kinds().map(|lens| lens.iter().sum());
        let (answers_at, all) = together(lens);
        let answers = reserve(stream, &mut rooms.answers, all)?;
        let [records, ends, gradient, fixed, states, sequences] = answers_at.map(|at| answers + bytes(at));
        let blocks = lens[2].div_ceil(UPDATED);
        let terms = reserve(stream, &mut rooms.terms, job.sizes.terms + 2 * blocks)?;
        Ok(Layout {
            arguments: Arguments {
                given,
                weights,
                tables: self.tables.device_ptr(stream).0,
                indices: self.indices.device_ptr(stream).0,
                rooms: [memory, history, store],
                terms,
                answers: [records, ends, parts, fixed, states, sequences],
                clocks: self.clocks.device_ptr(stream).0,
                ..Arguments::of(run)
            },
            late,
            gradient,
            answers,
            answers_at,
            blocks,
            squares: terms + (job.sizes.terms * size_of::<f64>()) as u64,
        })
    }

    /// Launches all kernels of a run; with an update, that of the parameters which are kept.
    fn start(
        &self,
        entry: Entry,
        extent: &Extent,
        layout: &Layout<T>,
        update: Option<(u64, &Rule)>,
    ) -> Result<(), String> {
        let stream = &self.stream;
        let Layout { arguments, late, gradient, blocks, squares, .. } = layout;
        let Kernel { sweep, add_up, descend } = self.kernel(entry)?;
        let config = self.launch_config(entry, extent.teams);
        let failed = |error: DriverError| format!("the device does not start {}: {error}", entry.name());
        // SAFETY: the kernel takes this structure, and every array has the length that its code expects.
        unsafe { stream.launch_builder(sweep).arg(arguments).launch(config) }.map_err(failed)?;
        if extent.adding > 0 {
            let [_, history, store] = arguments.rooms;
            let arguments = Arguments { rooms: [*late, history, store], ..*arguments };
            let (kernel, config) =
                (self.kernel(Entry::Late)?, self.launch_config(Entry::Late, extent.adding));
            // SAFETY: as above; the store was written by the launch before.
            unsafe { stream.launch_builder(&kernel.sweep).arg(&arguments).launch(config) }.map_err(failed)?;
        }
        if *blocks == 0 {
            return Ok(());
        }
        let (rows, grid_dim, block_dim) =
            (extent.rows as i32, (*blocks as u32, 1, 1), (UPDATED as u32, 1, 1));
        let of_parameters = LaunchConfig { grid_dim, block_dim, shared_mem_bytes: 0 };
        let mut launch = stream.launch_builder(add_up);
        launch.arg(arguments).arg(&rows).arg(gradient).arg(squares);
        // SAFETY: as above; all rows were written by the launches before.
        unsafe { launch.launch(of_parameters) }.map_err(failed)?;
        if let Some((kept, rule)) = update {
            let (factors, clip) = (Sent(rule.factors), T::of(f64::from(rule.clip)));
            let mut launch = stream.launch_builder(descend);
            launch.arg(arguments).arg(&factors).arg(&clip).arg(gradient).arg(squares).arg(&kept);
            // SAFETY: as above; gradient and squares were written by the launch before.
            unsafe { launch.launch(of_parameters) }.map_err(failed)?;
        }
        Ok(())
    }

    /// Waits for a run and brings back what was asked for.
    fn fetch(
        &self,
        rooms: &mut Rooms<T>,
        job: &Job<'_, T>,
        layout: &Layout<T>,
        rule: Option<&Rule>,
    ) -> Result<Answer<T>, String> {
        let (stream, kinds, comes_back) = (&self.stream, job.sizes.kinds(), comes_back(rule));
        let (terms, squares) = (job.sizes.terms, if rule.is_some() { 2 * layout.blocks } else { 0 });
        let doubles = [0..terms, terms..terms + squares];
        let doubles = rooms.docks_of_terms[1].fetch(stream, layout.arguments.terms, &doubles)?;
        let wanted = (0..kinds.len()).filter(|&kind| comes_back[kind]);
        let places = wanted.flat_map(|kind| ranges(kinds[kind], layout.answers_at[kind]));
        let lists = rooms.docks[1].fetch(stream, layout.answers, &places.collect::<Vec<_>>())?;
        let (mut doubles, mut lists) = (doubles.into_iter(), lists.into_iter());
        Ok(Answer {
            terms: doubles.next().unwrap_or_default(),
            squares: doubles.next().unwrap_or_default(),
            arrays: std::array::from_fn(|kind| {
                let count = if comes_back[kind] { kinds[kind].len() } else { 0 };
                lists.by_ref().take(count).collect()
            }),
        })
    }

    fn run(
        &self,
        entry: Entry,
        job: &Job<'_, T>,
        update: Option<(&mut CudaSlice<T>, &Rule)>,
    ) -> Result<Answer<T>, String> {
        let extent = self.extent(entry, job.run.samples)?;
        let mut rooms = self.rooms.lock().map_err(|_| "an earlier launch failed")?;
        let update = update.map(|(kept, rule)| (kept.device_ptr(&self.stream).0, rule));
        let layout = self.lay_out(&mut rooms, entry, job, update.map(|(kept, _)| kept), &extent)?;
        self.start(entry, &extent, &layout, update)?;
        self.fetch(&mut rooms, job, &layout, update.map(|(_, rule)| rule))
    }
}

impl<T: Real + DeviceRepr + ValidAsZeroBits> Processor<T> for OnDevice<T> {
    type Kept = CudaSlice<T>;

    fn keep(&self, numbers: [&[T]; 3]) -> CudaSlice<T> {
        let kept = self.stream.clone_htod(&numbers.concat());
        kept.unwrap_or_else(|error| throw(format!("the device does not take the parameters: {error}")))
    }

    fn read(&self, kept: &CudaSlice<T>) -> [Vec<T>; 3] {
        let numbers = self.stream.clone_dtoh(kept);
        let numbers = numbers.unwrap_or_else(|error| throw(format!("the device failed: {error}")));
        let each = numbers.len() / 3;
        std::array::from_fn(|k| numbers[k * each..(k + 1) * each].to_vec())
    }

    fn launch(
        &self,
        entry: Entry,
        job: &Job<'_, T>,
        update: Option<(&mut CudaSlice<T>, &Rule)>,
    ) -> Answer<T> {
        self.run(entry, job, update).unwrap_or_else(|error| throw(error))
    }

    fn details(&self) -> Vec<(&'static str, usize)> {
        let Code { spread: Spread { threads, cluster, .. }, shared_bytes, barriers, .. } = self.code;
        vec![
            ("cluster", cluster),
            ("block_threads", threads),
            ("shared_bytes", shared_bytes),
            ("barriers", barriers[0]),
            ("cluster_barriers", barriers[1]),
        ]
    }

    fn stores(&self, run: &Arranged<'_, T>) -> bool {
        let (samples, steps) = (run.samples, run.steps);
        // the question takes the driver longer than a launch: it is asked once for a size
        let mut decided = self.decided.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *decided.entry((samples, steps)).or_insert_with(|| self.has_room(samples, steps))
    }
}

impl<T: Real + DeviceRepr + ValidAsZeroBits> OnDevice<T> {
    /// Whether the device has memory for the stored values of so many samples and steps.
    fn has_room(&self, samples: usize, steps: usize) -> bool {
        let numbers = steps * self.code.store + (1 + PARTS) * self.code.row;
        let bytes = samples as f64 * (numbers * size_of::<T>()) as f64;
        let have = self.rooms.lock().ok().and_then(|rooms| rooms.store.as_ref().map(CudaSlice::num_bytes));
        let free = self.stream.context().mem_get_info().map_or(0, |(free, _)| free) + have.unwrap_or(0);
        bytes <= 0.7 * free as f64
    }
}
