//! A CUDA device as a backend of the engine.

use crate::compile::Cache;
use crate::executable::{Answer, DeviceError, Entry, Generated, Job, Processor, numbers};
use crate::late::{self, PARTS};
use crate::sweep::{Code, Spread, generate};
use cinoc_adjoint::Real;
use cinoc_adjoint::backend::{Backend, Executable, Plan};
use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::sys::CUfunction_attribute_enum as FunctionAttribute;
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, DeviceRepr, DriverError, LaunchConfig,
    PushKernelArg, ValidAsZeroBits,
};
use cudarc::nvrtc::Ptx;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

/// A GPU.
pub struct Cuda {
    stream: Arc<CudaStream>,
    compiler: Compiler,
    clusters: bool,
    shared: usize,
    processors: usize,
    choice: Choice,
}

/// How work is spread, where the device does not decide.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choice {
    /// Threads of a block.
    pub threads: Option<usize>,
    /// Blocks of a cluster.
    pub cluster: Option<usize>,
    /// Times every call of a device function, and tells at the end.
    pub timed: bool,
}

/// Why there is no device to work with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoDevice(pub String);

impl fmt::Display for NoDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no CUDA device: {}; leave out --device cuda to compute on the CPU", self.0)
    }
}

impl std::error::Error for NoDevice {}

fn because(what: &str) -> impl Fn(DriverError) -> NoDevice + '_ {
    move |error| NoDevice(format!("{what}: {error}"))
}

impl Cuda {
    /// Devices that this process sees. If there are none, whoever opens the first hears the reason.
    pub fn count() -> usize {
        // SAFETY: the library is only looked for. Without this question a call of the driver would panic.
        if !unsafe { cudarc::driver::sys::is_culib_present() } {
            return 0;
        }
        CudaContext::device_count().map_or(0, |count| count as usize)
    }

    /// Opens device `ordinal`; compiled code is kept in `cache`, if given.
    pub fn open(ordinal: usize, cache: Option<&Path>) -> Result<Cuda, NoDevice> {
        Cuda::with(ordinal, cache, Choice::default())
    }

    /// The same with work spread as asked.
    pub fn with(ordinal: usize, cache: Option<&Path>, choice: Choice) -> Result<Cuda, NoDevice> {
        // SAFETY: the library is only looked for. Without this question a call of the driver would panic.
        if !unsafe { cudarc::driver::sys::is_culib_present() } {
            return Err(NoDevice("this machine has no NVIDIA driver (libcuda was not found)".into()));
        }
        if !crate::compile::available() {
            return Err(NoDevice("libnvrtc was not found; install CUDA's runtime compiler".into()));
        }
        let count = CudaContext::device_count().map_err(because("the driver does not start"))?;
        if ordinal >= count as usize {
            return Err(NoDevice(format!("device {ordinal} was asked for and this machine has {count}")));
        }
        let context = CudaContext::new(ordinal).map_err(because("the device does not open"))?;
        let ask = |attribute| context.attribute(attribute).map_err(because("the device does not answer"));
        let (major, minor) = context.compute_capability().map_err(because("the device does not answer"))?;
        if major < 8 {
            return Err(NoDevice(format!(
                "the device is of architecture sm_{major}{minor}; sm_80 or newer is needed"
            )));
        }
        let shared = ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)? as usize;
        let processors = ask(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as usize;
        // one stream: nothing that a launch uses is touched by another one meanwhile
        // SAFETY: all memory is used on the one stream that it is allocated on.
        unsafe { context.disable_event_tracking() };
        let stream = context.default_stream();
        Ok(Cuda {
            stream,
            compiler: Compiler {
                context,
                cache: Cache::new(cache),
                architecture: format!("sm_{major}{minor}"),
            },
            clusters: major >= 9,
            shared,
            processors,
            choice,
        })
    }

