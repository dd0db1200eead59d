//! Gradients against finite differences, and descents where the optimum is known or bounded.

use super::*;
use cinoc_adjoint::Threads;
use cinoc_control::config::Preset;
use cinoc_control::disturbance::RandomInput;
use cinoc_control::{Cases, Config, Disturbance, Pool};

/// A short task with few agents and some of its cases.
fn small(task: &str, sets: &[&str], cases: usize) -> (Config, Cases) {
    let mut all = vec!["data.pool=4".to_string()];
    all.extend(sets.iter().map(|set| set.to_string()));
    let config = Config::resolve_method(task, Preset::Default, "cinoc", None, &all).unwrap();
    let threads = Threads::one();
    let drawn = Cases::draw(&config, 0, Pool::Test, cases, &threads, &|_, _| {});
    (config, drawn)
}

fn heat(cases: usize) -> (Config, Cases) {
    small("heat1d", &["agents=2", "time.steps=12", "grid.n=24", "observe.n_ref=24"], cases)
}

/// Irregular numbers in [-1/2, 1/2).
fn scattered(len: usize) -> Vec<f64> {
    (0..len).map(|i| ((i as f64 + 1.0) * 0.618_033_988_75).fract() - 0.5).collect()
}

#[test]
fn the_gradient_is_that_of_central_differences() {
    let (ks, mut ks_cases) = small("ks1d", &["agents=3", "time.steps=9", "data.spin_up=1"], 2);
    ks_cases.z0.iter_mut().enumerate().for_each(|(i, z)| *z += (0.1 * i as f64).sin());
    for (config, cases) in [heat(2), (ks, ks_cases)] {
        for goal in [Goal::TimeMean, Goal::Final] {
            let problem = Problem::<f64>::new(&config, &cases, goal, &Threads::one());
            let at = scattered(2 * problem.variables());
            let found = problem.evaluate(&at);
            let close = |a: f64, b: f64, size: f64| (a - b).abs() <= 1e-6 * size;
            for (value, forward) in found.values.iter().zip(problem.values(&at)) {
                assert!(close(*value, forward, forward), "{value} instead of {forward}");
            }
            let largest = found.gradient.iter().fold(0.0, |most: f64, g| most.max(g.abs()));
            assert!(largest > 0.0);
            for i in (0..at.len()).step_by(7) {
                let moved = |by: f64| {
                    let mut moved = at.clone();
                    moved[i] += by;
                    problem.values(&moved)[i / problem.variables()]
                };
                let difference = (moved(1e-4) - moved(-1e-4)) / 2e-4;
                let derivative = found.gradient[i];
                assert!(close(derivative, difference, largest), "{i}: {derivative}, {difference}");
            }
        }
    }
}

#[test]
fn agents_that_have_failed_change_nothing_and_are_those_of_an_evaluation() {
    let (config, cases) =
        small("heat1d", &["agents=3", "time.steps=6", "failure.share=0.34", "failure.step=2"], 2);
    let problem = Problem::<f64>::new(&config, &cases, Goal::Final, &Threads::one());
    let at = scattered(2 * problem.variables());
    let derivatives = problem.evaluate(&at).gradient;
    for case in 0..2 {
        let alive = Disturbance::evaluation(0, 0).draw(&config, RandomInput::Alive, case, 0);
        assert_eq!(alive.iter().filter(|&&alive| alive == 0.0).count(), 4);
        for (step, alive) in alive.chunks(3).enumerate() {
            for (agent, &alive) in alive.iter().enumerate() {
                // intensities come before velocities
                let derivative = derivatives[case * problem.variables() + step * 6 + agent];
                assert_eq!(derivative != 0.0, alive == 1.0, "case {case}, step {step}, agent {agent}");
            }
        }
        let alone = problem.evaluate_case(case, &at[case * problem.variables()..][..problem.variables()]);
        // a program for one case adds up in another order
        for (one, among) in alone.gradient.iter().zip(&derivatives[case * problem.variables()..]) {
            assert!((one - among).abs() <= 1e-12, "{one}, {among}");
        }
    }
}

