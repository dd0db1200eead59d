//! The physics with given actions: the same as in the closed loop, and its pullback.

use cinoc_adjoint::Threads;
use cinoc_control::agents::start_positions;
use cinoc_control::physics::{Driven, Path, Physics};
use cinoc_control::{Cases, ClosedLoop, Config, Disturbance, Pool, Purpose, policy, random};

const STEPS: usize = 5;

fn config(task: &str) -> Config {
    let sets = [format!("time.steps={STEPS}"), "time.substeps=2".to_string()];
    Config::preset(task).unwrap().with_sets(&sets).unwrap()
}

#[test]
fn given_the_actions_of_a_policy_it_does_what_the_closed_loop_does() {
    // agents that move, in one and two dimensions, and agents that stir
    for task in ["heat1d", "heat2d", "density2d"] {
        let (config, threads) = (config(task), Threads::one());
        let cases = Cases::draw(&config, 5, Pool::Validation, 2, &threads, &|_, _| {});
        let params = policy::initial_params(&config, &mut random::stream(5, Purpose::Parameters, 0));
        let closed_loop = ClosedLoop::<f64>::observed(&config, 2);
        let batch = closed_loop.batch(&cases, &[0, 1], Disturbance::evaluation(0, 0));
        let ran = closed_loop.forward(&params, &batch, &threads);
        let xi = start_positions(&config).repeat(2);
        let driven = Driven { samples: 2, steps: STEPS, z: &cases.z0, xi: &xi, u: ran.u(), v: ran.v() };
        let path = Physics::<f64>::new(&config, 2).run(&driven, &threads);
        assert_eq!((&path.z[..], Some(&path.xi[..])), (ran.z(), ran.xi()), "{task}");
    }
}

#[test]
fn the_pullback_agrees_with_central_differences() {
    let (config, threads) = (config("heat1d"), Threads::one());
    let physics = Physics::<f64>::new(&config, 2);
    let wave =
        |count: usize, phase: f64| -> Vec<f64> { (0..count).map(|i| (i as f64 + phase).sin()).collect() };
    let (samples, n, m) = (3, config.points(), config.agents);
    let start = start_positions(&config).repeat(samples);
    let given =
        [wave(samples * n, 0.1), start, wave(samples * STEPS * m, 0.3), wave(samples * STEPS * m, 0.4)];
    let adjoint = Path { z: wave(samples * STEPS * n, 0.5), xi: wave(samples * STEPS * m, 0.6) };
    let driven = |[z, xi, u, v]: &[Vec<f64>; 4], of: &mut dyn FnMut(&Driven<'_, f64>)| {
        of(&Driven { samples, steps: STEPS, z, xi, u: Some(u), v: Some(v) });
    };
    let value = |given: &[Vec<f64>; 4]| {
        let mut sum = 0.0;
        driven(given, &mut |driven| {
            let path = physics.run(driven, &threads);
            let products = path.z.iter().zip(&adjoint.z).chain(path.xi.iter().zip(&adjoint.xi));
            sum = products.map(|(value, weight)| value * weight).sum();
        });
        sum
    };
    let mut found = None;
    driven(&given, &mut |driven| found = Some(physics.pull_back(driven, &adjoint, &threads)));
    let found = found.unwrap();
    for (i, slopes) in [found.z, found.xi, found.u.unwrap(), found.v.unwrap()].iter().enumerate() {
        let (direction, h) = (wave(slopes.len(), 0.7), 1e-4);
        let moved = |h: f64| {
            let mut given = given.clone();
            given[i].iter_mut().zip(&direction).for_each(|(x, d)| *x += h * d);
            value(&given)
        };
        let difference = (moved(h) - moved(-h)) / (2.0 * h);
        let slope: f64 = slopes.iter().zip(&direction).map(|(slope, d)| slope * d).sum();
        assert!((slope - difference).abs() < 1e-6 * slope.abs(), "input {i}: {slope} against {difference}");
    }
}
