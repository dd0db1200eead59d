//! The closed loop as a whole: what must hold whatever the policy does.

use adjoint::{Strategy, Threads};
use control::{Cases, ClosedLoop, Config, Decision, Disturbance, Pool, Purpose, policy, random};

fn config(task: &str, sets: &[&str]) -> Config {
    let mut all = vec!["time.steps=12".to_string()];
    if task == "ks1d" {
        all.push("data.spin_up=50".to_string());
    }
    all.extend(sets.iter().map(|set| set.to_string()));
    Config::preset(task).unwrap().with_sets(&all).unwrap()
}

fn cases(config: &Config, count: usize) -> Cases {
    Cases::draw(config, 5, Pool::HeldOut, count, &Threads::new(1), &|_, _| {})
}

fn params(config: &Config) -> Vec<f64> {
    policy::initial_params(config, &mut random::stream(5, Purpose::Parameters, 0))
}

fn single(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&x| x as f32).collect()
}

const TASKS: [&str; 3] = ["fkpp1d", "heat1d", "ks1d"];
const NOISE: Disturbance = Disturbance { seed: 1, during: control::disturbance::During::Training, first: 0 };

/// Every option that adds an input to the loop.
const DISTURBED: [&str; 7] = [
    "noise.sensor=0.05",
    "noise.actuator=0.1",
    "failure.share=0.3",
    "failure.step=4",
    "train.crowd=[0.5, 4]",
    "train.scatter=0.5",
    "train.balance=true",
];

#[test]
fn strategies_and_threads_do_not_change_a_bit() {
    for task in TASKS {
        for sets in [&[][..], &DISTURBED] {
            let config = config(task, sets);
            let (cases, params) = (cases(&config, 5), single(&params(&config)));
            let closed_loop = ClosedLoop::<f32>::new(&config, 2);
            let batch = closed_loop.batch(&cases, &[0, 1, 2, 3, 4], NOISE);
            let gradient =
                |threads, strategy| closed_loop.gradient(&params, &batch, &Threads::new(threads), strategy);
            let reference = gradient(1, Strategy::Recompute);
            assert!(reference.params.iter().any(|g| *g != 0.0));
            for (threads, strategy) in [(1, Strategy::Store), (3, Strategy::Store), (2, Strategy::Recompute)]
            {
                let other = gradient(threads, strategy);
                assert_eq!(reference.loss.to_bits(), other.loss.to_bits(), "{task} {threads} {strategy:?}");
                assert!(reference.params == other.params, "{task} {threads} {strategy:?}: parameters");
                assert!(reference.states == other.states, "{task} {threads} {strategy:?}: states");
                assert!(reference.fixed == other.fixed, "{task} {threads} {strategy:?}: fixed inputs");
                assert!(reference.sequences == other.sequences, "{task} {threads} {strategy:?}: sequences");
            }
        }
    }
}

#[test]
fn training_leaves_out_derivatives_of_inputs_and_nothing_else() {
    for task in TASKS {
        for sets in [&[][..], &DISTURBED] {
            let config = config(task, sets);
            let (cases, params) = (cases(&config, 3), single(&params(&config)));
            let gradient = |closed_loop: ClosedLoop<f32>| {
                let batch = closed_loop.batch(&cases, &[0, 1, 2], NOISE);
                closed_loop.gradient(&params, &batch, &Threads::new(1), Strategy::Recompute)
            };
            let all = gradient(ClosedLoop::new(&config, 2));
            let trained = gradient(ClosedLoop::for_training(&config, 2));
            assert_eq!(all.loss.to_bits(), trained.loss.to_bits(), "{task}");
            assert!(all.params == trained.params, "{task}: parameters");
            assert!(all.states == trained.states, "{task}: states");
            assert!(all.fixed.iter().flatten().any(|g| *g != 0.0), "{task}: fixed inputs");
            assert!(trained.fixed.iter().flatten().all(|g| *g == 0.0), "{task}: fixed inputs in training");
        }
    }
}

#[test]
fn agents_without_strength_or_without_life_change_nothing() {
    for task in TASKS {
        let free_config = config(task, &[]);
        let cases = cases(&free_config, 2);
        let z = |closed_loop: ClosedLoop<f64>, params: &[f64]| {
            let batch = closed_loop.batch(&cases, &[0, 1], NOISE);
            closed_loop.forward(params, &batch, &Threads::new(1)).record("z").unwrap().to_vec()
        };
        let free = z(ClosedLoop::uncontrolled(&free_config, 2), &[]);
        for sets in [&["actuation.u_max=0"][..], &["failure.share=1", "failure.step=0", "noise.actuator=0.5"]]
        {
            let config = config(task, sets);
            let controlled = z(ClosedLoop::new(&config, 2), &params(&config));
            assert!(controlled.iter().zip(&free).all(|(a, b)| (a - b).abs() < 1e-12), "{task} {sets:?}");
        }
    }
}