    /// How a plan is spread: clusters for large steps, if the device has them.
    pub fn spread(&self, plan: &Plan) -> Spread {
        let work: f64 = plan.step.iter().map(|op| op.flops()).sum();
        let cluster = self.choice.cluster.unwrap_or(match work {
            _ if !self.clusters => 1,
            work if work < 3e6 => 1,
            work if work < 40e6 => 6,
            work if work < 200e6 => 8,
            _ => 16,
        });
        let Choice { threads, timed, .. } = self.choice;
        Spread { threads: threads.unwrap_or(512), cluster, shared: self.shared - 1024, timed }
    }

    fn compile<T: Real + DeviceRepr + ValidAsZeroBits>(&self, plan: Plan) -> Arc<dyn Executable<T>> {
        let code = generate(&plan, self.spread(&plan), size_of::<T>());
        let Spread { threads, cluster, .. } = code.spread;
        let details = vec![
            ("cluster", cluster),
            ("block_threads", threads),
            ("shared_bytes", code.shared_bytes),
            ("barriers", code.barriers[0]),
            ("cluster_barriers", code.barriers[1]),
        ];
        let processor = self.load::<T>(code).unwrap_or_else(|error| throw(error));
        Arc::new(Generated::new(plan, processor).with_details(details))
    }

    fn load<T: Real + DeviceRepr + ValidAsZeroBits>(&self, code: Code) -> Result<OnDevice<T>, String> {
        let loaded = |error: DriverError| format!("the device does not take its tables: {error}");
        let indices = if code.tables.indices.is_empty() { vec![0] } else { code.tables.indices.clone() };
        let mut constants = numbers::<T>(&code);
        constants.resize(constants.len().max(1), T::default());
        Ok(OnDevice {
            kernels: std::array::from_fn(|_| OnceLock::new()),
            compiler: self.compiler.clone(),
            tables: self.stream.clone_htod(&constants).map_err(loaded)?,
            indices: self.stream.clone_htod(&indices).map_err(loaded)?,
            stream: self.stream.clone(),
            processors: self.processors,
            clocks: self.stream.alloc_zeros(code.timed.len().max(1)).map_err(loaded)?,
            code,
            rooms: Mutex::new(Rooms::default()),
            decided: Mutex::default(),
            most: std::array::from_fn(|_| OnceLock::new()),
        })
    }
}

/// What makes kernels.
#[derive(Clone)]
struct Compiler {
    context: Arc<CudaContext>,
    cache: Cache,
    /// `sm_90`, for example.
    architecture: String,
}

/// A kernel with the one that adds up what samples contribute.
#[derive(Clone)]
struct Kernel {
    sweep: CudaFunction,
    add_up: CudaFunction,
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
        Ok(Kernel { sweep, add_up: module.load_function("add_up").map_err(loaded)? })
    }
}

fn throw(error: String) -> ! {
    std::panic::panic_any(DeviceError(error))
}

