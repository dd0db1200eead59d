//! The closed loop of the 2D tasks: what must hold whatever the policy does.

use cinoc_adjoint::{Strategy, Threads};
use cinoc_control::obstacles::Discs;
use cinoc_control::{Cases, ClosedLoop, Config, Decision, Disturbance, Pool, Purpose, policy, random};
use std::f64::consts::TAU;

const TASKS: [&str; 5] = ["density2d", "heat2d", "heat2d-obstacles", "ks2d", "turb2d"];
const NOISE: Disturbance =
    Disturbance { seed: 1, during: cinoc_control::disturbance::During::Training, first: 0, spare: 0 };

/// A task made small: few steps, few channels, states that were not spun up.
fn config(task: &str, sets: &[&str]) -> Config {
    let mut all = vec!["time.steps=6".to_string(), "policy.conv=[3, 4]".to_string(), "agents=5".to_string()];
    if matches!(task, "ks2d" | "turb2d") {
        all.extend(["data.spin_up=0", "time.substeps=2", "grid.n=32", "observe.n_ref=32"].map(String::from));
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

#[test]
fn strategies_and_threads_do_not_change_a_bit() {
    let disturbed = ["noise.sensor=0.05", "noise.actuator=0.1", "failure.share=0.4", "failure.step=2"];
    for task in TASKS {
        for sets in [&[][..], &disturbed, &["policy.padding=field"]] {
            let config = config(task, sets);
            let params: Vec<f32> = params(&config).iter().map(|&x| x as f32).collect();
            let closed_loop = ClosedLoop::<f32>::new(&config, 2);
            let batch = closed_loop.batch(&cases(&config, 3), &[0, 1, 2], NOISE);
            let gradient = |threads, strategy| {
                closed_loop.gradient(&params, &batch, &Threads::new(threads).unwrap(), strategy)
            };
            let reference = gradient(1, Strategy::Recompute);
            assert!(reference.params.iter().any(|g| *g != 0.0), "{task} {sets:?}");
            for (threads, strategy) in [(2, Strategy::Store), (2, Strategy::Recompute)] {
                let other = gradient(threads, strategy);
                assert!(reference.params == other.params, "{task} {sets:?} {strategy:?}: parameters");
                assert!(reference == other, "{task} {sets:?} {strategy:?}: states, inputs");
            }
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
        let strength = if task == "density2d" { "actuation.v_max=0" } else { "actuation.u_max=0" };
        for sets in [&[strength][..], &["failure.share=1", "failure.step=0", "noise.actuator=0.5"]] {
            let config = config(task, sets);
            let controlled = z(ClosedLoop::new(&config, 2), &params(&config));
            assert!(controlled.iter().zip(&free).all(|(a, b)| (a - b).abs() < 1e-11), "{task} {sets:?}");
        }
    }
}

#[test]
fn one_policy_runs_with_any_number_of_agents() {
    for task in TASKS {
        let params = params(&config(task, &[]));
        for agents in [1, 2, 7, 40] {
            let config = config(task, &[&format!("agents={agents}"), "time.steps=2"]);
            let closed_loop = ClosedLoop::<f64>::new(&config, 1);
            let batch = closed_loop.batch(&cases(&config, 1), &[0], NOISE);
            let ran = closed_loop.forward(&params, &batch, &Threads::one());
            assert_eq!(ran.xi().unwrap().len(), 2 * 2 * agents);
            assert!(ran.loss(0).is_finite(), "{task}");
        }
    }
}

#[test]
fn watching_without_a_loss_shows_the_same() {
    for task in TASKS {
        let config = config(task, &[]);
        let (cases, params) = (cases(&config, 2), params(&config));
        let run = |closed_loop: ClosedLoop<f64>| {
            let batch = closed_loop.batch(&cases, &[0, 1], Disturbance::evaluation(1, 0));
            let ran = closed_loop.forward(&params, &batch, &Threads::one());
            (ran.z().to_vec(), ran.xi().unwrap().to_vec())
        };
        assert!(run(ClosedLoop::new(&config, 2)) == run(ClosedLoop::observed(&config, 2)), "{task}");
    }
}

#[test]
fn a_policy_sees_the_same_on_a_finer_grid() {
    let grids: [(&str, [&[&str]; 2]); 3] = [
        ("heat2d", [&["grid.n=32"], &["grid.n=94"]]),
        ("ks2d", [&["grid.n=32"], &["grid.n=64"]]),
        ("density2d", [&["grid.n=64", "grid.n_y=79"], &["grid.n=127", "grid.n_y=157"]]),
    ];
    for (task, grids) in grids {
        for padding in ["zero", "field"] {
            let act = |sets: &[&str]| {
                let padding = format!("policy.padding={padding}");
                let config = config(task, &[sets, &[padding.as_str()]].concat());
                let axes = config.axes();
                let field = |k: f64| -> Vec<f64> {
                    let at = |a: usize, j: usize| TAU * k * j as f64 * axes[a].h() / axes[a].length;
                    let points = (0..axes[0].n).flat_map(|i| (0..axes[1].n).map(move |j| (i, j)));
                    points.map(|(i, j)| 1.5 + at(0, i).sin() * (at(1, j) + 0.3).cos()).collect()
                };
                let shares = [0.07, 0.31, 0.52, 0.77, 0.93, 0.11, 0.64, 0.41, 0.89, 0.03];
                let xi: Vec<f64> =
                    shares.iter().enumerate().map(|(k, share)| share * axes[k / 5].length).collect();
                let decision = Decision::<f64>::new(&config);
                let mut controller = decision.controller(&params(&config), &field(1.0));
                let decided = controller.decide(&field(2.0), &xi);
                decided.u.or(decided.v).unwrap().to_vec()
            };
            let (coarse, fine) = (act(grids[0]), act(grids[1]));
            // centroids of a density are sums over the grid, which differ a little between grids
            let tolerance = if task == "density2d" { 0.02 } else { 1e-10 };
            let close = coarse.iter().zip(&fine).all(|(a, b)| (a - b).abs() < tolerance);
            assert!(close, "{task} {padding}: {coarse:?} {fine:?}");
        }
    }
}

#[test]
fn projected_agents_never_enter_a_disc_and_others_do() {
    let inside = |filter: &str| {
        // fast agents, so that some of them cross a disc
        let sets = [&format!("obstacles.filter={filter}")[..], "agents=36", "time.steps=40"];
        let config =
            config("heat2d-obstacles", &[&sets[..], &["actuation.v_max=60", "loss.coll=0"]].concat());
        let closed_loop = ClosedLoop::<f32>::new(&config, 2);
        let mut params: Vec<f32> = params(&config).iter().map(|&x| x as f32).collect();
        // a push to the lower left
        let biases = params.len() - 2;
        params[biases..].fill(-0.7);
        let ran = closed_loop.forward(
            &params,
            &closed_loop.batch(&cases(&config, 2), &[0, 1], NOISE),
            &Threads::one(),
        );
        let discs = Discs::of(&config).unwrap();
        let steps = ran.xi().unwrap().chunks_exact(2 * 36);
        let agents = steps.flat_map(|xi| (0..36).map(|i| [f64::from(xi[i]), f64::from(xi[36 + i])]));
        agents.filter(|&position| discs.inside(position).0).count()
    };
    assert_eq!(inside("project"), 0);
    assert!(inside("none") > 0);
}

#[test]
fn conservative_transport_keeps_the_mass_in_a_closed_loop() {
    let masses = |transport: &str| {
        let config = config("density2d", &[&format!("physics.transport={transport}"), "time.steps=30"]);
        let (cases, closed_loop) = (cases(&config, 1), ClosedLoop::<f64>::new(&config, 1));
        let ran =
            closed_loop.forward(&params(&config), &closed_loop.batch(&cases, &[0], NOISE), &Threads::one());
        let z = ran.z();
        assert!(z.iter().all(|&z| z >= 0.0));
        let (first, last) = (cases.z0(0).iter().sum::<f64>(), z[z.len() - cases.n..].iter().sum::<f64>());
        (last / first - 1.0).abs()
    };
    assert!(masses("conservative") < 1e-12);
    assert!(masses("advective") > 1e-6);
}
