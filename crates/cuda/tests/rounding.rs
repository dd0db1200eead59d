//! How the matrix units of a device round, without a device: large products of the generated code are
//! summed up on the host as the units do it.

mod rollouts;

use cinoc_adjoint::backend::{Backend, Executable, Plan};
use cinoc_adjoint::{Inputs, Program, Real, Strategy, Threads, Tracer};
use cinoc_control::{Config, Purpose, Tasks, policy, random};
use cinoc_cuda::Spread;
use cinoc_cuda::host::Host;
use cinoc_learn::policy_file::PolicyFile;
use rollouts::apart;
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

/// The units round toward zero, so errors of sums of numbers with one sign add up: 512 terms are off by
/// 2.9e-6.
#[test]
fn long_sums_keep_nearly_single_precision() {
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
        assert!(off < 5e-6, "gradient of the {what}: {off:.1e}");
    }
}

/// For the numbers in results/gpu-h200.md, which has the commands; a minute per case and more. Without
/// `CINOC_SETS`, settings to change, the policy is the shipped one, otherwise the first of the preset
/// `paper`.
#[test]
#[ignore = "takes minutes"]
fn rollouts() {
    let setting = |name: &str, default: &str| std::env::var(name).unwrap_or(default.into());
    let (task, steps) = (setting("CINOC_TASK", "heat2d"), setting("CINOC_STEPS", "100"));
    let (config, params) = match std::env::var("CINOC_SETS") {
        Ok(sets) => {
            let sets: Vec<String> = sets.split_whitespace().map(String::from).collect();
            let paper = Config::paper(&task).unwrap().with_sets(&sets).unwrap();
            let params = policy::initial_params(&paper, &mut random::stream(5, Purpose::Parameters, 0));
            (paper, params)
        }
        Err(_) => {
            let shipped = format!("../../policies/{task}.safetensors");
            let shipped = PolicyFile::read(shipped.as_ref(), Tasks::built_in()).unwrap();
            (shipped.config, shipped.params.iter().map(|&x| f64::from(x)).collect())
        }
    };
    let config = config.with_sets(&[format!("time.steps={steps}")]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let device = LikeDevice { folder: folder.path().into(), cluster: None };
    let there = Threads::one().with_backend(Arc::new(device));
    let cases = setting("CINOC_CASES", "8").parse().unwrap();
    let [(here, all_here), (there, all_there)] =
        rollouts::errors(&config, &params, cases, &there).map(|errors| rollouts::median(&errors));
    println!("{task}, {steps} steps: CPU {here:.1e} ({all_here}), like a device {there:.1e} ({all_there})");
    assert!(there < 10.0 * here, "{task}: {there:.1e}");
}
