//! The closed loop as a whole: what must hold whatever the policy does.

use cinoc_adjoint::{Strategy, Threads};
use cinoc_control::agents::start_positions;
use cinoc_control::closed_loop::StepInputs;
use cinoc_control::disturbance::RandomInput;
use cinoc_control::rollout::Rollout;
use cinoc_control::{Cases, ClosedLoop, Config, Decision, Disturbance, Pool, Purpose, policy, random};

fn config(task: &str, sets: &[&str]) -> Config {
    let mut all = vec!["time.steps=12".to_string()];
    if task == "ks1d" {
        all.push("data.spin_up=50".to_string());
    }
    all.extend(sets.iter().map(|set| set.to_string()));
    Config::preset(task).unwrap().with_sets(&all).unwrap()
}

fn cases(config: &Config, count: usize) -> Cases {
    Cases::draw(config, 5, Pool::Validation, count, &Threads::one(), &|_, _| {})
}

fn params(config: &Config) -> Vec<f64> {
    policy::initial_params(config, &mut random::stream(5, Purpose::Parameters, 0))
}

fn single(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&x| x as f32).collect()
}

const TASKS: [&str; 3] = ["fkpp1d", "heat1d", "ks1d"];
const NOISE: Disturbance =
    Disturbance { seed: 1, during: cinoc_control::disturbance::During::Training, first: 0, spare: 0 };

/// Every option that adds an input to the loop.
const DISTURBED: [&str; 9] = [
    "noise.sensor=0.05",
    "noise.actuator=0.1",
    "failure.share=0.3",
    "failure.step=4",
    "failure.seen=true",
    "train.failure=[0.1, 0.5]",
    "train.scatter=0.5",
    "train.hold=0.5",
    "observe.sampling=linear",
];

#[test]
fn strategies_and_threads_do_not_change_a_bit() {
    for task in TASKS {
        for sets in [&[][..], &DISTURBED] {
            let config = config(task, sets);
            let (cases, params) = (cases(&config, 5), single(&params(&config)));
            let closed_loop = ClosedLoop::<f32>::new(&config, 2);
            let batch = closed_loop.batch(&cases, &[0, 1, 2, 3, 4], NOISE);
            let gradient = |threads, strategy| {
                closed_loop.gradient(&params, &batch, &Threads::new(threads).unwrap(), strategy)
            };
            let reference = gradient(1, Strategy::Recompute);
            assert!(reference.params.iter().any(|g| *g != 0.0));
            for (threads, strategy) in [(1, Strategy::Store), (3, Strategy::Store), (2, Strategy::Recompute)]
            {
                let other = gradient(threads, strategy);
                assert_eq!(reference.loss.to_bits(), other.loss.to_bits(), "{task} {threads} {strategy:?}");
                assert!(reference.params == other.params, "{task} {threads} {strategy:?}: parameters");
                assert!(reference == other, "{task} {threads} {strategy:?}: states, fixed inputs, sequences");
            }
        }
    }
}

