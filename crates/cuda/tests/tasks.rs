//! The generated code of every task agrees with the backend for CPUs, in values and gradients. The host's
//! compiler compiles it, so no GPU is needed.

mod common;

use cinoc_adjoint::Threads;
use cinoc_adjoint::backend::{Backend, Plan};
use cinoc_control::{Cases, ClosedLoop, Pool};
use cinoc_cuda::host::Host;
use cinoc_cuda::{Spread, generate};
use cinoc_learn::learner::Learner;
use cinoc_learn::rl::environment::Environment;
use cinoc_learn::rl::field::FieldEnvironment;
use cinoc_learn::train::{Trainer, Update};
use common::{check, check_updates, config};
use std::sync::Arc;

fn host(cluster: usize) -> (tempfile::TempDir, Arc<dyn Backend>) {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::new(folder.path(), Spread::new(256, cluster, 200_000));
    (folder, Arc::new(host))
}

/// Both presets, precisions and sizes of teams and swarms in turn; all combinations with `CINOC_ALL=1`.
fn compare(task: &str) {
    let all = std::env::var("CINOC_ALL").is_ok();
    for (preset, agents, cluster, single, chosen) in [
        ("default", "", 1, false, true),
        ("default", "agents=3", 4, true, false),
        ("default", "", 4, true, false),
        ("paper", "", 1, false, false),
        ("paper", "agents=3", 4, true, true),
        ("paper", "", 4, false, false),
    ] {
        if !all && !chosen {
            continue;
        }
        let sets: Vec<&str> = [agents].into_iter().filter(|set| !set.is_empty()).collect();
        let (config, (_folder, host)) = (config(task, preset, &sets), host(cluster));
        if all || !single {
            check::<f64>(&host, &config, 1e-10);
        }
        if all || single {
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

/// The presets of ks2d and turb2d convolve a field that wraps around; this one has ends.
#[test]
fn feature_maps_of_a_field_with_ends() {
    let sets = ["policy.padding=field", "observe.sampling=cell", "policy.conv=[8, 16]", "agents=9"];
    let config = config("heat2d", "default", &sets);
    for cluster in [1, 4] {
        let (_folder, host) = host(cluster);
        check::<f64>(&host, &config, 1e-10);
    }
}

/// Views of a coarse lattice, whose points lie between those of the grid.
#[test]
fn lattices_between_grid_points() {
    let config = config("density2d", "default", &["agents=3"]);
    let (_folder, host) = host(4);
    check::<f64>(&host, &config, 1e-10);
}

/// With many agents tiles are wider, rectifiers are reversed by the call before, and the adjoint of the first
/// layer takes two passes.
#[test]
fn many_agents() {
    let config = config("heat2d", "paper", &["agents=128", "time.steps=1"]);
    let trace = ClosedLoop::<f32>::for_training(&config, 1).program().trace().clone();
    let spread = Spread::new(256, 4, 200_000);
    let text = generate(&Plan::new(&trace, 1), spread, 4).text;
    let code = text.split_once("ENTRY gradient_stored").unwrap().1;
    assert!(
        code.contains("conv_patch<12, 12, 16, 32, 128, 40, 4, 8>")
            && code.contains("conv_patch_reverse_few<")
    );
    assert!(!code.contains("rectified<"));
    let (_folder, host) = host(4);
    check::<f32>(&host, &config, 2e-4);
}

/// The programs for batches that fill a device.
#[test]
fn large_batches() {
    for (task, few) in [("heat1d", 1), ("heat2d", 6)] {
        let (folder, few) = (tempfile::tempdir().unwrap(), Spread::new(512, few, 231_424));
        let host: Arc<dyn Backend> = Arc::new(Host::new(folder.path(), few.of_many(233_472).unwrap()));
        check::<f32>(&host, &config(task, "paper", &[]), 2e-4);
    }
    assert!(Spread::new(512, 16, 231_424).of_many(233_472).is_none());
}

/// Clip and Adam, where the code runs.
#[test]
fn updates() {
    for (task, cluster) in [("heat1d", 1), ("density2d", 4)] {
        let (_folder, host) = host(cluster);
        check_updates(&host, &config(task, "paper", &[]));
    }
}

/// A training whose parameters stay where the code runs, with rollouts that go on, is that of the CPU; its
/// checkpoint goes on there.
#[test]
fn trainings() {
    let (_folder, host) = host(1);
    let config = config("heat1d", "default", &["train.batch=4", "data.pool=8"]);
    assert!(config.train.hold > 0.0);
    let (here, there) = (Threads::one(), Threads::one().with_backend(host));
    let pool = Cases::draw(&config, 5, Pool::Training, 8, &here, &|_, _| {});
    let mut on_cpu = Trainer::new(&config, pool.clone(), &here);
    let mut elsewhere = Trainer::new(&config, pool.clone(), &there);
    let close = |one: f64, other: f64| (one - other).abs() <= 1e-4 * one.abs();
    let agree = |one: &Update, other: &Update| {
        assert_eq!((one.update, one.steps, one.rate), (other.update, other.steps, other.rate));
        assert!(close(one.loss, other.loss), "{one:?} {other:?}");
        assert!(
            close(one.gradient_norm, other.gradient_norm) && close(one.parameter_norm, other.parameter_norm)
        );
    };
    for _ in 0..3 {
        agree(&on_cpu.update().unwrap(), &elsewhere.update().unwrap());
    }
    let checkpoint = elsewhere.checkpoint().unwrap();
    assert_eq!((checkpoint.adam.step, &checkpoint.params[..]), (3, elsewhere.params()));
    let mut resumed = Trainer::at(checkpoint, pool, &here);
    agree(&resumed.update().unwrap(), &elsewhere.update().unwrap());
    assert_eq!(elsewhere.updates(), 4);
}

/// What the parameters get leaves the sweep where several blocks share a sample, and only there.
#[test]
fn parameters_wait_in_clusters() {
    let trace = ClosedLoop::<f32>::for_training(&config("heat2d", "paper", &[]), 1).program().trace().clone();
    for cluster in [1, 6] {
        let spread = Spread::new(512, cluster, 200_000);
        let code = generate(&Plan::new(&trace, 1), spread, 4);
        assert_eq!(code.late.needed, cluster > 1);
        assert_eq!(code.text.contains("ENTRY add_late"), cluster > 1);
        // the sums over all agents of the adjoints of the second convolution's weights
        let (again, stored) = code.text.split_once("ENTRY gradient_stored").unwrap();
        let stored = stored.split("ENTRY add_late").next().unwrap();
        assert!(again.contains("conv_patch_reverse_w<12, 12, 16, 32"));
        assert_eq!(stored.contains("conv_patch_reverse_w<12, 12, 16, 32"), cluster == 1);
    }
}

/// Blocks keep the parts of a field in their shared memory and do two products along both axes together.
/// Fields that are too large for that are multiplied in global memory.
#[test]
fn fields_in_parts() {
    for (grid, number, parts) in [(64, 4, true), (64, 8, true), (512, 4, false)] {
        let set = format!("grid.n={grid}");
        let config = config("ks2d", "paper", &[&set]);
        let trace = ClosedLoop::<f32>::for_training(&config, 1).program().trace().clone();
        let spread = Spread::new(512, 16, 231_424);
        let code = generate(&Plan::new(&trace, 1), spread, number);
        assert!(code.shared_bytes <= spread.shared, "{grid}: {} bytes", code.shared_bytes);
        assert_eq!(code.text.contains("MATRIX_NEAR(m0"), parts);
        assert_eq!(code.text.contains("WRITE, WRITE, 2>(one, s, turn"), parts);
    }
}

/// Environments step where the code runs, and their copies can be begun again there.
#[test]
fn environments() {
    for (task, cluster) in [("fkpp1d", 1), ("density2d", 4)] {
        let (_folder, host) = host(cluster);
        let config = config(task, "default", &[]);
        let cases = Cases::draw(&config, 5, Pool::Training, 4, &Threads::one(), &|_, _| {});
        let on = |threads: &Threads| FieldEnvironment::new(&config, cases.clone(), 3, 1, 2, threads);
        let mut here = on(&Threads::one());
        let mut there = on(&Threads::one().with_backend(host));
        assert!((here.cost_unit() - there.cost_unit()).abs() <= 1e-5 * here.cost_unit());
        // three steps are an episode: every copy is begun again once
        for step in 0..4 {
            let count = here.copies() * here.actions() * here.agents();
            let actions: Vec<f32> = (0..count).map(|i| ((i + step) as f32).sin()).collect();
            let (one, other) = (here.step(&actions), there.step(&actions));
            assert_eq!((&one.terminated, &one.truncated), (&other.terminated, &other.truncated));
            let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-4 * (1.0 + a.abs());
            assert!(one.rewards.iter().zip(&other.rewards).all(close), "{task}: rewards of step {step}");
            assert!(one.next.iter().zip(&other.next).all(close), "{task}: states after step {step}");
            assert!(here.states().iter().zip(there.states()).all(close), "{task}: states of step {step}");
        }
    }
}