#[test]
fn a_linear_quadratic_problem_is_solved_to_its_known_optimum() {
    // with static agents the heat equation is linear in the intensities. A target that some intensities
    // within the bounds reach has the optimum 0.
    let (mut config, mut cases) = heat(1);
    config.actuation.v_max = Some(0.0);
    let problem = Problem::<f64>::new(&config, &cases, Goal::Final, &Threads::one());
    let zero = vec![0.0; problem.variables()];
    let plan: Vec<f64> = scattered(zero.len());
    cases.zt = reached(&config, &cases, &plan);
    let problem = Problem::<f64>::new(&config, &cases, Goal::Final, &Threads::one());
    assert!(problem.values(&plan)[0] < 1e-12);
    let found =
        descend(&problem, &zero, Settings { iterations: 200, polish: 100, rate: 0.05 }, |_| true).unwrap();
    assert!(found.best[0] < 1e-6 * found.start[0], "{} of {}", found.best[0], found.start[0]);
    assert!((problem.values(&found.actions)[0] / found.best[0] - 1.0).abs() < 1e-6);
}

/// The field after the last step of a plan, computed as the target of least error. The error is quadratic in
/// the target, `mean (z_T - z*)^2`, so three values along every axis give `z_T`.
fn reached(config: &Config, cases: &Cases, plan: &[f64]) -> Vec<f64> {
    let n = cases.n;
    let error = |target: Vec<f64>| {
        let probe = Cases { zt: target, ..cases.clone() };
        Problem::<f64>::new(config, &probe, Goal::Final, &Threads::one()).values(plan)[0]
    };
    let along = |i: usize, by: f64| {
        let mut target = vec![0.0; n];
        target[i] = by;
        error(target)
    };
    (0..n).map(|i| n as f64 * (along(i, -1.0) - along(i, 1.0)) / 4.0).collect()
}

#[test]
fn a_descent_is_never_worse_than_its_start_and_more_of_it_is_better() {
    let (config, cases) = heat(3);
    let problem = Problem::<f32>::new(&config, &cases, Goal::TimeMean, &Threads::one());
    let start = scattered(3 * problem.variables());
    let best = |iterations: usize, rate: f64| {
        let found = descend(&problem, &start, Settings { iterations, polish: 0, rate }, |_| true).unwrap();
        for case in 0..3 {
            assert!(found.best[case] <= found.late[case] && found.late[case] <= found.start[case]);
        }
        assert!(found.actions.iter().all(|action| action.abs() <= 1.0));
        found.best
    };
    // steps from bound to bound
    best(5, 2.0);
    let (none, few, many) = (best(0, 0.05), best(10, 0.05), best(100, 0.05));
    for case in 0..3 {
        assert!(few[case] < none[case] && many[case] < few[case], "{none:?} {few:?} {many:?}");
    }
}

#[test]
fn cases_do_not_act_on_each_other() {
    let (config, cases) = heat(3);
    let settings = Settings { iterations: 8, polish: 0, rate: 0.05 };
    let together = Problem::<f64>::new(&config, &cases, Goal::Final, &Threads::one());
    let start = scattered(3 * together.variables());
    let all = descend(&together, &start, settings, |_| true).unwrap().best;
    let third = Cases { count: 1, z0: cases.z0(2).to_vec(), zt: cases.zt(2).to_vec(), ..cases };
    let last = Problem::<f64>::new(&config, &third, Goal::Final, &Threads::one());
    let alone = descend(&last, &start[2 * last.variables()..], settings, |_| true).unwrap().best;
    assert!((all[2] - alone[0]).abs() <= 1e-9 * alone[0], "{} {}", all[2], alone[0]);
}

#[test]
fn a_descent_stops_when_asked_to() {
    let (config, cases) = heat(1);
    let problem = Problem::<f32>::new(&config, &cases, Goal::Final, &Threads::one());
    let start = vec![0.0; problem.variables()];
    let settings = Settings { iterations: 100, polish: 0, rate: 0.05 };
    assert!(descend(&problem, &start, settings, |iteration| iteration < 3).is_none());
}