impl Backend for Cuda {
    fn name(&self) -> String {
        self.compiler.context.name().unwrap_or_else(|_| "CUDA device".into())
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

/// What kernels are given, as `device/kernel.h` declares it. Pointers are addresses on the device.
#[repr(C)]
#[derive(Clone, Copy)]
struct Arguments<T> {
    samples: i32,
    steps: i32,
    share: f64,
    limit: T,
    given: [u64; 5],
    tables: u64,
    indices: u64,
    rooms: [u64; 3],
    answers: [u64; 7],
    clocks: u64,
}

// SAFETY: plain numbers in the layout of C.
unsafe impl<T: DeviceRepr> DeviceRepr for Arguments<T> {}

/// Memory on the device, kept between launches.
struct Rooms<T> {
    numbers: [Option<CudaSlice<T>>; 15],
    doubles: [Option<CudaSlice<f64>>; 2],
}

impl<T> Default for Rooms<T> {
    fn default() -> Rooms<T> {
        Rooms { numbers: std::array::from_fn(|_| None), doubles: [None, None] }
    }
}

struct OnDevice<T> {
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
        let mut told: Vec<(&i64, &String)> = clocks.iter().zip(&self.code.timed).collect();
        told.sort_by_key(|(cycles, _)| -**cycles);
        told.iter().for_each(|(cycles, call)| eprintln!("cycles {cycles} {call}"));
    }
}

/// At least so many numbers in a room, and its address.
fn reserve<X: DeviceRepr + ValidAsZeroBits>(
    stream: &Arc<CudaStream>,
    room: &mut Option<CudaSlice<X>>,
    len: usize,
) -> Result<u64, String> {
    if room.as_ref().is_none_or(|room| room.len() < len) {
        *room = None; // before the new one is asked for
        let bytes = len.max(1) * size_of::<X>();
        let made = stream.alloc_zeros::<X>(len.max(1)).map_err(|error| {
            let gigabytes = bytes as f64 / 1e9;
            format!("{gigabytes:.2} GB of device memory were refused: {error}; take fewer samples at once")
        });
        *room = Some(made?);
    }
    let slice = room.as_ref().ok_or("no memory")?;
    Ok(slice.device_ptr(stream).0)
}

fn upload<X: DeviceRepr>(
    stream: &Arc<CudaStream>,
    room: &mut Option<CudaSlice<X>>,
    parts: &[&[X]],
) -> Result<(), String> {
    let Some(slice) = room else { return Ok(()) };
    let mut at = 0;
    for part in parts.iter().filter(|part| !part.is_empty()) {
        let mut view = slice.slice_mut(at..at + part.len());
        stream
            .memcpy_htod(*part, &mut view)
            .map_err(|error| format!("inputs do not reach the device: {error}"))?;
        at += part.len();
    }
    Ok(())
}

fn download<X: DeviceRepr + Clone + Default>(
    stream: &Arc<CudaStream>,
    room: &Option<CudaSlice<X>>,
    len: usize,
) -> Result<Vec<X>, String> {
    let mut to = vec![X::default(); len];
    if let (Some(slice), true) = (room, len > 0) {
        let view = slice.slice(0..len);
        stream.memcpy_dtoh(&view, &mut to).map_err(|error| format!("the device failed: {error}"))?;
    }
    Ok(to)
}

impl<T: Real + DeviceRepr + ValidAsZeroBits> OnDevice<T> {
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
                "{cluster} blocks with {shared} bytes of shared memory each do not fit on the device at once"
            ));
        }
        Ok(wanted.min(*self.most[entry as usize].get_or_init(|| most)))
    }

    fn run(&self, entry: Entry, job: &Job<'_, T>) -> Result<Answer<T>, String> {
        let (code, run, sizes, stream) = (&self.code, job.run, job.sizes, &self.stream);
        let (gradient, stored) = (entry != Entry::Forward, entry == Entry::GradientStored);
        let late = stored && code.late.needed;
        self.prepare(if late {
            &[Entry::GradientStored, Entry::Late]
        } else {
            std::slice::from_ref(&entry)
        })?;
        let Kernel { sweep, add_up } = self.kernel(entry)?;
        let teams = self.teams(entry, sweep, run.samples)?;
        let adding = match late {
            true => self.teams(Entry::Late, &self.kernel(Entry::Late)?.sweep, run.samples * PARTS)?,
            false => 0,
        };
        let rows = run.samples * if late { 1 + PARTS } else { 1 };
        let mut rooms = self.rooms.lock().map_err(|_| "an earlier launch failed")?;
        let Rooms { numbers, doubles } = &mut *rooms;
        let given: [&[&[T]]; 4] = [&[run.params], &run.fixed, &run.states, &run.sequences];
        let lens = [
            teams * code.memory,
            if gradient { teams * (run.steps + 1) * code.history } else { 0 },
            if stored { run.samples * run.steps * code.store } else { 0 },
            sizes.records,
            sizes.ends,
            if gradient { rows * code.row } else { 0 },
            sizes.fixed,
            sizes.states,
            sizes.sequences,
            sizes.params,
            adding * code.late.memory,
        ];
        let mut at = [0; 15];
        for (i, parts) in given.iter().enumerate() {
            at[i] = reserve(stream, &mut numbers[i], parts.iter().map(|part| part.len()).sum())?;
            upload(stream, &mut numbers[i], parts)?;
        }
        for (i, len) in lens.into_iter().enumerate() {
            at[4 + i] = reserve(stream, &mut numbers[4 + i], len)?;
        }
        let weights = reserve(stream, &mut doubles[0], run.weights.iter().map(|part| part.len()).sum())?;
        upload(stream, &mut doubles[0], &run.weights)?;
        let terms = reserve(stream, &mut doubles[1], sizes.terms)?;
        let share = 1.0 / run.of as f64;
        let arguments = Arguments {
            samples: run.samples as i32,
            steps: run.steps as i32,
            share,
            limit: T::of(run.carry_limit.map_or(-1.0, |limit| share * limit)),
            given: [at[0], at[1], at[2], at[3], weights],
            tables: self.tables.device_ptr(stream).0,
            indices: self.indices.device_ptr(stream).0,
            rooms: [at[4], at[5], at[6]],
            answers: [terms, at[7], at[8], at[9], at[10], at[11], at[12]],
            clocks: self.clocks.device_ptr(stream).0,
        };
        let config = self.launch_config(entry, teams);
        let failed = |error: DriverError| format!("the device does not start {}: {error}", entry.name());
        // SAFETY: the kernel takes this structure, and every array has the length that its code expects.
        unsafe { stream.launch_builder(sweep).arg(&arguments).launch(config) }.map_err(failed)?;
        if late {
            let [_, history, store] = arguments.rooms;
            let arguments = Arguments { rooms: [at[14], history, store], ..arguments };
            let (kernel, config) = (self.kernel(Entry::Late)?, self.launch_config(Entry::Late, adding));
            // SAFETY: as above; the store was written by the launch before.
            unsafe { stream.launch_builder(&kernel.sweep).arg(&arguments).launch(config) }.map_err(failed)?;
        }
        if sizes.params > 0 {
            let (rows, parts, sum) = (rows as i32, at[9], at[13]);
            let blocks = LaunchConfig::for_num_elems(sizes.params as u32);
            // SAFETY: as above; all rows were written by the launches before.
            unsafe { stream.launch_builder(add_up).arg(&rows).arg(&parts).arg(&sum).launch(blocks) }
                .map_err(failed)?;
        }
        let answer = Answer {
            terms: download(stream, &doubles[1], sizes.terms)?,
            records: download(stream, &numbers[7], sizes.records)?,
            ends: download(stream, &numbers[8], sizes.ends)?,
            params: download(stream, &numbers[13], sizes.params)?,
            fixed: download(stream, &numbers[10], sizes.fixed)?,
            states: download(stream, &numbers[11], sizes.states)?,
            sequences: download(stream, &numbers[12], sizes.sequences)?,
        };
        stream.synchronize().map_err(|error| format!("the device failed: {error}"))?;
        Ok(answer)
    }
}

impl<T: Real + DeviceRepr + ValidAsZeroBits> Processor<T> for OnDevice<T> {
    fn launch(&self, entry: Entry, job: &Job<'_, T>) -> Answer<T> {
        self.run(entry, job).unwrap_or_else(|error| throw(error))
    }

    fn stores(&self, samples: usize, steps: usize) -> bool {
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
        let have =
            self.rooms.lock().ok().and_then(|rooms| rooms.numbers[6].as_ref().map(CudaSlice::num_bytes));
        let free = self.stream.context().mem_get_info().map_or(0, |(free, _)| free) + have.unwrap_or(0);
        bytes <= 0.7 * free as f64
    }
}
