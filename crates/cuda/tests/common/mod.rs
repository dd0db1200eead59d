//! Compares a backend with that for CPUs.

use cinoc_adjoint::backend::Backend;
use cinoc_adjoint::optimiser::{Adam, clip_global_norm};
use cinoc_adjoint::{Real, Strategy, Threads};
use cinoc_control::disturbance::During;
use cinoc_control::{Cases, ClosedLoop, Config, Disturbance, Pool, Purpose, policy, random};
use std::sync::Arc;

const NOISE: Disturbance = Disturbance { seed: 1, during: During::Training, first: 0, spare: 0 };

pub fn config(task: &str, preset: &str, sets: &[&str]) -> Config {
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

pub fn check<T: Real>(backend: &Arc<dyn Backend>, config: &Config, tolerance: f64) {
    let name = format!("{} {} with {} agents", config.task.name, T::NAME, config.agents);
    let cases = Cases::draw(config, 5, Pool::Validation, 2, &Threads::one(), &|_, _| {});
    let params: Vec<T> = policy::initial_params(config, &mut random::stream(5, Purpose::Parameters, 0))
        .iter()
        .map(|&x| T::of(x))
        .collect();
    let closed_loop = ClosedLoop::<T>::new(config, 2);
    let batch = closed_loop.batch(&cases, &[0, 1], NOISE);
    let (cpu, device) = (Threads::one(), Threads::one().with_backend(backend.clone()));

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

/// Updates where the code runs do what Adam does with the same gradients on the CPU.
pub fn check_updates(backend: &Arc<dyn Backend>, config: &Config) {
    let cases = Cases::draw(config, 5, Pool::Validation, 2, &Threads::one(), &|_, _| {});
    let first = policy::initial_params(config, &mut random::stream(5, Purpose::Parameters, 0));
    let mut params: Vec<f32> = first.iter().map(|&x| x as f32).collect();
    let mut adam = Adam::new(params.len());
    let closed_loop = ClosedLoop::<f32>::for_training(config, 2);
    let batch = closed_loop.batch(&cases, &[0, 1], NOISE);
    let device = Threads::one().with_backend(backend.clone());
    let mut there = closed_loop.program().descending(&params, &adam, &device).unwrap();
    let gradient = |params: &[f32]| closed_loop.gradient(params, &batch, &device, Strategy::Recompute);
    let norm = |numbers: &[f32]| numbers.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    let length = norm(&gradient(&params).params);
    // a gradient that is clipped, one that is not, and one more
    for (clip, ends) in [(0.1 * length, false), (100.0 * length, true), (0.5 * length, false)] {
        let done = there.update(&closed_loop.loss_inputs(&[], &batch), clip, 1e-3, ends);
        let mut expected = gradient(&params);
        let length = clip_global_norm(&mut expected.params, clip as f32);
        adam.update(&mut params, &expected.params, 1e-3);
        assert!(done.is_finite());
        assert!((done.gradient.loss - expected.loss).abs() <= 1e-6 * expected.loss.abs());
        assert_eq!(done.gradient.terms, expected.terms);
        assert!((done.gradient_norm - f64::from(length)).abs() <= 1e-6 * done.gradient_norm);
        assert!((done.parameter_norm - norm(&params)).abs() <= 1e-6 * done.parameter_norm);
        assert_eq!(done.gradient.ends, if ends { expected.ends } else { Vec::new() });
        let (found, state) = there.state();
        // a step of Adam is about the rate, whatever the gradient
        let apart = found.iter().zip(&params).map(|(one, other)| (one - other).abs()).fold(0.0, f32::max);
        assert!(apart <= 1e-3 * 1e-3, "{}: parameters differ by {apart:.1e}", config.task.name);
        assert!(difference(&state.m, &adam.m) <= 1e-5 && difference(&state.v, &adam.v) <= 1e-5);
        assert_eq!(state.step, adam.step);
        params = found; // so that small differences do not grow
    }
    // a field that is not finite changes nothing
    let (before, state) = there.state();
    let mut broken = cases.clone();
    broken.z0[cases.n..].fill(f64::NAN);
    let batch = closed_loop.batch(&broken, &[0, 1], NOISE);
    let done = there.update(&closed_loop.loss_inputs(&[], &batch), 1.0, 1e-3, false);
    assert!(!done.is_finite());
    assert_eq!(there.state(), (before, state));
}