#[test]
fn one_policy_runs_with_any_number_of_agents() {
    for task in TASKS {
        let params = params(&config(task, &[]));
        for agents in [1, 2, 7, 50] {
            let config = config(task, &[&format!("agents={agents}")]);
            let closed_loop = ClosedLoop::<f64>::new(&config, 1);
            let batch = closed_loop.batch(&cases(&config, 1), &[0], NOISE);
            let ran = closed_loop.forward(&params, &batch, &Threads::new(1));
            assert_eq!(ran.record("u").unwrap().len(), 12 * agents);
            assert!(ran.loss(0).is_finite());
            if agents == 1 && config.mobile() {
                assert_eq!(ran.term("coll").unwrap(), [0.0]);
            }
        }
    }
}

#[test]
fn terms_are_what_the_records_say() {
    let config = config("fkpp1d", &["loss.terminal=2", "loss.total_forcing=0.5", "agents=5"]);
    let closed_loop = ClosedLoop::<f64>::new(&config, 2);
    let cases = cases(&config, 2);
    let ran =
        closed_loop.forward(&params(&config), &closed_loop.batch(&cases, &[1, 0], NOISE), &Threads::new(1));
    let (u, v, xi) = (ran.record("u").unwrap(), ran.record("v").unwrap(), ran.record("xi").unwrap());
    let (steps, m) = (12, 5);
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let near = |name: &str, sample: usize, expected: f64| {
        let value = ran.term(name).unwrap()[sample];
        assert!((value - expected).abs() <= 1e-12 * expected.abs(), "{name}: {value} against {expected}");
    };
    for sample in 0..2 {
        let of = |values: &[f64], t: usize, i: usize| values[(sample * steps + t) * m + i];
        let error = ran.error(sample);
        near("track", sample, mean(error.clone()));
        near("terminal", sample, error[steps - 1]);
        let all =
            |f: &dyn Fn(usize, usize) -> f64| (0..steps * m).map(|k| f(k / m, k % m)).collect::<Vec<_>>();
        near("effort_u", sample, mean(all(&|t, i| of(u, t, i).powi(2))));
        near("effort_v", sample, mean(all(&|t, i| of(v, t, i).powi(2))));
        let total = |t: usize| (0..m).map(|i| of(u, t, i)).sum::<f64>().powi(2);
        near("total_forcing", sample, mean((0..steps).map(total).collect()));
        let accel = (m..steps * m).map(|k| (of(v, k / m, k % m) - of(v, k / m - 1, k % m)).powi(2));
        near("accel", sample, mean(accel.collect()));
        let pair = |t: usize, i: usize, j: usize| match i == j {
            true => 0.0,
            false => (0.05 - (of(xi, t, i) - of(xi, t, j)).abs()).max(0.0).powi(2),
        };
        let pairs = (0..steps * m * m).map(|k| pair(k / (m * m), k / m % m, k % m));
        near("coll", sample, mean(pairs.collect()));
        let weighted =
            closed_loop.terms().iter().map(|term| term.weight * ran.term(term.name).unwrap()[sample]);
        assert_eq!(weighted.sum::<f64>(), ran.loss(sample));
    }
}

#[test]
fn a_policy_sees_the_same_on_a_finer_grid() {
    // the same smooth field on both grids: the first actions must agree to rounding
    for (task, n, fine_n) in [("heat1d", 100, 397), ("ks1d", 128, 256)] {
        let act = |n: usize| {
            let config = config(task, &[&format!("grid.n={n}")]);
            let cells = if config.periodic() { n } else { n - 1 };
            let field = |k: f64| -> Vec<f64> {
                (0..n).map(|j| (std::f64::consts::TAU * k * j as f64 / cells as f64).sin()).collect()
            };
            let xi: Vec<f64> =
                (0..config.agents).map(|i| (0.07 + 0.1 * i as f64) * config.grid.length).collect();
            let decision = Decision::<f64>::new(&config);
            let mut controller = decision.controller(&params(&config), &field(1.0));
            controller.decide(&field(3.0), &xi).u.unwrap().to_vec()
        };
        let (coarse, fine) = (act(n), act(fine_n));
        assert!(coarse.iter().zip(&fine).all(|(a, b)| (a - b).abs() < 1e-10), "{task}: {coarse:?} {fine:?}");
    }
}

