//! Targets that move: a target per control step, seen in that step and measured after it.

use cinoc_adjoint::{Strategy, Threads};
use cinoc_control::rollout::Rollout;
use cinoc_control::{
    Cases, ClosedLoop, Config, Disturbance, Pool, Purpose, Targets, Trajectories, policy, random,
};

const STEPS: usize = 6;
const SAME: Disturbance =
    Disturbance { seed: 1, during: cinoc_control::disturbance::During::Evaluation, first: 0, spare: 0 };

fn config(task: &str, sets: &[&str]) -> Config {
    let own: &[&str] = match task {
        "heat2d" | "density2d" => &["agents=4", "policy.conv=[2, 3]"],
        _ => &[],
    };
    let all = [&["time.steps=6"], own, sets].concat();
    let all: Vec<String> = all.into_iter().map(String::from).collect();
    Config::preset(task).unwrap().with_sets(&all).unwrap()
}

fn drawn(config: &Config) -> Cases {
    Cases::draw(config, 5, Pool::Validation, 3, &Threads::one(), &|_, _| {})
}

/// Targets that grow by a tenth in every step, given for so many steps.
fn growing(cases: &Cases, steps: usize) -> Cases {
    let grown = |k: usize| {
        let factor = 1.0 + 0.1 * (k % steps) as f64;
        cases.zt(k / steps).iter().map(move |z| factor * z)
    };
    Cases { zt: (0..cases.count * steps).flat_map(grown).collect(), ..cases.clone() }
}

fn params(config: &Config) -> Vec<f64> {
    policy::initial_params(config, &mut random::stream(5, Purpose::Parameters, 0))
}

fn run(closed_loop: ClosedLoop<f64>, params: &[f64], cases: &Cases) -> Trajectories<f64> {
    let closed_loop = closed_loop.with_targets(cases.targets());
    closed_loop.forward(params, &closed_loop.batch(cases, &[0, 1, 2], SAME), &Threads::one())
}

#[test]
fn a_target_repeated_in_every_step_is_a_fixed_target() {
    for task in ["fkpp1d", "heat1d", "heat2d", "density2d"] {
        let config = config(task, &["noise.sensor=0.05"]);
        let (fixed, params) = (drawn(&config), params(&config));
        let repeated =
            Cases { zt: (0..3).flat_map(|case| fixed.zt(case).repeat(4)).collect(), ..fixed.clone() };
        assert_eq!([fixed.targets(), repeated.targets()], [Targets::Fixed, Targets::Moving]);
        let same = |a: &Trajectories<f64>, b: &Trajectories<f64>| {
            let pairs = a.errors().iter().zip(b.errors()).chain(a.z().iter().zip(b.z()));
            let farthest = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(farthest < 1e-12, "{task}: {farthest}");
        };
        let both = |make: fn(&Config, usize) -> ClosedLoop<f64>, params: &[f64]| {
            [&fixed, &repeated].map(|cases| run(make(&config, 2), params, cases))
        };
        let [a, b] = both(ClosedLoop::observed, &params);
        same(&a, &b);
        if let (Some(a), Some(b)) = (a.moment(), b.moment()) {
            assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12), "{task}: moments");
        }
        let [a, b] = both(ClosedLoop::uncontrolled, &[]);
        same(&a, &b);
        let [a, b] = both(ClosedLoop::new, &params);
        assert!((0..3).all(|case| (a.loss(case) / b.loss(case) - 1.0).abs() < 1e-12), "{task}: loss");
    }
}

#[test]
fn errors_and_loss_are_about_the_target_of_the_step() {
    for task in ["fkpp1d", "heat2d"] {
        let config = config(task, &[]);
        let (cases, params) = (growing(&drawn(&config), STEPS), params(&config));
        let ran = run(ClosedLoop::new(&config, 2), &params, &cases);
        for (case, z) in ran.z().chunks_exact(STEPS * cases.n).enumerate() {
            let error = ran.error(case);
            for (step, z) in z.chunks_exact(cases.n).enumerate() {
                let squares = z.iter().zip(cases.target(case, step)).map(|(z, t)| (z - t).powi(2));
                let expected = squares.sum::<f64>() / cases.n as f64;
                assert!((error[step] / expected - 1.0).abs() < 1e-12, "{task}: step {step} of case {case}");
            }
            let track = ran.term("track").unwrap()[case];
            assert!((track / (error.iter().sum::<f64>() / STEPS as f64) - 1.0).abs() < 1e-12, "{task}");
        }
    }
}

