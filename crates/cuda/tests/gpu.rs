//! On a machine with a GPU: every task computes there what it computes on the CPU, and the same bits every
//! time. Where there is no device the tests say so and pass, unless `CINOC_GPU=required`.

mod common;

use cinoc_adjoint::backend::Backend;
use cinoc_adjoint::{Strategy, Threads};
use cinoc_control::{Cases, ClosedLoop, Disturbance, Pool, Purpose, policy, random};
use cinoc_cuda::Cuda;
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

fn runs_and_batches_give_the_same_bits(task: &str) {
    let Some(device) = device() else { return };
    // without random failures, which depend on the place in the batch
    let config = config(task, "paper", &[]);
    let cases = Cases::draw(&config, 5, Pool::Validation, 5, &Threads::one(), &|_, _| {});
    let params = policy::initial_params(&config, &mut random::stream(5, Purpose::Parameters, 0));
    let params: Vec<f32> = params.iter().map(|&x| x as f32).collect();
    let closed_loop = ClosedLoop::<f32>::for_training(&config, 2);
    let threads = Threads::one().with_backend(device.clone());
    let gradient = |which: &[usize]| {
        let batch = closed_loop.batch(&cases, which, Disturbance::training(0, 0, which.len()));
        closed_loop.gradient(&params, &batch, &threads, Strategy::Store)
    };
    let (one, again) = (gradient(&[0, 1, 2, 3, 4]), gradient(&[0, 1, 2, 3, 4]));
    assert!(one == again, "{task}: a repeated run");
    let (first, z) = (gradient(&[3]), closed_loop.inputs().z);
    let size = z.size();
    assert!(one.end(z)[3 * size..4 * size] == *first.end(z), "{task}: a sample alone");
}

/// Batches that fill the device have programs of their own: one block per sample, or two blocks on a
/// processor. They compute the same up to rounding, and the same bits every time.
#[test]
fn large_batches() {
    let Some(device) = device() else { return };
    for task in ["heat1d", "heat2d"] {
        let config = config(task, "paper", &["time.steps=5"]);
        let cases = Cases::draw(&config, 5, Pool::Validation, 300, &Threads::one(), &|_, _| {});
        let params = policy::initial_params(&config, &mut random::stream(5, Purpose::Parameters, 0));
        let params: Vec<f32> = params.iter().map(|&x| x as f32).collect();
        let closed_loop = ClosedLoop::<f32>::for_training(&config, 300);
        let threads = Threads::one().with_backend(device.clone());
        let gradient = |which: &[usize]| {
            let batch = closed_loop.batch(&cases, which, Disturbance::training(0, 0, which.len()));
            closed_loop.gradient(&params, &batch, &threads, Strategy::Store)
        };
        let all: Vec<usize> = (0..300).collect();
        let (many, again, few) = (gradient(&all), gradient(&all), gradient(&all[..2]));
        assert!(many == again, "{task}: a repeated run");
        let z = closed_loop.inputs().z;
        let (one, other) = (&many.end(z)[..2 * z.size()], few.end(z));
        let apart = one.iter().zip(other).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
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
