//! Model predictive control: exact gradients, minimisers with known solutions, a closed loop.

use cinoc_adjoint::Threads;
use cinoc_control::{Cases, Config, Pool};
use cinoc_learn::nmpc::bounded::{Evaluation, Solution, Stop};
use cinoc_learn::nmpc::lbfgs::Lbfgs;
use cinoc_learn::nmpc::{Controller, Horizon, Method, Settings, newton, roll_out};
use faer::Mat;

/// ks1d with short spin-up: chaotic enough, drawn in a moment.
fn task(sets: &[&str]) -> (Config, Cases) {
    let sets: Vec<String> = ["data.spin_up=100"].iter().chain(sets).map(|set| set.to_string()).collect();
    let config = Config::resolve("ks1d", None, &sets).unwrap();
    let cases = Cases::draw(&config, 0, Pool::Validation, 1, &Threads::one(), &|_, _| {});
    (config, cases)
}

/// Actions between -0.7 and 0.7 without a pattern.
fn some_actions(count: usize) -> Vec<f64> {
    (0..count).map(|i| 0.7 * (1.0 + 2.3 * i as f64 + 0.1 * (i * i) as f64).sin()).collect()
}

#[test]
fn the_gradient_agrees_with_central_differences() {
    let (config, cases) = task(&["actuation.u_max=2"]);
    let horizon = Horizon::new(&config, cases.zt(0), 6, 3.0);
    let mut actions = some_actions(horizon.variables());
    let gradient = horizon.evaluate(cases.z0(0), &actions).gradient;
    let largest = gradient.iter().fold(0.0_f64, |largest, g| largest.max(g.abs()));
    for i in 0..actions.len() {
        let before = actions[i];
        let mut value = |change: f64| {
            actions[i] = before + change;
            horizon.evaluate(cases.z0(0), &actions).value
        };
        let difference = (value(1e-4) - value(-1e-4)) / 2e-4;
        actions[i] = before;
        assert!((gradient[i] - difference).abs() < 1e-7 * largest, "{i}: {} and {difference}", gradient[i]);
    }
}

#[test]
fn where_the_field_is_at_rest_the_gauss_newton_model_is_the_hessian() {
    // at the target nothing is left of the errors that the second derivative of the field could be multiplied
    // with
    let (config, cases) = task(&[]);
    let horizon = Horizon::new(&config, cases.zt(0), 5, 1.0);
    let (rest, nothing) = (vec![0.0; cases.n], vec![0.0; horizon.variables()]);
    let model = horizon.gauss_newton(&rest, &nothing);
    for i in 0..nothing.len() {
        let gradient = |change: f64| {
            let mut actions = nothing.clone();
            actions[i] = change;
            horizon.evaluate(&rest, &actions).gradient
        };
        let (above, below) = (gradient(1e-4), gradient(-1e-4));
        for j in 0..nothing.len() {
            let second = (above[j] - below[j]) / 2e-4;
            assert!(
                (model[(i, j)] - second).abs() < 1e-6 * model[(i, i)],
                "{i} {j}: {} {second}",
                model[(i, j)]
            );
        }
    }
}

/// `sum_i c_i (x_i - m_i)^2 / 2 + k (sum_i (x_i - s_i))^2 / 2 + g x + 1` with the minimum `s` in the box: `m
/// = s` where `s` is inside, and `g` pushes against the bound where it is not.
struct Quadratic {
    curvatures: Vec<f64>,
    solution: Vec<f64>,
    push: Vec<f64>,
    coupling: f64,
}

impl Quadratic {
    fn new() -> Quadratic {
        let solution: Vec<f64> = (0..40)
            .map(|i| match i % 4 {
                0 => 1.0,
                1 => -1.0,
                _ => 0.9 * (i as f64).sin(),
            })
            .collect();
        let push = (0..40).map(|i| [-0.5, 0.5, 0.0, 0.0][i % 4]).collect();
        let curvatures = (0..40).map(|i| 10.0_f64.powf(3.0 * i as f64 / 39.0)).collect();
        Quadratic { curvatures, solution, push, coupling: 5.0 }
    }

    fn evaluate(&self, x: &[f64]) -> Evaluation {
        assert!(x.iter().all(|x| x.abs() <= 1.0), "left the box: {x:?}");
        let away: Vec<f64> = x.iter().zip(&self.solution).map(|(x, s)| x - s).collect();
        let sum: f64 = away.iter().sum();
        let (mut value, mut gradient) = (1.0 + 0.5 * self.coupling * sum * sum, Vec::new());
        for i in 0..x.len() {
            let (c, d) = (self.curvatures[i], away[i]);
            value += 0.5 * c * d * d + self.push[i] * d;
            gradient.push(c * d + self.push[i] + self.coupling * sum);
        }
        Evaluation { value, gradient }
    }

    fn hessian(&self) -> Mat<f64> {
        let n = self.solution.len();
        Mat::from_fn(n, n, |i, j| self.coupling + if i == j { self.curvatures[i] } else { 0.0 })
    }

    fn check(&self, solution: &Solution) {
        assert!(solution.converged, "{solution:?}");
        for (x, s) in solution.x.iter().zip(&self.solution) {
            assert!((x - s).abs() < 1e-6, "{x} instead of {s}");
        }
    }
}