#[test]
fn a_policy_sees_the_target_of_the_moment_and_none_before_its_time() {
    for task in ["heat1d", "heat2d"] {
        let config = config(task, &["observe.target=true"]);
        let (cases, params) = (growing(&drawn(&config), STEPS), params(&config));
        let mut changed = cases.clone();
        let at = 3 * cases.n;
        changed.zt[at..2 * at].iter_mut().for_each(|z| *z += 0.1);
        let actions = |cases: &Cases| {
            let ran = run(ClosedLoop::observed(&config, 2), &params, cases);
            ran.u().unwrap()[..STEPS * config.agents].to_vec()
        };
        let (before, after) = (actions(&cases), actions(&changed));
        let (early, late) = (3 * config.agents, 4 * config.agents);
        assert_eq!(before[..early], after[..early], "{task}: what comes later is not known");
        assert_ne!(before[early..late], after[early..late], "{task}: it is seen in its step");
    }
}

#[test]
fn rollouts_that_go_on_meet_the_next_targets_and_then_the_last() {
    let config = config("heat1d", &["train.hold=0.5"]);
    let (cases, params, threads) = (growing(&drawn(&config), STEPS + 2), params(&config), Threads::one());
    let closed_loop = ClosedLoop::<f64>::new(&config, 1).with_targets(Targets::Moving);
    let batch = |rounds| closed_loop.batch_of(&cases, &[Rollout { case: 1, rounds }], SAME);
    let ends = closed_loop.ends(&closed_loop.gradient(&params, &batch(0), &threads, Strategy::Recompute));
    let mut second = batch(1);
    closed_loop.go_on(&mut second, 0, &ends);
    let second = closed_loop.forward(&params, &second, &threads).error(0);
    // in one go: twelve steps, eight of which have a target of their own
    let long = config.with_sets(&["time.steps=12".to_string()]).unwrap();
    let through = run(ClosedLoop::observed(&long, 1), &params, &cases).error(1);
    assert!(second.iter().zip(&through[STEPS..]).all(|(a, b)| (a / b - 1.0).abs() < 1e-9));
    let z = run(ClosedLoop::observed(&long, 1), &params, &cases).z()[23 * cases.n..24 * cases.n].to_vec();
    let last = z.iter().zip(cases.target(1, STEPS + 1)).map(|(z, t)| (z - t).powi(2)).sum::<f64>();
    assert!((through[11] / (last / cases.n as f64) - 1.0).abs() < 1e-12);
}

#[test]
fn threads_strategies_and_training_change_no_bit() {
    for task in ["heat1d", "heat2d"] {
        let config = config(task, &[]);
        let cases = growing(&drawn(&config), STEPS);
        let params: Vec<f32> = params(&config).iter().map(|&p| p as f32).collect();
        let gradient = |make: fn(&Config, usize) -> ClosedLoop<f32>, threads, strategy| {
            let closed_loop = make(&config, 2).with_targets(Targets::Moving);
            let batch = closed_loop.batch(&cases, &[0, 1, 2], SAME);
            closed_loop.gradient(&params, &batch, &Threads::new(threads).unwrap(), strategy)
        };
        let reference = gradient(ClosedLoop::new, 1, Strategy::Recompute);
        assert!(reference == gradient(ClosedLoop::new, 3, Strategy::Store), "{task}");
        let trained = gradient(ClosedLoop::for_training, 2, Strategy::Recompute);
        assert!(reference.params == trained.params && reference.loss == trained.loss, "{task}");
        assert!(trained.params.iter().any(|g| *g != 0.0));
    }
}

#[test]
#[should_panic(expected = "one target of case 0")]
fn a_loop_for_fixed_targets_does_not_take_moving_ones() {
    let config = config("heat1d", &[]);
    let cases = growing(&drawn(&config), STEPS);
    ClosedLoop::<f64>::new(&config, 1).batch(&cases, &[0], SAME);
}
