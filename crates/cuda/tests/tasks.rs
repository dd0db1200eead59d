//! The generated code of every task agrees with the backend for CPUs, in values and gradients. The host's compiler
//! compiles it, so no GPU is needed.

mod common;

use cinoc_adjoint::backend::Backend;
use cinoc_cuda::Spread;
use cinoc_cuda::host::Host;
use common::{check, config};
use std::sync::Arc;

fn host(cluster: usize) -> (tempfile::TempDir, Arc<dyn Backend>) {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::new(folder.path(), Spread { threads: 256, cluster, shared: 200_000 });
    (folder, Arc::new(host))
}

fn compare(task: &str) {
    for preset in ["default", "paper"] {
        for (agents, cluster) in [("", 1), ("agents=3", 4)] {
            let sets: Vec<&str> = [agents].into_iter().filter(|set| !set.is_empty()).collect();
            let config = config(task, preset, &sets);
            let (_folder, host) = host(cluster);
            check::<f64>(&host, &config, 1e-10);
            check::<f32>(&host, &config, 2e-4);
        }
    }
}

macro_rules! tasks {
    ($($name:ident $task:literal),*) => {
        $(#[test] fn $name() { compare($task); })*
    };
}
tasks!(
    fkpp1d "fkpp1d", heat1d "heat1d", ks1d "ks1d", heat2d "heat2d", obstacles "heat2d-obstacles", ks2d "ks2d",
    turb2d "turb2d", density2d "density2d"
);
