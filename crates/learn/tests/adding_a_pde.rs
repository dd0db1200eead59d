//! The example of an equation that users add themselves: its physics, its gradient, its training, its page.

#[allow(dead_code)]
#[path = "../examples/burgers.rs"]
mod burgers;

use burgers::{Burgers, config, gradient_error, train, uncontrolled};
use cinoc_adjoint::Threads;
use cinoc_control::{ClosedLoop, physics};
use cinoc_pde::{Axis, Boundary, evolve};
use std::f64::consts::PI;

/// A solution of `z_t + z z_x = nu z_xx` that is 0 at 0 and 1, by the Cole-Hopf transformation.
fn exact(x: f64, t: f64, nu: f64) -> f64 {
    let decay = (-nu * PI * PI * t).exp();
    2.0 * nu * PI * (PI * x).sin() * decay / (2.0 + (PI * x).cos() * decay)
}

#[test]
fn the_scheme_converges_to_an_exact_solution() {
    let (nu, time) = (0.1, 0.5);
    // the time step shrinks with the square of the spacing, so that the error in both falls by the same factor
    let error = |cells: usize, steps: usize| {
        let x = Axis { n: cells + 1, length: 1.0, boundary: Boundary::Dirichlet };
        let at = |t: f64| x.points().iter().map(|&x| exact(x, t, nu)).collect::<Vec<_>>();
        let z = evolve(&Burgers::new(x, nu, time / steps as f64), &at(0.0), None, steps, &Threads::new(1));
        z.iter().zip(at(time)).map(|(z, exact)| (z - exact).abs()).fold(0.0, f64::max)
    };
    let (coarse, fine) = (error(32, 64), error(64, 256));
    let order = (coarse / fine).log2();
    println!("errors {coarse:.1e} and {fine:.1e}: order {order:.3} in space, half of it in time");
    assert!((order - 2.0).abs() < 0.1, "{order}");
}

#[test]
fn the_gradient_through_the_solver_agrees_with_central_differences() {
    let error = gradient_error(&config(40));
    println!("relative error {error:.1e}");
    assert!(error <= 1e-6, "{error:e}");
}

#[test]
fn training_reduces_the_loss() {
    let (config, threads) = (config(40), Threads::new(1));
    let trained = train(&config, 25, &threads);
    let mean = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len() as f64;
    let (first, last) = (mean(&trained.losses[..5]), mean(&trained.losses[20..]));
    let free = uncontrolled(&config, &threads);
    println!(
        "loss {first:.3} to {last:.3}; error {:.3} to {:.3}, {free:.3} without control",
        trained.before, trained.after
    );
    assert!(last < 0.5 * first, "{:?}", trained.losses);
    assert!(trained.after < trained.before && trained.after < free);
}

#[test]
#[should_panic(expected = "the equation's grid and the config's")]
fn an_equation_on_another_grid_is_refused() {
    let config = config(1);
    let x = Axis { n: 50, ..physics::grid(&config).x };
    ClosedLoop::<f64>::with_dynamics(&config, &Burgers::new(x, 0.1, config.time.dt), 1);
}

#[test]
fn the_page_shows_the_code_that_runs() {
    let page = include_str!("../../../docs/adding-a-pde.md");
    let blocks: Vec<&str> =
        page.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        assert!(include_str!("../examples/burgers.rs").contains(block), "not in the example:\n{block}");
    }
}
