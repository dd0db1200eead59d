//! `cinoc verify`: golden files, recomputed.

use crate::arguments::Verify;
use crate::failure::Failure;
use crate::terminal::say;
use cinoc_adjoint::Threads;
use cinoc_learn::verify::{TOLERANCE, verify};

pub fn run(request: &Verify) -> Result<(), Failure> {
    let threads = request.device.with(Threads::one())?;
    let mut failed = Vec::new();
    for path in &request.files {
        let result = verify(path, &threads).map_err(|error| Failure::Request(error.to_string()))?;
        if request.json {
            super::print_json(&result)?;
        } else {
            let word = if result.ok { "ok" } else { "FAILED" };
            say!(
                "{word:6} {} ({}, {} tensors, largest error {:.1e})",
                path.display(),
                result.task,
                result.errors.len(),
                result.max_error
            );
        }
        if !result.ok {
            failed.push(path.display().to_string());
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::Run(format!("errors above {TOLERANCE:e} in {}", failed.join(", "))))
}
