//! One policy along one axis.

use crate::failure::Failure;
use cinoc_adjoint::Threads;
use cinoc_lab::results::Results;
use cinoc_lab::sweep::{self, Axis, Value};
use cinoc_lab::workshop::{LabError, Size, Watch, Workshop};
use cinoc_learn::policy_file::PolicyFile;
use cinoc_learn::team::Team;
use std::path::PathBuf;

/// Measures a policy along an axis, at these values or at the usual ones of the axis. The points are spread
/// over the ranks of a team.
pub fn measure(
    policy: &PolicyFile,
    axis: &str,
    values: Option<&[String]>,
    cases: usize,
    threads: Threads,
    team: &Team,
    watch: &dyn Watch,
) -> Result<Results, Failure> {
    let values: Option<Result<Vec<Value>, _>> =
        values.map(|values| values.iter().map(|value| value.parse()).collect());
    let values = values.transpose().map_err(LabError::Sweep)?;
    let axis: Axis = axis.parse().map_err(LabError::Sweep)?;
    axis.check(&policy.config).map_err(LabError::Sweep)?;
    // a sweep keeps nothing: it needs no folders
    let mut workshop = Workshop::new(Size::Full, threads, None, PathBuf::new(), PathBuf::new(), watch);
    workshop.team = team.clone();
    let results = sweep::Sweep { policy: policy.clone(), axis, values, cases }.run(&workshop);
    results.map_err(|error| match error {
        LabError::Stopped => Failure::Interrupted("a sweep keeps nothing; start it again".into()),
        error => error.into(),
    })
}