const EXACT: Stop = Stop { suboptimality: 1e-13, curvature: 1.0, iterations: 500 };

#[test]
fn both_minimisers_find_the_known_solution_of_a_quadratic_in_a_box() {
    let quadratic = Quadratic::new();
    for start in [vec![0.0; 40], some_actions(40), vec![3.0; 40]] {
        quadratic.check(&Lbfgs::new(10).minimise(&start, &EXACT, |x| quadratic.evaluate(x)));
        let newton = newton::minimise(&start, &EXACT, |x| quadratic.evaluate(x), |_| quadratic.hessian());
        quadratic.check(&newton);
        assert_eq!(newton.iterations, 1, "a quadratic is its own model");
    }
}

#[test]
fn newton_leaves_every_corner_of_the_box() {
    // strongly coupled: many Newton steps from a corner lead out of the box in some variables and uphill in others
    let n = 40;
    for seed in 0..200 {
        let noise = |i: usize| (12.9898 * (i + 977 * seed) as f64).sin() * 43758.5453 % 1.0;
        let factor = Mat::from_fn(n, 3, |i, j| noise(3 * i + j));
        let hessian = Mat::from_fn(n, n, |i, j| {
            let coupled: f64 = (0..3).map(|k| factor[(i, k)] * factor[(j, k)]).sum();
            coupled + if i == j { 1e-5 } else { 0.0 }
        });
        let linear: Vec<f64> = (0..n).map(|i| 0.1 * noise(100 + i)).collect();
        let evaluate = |x: &[f64]| {
            let hx: Vec<f64> = (0..n).map(|i| (0..n).map(|j| hessian[(i, j)] * x[j]).sum()).collect();
            // above zero, because the stopping rule is relative
            let value = 10.0 + (0..n).map(|i| x[i] * (linear[i] + 0.5 * hx[i])).sum::<f64>();
            Evaluation { value, gradient: (0..n).map(|i| linear[i] + hx[i]).collect() }
        };
        let corner: Vec<f64> = (0..n).map(|i| noise(500 + i).signum()).collect();
        let stop = Stop { suboptimality: 1e-9, curvature: 1e-5, iterations: 20 };
        let found = newton::minimise(&corner, &stop, evaluate, |_| hessian.clone());
        assert!(found.converged, "seed {seed}: {} iterations", found.iterations);
    }
}

#[test]
fn a_cap_on_iterations_holds_and_is_told() {
    let quadratic = Quadratic::new();
    let stop = Stop { iterations: 3, ..EXACT };
    let solution = Lbfgs::new(10).minimise(&[0.0; 40], &stop, |x| quadratic.evaluate(x));
    assert_eq!((solution.iterations, solution.converged), (3, false));
}

#[test]
fn both_methods_find_the_same_plan_and_keep_to_the_bounds() {
    let (config, cases) = task(&[]);
    let plan = |method| {
        let settings = Settings { horizon: 10, suboptimality: 1e-9, ..Settings::new(method) };
        Controller::new(&config, cases.zt(0), settings).solve(cases.z0(0))
    };
    let (lbfgs, newton) = (plan(Method::Lbfgs), plan(Method::GaussNewton));
    assert!(lbfgs.converged && newton.converged, "{} and {} iterations", lbfgs.iterations, newton.iterations);
    assert!(newton.iterations < lbfgs.iterations);
    assert!((lbfgs.value - newton.value).abs() < 1e-8 * newton.value);
    assert!(lbfgs.x.iter().chain(&newton.x).all(|a| a.abs() <= 1.0));
    assert!(lbfgs.x.iter().any(|a| a.abs() == 1.0), "a bound that nobody reaches tests nothing");
}

#[test]
fn a_short_closed_loop_calms_the_field() {
    let (config, cases) = task(&["time.steps=60", "actuation.u_max=5"]);
    let without = cinoc_learn::evaluate::uncontrolled(&config, &cases, &Threads::one()).unwrap().error(0);
    for method in [Method::Lbfgs, Method::GaussNewton] {
        let rollout = roll_out(&config, cases.z0(0), cases.zt(0), Settings::new(method));
        assert_eq!((rollout.error.len(), rollout.solves.len()), (60, 60));
        assert!(rollout.solves.iter().all(|solve| solve.converged));
        assert!(rollout.error[59] < 0.02 * without[59], "{} against {}", rollout.error[59], without[59]);
        assert!(rollout.effort.iter().all(|u2| *u2 <= 25.0));
    }
}

#[test]
fn a_warm_start_takes_fewer_iterations_than_a_cold_one() {
    let (config, cases) = task(&[]);
    for method in [Method::Lbfgs, Method::GaussNewton] {
        let mut warm = Controller::new(&config, cases.zt(0), Settings::new(method));
        let mut plant = warm.horizon().plant(cases.z0(0));
        let (mut warm_iterations, mut cold_iterations) = (0, 0);
        warm.solve(cases.z0(0));
        for _ in 0..5 {
            plant.step(warm.first());
            warm.shift();
            let z = plant.z();
            warm_iterations += warm.solve(&z).iterations;
            cold_iterations +=
                Controller::new(&config, cases.zt(0), Settings::new(method)).solve(&z).iterations;
        }
        assert!(warm_iterations < cold_iterations, "{method:?}: {warm_iterations}, cold {cold_iterations}");
    }
}