#[test]
fn training_leaves_out_derivatives_of_inputs_and_nothing_else() {
    for task in TASKS {
        for sets in [&[][..], &DISTURBED] {
            // the same agents in both
            let config = config(task, &[&["train.more=0"], sets].concat());
            let (cases, params) = (cases(&config, 3), single(&params(&config)));
            let gradient = |closed_loop: &ClosedLoop<f32>| {
                let batch = closed_loop.batch(&cases, &[0, 1, 2], NOISE);
                closed_loop.gradient(&params, &batch, &Threads::one(), Strategy::Recompute)
            };
            let closed_loop = ClosedLoop::new(&config, 2);
            let all = gradient(&closed_loop);
            let trained = gradient(&ClosedLoop::for_training(&config, 2));
            let StepInputs { z, target, .. } = *closed_loop.inputs();
            assert_eq!(all.loss.to_bits(), trained.loss.to_bits(), "{task}");
            assert!(all.params == trained.params, "{task}: parameters");
            assert!(all.input(z) == trained.input(z), "{task}: states");
            assert!(all.input(target).iter().any(|g| *g != 0.0), "{task}: fixed inputs");
            assert!(trained.input(target).iter().all(|g| *g == 0.0), "{task}: fixed inputs in training");
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
            closed_loop.forward(params, &batch, &Threads::one()).z().to_vec()
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
            let ran = closed_loop.forward(&params, &batch, &Threads::one());
            assert_eq!(ran.u().unwrap().len(), 12 * agents);
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
        closed_loop.forward(&params(&config), &closed_loop.batch(&cases, &[1, 0], NOISE), &Threads::one());
    let (u, v, xi) = (ran.u().unwrap(), ran.v().unwrap(), ran.xi().unwrap());
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
        let closed_loop = ClosedLoop::<f64>::observed(&config, 1);
        let batch = closed_loop.batch(&cases, &[0], Disturbance::evaluation(0, 0));
        let ran = closed_loop.forward(&params, &batch, &Threads::one());
        let record = |name: &str, t: usize| {
            let values = match name {
                "z" => ran.z(),
                "xi" => ran.xi().unwrap(),
                "u" => ran.u().unwrap(),
                _ => ran.v().unwrap(),
            };
            let size = values.len() / ran.steps;
            values[t * size..(t + 1) * size].to_vec()
        };
        let decision = Decision::<f64>::new(&config);
        let mut controller = decision.controller(&params, &vec![0.25; config.state_size()]);
        controller.decide(&record("z", 0), &record("xi", 0));
        controller.aim(cases.zt(0));
        for t in 0..3 {
            let decided = controller.decide(&record("z", t), &record("xi", t));
            let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
            assert!(close(decided.u.unwrap(), &record("u", t + 1)), "{task}");
            assert!(decided.v.is_none_or(|v| close(v, &record("v", t + 1))), "{task}");
        }
    }
}

#[test]
fn failed_agents_of_a_decision_are_as_good_as_left_out() {
    for task in ["fkpp1d", "ks1d", "heat2d", "turb2d"] {
        let with = |agents: usize| config(task, &[&format!("agents={agents}")]);
        let (all, dims) = (with(9), with(9).task.dims);
        let failed = [1, 2, 7];
        let working: Vec<usize> = (0..9).filter(|i| !failed.contains(i)).collect();
        let field = |k: f64| -> Vec<f64> {
            (0..all.state_size()).map(|i| 0.3 + 0.2 * (k * i as f64).sin()).collect()
        };
        let lengths: Vec<f64> = all.axes().iter().map(|axis| axis.length).collect();
        let place = |i: usize, axis: usize| (0.1 + 0.08 * i as f64 + 0.05 * axis as f64) * lengths[axis];
        let places = |agents: &[usize]| -> Vec<f64> {
            (0..dims).flat_map(|axis| agents.iter().map(move |&i| place(i, axis))).collect()
        };
        let alive: Vec<f64> = (0..9).map(|i| f64::from(u8::from(!failed.contains(&i)))).collect();

        let few = Decision::<f64>::new(&with(6));
        let mut few = few.controller(&params(&all), &field(0.02));
        let expected = few.decide(&field(0.1), &places(&working));
        let many = Decision::<f64>::with_failures(&all);
        let mut many = many.controller(&params(&all), &field(0.02));
        let decided = many.decide_with_failures(&field(0.1), &places(&(0..9).collect::<Vec<_>>()), &alive);
        for (found, expected) in [(decided.u, expected.u), (decided.v, expected.v)] {
            let (Some(found), Some(expected)) = (found, expected) else { continue };
            for (found, expected) in found.chunks(9).zip(expected.chunks(6)) {
                assert!(failed.iter().all(|&i| found[i] == 0.0), "{task}");
                for (&i, expected) in working.iter().zip(expected) {
                    assert!((found[i] - expected).abs() < 1e-11, "{task}: {} {expected}", found[i]);
                }
            }
        }
    }
}

#[test]
fn rollouts_that_go_on_begin_where_others_ended_and_count_more() {
    let sets = ["loss.effort_u=0", "loss.effort_v=0", "loss.bound=0", "loss.coll=0", "loss.accel=0"];
    let config = config("fkpp1d", &[&sets[..], &["train.hold=0.5", "train.hold_weight=7"]].concat());
    let (cases, params, threads) = (cases(&config, 2), params(&config), Threads::one());
    let closed_loop = ClosedLoop::<f64>::new(&config, 2);
    let mut batch = closed_loop.batch(&cases, &[0, 1], Disturbance::evaluation(0, 0));
    let gradient = closed_loop.gradient(&params, &batch, &threads, Strategy::Store);
    let ends = closed_loop.ends(&gradient);
    let before = closed_loop.forward(&params, &batch, &threads);
    let last = |record: &[f64], sample: usize, size: usize| {
        record[(sample * 12 + 11) * size..(sample * 12 + 12) * size].to_vec()
    };
    let (z, xi) = (before.z(), before.xi().unwrap());
    assert_eq!(ends.z[100..], last(z, 1, 100));
    assert_eq!(ends.xi[20..], last(xi, 1, 20));

    closed_loop.go_on(&mut batch, 1, &ends);
    let after = closed_loop.forward(&params, &batch, &threads);
    assert_eq!(after.loss(0), before.loss(0));
    let error = after.error(1);
    let track = 7.0 * error.iter().sum::<f64>() / 12.0;
    let expected = config.loss.track * track + config.loss.terminal * 7.0 * error[11];
    assert!((after.loss(1) - expected).abs() < 1e-12 * expected, "{} for {expected}", after.loss(1));
    // one rollout of twice the length does the same
    let long = config.with_sets(&["time.steps=24".to_string()]).unwrap();
    let long_loop = ClosedLoop::<f64>::new(&long, 1);
    let batch = long_loop.batch(&cases, &[1], Disturbance::evaluation(0, 0));
    let through = long_loop.forward(&params, &batch, &threads).error(0);
    assert!(error.iter().zip(&through[12..]).all(|(a, b)| (a - b).abs() <= 1e-9 * b));
}

/// What a swarm of two agents at every place does is what one of single agents does, as long as no intensity
/// is near its bound.
#[test]
fn agents_at_the_same_place_share_the_work() {
    for task in TASKS {
        // both denser than the limit, so that both look the same to the network
        let sets = ["policy.head_scale=0.001", "agents=40", "observe.crowd_limit=2"];
        let one = config(task, &sets);
        let two = one.with_sets(&["agents=80".to_string()]).unwrap();
        let (mut single, params) = (cases(&one, 1), params(&one));
        let places: Vec<f64> = (0..40).map(|i| (0.2 + 0.0138 * f64::from(i)) * one.grid.length).collect();
        let after_a_step = |config: &Config, cases: &Cases| {
            let closed_loop = ClosedLoop::<f64>::observed(config, 1);
            let batch = closed_loop.batch(cases, &[0], Disturbance::evaluation(0, 0));
            let ran = closed_loop.forward(&params, &batch, &Threads::one());
            ran.z()[..config.points()].to_vec()
        };
        single.xi0 = Some(places.clone());
        let double = Cases { xi0: Some([places.clone(), places].concat()), ..single.clone() };
        let free = ClosedLoop::<f64>::uncontrolled(&one, 1);
        let batch = free.batch(&single, &[0], Disturbance::evaluation(0, 0));
        let free = free.forward(&[], &batch, &Threads::one());
        let push = |z: Vec<f64>| -> Vec<f64> {
            z.iter().zip(free.z()).map(|(with, without)| with - without).collect()
        };
        let (alone, shared) = (push(after_a_step(&one, &single)), push(after_a_step(&two, &double)));
        let largest = |push: &[f64]| push.iter().fold(0.0f64, |most, p| most.max(p.abs()));
        let apart: Vec<f64> = alone.iter().zip(&shared).map(|(a, b)| a - b).collect();
        assert!(
            largest(&apart) < 1e-4 * largest(&alone),
            "{task}: {} of {}",
            largest(&apart),
            largest(&alone)
        );
    }
}

/// Where the field is as it should be nobody does anything, with any number of agents and any parameters.
#[test]
fn agents_rest_where_nothing_is_to_be_done() {
    for task in ["ks1d", "heat1d", "heat2d", "ks2d"] {
        let acts = |rest: bool, off_target: f64| {
            let config = config(task, &[&format!("policy.rest={rest}"), "agents=9"]);
            let target: Vec<f64> = (0..config.state_size()).map(|i| (i as f64).sin()).collect();
            let z: Vec<f64> = target.iter().map(|target| target + off_target).collect();
            let params: Vec<f64> =
                params(&config).iter().enumerate().map(|(i, p)| p + 0.01 * (i as f64).cos()).collect();
            let mut controller = Decision::<f64>::new(&config).controller(&params, &target);
            let decided = controller.decide(&z, &start_positions(&config));
            let all = decided.u.into_iter().chain(decided.v).flatten().map(|x| x.abs());
            all.fold(0.0, f64::max)
        };
        assert_eq!(acts(true, 0.0), 0.0, "{task}");
        assert!(acts(true, 0.1) > 1e-6 && acts(false, 0.0) > 1e-6, "{task}");
    }
}

/// Training a few cases with more agents than the task has gives the gradient of those cases.
#[test]
fn cases_with_more_agents_are_trained_on() {
    let config =
        config("ks1d", &["train.failure=[0, 0.4]", "train.fewer=1", "train.more=1", "train.scatter=0"]);
    let (cases, params, threads) = (cases(&config, 6), params(&config), Threads::one());
    let trained = ClosedLoop::<f64>::for_training(&config, 2);
    let which: Vec<usize> = (0..6).collect();
    let training = Disturbance::training(1, 0, 6);
    let loss = |closed_loop: &ClosedLoop<f64>, which: &[usize], disturbance| {
        let batch = closed_loop.batch(&cases, which, disturbance);
        closed_loop.gradient(&params, &batch, &threads, Strategy::Recompute)
    };
    let together = loss(&trained, &which, training);
    let mut mean = vec![0.0; params.len()];
    let mut numbers = Vec::new();
    for sample in 0..6 {
        // the same number of agents as a task of its own
        let alive = training.from(sample).with_spare(8).draw(&config, RandomInput::Alive, 0, 0);
        let agents = alive[..16].iter().sum::<f64>() as usize;
        let own = config
            .with_sets(&[
                format!("agents={agents}"),
                "train.more=0".into(),
                "train.fewer=0".into(),
                "train.failure=[0, 0]".into(),
                format!("loss.effort_u={:?}", config.loss.effort_u.unwrap() * agents as f64 / 16.0),
            ])
            .unwrap();
        let alone = loss(&ClosedLoop::new(&own, 1), &[sample], Disturbance::evaluation(0, 0));
        mean.iter_mut().zip(&alone.params).for_each(|(mean, g)| *mean += g / 6.0);
        numbers.push(agents);
    }
    assert!(numbers.iter().any(|&n| n > 8) && numbers.iter().any(|&n| n < 8), "{numbers:?}");
    let largest = mean.iter().fold(0.0f64, |most, g| most.max(g.abs()));
    let apart = mean.iter().zip(&together.params).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
    assert!(apart < 1e-9 * largest, "{apart} of {largest}");
}

/// Agents that are told once who is at work do what they do if they are told in every step.
#[test]
fn failures_from_the_start_give_the_gradient_of_those_that_began_before() {
    for (task, more) in [("ks1d", "train.more=1"), ("heat1d", "train.more=0"), ("ks2d", "train.more=0")] {
        let gradient = |from: &str| {
            let failures = ["train.failure=[0.2, 0.5]", "train.fewer=0.5", "train.scatter=0", more];
            let config =
                config(task, &[&failures[..], &["agents=9", &format!("train.failure_from={from}")]].concat());
            let (cases, params, batch) = (cases(&config, 4), params(&config), config.train.batch);
            let closed_loop = ClosedLoop::<f64>::for_training(&config, 2);
            // of what goes on, agents that failed are silent from the first step on
            let goes_on: Vec<Rollout> = (0..4).map(|case| Rollout { case, rounds: 1 }).collect();
            let batch = closed_loop.batch_of(&cases, &goes_on, Disturbance::training(1, 1, batch));
            let gradient = closed_loop.gradient(&params, &batch, &Threads::one(), Strategy::Recompute);
            (closed_loop.inputs().living.is_some(), gradient)
        };
        let ((told_in_every_step, each), (told_once, once)) = (gradient("random"), gradient("start"));
        assert!(told_once && !told_in_every_step);
        assert!(
            (each.loss - once.loss).abs() < 1e-12 * each.loss.abs(),
            "{task}: {} {}",
            each.loss,
            once.loss
        );
        let largest = each.params.iter().fold(0.0f64, |most, g| most.max(g.abs()));
        let apart = each.params.iter().zip(&once.params).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
        assert!(apart < 1e-10 * largest, "{task}: {apart} of {largest}");
    }
}

#[test]
fn others_notice_a_failure_only_if_it_is_seen() {
    let first = |sets: &[&str]| {
        let config = config("fkpp1d", sets);
        let closed_loop = ClosedLoop::<f64>::observed(&config, 1);
        let batch = closed_loop.batch(&cases(&config, 1), &[0], Disturbance::evaluation(0, 0));
        let ran = closed_loop.forward(&params(&config), &batch, &Threads::one());
        ran.u().unwrap()[..20].to_vec()
    };
    let whole = first(&[]);
    let seen = first(&["failure.share=0.3"]);
    let unseen = first(&["failure.share=0.3", "failure.seen=false"]);
    let failed: Vec<usize> = (0..20).filter(|&i| unseen[i] == 0.0).collect();
    assert_eq!(failed.len(), 6);
    for i in 0..20 {
        assert_eq!(seen[i] == 0.0, failed.contains(&i));
        assert!(failed.contains(&i) || unseen[i] == whole[i], "agent {i} noticed");
    }
    let busier = (0..20).filter(|&i| seen[i].abs() > 1.01 * whole[i].abs()).count();
    assert!(busier > 3, "{busier} agents took over");
}

#[test]
fn bounded_derivatives_are_exact_until_the_bound_is_met() {
    let sets = |limit: f64| config("ks1d", &[&format!("train.step_clip={limit:?}")]);
    let gradient = |limit: f64| {
        let config = sets(limit);
        let (cases, params) = (cases(&config, 2), params(&config));
        let closed_loop = ClosedLoop::<f64>::new(&config, 2);
        let batch = closed_loop.batch(&cases, &[0, 1], Disturbance::evaluation(0, 0));
        let gradient = closed_loop.gradient(&params, &batch, &Threads::one(), Strategy::Recompute);
        closed_loop.z_gradient(&gradient)
    };
    let exact = gradient(0.0);
    assert_eq!(gradient(1e9), exact);
    let largest = |values: &[f64]| values.iter().map(|g| g.abs()).fold(0.0, f64::max);
    // per case: the mean over a batch of two halves it
    let limit = largest(&exact);
    let bounded = gradient(limit);
    assert!(largest(&bounded) <= 0.5 * limit && largest(&bounded) > 0.0);
}