#[test]
fn a_controller_decides_what_the_closed_loop_does() {
    for task in TASKS {
        let config = config(task, &[]);
        let (cases, params) = (cases(&config, 1), params(&config));
        let closed_loop = ClosedLoop::<f64>::new(&config, 1);
        let ran = closed_loop.forward(&params, &closed_loop.batch(&cases, &[0], NOISE), &Threads::new(1));
        let record = |name: &str, t: usize| {
            let values = ran.record(name).unwrap();
            let size = values.len() / ran.steps;
            values[t * size..(t + 1) * size].to_vec()
        };
        let decision = Decision::<f64>::new(&config);
        let mut controller = decision.controller(&params, cases.zt(0));
        for t in 0..3 {
            let decided = controller.decide(&record("z", t), &record("xi", t));
            let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
            assert!(close(decided.u.unwrap(), &record("u", t + 1)), "{task}");
            assert!(decided.v.is_none_or(|v| close(v, &record("v", t + 1))), "{task}");
        }
    }
}

#[test]
fn balanced_cases_count_as_the_inverse_of_their_errors() {
    // errors alone, so that nothing else is in the gradient
    let sets = ["loss.effort_u=0", "loss.effort_v=0", "loss.bound=0", "loss.coll=0", "loss.accel=0"];
    let plain = config("fkpp1d", &sets);
    let (cases, params) = (cases(&plain, 2), params(&plain));
    let threads = Threads::new(1);
    let of = |config: &Config, which: &[usize]| {
        let closed_loop = ClosedLoop::<f64>::new(config, 2);
        let mut batch = closed_loop.batch(&cases, which, NOISE);
        closed_loop.balance(&params, &mut batch, &threads);
        closed_loop.gradient(&params, &batch, &threads, Strategy::Recompute)
    };
    let (first, second) = (of(&plain, &[0]), of(&plain, &[1]));
    let least = first.loss.min(second.loss);
    let balanced = of(&plain.with_sets(&["train.balance=true".to_string()]).unwrap(), &[0, 1]);
    assert!((balanced.loss - least).abs() < 1e-12 * least, "{} and {least}", balanced.loss);
    for ((both, first_g), second_g) in balanced.params.iter().zip(&first.params).zip(&second.params) {
        let expected = 0.5 * (least / first.loss * first_g + least / second.loss * second_g);
        assert!((both - expected).abs() <= 1e-10 * (1.0 + expected.abs()), "{both} and {expected}");
    }
}

#[test]
fn a_crowd_acts_like_agents_of_that_strength() {
    let crowded = config("heat1d", &["train.crowd=[3, 3]"]);
    let plain = config("heat1d", &[]);
    let (cases, params) = (cases(&plain, 1), params(&plain));
    let threads = Threads::new(1);
    let after_a_step = |config: &Config, during: Disturbance| {
        let closed_loop = ClosedLoop::<f64>::new(config, 1);
        let batch = closed_loop.batch(&cases, &[0], during);
        let ran = closed_loop.forward(&params, &batch, &threads);
        ran.record("z").unwrap()[..config.points()].to_vec()
    };
    let strong = |factor: f64| {
        let sets = [format!("actuation.u_max={}", 40.0 * factor)];
        after_a_step(&plain.with_sets(&sets).unwrap(), NOISE)
    };
    // intensities are u_max tanh(.): three times the bound is three times the strength
    let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let evaluation = Disturbance::evaluation(0, 0);
    assert!(apart(&after_a_step(&crowded, NOISE), &strong(3.0)) < 1e-12);
    assert_eq!(after_a_step(&crowded, evaluation), strong(1.0));
    assert!(apart(&strong(3.0), &strong(1.0)) > 1e-4);
}

#[test]
fn bounded_derivatives_are_exact_until_the_bound_is_met() {
    let sets = |limit: f64| config("ks1d", &[&format!("train.step_clip={limit:?}")]);
    let gradient = |limit: f64| {
        let config = sets(limit);
        let (cases, params) = (cases(&config, 2), params(&config));
        let closed_loop = ClosedLoop::<f64>::new(&config, 2);
        let batch = closed_loop.batch(&cases, &[0, 1], Disturbance::evaluation(0, 0));
        let gradient = closed_loop.gradient(&params, &batch, &Threads::new(1), Strategy::Recompute);
        closed_loop.input_gradient(&gradient, "z").unwrap()
    };
    let exact = gradient(0.0);
    assert_eq!(gradient(1e9), exact);
    let largest = |values: &[f64]| values.iter().map(|g| g.abs()).fold(0.0, f64::max);
    // per case: the mean over a batch of two halves it
    let limit = largest(&exact);
    let bounded = gradient(limit);
    assert!(largest(&bounded) <= 0.5 * limit && largest(&bounded) > 0.0);
}
