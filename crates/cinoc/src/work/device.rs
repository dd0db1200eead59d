//! Where programs run.

use crate::failure::Failure;
use cinoc_adjoint::Threads;
use cinoc_cuda::{Choice, Cuda, DeviceError};
use cinoc_learn::pool::cache_folder;
use std::str::FromStr;
use std::sync::Arc;

/// A processor that a front end was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// The threads of this machine.
    #[default]
    Cpu,
    /// A GPU, by its number.
    Cuda(usize),
}

impl FromStr for Device {
    type Err = String;

    fn from_str(text: &str) -> Result<Device, String> {
        let number = |number: &str| number.parse().map(Device::Cuda).ok();
        let device = match text {
            "cpu" => Some(Device::Cpu),
            "cuda" => Some(Device::Cuda(0)),
            other => other.strip_prefix("cuda:").and_then(number),
        };
        device.ok_or_else(|| {
            format!("there is no device {text}; take cpu, cuda or cuda:N, N the number of a GPU")
        })
    }
}

/// A setting of how work is spread over a GPU, for experiments.
fn asked(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}

impl Device {
    /// Threads whose programs run on the device.
    pub fn with(self, threads: Threads) -> Result<Threads, Failure> {
        let Device::Cuda(ordinal) = self else { return Ok(threads) };
        let folder = cache_folder().map(|folder| folder.join("cuda"));
        let choice = Choice { threads: asked("CINOC_CUDA_THREADS"), cluster: asked("CINOC_CUDA_CLUSTER") };
        let cuda = Cuda::with(ordinal, folder.as_deref(), choice);
        let cuda = cuda.map_err(|error| Failure::Request(error.to_string()))?;
        Ok(threads.with_backend(Arc::new(cuda)))
    }
}

/// Does some work; a device that fails meanwhile ends it with its message instead of a panic.
pub fn bearing_device_errors<R>(work: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
    let said = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !info.payload().is::<DeviceError>() {
            said(info);
        }
    }));
    // whatever the work was changing is dropped with it
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|thrown| {
        match thrown.downcast::<DeviceError>() {
            Ok(error) => Err(Failure::Run(error.0)),
            Err(other) => std::panic::resume_unwind(other),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_device_ends_the_work_with_its_message() {
        let failed = bearing_device_errors(|| -> Result<(), Failure> {
            std::panic::panic_any(DeviceError("the device is gone".into()))
        });
        assert!(matches!(failed, Err(Failure::Run(message)) if message == "the device is gone"));
    }

    #[test]
    fn devices_have_names() {
        assert_eq!("cpu".parse(), Ok(Device::Cpu));
        assert_eq!("cuda".parse(), Ok(Device::Cuda(0)));
        assert_eq!("cuda:3".parse(), Ok(Device::Cuda(3)));
        for wrong in ["gpu", "cuda:", "cuda:x", "cuda3", ""] {
            let error = wrong.parse::<Device>().unwrap_err();
            assert!(error.contains("cuda:N"), "{error}");
        }
    }
}
