//! On a machine with a GPU: every task computes there what it computes on the CPU, and the same bits every
//! time. Where there is no device the tests say so and pass, unless `CINOC_GPU=required`.

mod common;
mod odd_sizes;
mod rollouts;

use cinoc_adjoint::backend::Backend;
use cinoc_adjoint::{Gradient, Strategy, Threads};
use cinoc_control::{Cases, ClosedLoop, Config, Disturbance, Pool, Purpose, Tasks, policy, random};
use cinoc_cuda::Cuda;
use cinoc_learn::policy_file::PolicyFile;
use common::{check, check_updates, config};
use std::sync::Arc;

fn device() -> Option<Arc<dyn Backend>> {
    match Cuda::open(0, None) {
        Ok(cuda) => Some(Arc::new(cuda)),
        Err(error) => {
            assert!(std::env::var("CINOC_GPU").is_err(), "{error}");
            eprintln!("{error}");
            None
        }
    }
}

fn gradients_are_those_of_the_cpu(task: &str) {
    let Some(device) = device() else { return };
    for preset in ["default", "paper"] {
        let config = config(task, preset, &[]);
        check::<f32>(&device, &config, 5e-4);
        check::<f64>(&device, &config, 1e-10);
    }
}

/// How much farther than a CPU in single precision the device may be from double precision: both round at
/// every operation, but in different places. A product that lost one of its three parts would keep 11 bits.
const FARTHER: f64 = 3.0;

/// How far gradients over all steps are from those in double precision, relative to their length: in single
/// precision on the CPU and on the device.
fn whole_rollouts(task: &str) {
    let Some(device) = device() else { return };
    let shipped = format!("../../policies/{task}.safetensors");
    let shipped = PolicyFile::read(shipped.as_ref(), Tasks::built_in()).unwrap();
    let paper = Config::paper(task).unwrap();
    let first = policy::initial_params(&paper, &mut random::stream(5, Purpose::Parameters, 0));
    let trained = shipped.params.iter().map(|&x| f64::from(x)).collect();
    let there = Threads::one().with_backend(device);
    let mut missed = Vec::new();
    for (name, config, params) in [("shipped", shipped.config, trained), ("paper, first", paper, first)] {
        let [(here, all_here), (there, all_there)] =
            rollouts::errors(&config, &params, 9, &there).map(|errors| rollouts::median(&errors));
        let told = format!(
            "{task}, {name} parameters: CPU {here:.1e} ({all_here}), device {there:.1e} ({all_there})"
        );
        println!("{told}");
        if there > (FARTHER * here).max(1e-3) {
            missed.push(told);
        }
    }
    assert!(missed.is_empty(), "gradients are off: {missed:?}");
}

/// A closed loop on the device, with cases and first parameters.
struct OnDevice {
    closed_loop: ClosedLoop<f32>,
    cases: Cases,
    params: Vec<f32>,
    threads: Threads,
}

impl OnDevice {
    fn new(config: &Config, cases: usize) -> Option<OnDevice> {
        let params = policy::initial_params(config, &mut random::stream(5, Purpose::Parameters, 0));
        Some(OnDevice {
            closed_loop: ClosedLoop::for_training(config, cases),
            cases: Cases::draw(config, 5, Pool::Validation, cases, &Threads::one(), &|_, _| {}),
            params: params.iter().map(|&x| x as f32).collect(),
            threads: Threads::one().with_backend(device()?),
        })
    }
    /// The gradient over some of the cases, and the fields at the end.
    fn gradient(&self, which: &[usize]) -> (Gradient<f32>, Vec<f32>) {
        let batch = self.closed_loop.batch(&self.cases, which, Disturbance::training(0, 0, which.len()));
        let gradient = self.closed_loop.gradient(&self.params, &batch, &self.threads, Strategy::Store);
        let fields = gradient.end(self.closed_loop.inputs().z).to_vec();
        (gradient, fields)
    }
}

fn runs_and_batches_give_the_same_bits(task: &str) {
    // without random failures, which depend on the place in the batch
    let Some(run) = OnDevice::new(&config(task, "paper", &[]), 5) else { return };
    let (one, again) = (run.gradient(&[0, 1, 2, 3, 4]), run.gradient(&[0, 1, 2, 3, 4]));
    assert!(one == again, "{task}: a repeated run");
    let (_, alone) = run.gradient(&[3]);
    assert!(one.1[3 * alone.len()..4 * alone.len()] == alone, "{task}: a sample alone");
}

/// Batches that fill the device have programs of their own: one block per sample, or two blocks on a
/// processor. They compute the same up to rounding, and the same bits every time.
#[test]
fn large_batches() {
    for task in ["heat1d", "heat2d"] {
        let Some(run) = OnDevice::new(&config(task, "paper", &["time.steps=5"]), 300) else { return };
        let all: Vec<usize> = (0..300).collect();
        let (many, again, (_, few)) = (run.gradient(&all), run.gradient(&all), run.gradient(&all[..2]));
        assert!(many == again, "{task}: a repeated run");
        let apart = many.1.iter().zip(&few).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(apart > 0.0 || task == "heat1d", "{task}: both came from the program for few samples");
        assert!(apart < 1e-4, "{task}: programs for few and for many samples differ by {apart}");
    }
}

#[test]
fn updates_are_those_of_adam() {
    let Some(device) = device() else { return };
    for task in ["heat1d", "density2d"] {
        check_updates(&device, &config(task, "paper", &[]));
    }
}

#[test]
fn operations_of_odd_sizes() {
    let Some(device) = device() else { return };
    for step in odd_sizes::steps() {
        step.agrees::<f32>(device.clone(), 1e-5);
        step.agrees::<f64>(device.clone(), 1e-12);
        println!("{} by {}>", step.name, step.called);
    }
}

// a test per task, so that their code is compiled at the same time
macro_rules! tasks {
    ($($name:ident $task:literal)*) => {$(
        mod $name {
            #[test]
            fn gradients() {
                super::gradients_are_those_of_the_cpu($task);
            }
            #[test]
            fn same_bits() {
                super::runs_and_batches_give_the_same_bits($task);
            }
            #[test]
            fn whole_rollouts() {
                super::whole_rollouts($task);
            }
        }
    )*};
}

tasks! {
    fkpp1d "fkpp1d"
    heat1d "heat1d"
    ks1d "ks1d"
    density2d "density2d"
    heat2d "heat2d"
    heat2d_obstacles "heat2d-obstacles"
    ks2d "ks2d"
    turb2d "turb2d"
}
