//! The generated code of operations with odd sizes, compiled by the host's compiler, agrees with the backend
//! for CPUs.

mod odd_sizes;

use cinoc_adjoint::backend::Plan;
use cinoc_cuda::host::Host;
use cinoc_cuda::{Spread, generate};
use std::sync::Arc;

#[test]
fn odd_sizes() {
    let folder = tempfile::tempdir().unwrap();
    for step in odd_sizes::steps() {
        for cluster in [1, 4] {
            let spread = Spread::new(256, cluster, 200_000);
            let text = generate(&Plan::new(&step.trace, 1), spread, 8).text;
            let code = text.split_once("ENTRY gradient_stored").unwrap().1;
            assert!(code.contains(step.called), "{}: {} is not called", step.name, step.called);
        }
        let one = Spread::new(256, 1, 200_000);
        step.agrees::<f64>(Arc::new(Host::new(folder.path(), one)), 1e-12);
    }
}
