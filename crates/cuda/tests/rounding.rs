//! How the matrix units of a device round, without a device: large products of the generated code are summed up on
//! the host as the units do it.

use cinoc_adjoint::backend::{Backend, Executable, Plan};
use cinoc_adjoint::{Inputs, Program, Real, Strategy, Threads, Tracer};
use cinoc_control::{Cases, ClosedLoop, Config, Disturbance, Pool, Tasks};
use cinoc_cuda::Spread;
use cinoc_cuda::host::Host;
use cinoc_learn::policy_file::PolicyFile;
use std::path::PathBuf;
use std::sync::Arc;

/// The host, with the teams that an H200 would have.
struct LikeDevice {
    folder: PathBuf,
    cluster: Option<usize>,
}

impl LikeDevice {
    fn host(&self, plan: &Plan) -> Host {
        let cluster = self.cluster.unwrap_or_else(|| Spread::blocks(plan));
        Host::new(&self.folder, Spread::new(512, cluster, 226_000)).like_units()
    }
}

impl Backend for LikeDevice {
    fn name(&self) -> String {
        "host, rounding like a device".into()
    }
    fn chunk(&self, _: usize) -> usize {
        1
    }
    fn singles(&self, plan: Plan) -> Arc<dyn Executable<f32>> {
        self.host(&plan).singles(plan)
    }
    fn doubles(&self, plan: Plan) -> Arc<dyn Executable<f64>> {
        self.host(&plan).doubles(plan)
    }
}

/// Length of the difference, divided by the length.
fn apart(exact: &[f64], found: &[f64]) -> f64 {
    let length = |numbers: &mut dyn Iterator<Item = f64>| numbers.map(|x| x * x).sum::<f64>().sqrt();
    length(&mut exact.iter().zip(found).map(|(a, b)| a - b)) / length(&mut exact.iter().copied())
}

/// The units round toward zero, so errors of sums of numbers with one sign add up: 512 terms summed up by the units
/// alone are off by 1.2e-6, eight at a time by 1e-7, as on a CPU.
#[test]
fn long_sums_keep_single_precision() {
    const N: usize = 512;
    let tracer = Tracer::new();
    let (w, z) = (tracer.param("w", N, N), tracer.state("z", N, 16));
    tracer.advance(z, z.dense(w, None));
    let (start, term) = (z.input(), tracer.term("size", z.mean_square()));
    let trace = tracer.finish();
    let folder = tempfile::tempdir().unwrap();
    let device = LikeDevice { folder: folder.path().into(), cluster: Some(4) };
    fn gradient<T: Real>(
        trace: &cinoc_adjoint::Trace,
        (start, term): (cinoc_adjoint::Input, cinoc_adjoint::Term),
        threads: &Threads,
    ) -> [Vec<f64>; 2] {
        let positive = |n: usize, speed: f64, size: f64| -> Vec<T> {
            // numbers that both precisions have
            (0..n).map(|i| T::of(f64::from((size * (1.0 + 0.9 * (speed * i as f64).sin())) as f32))).collect()
        };
        let (params, first) = (positive(N * N, 0.7, 1.0 / N as f64), positive(N * 16, 1.3, 1.0));
        let inputs = Inputs::new(1, 2, &params).with(start, &first).weighted(term, vec![1.0; 2]);
        let found = Program::<T>::new(trace, 1).gradient(&inputs, threads, Strategy::Recompute);
        [&found.params, &found.states[0]].map(|numbers| numbers.iter().map(|x| x.f64()).collect())
    }
    let exact = gradient::<f64>(&trace, (start, term), &Threads::one());
    let there = Threads::one().with_backend(Arc::new(device));
    let found = gradient::<f32>(&trace, (start, term), &there);
    for (what, exact, found) in [("parameters", &exact[0], &found[0]), ("states", &exact[1], &found[1])] {
        let off = apart(exact, found);
        println!("gradient of the {what}: {off:.1e}");
        assert!(off < 5e-7, "gradient of the {what}: {off:.1e}");
    }
}

/// For the numbers in docs/gpu.md; minutes per task.
/// `CINOC_TASK=heat2d CINOC_STEPS=20 cargo test --release -p cinoc-cuda --test rounding -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes"]
fn rollouts() {
    let task = std::env::var("CINOC_TASK").unwrap_or("heat2d".into());
    let steps = std::env::var("CINOC_STEPS").unwrap_or("20".into());
    let shipped = format!("../../policies/{task}.safetensors");
    let shipped = PolicyFile::read(shipped.as_ref(), Tasks::built_in()).unwrap();
    let config = shipped.config.with_sets(&[format!("time.steps={steps}")]).unwrap();
    let params: Vec<f64> = shipped.params.iter().map(|&x| f64::from(x)).collect();
    let cases = Cases::draw(&config, 5, Pool::Validation, 2, &Threads::one(), &|_, _| {});
    fn gradient<T: Real>(config: &Config, cases: &Cases, params: &[f64], threads: &Threads) -> Vec<f64> {
        let closed_loop = ClosedLoop::<T>::for_training(config, 2);
        let batch = closed_loop.batch(cases, &[0, 1], Disturbance::training(0, 0, 2));
        let params: Vec<T> = params.iter().map(|&x| T::of(x)).collect();
        let gradient = closed_loop.gradient(&params, &batch, threads, Strategy::Recompute);
        gradient.params.iter().map(|x| x.f64()).collect()
    }
    let folder = tempfile::tempdir().unwrap();
    let device = LikeDevice { folder: folder.path().into(), cluster: None };
    let (cpu, there) = (Threads::one(), Threads::one().with_backend(Arc::new(device)));
    let exact = gradient::<f64>(&config, &cases, &params, &cpu);
    let [here, there] =
        [cpu, there].map(|threads| apart(&exact, &gradient::<f32>(&config, &cases, &params, &threads)));
    println!("{task}, {steps} steps: CPU {here:.1e}, rounding like a device {there:.1e}");
    assert!(there < (3.0 * here).max(1e-6), "{task}: {there:.1e}");
}
