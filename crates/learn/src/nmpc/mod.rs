//! Nonlinear model predictive control. In every control step the controller computes the best actions over a
//! short horizon with the model and applies the first of them. Then the horizon moves on.
//!
//! The problem starts from the current field `z_0` and has `H` control steps with `M` static agents. It is
//! single shooting: the solver `S` computes the fields from the actions.
//!
//! ```text
//! min over a in [-1, 1]^(H M) of
//!     J(a) = sum_{t=1..H} ( w_z mean (z_t - z*)^2 + w_u mean u_t^2 ) + w_T mean (z_H - z*)^2
//! with z_t = S(z_{t-1}, u_t),  u_t = u_max a_t
//! ```
//!
//! `w_z` and `w_u` are `loss.track` and `loss.effort_u` of the task, `w_T` is [`Settings::terminal`]. The
//! model is the plant: the same program computes both. The comparison with a policy is therefore the best
//! case for this kind of control: the whole field is known, and the actions of all agents are optimised
//! together.
//!
//! *The gradient* comes from one forward sweep and one reverse sweep through the `H` steps. Its cost does not
//! depend on the number of actions. *Bounds* are satisfied exactly, by projection ([`bounded`]).
//!
//! *Two optimisers.* [`lbfgs`] needs gradients only. [`newton`] uses the Gauss-Newton Hessian, which needs
//! the derivative of the field of every step with respect to every action ([`Horizon::gauss_newton`]). It
//! takes few iterations, but each is much more expensive.
//!
//! *Warm start.* A solve starts from the previous plan, shifted by one step, with the last actions repeated.
//! L-BFGS also keeps its curvature pairs.
//!
//! *Stop.* The effort alone gives `J` a curvature of at least `c = 2 w_u u_max^2 / M`. Where the rest is
//! convex, `J - J* <= |p|^2 / (2 c)` with `p` the projected gradient. A solve ends when this bound is below
//! [`Settings::suboptimality`] times `J`, or after [`Settings::iterations`].

pub mod bounded;
mod horizon;
pub mod lbfgs;
pub mod newton;

pub use horizon::{Horizon, Plant};

use std::time::Instant;

use cinoc_control::Config;
use serde::{Deserialize, Serialize};

use bounded::{Solution, Stop};
use lbfgs::Lbfgs;

/// Optimiser of a horizon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Projected L-BFGS.
    Lbfgs,
    /// Projected Newton steps with the Gauss-Newton Hessian.
    GaussNewton,
}

/// Settings of a controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The optimiser.
    pub method: Method,
    /// Control steps of the horizon; 20 in the paper.
    pub horizon: usize,
    /// Weight of the last field of the horizon, in addition to its weight as one of the steps.
    pub terminal: f64,
    /// Allowed distance of a plan from the best plan, as a fraction of its objective.
    pub suboptimality: f64,
    /// Largest number of iterations of a solve.
    pub iterations: usize,
    /// Number of pairs that L-BFGS keeps.
    pub memory: usize,
}

impl Settings {
    /// The defaults with this optimiser.
    pub fn new(method: Method) -> Settings {
        Settings { method, horizon: 20, terminal: 0.0, suboptimality: 1e-6, iterations: 200, memory: 20 }
    }
}

/// A model predictive controller.
pub struct Controller {
    horizon: Horizon,
    settings: Settings,
    stop: Stop,
    lbfgs: Lbfgs,
    plan: Vec<f64>,
}

impl Controller {
    /// A controller for the agents of a task, towards `target`. The first plan has zero actions.
    ///
    /// # Panics
    /// If agents are mobile or have no intensities, or the effort has weight 0.
    pub fn new(config: &Config, target: &[f64], settings: Settings) -> Controller {
        let horizon = Horizon::new(config, target, settings.horizon, settings.terminal);
        let curvature = horizon.least_curvature();
        assert!(curvature > 0.0, "an effort with a weight");
        Controller {
            plan: vec![0.0; horizon.variables()],
            stop: Stop { suboptimality: settings.suboptimality, curvature, iterations: settings.iterations },
            lbfgs: Lbfgs::new(settings.memory),
            settings,
            horizon,
        }
    }

    /// The problem it solves.
    pub fn horizon(&self) -> &Horizon {
        &self.horizon
    }

    /// Plans from a field. The solve starts from the current plan, and the result replaces it.
    pub fn solve(&mut self, z: &[f64]) -> Solution {
        let horizon = &self.horizon;
        let evaluate = |actions: &[f64]| horizon.evaluate(z, actions);
        let solution = match self.settings.method {
            Method::Lbfgs => self.lbfgs.minimise(&self.plan, &self.stop, evaluate),
            Method::GaussNewton => {
                newton::minimise(&self.plan, &self.stop, evaluate, |actions| horizon.gauss_newton(z, actions))
            }
        };
        self.plan.clone_from(&solution.x);
        solution
    }

    /// The actions of the first step of the plan, in units of their bounds.
    pub fn first(&self) -> &[f64] {
        &self.plan[..self.plan.len() / self.horizon.steps()]
    }

    /// Shifts the plan by one step; its last actions are repeated.
    pub fn shift(&mut self) {
        let agents = self.first().len();
        self.plan.drain(..agents);
        self.plan.extend_from_within(self.plan.len() - agents..);
    }
}

/// A case under model predictive control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rollout {
    /// Mean of `(z - z*)^2` after every control step.
    pub error: Vec<f64>,
    /// Mean of `u^2` in every control step.
    pub effort: Vec<f64>,
    /// The solves.
    pub solves: Vec<Solve>,
}

/// Cost of a solve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Solve {
    /// Wall time on one thread.
    pub seconds: f64,
    /// Iterations.
    pub iterations: usize,
    /// Evaluations of the objective and its gradient.
    pub evaluations: usize,
    /// Whether it stopped because the plan was good enough.
    pub converged: bool,
}

/// Controls the field `z0` for `config.time.steps` control steps, with a solve before each, on the calling
/// thread.
pub fn roll_out(config: &Config, z0: &[f64], target: &[f64], settings: Settings) -> Rollout {
    let mut controller = Controller::new(config, target, settings);
    let mut plant = controller.horizon().plant(z0);
    let (mut z, mut rollout) = (z0.to_vec(), Rollout { error: vec![], effort: vec![], solves: vec![] });
    for _ in 0..config.time.steps {
        let start = Instant::now();
        let Solution { iterations, evaluations, converged, .. } = controller.solve(&z);
        let seconds = start.elapsed().as_secs_f64();
        rollout.solves.push(Solve { seconds, iterations, evaluations, converged });
        let [error, effort] = plant.step(controller.first());
        z = plant.z();
        rollout.error.push(error);
        rollout.effort.push(effort);
        controller.shift();
    }
    rollout
}
