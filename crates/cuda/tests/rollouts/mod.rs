//! Gradients of whole rollouts in single precision, against double precision on a CPU.

use cinoc_adjoint::{Real, Strategy, Threads};
use cinoc_control::{Cases, ClosedLoop, Config, Disturbance, Pool};

/// Length of the difference, divided by the length.
pub fn apart(exact: &[f64], found: &[f64]) -> f64 {
    let length = |numbers: &mut dyn Iterator<Item = f64>| numbers.map(|x| x * x).sum::<f64>().sqrt();
    length(&mut exact.iter().zip(found).map(|(a, b)| a - b)) / length(&mut exact.iter().copied())
}

/// How far the gradients of some validation cases are from those in double precision, one after the other:
/// by a CPU in single precision, and there. The policy has kinks, and cells have edges. A rollout that comes
/// close to one may pass it on the other side when it is rounded otherwise; so single cases tell little,
/// medians more.
pub fn errors(config: &Config, params: &[f64], cases: usize, there: &Threads) -> [Vec<f64>; 2] {
    let cases = Cases::draw(config, 5, Pool::Validation, cases, &Threads::one(), &|_, _| {});
    let mut errors = [Vec::new(), Vec::new()];
    for case in 0..cases.count {
        let exact = gradient::<f64>(config, &cases, case, params, &Threads::one());
        for (errors, threads) in errors.iter_mut().zip([&Threads::one(), there]) {
            errors.push(apart(&exact, &gradient::<f32>(config, &cases, case, params, threads)));
        }
    }
    errors
}

fn gradient<T: Real>(
    config: &Config,
    cases: &Cases,
    case: usize,
    params: &[f64],
    threads: &Threads,
) -> Vec<f64> {
    let closed_loop = ClosedLoop::<T>::for_training(config, 1);
    let batch = closed_loop.batch(cases, &[case], Disturbance::training(0, 0, 1));
    let params: Vec<T> = params.iter().map(|&x| T::of(x)).collect();
    let gradient = closed_loop.gradient(&params, &batch, threads, Strategy::Recompute);
    gradient.params.iter().map(|x| x.f64()).collect()
}

/// The median, and all of them as text.
pub fn median(errors: &[f64]) -> (f64, String) {
    let mut sorted = errors.to_vec();
    sorted.sort_by(f64::total_cmp);
    let all: Vec<String> = sorted.iter().map(|x| format!("{x:.1e}")).collect();
    (sorted[sorted.len() / 2], all.join(" "))
}
