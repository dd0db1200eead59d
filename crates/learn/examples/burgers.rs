//! An equation of your own under control: viscous Burgers, `z_t + z z_x = nu z_xx + f` on `[0, L]`, z = 0 at both ends.
//!
//! `cargo run --release -p cinoc-learn --example burgers` checks the gradient through the solver against central
//! differences, trains a policy for some seconds and prints the error before and after. `docs/adding-a-pde.md` explains it.

use cinoc_adjoint::{Sparse, Strategy, Threads, Tridiagonal, Var};
use cinoc_control::policy::initial_params;
use cinoc_control::random::{Purpose, stream};
use cinoc_control::{Cases, ClosedLoop, Config, Disturbance, Pool, physics};
use cinoc_learn::optimiser::{Adam, clip_global_norm};
use cinoc_pde::operators::{implicit_diffusion, interior};
use cinoc_pde::random_field::normals;
use cinoc_pde::{Axis, Dynamics, Grid, evolve};

// ---- The PDE: all that is about Burgers. Forward code only. ----

/// Explicit Euler for advection in conservation form and for the forcing, then backward Euler for diffusion:
/// `(I - dt nu D2) z_{t+1} = z_t - dt D1 (z_t^2 / 2) + dt f` on the interior, `z_{t+1} = 0` at the ends.
pub struct Burgers {
    x: Axis,
    dt: f64,
    /// `-dt/2 D1`, central differences.
    advection: Sparse,
    /// `I - dt nu D2`.
    implicit: Tridiagonal,
}

impl Burgers {
    /// Viscosity `nu`, time step `dt`.
    pub fn new(x: Axis, nu: f64, dt: f64) -> Burgers {
        let c = dt / (4.0 * x.spacing());
        let at_an_end = |j: usize| j == 0 || j == x.n - 1;
        let row = |j: usize| if at_an_end(j) { vec![] } else { vec![(j - 1, c), (j + 1, -c)] };
        let advection = Sparse::from_rows(x.n, (0..x.n).map(row).collect());
        Burgers { x, dt, advection, implicit: implicit_diffusion(&x, dt * nu) }
    }
}

impl Dynamics for Burgers {
    fn grid(&self) -> Grid {
        Grid::line(self.x)
    }
    fn dt(&self) -> f64 {
        self.dt
    }
    fn order(&self) -> u32 {
        1
    }
    fn step<'t>(&self, z: Var<'t>, response: Var<'t>) -> Var<'t> {
        let inside = z.tracer().constant(self.x.n, 1, interior(&self.x));
        (inside * (z + z.square().linear(&self.advection) + response)).solve(&self.implicit)
    }
}

// ---- End of the PDE. What follows is the same for every equation. ----

/// The setting: agents, sensors, actuators, loss and cases of the heat task, with another equation and a short horizon.
pub fn config(steps: usize) -> Config {
    let sets = ["agents=8", "physics.nu=0.02", "loss.terminal=5", &format!("time.steps={steps}")];
    Config::preset("heat1d").unwrap().with_sets(&sets.map(String::from)).unwrap()
}

/// The equation on the grid and with the time step of the setting.
pub fn burgers(config: &Config) -> Burgers {
    Burgers::new(physics::grid(config).x, config.physics.nu.unwrap(), config.time.dt)
}

/// Relative error of the loss's derivative along a random direction of the parameters, against a central difference.
pub fn gradient_error(config: &Config) -> f64 {
    let (threads, half) = (Threads::new(1), 1e-6);
    let cases = Cases::draw(config, 0, Pool::Validation, 2, &threads, &|_, _| {});
    let closed_loop = ClosedLoop::<f64>::with_dynamics(config, &burgers(config), 2);
    let batch = closed_loop.batch(&cases, &[0, 1], Disturbance::evaluation(0, 0));
    let params = initial_params(config, &mut stream(0, Purpose::Parameters, 0));
    let direction = normals(&mut stream(0, Purpose::Checks, 0), params.len());
    let loss = |s: f64| {
        let moved: Vec<f64> = params.iter().zip(&direction).map(|(p, d)| p + s * d).collect();
        let ran = closed_loop.forward(&moved, &batch, &threads);
        (ran.loss(0) + ran.loss(1)) / 2.0
    };
    let gradient = closed_loop.gradient(&params, &batch, &threads, Strategy::Recompute).params;
    let derivative: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
    let difference = (loss(half) - loss(-half)) / (2.0 * half);
    (difference - derivative).abs() / derivative.abs()
}

/// What training did: the error is `mean (z_T - z*)^2`, averaged over held-out cases.
pub struct Trained {
    /// Error of the untrained policy.
    pub before: f64,
    /// Error of the trained policy.
    pub after: f64,
    /// Loss of every update.
    pub losses: Vec<f64>,
}

/// Trains a fresh policy through the solver, 16 cases per update.
pub fn train(config: &Config, updates: usize, threads: &Threads) -> Trained {
    let draw = |pool, count| Cases::draw(config, 0, pool, count, threads, &|_, _| {});
    let (training, held_out) = (draw(Pool::Training, 16 * updates), draw(Pool::Validation, 32));
    let closed_loop = ClosedLoop::<f32>::with_dynamics(config, &burgers(config), 8);
    let first = initial_params(config, &mut stream(0, Purpose::Parameters, 0));
    let mut params: Vec<f32> = first.iter().map(|&p| p as f32).collect();
    let final_error = |params: &[f32]| {
        let all: Vec<usize> = (0..held_out.count).collect();
        let batch = closed_loop.batch(&held_out, &all, Disturbance::evaluation(0, 0));
        let ran = closed_loop.forward(params, &batch, threads);
        all.iter().map(|&case| ran.error(case)[ran.steps - 1]).sum::<f64>() / all.len() as f64
    };
    let before = final_error(&params);
    let (mut adam, mut losses) = (Adam::new(params.len()), Vec::new());
    for update in 0..updates {
        let which: Vec<usize> = (16 * update..16 * (update + 1)).collect();
        let batch = closed_loop.batch(&training, &which, Disturbance::training(0, update, 16));
        let mut gradient = closed_loop.gradient(&params, &batch, threads, Strategy::Recompute);
        clip_global_norm(&mut gradient.params, 1.0);
        adam.update(&mut params, &gradient.params, 3e-3);
        losses.push(gradient.loss);
    }
    Trained { before, after: final_error(&params), losses }
}

/// The same error without any control.
pub fn uncontrolled(config: &Config, threads: &Threads) -> f64 {
    let cases = Cases::draw(config, 0, Pool::Validation, 32, threads, &|_, _| {});
    let z = evolve(&burgers(config), &cases.z0, None, config.time.steps, threads);
    z.iter().zip(&cases.zt).map(|(z, zt)| (z - zt).powi(2)).sum::<f64>() / z.len() as f64
}

fn main() {
    let (config, threads) = (config(200), Threads::new(2));
    println!("gradient against central differences: relative error {:.1e}", gradient_error(&config));
    let trained = train(&config, 60, &threads);
    println!("error at the last step, mean over 32 held-out cases:");
    println!("  uncontrolled     {:.2e}", uncontrolled(&config, &threads));
    println!("  untrained policy {:.2e}", trained.before);
    println!("  after 60 updates {:.2e}", trained.after);
}
