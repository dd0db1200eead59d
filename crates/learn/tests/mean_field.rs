//! Weighted agents, and the limit of many: identities, central differences, convergence of quadrature, rates.

use cinoc_adjoint::{Strategy, Threads};
use cinoc_control::{Cases, ClosedLoop, Config, Disturbance, Pool, Purpose, policy, random};
use cinoc_learn::mean_field::{MeanField, Placement};
use cinoc_learn::slope::log_log;
use cinoc_pde::random_field::normals;

/// The published form of heat1d, which the limit is about, with long steps, so that agents cross cells and
/// the field answers within few of them.
fn config(sets: &[&str]) -> Config {
    let sets = ["time.steps=10", "time.dt=0.005", "loss.coll=0"].iter().chain(sets);
    let sets: Vec<String> = sets.map(|set| set.to_string()).collect();
    Config::paper("heat1d").unwrap().with_sets(&sets).unwrap()
}

fn cases(config: &Config) -> Cases {
    Cases::draw(config, 3, Pool::Validation, 2, &Threads::one(), &|_, _| {})
}

fn params(config: &Config) -> Vec<f64> {
    policy::initial_params(config, &mut random::stream(0, Purpose::Parameters, 0))
}

fn mean_field(sets: &[&str]) -> MeanField {
    let config = config(sets);
    MeanField::new(&config, params(&config), cases(&config), &Threads::new(2).unwrap())
}

/// Mean loss of the cases and its gradient.
fn gradient(closed_loop: &ClosedLoop<f64>, params: &[f64], cases: &Cases) -> (f64, Vec<f64>) {
    let batch = closed_loop.batch(cases, &[0, 1], Disturbance::evaluation(0, 0));
    let found = closed_loop.gradient(params, &batch, &Threads::one(), Strategy::Recompute);
    (found.loss, found.params)
}

fn relative(a: &[f64], b: &[f64]) -> f64 {
    let norm = |values: Vec<f64>| values.iter().map(|x| x * x).sum::<f64>().sqrt();
    norm(a.iter().zip(b).map(|(a, b)| a - b).collect()) / norm(b.to_vec())
}

#[test]
fn equal_weights_are_a_scaled_forcing() {
    // intensities s u in a plain sum, with an effort that is divided by s^2
    let weighted = config(&["agents=20"]);
    let scale = 8.0 / 20.0;
    let mut scaled = weighted.clone();
    scaled.actuation.u_max = weighted.actuation.u_max.map(|u| scale * u);
    scaled.loss.effort_u = weighted.loss.effort_u.map(|weight| weight / (scale * scale));
    let (cases, params) = (cases(&weighted), params(&weighted));
    let a = gradient(&ClosedLoop::weighted(&weighted, &[scale; 20], 2), &params, &cases);
    let b = gradient(&ClosedLoop::new(&scaled, 2), &params, &cases);
    assert!((a.0 - b.0).abs() < 1e-13 * b.0 && relative(&a.1, &b.1) < 1e-12, "{}", relative(&a.1, &b.1));

    let preset = mean_field(&[]).finite(Placement::Preset, 20);
    assert!(relative(&preset.gradient, &b.1) < 1e-12);
}

#[test]
fn an_agent_of_weight_two_is_two_agents_in_one_place() {
    let sets = ["loss.total_forcing=0.001", "safety.margin=0.4"];
    // also where agents know how many others are near, and share
    let knowing = ["observe.crowd=true", "policy.share=crowd"];
    for sets in [sets.to_vec(), [sets, knowing].concat()] {
        let of = |agents: &str, xi: &[f64], weights: &[f64]| {
            let config = config(&[&[agents][..], &sets].concat());
            let cases = Cases { xi0: Some(xi.repeat(2)), ..cases(&config) };
            gradient(&ClosedLoop::weighted(&config, weights, 2), &params(&config), &cases)
        };
        let (loss, few) = of("agents=2", &[0.3, 0.55], &[2.0, 1.0]);
        let (same, many) = of("agents=3", &[0.3, 0.55, 0.3], &[1.0; 3]);
        assert!((loss - same).abs() < 1e-13 * loss && relative(&few, &many) < 1e-12, "{sets:?}");
    }
}

