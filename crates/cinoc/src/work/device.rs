//! Where programs run.

use crate::failure::Failure;
use cinoc_adjoint::Threads;
use cinoc_cuda::{Choice, Cuda, DeviceError};
use cinoc_learn::pool::cache_folder;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Once};

/// A processor that a front end was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// The threads of this machine.
    #[default]
    Cpu,
    /// A GPU, by its number. Without one it is the first, or that of a rank.
    Cuda(Option<usize>),
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Cpu => write!(f, "cpu"),
            Device::Cuda(None) => write!(f, "cuda"),
            Device::Cuda(Some(number)) => write!(f, "cuda:{number}"),
        }
    }
}

impl FromStr for Device {
    type Err = String;

    fn from_str(text: &str) -> Result<Device, String> {
        let number = |number: &str| number.parse().map(|number| Device::Cuda(Some(number))).ok();
        let device = match text {
            "cpu" => Some(Device::Cpu),
            "cuda" => Some(Device::Cuda(None)),
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
    /// The device of a process that is number `place` of those on its machine: the GPUs are given out in
    /// turn.
    pub fn at(self, place: usize) -> Device {
        self.among(place, Cuda::count)
    }

    fn among(self, place: usize, gpus: impl FnOnce() -> usize) -> Device {
        match self {
            Device::Cuda(None) => Device::Cuda(Some(place % gpus().max(1))),
            chosen => chosen,
        }
    }

    /// Threads whose programs run on the device.
    pub fn with(self, threads: Threads) -> Result<Threads, Failure> {
        let Device::Cuda(number) = self else { return Ok(threads) };
        let ordinal = number.unwrap_or(0);
        let folder = cache_folder().map(|folder| folder.join("cuda"));
        let choice = Choice {
            threads: asked("CINOC_CUDA_THREADS"),
            cluster: asked("CINOC_CUDA_CLUSTER"),
            timed: asked("CINOC_CUDA_TIMED").is_some(),
        };
        let cuda = Cuda::with(ordinal, folder.as_deref(), choice);
        let cuda = cuda.map_err(|error| Failure::Request(error.to_string()))?;
        Ok(threads.with_backend(Arc::new(cuda)))
    }
}

/// A device that fails throws its message. From now on, this is not printed as a panic is: whoever catches it
/// tells.
pub fn silence_device_errors() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let said = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !info.payload().is::<DeviceError>() {
                said(info);
            }
        }));
    });
}

/// Does some work; a device that fails meanwhile ends it with its message instead of a panic.
pub fn bearing_device_errors<R>(work: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
    silence_device_errors();
    // whatever the work was changing is dropped with it
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|thrown| {
        match thrown.downcast::<DeviceError>() {
            Ok(error) => Err((*error).into()),
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
        assert_eq!("cuda".parse(), Ok(Device::Cuda(None)));
        assert_eq!("cuda:3".parse(), Ok(Device::Cuda(Some(3))));
        for device in [Device::Cpu, Device::Cuda(None), Device::Cuda(Some(12))] {
            assert_eq!(device.to_string().parse(), Ok(device));
        }
        for wrong in ["gpu", "cuda:", "cuda:x", "cuda3", ""] {
            let error = wrong.parse::<Device>().unwrap_err();
            assert!(error.contains("cuda:N"), "{error}");
        }
    }

    #[test]
    fn gpus_are_given_out_in_turn() {
        let given = |device: Device, gpus: usize| [0, 1, 2, 3, 4].map(|place| device.among(place, || gpus));
        let numbers = |numbers: [usize; 5]| numbers.map(|number| Device::Cuda(Some(number)));
        assert_eq!(given(Device::Cuda(None), 4), numbers([0, 1, 2, 3, 0]));
        assert_eq!(given(Device::Cuda(None), 1), numbers([0; 5]));
        // that there is none is told when it is opened
        assert_eq!(given(Device::Cuda(None), 0), numbers([0; 5]));
        assert_eq!(given(Device::Cuda(Some(2)), 4), numbers([2; 5]));
        assert_eq!(given(Device::Cpu, 4), [Device::Cpu; 5]);
    }
}
