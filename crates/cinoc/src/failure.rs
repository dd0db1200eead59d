//! How a command can end badly.

use crate::terminal::paint;
use cinoc_adjoint::TooManyThreads;
use cinoc_control::config::ConfigError;
use cinoc_control::data::{NotFinite, PaperCasesError};
use cinoc_cuda::DeviceError;
use cinoc_lab::workshop::LabError;
use cinoc_learn::evaluate::DivergedRollout;
use cinoc_learn::gradient_check::NearEdges;
use cinoc_learn::memory::TooLarge;
use cinoc_learn::onnx::NotExportable;
use cinoc_learn::policy_file::PolicyError;
use cinoc_learn::run::RunError;
use std::process::ExitCode;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub enum Failure {
    /// The request was wrong; nothing was changed.
    Request(String),
    /// The request was fine, the run failed.
    Run(String),
    /// The user stopped it; the message says how to go on.
    Interrupted(String),
}

impl Failure {
    /// Says what happened, in one line.
    pub fn report(&self) {
        let how = match self {
            Failure::Request(_) | Failure::Run(_) => paint("error:", "1;31"),
            Failure::Interrupted(_) => paint("stopped:", "1;33"),
        };
        eprintln!("{how} {}", self.message());
    }

    /// What happened.
    pub(crate) fn message(&self) -> &str {
        let (Failure::Request(message) | Failure::Run(message) | Failure::Interrupted(message)) = self;
        message
    }

    /// The promise of the command line.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::Run(_) => 1,
            Failure::Request(_) => 2,
            Failure::Interrupted(_) => 130,
        })
    }
}

macro_rules! request {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                Failure::Request(error.to_string())
            }
        })*
    };
}
request!(ConfigError, NearEdges, NotExportable, PaperCasesError, PolicyError, TooLarge, TooManyThreads);

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Failure {
        Failure::Run(error.0)
    }
}

impl From<NotFinite> for Failure {
    fn from(error: NotFinite) -> Failure {
        Failure::Run(error.to_string())
    }
}

impl From<DivergedRollout> for Failure {
    fn from(error: DivergedRollout) -> Failure {
        Failure::Run(error.to_string())
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Failure {
        match error {
            LabError::Stopped => Failure::Interrupted(error.to_string()),
            LabError::Unknown { .. }
            | LabError::Sweep(_)
            | LabError::Memory(_)
            | LabError::NotShared { .. }
            | LabError::Config(_)
            | LabError::Policy(_) => Failure::Request(error.to_string()),
            LabError::Run(error) => error.into(),
            LabError::File(_) | LabError::Results(_) => Failure::Run(error.to_string()),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        match error {
            RunError::Diverged(_) | RunError::File(_) => Failure::Run(error.to_string()),
            _ => Failure::Request(error.to_string()),
        }
    }
}