#[test]
fn the_gradient_of_weighted_agents_agrees_with_central_differences() {
    let config = config(&["agents=5", "observe.sampling=linear", "loss.total_forcing=0.001"]);
    let (cases, params) = (cases(&config), params(&config));
    let closed_loop = ClosedLoop::<f64>::weighted(&config, &[0.3, 2.0, 0.9, 1.7, 3.1], 2);
    let (_, slope) = gradient(&closed_loop, &params, &cases);
    let direction = normals(&mut random::stream(1, Purpose::Checks, 0), params.len());
    let derivative: f64 = slope.iter().zip(&direction).map(|(a, b)| a * b).sum();
    let loss = |s: f64| {
        let moved: Vec<f64> = params.iter().zip(&direction).map(|(p, d)| p + s * d).collect();
        gradient(&closed_loop, &moved, &cases).0
    };
    let central = |s: f64| (loss(s) - loss(-s)) / (2.0 * s);
    let difference = (4.0 * central(1e-5) - central(2e-5)) / 3.0;
    assert!((difference - derivative).abs() < 1e-7 * derivative.abs(), "{difference} against {derivative}");
}

#[test]
#[should_panic(expected = "collisions of agents that have weights")]
fn collisions_have_no_weights() {
    ClosedLoop::<f64>::weighted(&config(&["loss.coll=1", "agents=2"]), &[1.0, 1.0], 1);
}

#[test]
fn quadrature_over_the_density_converges() {
    // agents that stay: smooth inside every cell, a few nodes are enough
    for sampling in ["observe.sampling=cell", "observe.sampling=linear"] {
        let still = mean_field(&[sampling, "actuation.v_max=0"]);
        let change = still.limit(4).distance(&still.limit(8));
        assert!(change < 1e-8, "{sampling}: {change:e}");
    }
    // agents that move carry bends, or jumps, into the cells
    for (sampling, bound) in [("observe.sampling=linear", 4e-6), ("observe.sampling=cell", 1e-4)] {
        let moving = mean_field(&[sampling]);
        let change = moving.limit(8).distance(&moving.limit(16));
        println!("{sampling}: {change:e}");
        assert!(change < bound, "{sampling}: {change:e}");
    }
}

#[test]
fn the_limit_of_gradients_is_the_gradient_of_the_limit() {
    let config = config(&["observe.sampling=linear"]);
    let (params, cases) = (params(&config), cases(&config));
    let of =
        |params: Vec<f64>| MeanField::new(&config, params, cases.clone(), &Threads::new(2).unwrap()).limit(4);
    let gradient = of(params.clone()).gradient;
    let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
    let along = |s: f64| of(params.iter().zip(&gradient).map(|(p, g)| p + s * g / norm).collect()).loss;
    let difference = (along(1e-4) - along(-1e-4)) / 2e-4;
    assert!((difference / norm - 1.0).abs() < 1e-6, "{difference} against {norm}");
}

#[test]
fn gradients_converge_to_the_limit_at_their_rates() {
    let mean_field = mean_field(&["observe.sampling=linear"]);
    let limit = mean_field.limit(12);
    let sizes = [16, 32, 64, 128];
    let x = sizes.map(|m| m as f64);
    let fall = |name: &str, errors: [f64; 4], power: f64, tolerance: f64| {
        let slope = log_log(&x, &errors);
        println!("{name}: {errors:?}, {slope:?}");
        assert!((slope.slope - power).abs() < tolerance, "{name}: {slope:?}");
        let falls = errors.windows(2).all(|pair| pair[1] < pair[0]);
        assert!(falls || name == "random", "{name}: {errors:?}");
    };
    let placed = |placement| sizes.map(|m| mean_field.finite(placement, m).distance(&limit));
    fall("regular", placed(Placement::Regular), -2.0, 0.1);
    fall("preset", placed(Placement::Preset), -1.0, 0.1);
    fall("random", sizes.map(|m| mean_field.random_distance(&limit, m, 60)), -0.5, 0.15);
}
