//! Against known growth rates, waves that no agent reaches, and the optimum of a linear problem.

use super::*;
use cinoc_control::Pool;
use cinoc_control::config::Preset;

fn task(name: &str, sets: &[&str]) -> Config {
    let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
    Config::resolve_method(name, Preset::Default, "cinoc", None, &sets).unwrap()
}

#[test]
fn waves_grow_as_the_equation_says_and_do_not_mix() {
    let config = task("ks1d", &[]);
    let rest = Rest::of(&config, &Threads::one());
    let n = rest.growth.len();
    assert_eq!(n, 25);
    let scale: f64 = rest.waves.col(3).iter().map(|w| w * w).sum::<f64>() / rest.waves.nrows() as f64;
    assert!((scale - 1.0).abs() < 1e-12, "{scale}");
    let fields: Vec<f64> = (0..n)
        .flat_map(|k| [SMALL, -SMALL].map(|by| rest.waves.col(k).iter().map(move |w| by * w)))
        .flatten()
        .collect();
    let nothing = vec![0.0; 2 * n * config.agents];
    let after = Driven::new(&config).after_one_step(&fields, &nothing, &Threads::one());
    let after = responses(&rest.waves, &after);
    for k in 0..n {
        let periods = k.div_ceil(2);
        let q2 = (TAU * periods as f64 / config.grid.length).powi(2);
        let rate = q2 - q2 * q2;
        let (grown, measured) = ((rate * config.control_dt()).exp(), rest.growth[k]);
        // what decays fast does so in the scheme too, in its own way
        let right = if rate > -1.0 { (measured - grown).abs() < 1e-3 } else { measured.abs() < 0.97 };
        assert!(right, "{periods}: {measured} for {grown}");
        for other in (0..n).filter(|&other| other != k) {
            assert!(after[(other, k)].abs() < 1e-7, "{k} makes {other}: {}", after[(other, k)]);
        }
    }
}

#[test]
fn six_equal_distances_leave_a_wave_out_of_reach_and_eight_do_not() {
    let growing = |sets: &[&str]| {
        let config = task("ks1d", sets);
        let rest = Rest::of(&config, &Threads::one());
        rest.with_agents(&config, &Threads::one()).growing()
    };
    // three waves grow; one phase of the third is zero at six agents
    assert_eq!(growing(&["agents=8"]), Growing { waves: 6, out_of_reach: 0 });
    assert_eq!(growing(&["agents=6"]), Growing { waves: 6, out_of_reach: 1 });
    assert_eq!(growing(&["agents=6", "actuation.starts=staggered"]), Growing { waves: 6, out_of_reach: 0 });
}

#[test]
fn failed_agents_push_nothing() {
    let config = task("ks1d", &["agents=4"]);
    let rest = Rest::of(&config, &Threads::one());
    let plant = rest.with_agents(&config, &Threads::one()).with_failures(&[1.0, 0.0, 1.0, 0.0]);
    assert!(plant.b.col(0).norm_l2() > 1e-3 && plant.b.col(1).norm_l2() == 0.0);
    let regulator = plant.regulator(Cost { track: 1.0, terminal: 0.0, effort: 1e-4 }, 20);
    let actions = regulator.actions(0, rest.waves.col_as_slice(1));
    assert!(actions[0] != 0.0 && actions[1] == 0.0, "{actions:?}");
}

#[test]
fn the_cost_of_a_small_field_is_the_least() {
    let config = task("ks1d", &["time.steps=30"]);
    let threads = Threads::one();
    let rest = Rest::of(&config, &threads);
    let plant = rest.with_agents(&config, &threads);
    let cost = Cost { track: 1.0, terminal: 5.0, effort: 1e-3 };
    let regulator = plant.regulator(cost, 30);
    let mut cases = Cases::draw(&config, 0, Pool::Validation, 1, &threads, &|_, _| {});
    cases.z0.iter_mut().for_each(|z| *z *= 1e-4);
    let spent = |factor: f64, shift: f64| {
        let mut effort = 0.0;
        let errors = controlled(&config, &cases, &threads, |_, step, z| {
            let mut actions = regulator.actions(step, z);
            actions.iter_mut().for_each(|action| *action *= factor);
            actions[0] += shift;
            effort += actions.iter().map(|a| a * a).sum::<f64>() / actions.len() as f64;
            actions
        });
        let track: f64 = errors[0].iter().sum();
        cost.track * track + cost.terminal * errors[0][29] + cost.effort * effort
    };
    let least = spent(1.0, 0.0);
    assert!(least > 0.0);
    for (factor, shift) in [(0.9, 0.0), (1.1, 0.0), (1.0, 1e-5), (1.0, -1e-5)] {
        let other = spent(factor, shift);
        assert!(other > least, "{factor}, {shift}: {other} instead of {least}");
    }
}

#[test]
fn a_plane_has_waves_of_both_axes() {
    let config = task("ks2d", &["grid.n=16", "observe.n_ref=16"]);
    let waves = waves(&config);
    assert_eq!((waves.nrows(), waves.ncols()), (256, 121));
    let gram = waves.transpose() * &waves;
    for i in 0..121 {
        for j in 0..121 {
            let expected = if i == j { 256.0 } else { 0.0 };
            assert!((gram[(i, j)] - expected).abs() < 1e-9, "{i}, {j}: {}", gram[(i, j)]);
        }
    }
}
