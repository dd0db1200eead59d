//! The generated code of every task agrees with the backend for CPUs, in values and gradients. The host's compiler
//! compiles it, so no GPU is needed.

use cinoc_adjoint::backend::Backend;
use cinoc_adjoint::{Real, Strategy, Threads};
use cinoc_control::disturbance::During;
use cinoc_control::{Cases, ClosedLoop, Config, Disturbance, Pool, Purpose, policy, random};
use cinoc_cuda::Spread;
use cinoc_cuda::host::Host;
use std::sync::Arc;

const NOISE: Disturbance = Disturbance { seed: 1, during: During::Training, first: 0 };

fn config(task: &str, preset: &str, sets: &[&str]) -> Config {
    let mut all = vec!["time.steps=3".to_string()];
    if task.starts_with("ks") || task == "turb2d" {
        all.push("data.spin_up=5".to_string());
    }
    all.extend(sets.iter().map(|set| set.to_string()));
    let config = if preset == "paper" { Config::paper(task) } else { Config::preset(task) };
    config.unwrap().with_sets(&all).unwrap()
}

/// Largest difference, relative to the largest number.
fn difference<T: Real>(one: &[T], other: &[T]) -> f64 {
    assert_eq!(one.len(), other.len());
    let size = one.iter().map(|x| x.f64().abs()).fold(1e-30, f64::max);
    let apart = one.iter().zip(other).map(|(a, b)| (a.f64() - b.f64()).abs());
    // NaN must not hide behind max
    apart.fold(0.0, |worst, d| if d <= worst { worst } else { d }) / size
}

fn check<T: Real>(host: &Arc<Host>, config: &Config, tolerance: f64) {
    let name = format!("{} {} with {} agents", config.task.name, T::NAME, config.agents);
    let cases = Cases::draw(config, 5, Pool::Validation, 2, &Threads::one(), &|_, _| {});
    let params: Vec<T> = policy::initial_params(config, &mut random::stream(5, Purpose::Parameters, 0))
        .iter()
        .map(|&x| T::of(x))
        .collect();
    let closed_loop = ClosedLoop::<T>::new(config, 2);
    let batch = closed_loop.batch(&cases, &[0, 1], NOISE);
    let (cpu, device) = (Threads::one(), Threads::one().with_backend(host.clone() as Arc<dyn Backend>));

    let (expected, found) =
        (closed_loop.forward(&params, &batch, &cpu), closed_loop.forward(&params, &batch, &device));
    let apart = difference(expected.z(), found.z());
    assert!(apart <= tolerance, "{name}: fields differ by {apart:.1e}");
    let (expected, found) = (
        closed_loop.gradient(&params, &batch, &cpu, Strategy::Recompute),
        closed_loop.gradient(&params, &batch, &device, Strategy::Recompute),
    );
    let loss = (expected.loss - found.loss).abs() / expected.loss.abs();
    assert!(loss <= tolerance, "{name}: losses {} and {}", expected.loss, found.loss);
    let apart = difference(&expected.params, &found.params);
    assert!(apart <= 10.0 * tolerance, "{name}: gradients differ by {apart:.1e}");
    for (what, one, other) in [
        ("fixed inputs", &expected.fixed, &found.fixed),
        ("states", &expected.states, &found.states),
        ("sequences", &expected.sequences, &found.sequences),
        ("ends", &expected.ends, &found.ends),
    ] {
        for (one, other) in one.iter().zip(other) {
            let apart = difference(one, other);
            assert!(apart <= 10.0 * tolerance, "{name}: {what} differ by {apart:.1e}");
        }
    }
    println!("{name}: gradient {apart:.1e}");
}

fn host(cluster: usize) -> (tempfile::TempDir, Arc<Host>) {
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
