//! A CUDA device as a backend of the engine.

use crate::batches::{Batches, Many};
use crate::compile::Cache;
use crate::executable::Generated;
use crate::launch::{Compiler, OnDevice, throw};
use crate::sweep::{RESERVED, Spread, generate};
use cinoc_adjoint::Real;
use cinoc_adjoint::backend::{Backend, Executable, Plan};
use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{CudaContext, CudaStream, DeviceRepr, DriverError, ValidAsZeroBits};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A GPU.
pub struct Cuda {
    stream: Arc<CudaStream>,
    compiler: Compiler,
    clusters: bool,
    /// Bytes of shared memory that a block can have, and all blocks of a processor together.
    shared: usize,
    shared_of_all: usize,
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
        let shared_of_all =
            ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)? as usize;
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
            shared_of_all,
            processors,
            choice,
        })
    }

    /// How a plan is spread: clusters for large steps, if the device has them.
    pub fn spread(&self, plan: &Plan) -> Spread {
        let cluster = self.choice.cluster.unwrap_or(if self.clusters { Spread::blocks(plan) } else { 1 });
        let Choice { threads, timed, .. } = self.choice;
        Spread { timed, ..Spread::new(threads.unwrap_or(512), cluster, self.shared - RESERVED) }
    }

    /// The same for large batches. None if somebody chose.
    fn spread_of_many(&self, few: Spread) -> Option<Spread> {
        let Choice { threads: None, cluster: None, .. } = self.choice else { return None };
        few.of_many(self.shared_of_all)
    }

    fn compile<T: Real + DeviceRepr + ValidAsZeroBits>(&self, plan: Plan) -> Arc<dyn Executable<T>> {
        let (few, plan) = (self.spread(&plan), Arc::new(plan));
        let (compiler, stream, processors) = (self.compiler.clone(), self.stream.clone(), self.processors);
        let own = plan.clone();
        let make = move |spread: Spread| {
            let code = generate(&own, spread, size_of::<T>());
            OnDevice::<T>::new(code, compiler.clone(), &stream, processors)
                .unwrap_or_else(|error| throw(error))
        };
        let batches = Batches {
            few: make(few),
            many: self
                .spread_of_many(few)
                .map(|many| Many::new(processors * many.beside, move || make(many))),
        };
        Arc::new(Generated::new(plan, batches))
    }
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
