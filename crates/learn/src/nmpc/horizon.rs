//! The optimisation problem of one horizon: the objective of a sequence of actions from a given field, its
//! gradient, and a model of its Hessian.

use cinoc_adjoint::{Input, Inputs, Program, Record, Session, Strategy, Term, Threads};
use cinoc_control::closed_loop::driven_trace;
use cinoc_control::objective::{self, LossTerm};
use cinoc_control::{Config, agents::start_positions};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};

use super::bounded::Evaluation;

/// Change of an action for finite differences of the field, in units of the bound of the action. The field is
/// almost linear in the actions, so rounding matters more than the second derivative.
const CHANGE: f64 = 1e-6;

/// A task over a number of control steps. The actions are the variables.
pub struct Horizon {
    program: Program<f64>,
    /// The same step with one sample per agent; in each sample the action of one agent is changed.
    changed: Program<f64>,
    threads: Threads,
    steps: usize,
    agents: usize,
    u_max: f64,
    /// The field, and the actions of all steps.
    z: Input,
    action: Input,
    /// Fixed inputs of one sample.
    fixed: Vec<(Input, Vec<f64>)>,
    /// Weight of every term of the objective at every step.
    weights: Vec<(Term, Vec<f64>)>,
    /// Weights of the error of the field, per step; `effort_weight` is the weight of `mean u^2`.
    error_weights: Vec<f64>,
    effort_weight: f64,
    z_record: Record,
    error_record: Record,
}

impl Horizon {
    /// A horizon of `steps` control steps towards `target`. `terminal` is the weight of the last field, in
    /// addition to its weight as one of the steps.
    ///
    /// # Panics
    /// If agents are mobile or have no intensities: the variables are intensities of static agents.
    pub fn new(config: &Config, target: &[f64], steps: usize, terminal: f64) -> Horizon {
        assert!(!config.mobile(), "agents that stand still");
        let mut config = config.plain();
        // the total forcing is a matter of training: plans do not push forth and back
        (config.loss.terminal, config.loss.total_forcing) = (terminal, None);
        (config.noise.sensor, config.noise.actuator, config.failure.share) = (0.0, 0.0, 0.0);
        let u_max = config.actuation.u_max.expect("agents with intensities");
        let (step, action) = driven_trace(&config);
        let positions = step.inputs.xi.map(|xi| (xi, start_positions(&config)));
        let weight = |name: &str| {
            let term = objective::active(&config).find(|term| term.name == name);
            term.map_or(0.0, |term| term.weight(&config))
        };
        // a sum over the steps; the training loss is a mean
        let over_steps = |(term, handle): &(&LossTerm, Term)| match term.name {
            "terminal" => {
                (*handle, (0..steps).map(|t| if t + 1 == steps { terminal } else { 0.0 }).collect())
            }
            _ => (*handle, vec![term.weight(&config); steps]),
        };
        let mut error_weights = vec![weight("track"); steps];
        error_weights[steps - 1] += terminal;
        Horizon {
            z: step.inputs.z,
            action,
            fixed: positions.into_iter().chain([(step.inputs.target, target.to_vec())]).collect(),
            weights: step.terms.iter().map(over_steps).collect(),
            error_weights,
            effort_weight: weight("effort_u"),
            z_record: step.records.z,
            error_record: step.records.error,
            changed: Program::new(&step.trace, config.agents),
            program: Program::new(&step.trace, 1),
            threads: Threads::one(),
            steps,
            agents: config.agents,
            u_max,
        }
    }

    /// Control steps.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Number of variables: actions of all agents in all steps.
    pub fn variables(&self) -> usize {
        self.steps * self.agents
    }

    /// Lower bound of the curvature of the objective where the error terms are convex: the curvature of the
    /// effort.
    pub fn least_curvature(&self) -> f64 {
        2.0 * self.effort_weight * self.u_max.powi(2) / self.agents as f64
    }

    /// The objective from the field `z` and its gradient with respect to the actions, by one forward sweep
    /// and one reverse sweep.
    pub fn evaluate(&self, z: &[f64], actions: &[f64]) -> Evaluation {
        let inputs = self.inputs(1, self.steps, &self.fixed).with(self.z, z).with(self.action, actions);
        let gradient = self.program.gradient(&inputs, &self.threads, Strategy::Recompute);
        Evaluation { value: gradient.loss, gradient: gradient.input(self.action).to_vec() }
    }

    /// The Gauss-Newton Hessian, `2 sum_t w_t J_t^T J_t / N + 2 w_u u_max^2 / M I`, where `J_t` is the
    /// derivative of the field after step `t` with respect to the actions. The second derivative of the field
    /// is neglected.
    pub fn gauss_newton(&self, z: &[f64], actions: &[f64]) -> Mat<f64> {
        let (n, m) = (z.len(), self.agents);
        let jacobians = self.jacobians(z, actions);
        let mut h = Mat::zeros(self.variables(), self.variables());
        for (t, jacobian) in jacobians.iter().enumerate() {
            // actions after step t do not change the field of step t
            let past = (t + 1) * m;
            let block = h.as_mut().submatrix_mut(0, 0, past, past);
            let factor = 2.0 * self.error_weights[t] / n as f64;
            matmul(block, Accum::Add, jacobian.transpose(), jacobian, factor, Par::Seq);
        }
        (0..self.variables()).for_each(|i| h[(i, i)] += self.least_curvature());
        h
    }

    /// For every step the derivative of its field with respect to the actions up to this step,
    /// `[points][actions]`. The actions of a step are changed one agent at a time; the agents are the samples
    /// of one run that starts at this step.
    fn jacobians(&self, z: &[f64], actions: &[f64]) -> Vec<Mat<f64>> {
        let (n, m) = (z.len(), self.agents);
        let fields = self.fields(&self.program, 1, z, actions);
        let mut jacobians: Vec<Mat<f64>> = (0..self.steps).map(|t| Mat::zeros(n, (t + 1) * m)).collect();
        for s in 0..self.steps {
            let (left, from) = (self.steps - s, if s == 0 { z } else { &fields[(s - 1) * n..s * n] });
            let mut changed = actions[s * m..].repeat(m);
            (0..m).for_each(|i| changed[i * left * m + i] += CHANGE);
            let moved = self.fields(&self.changed, m, &from.repeat(m), &changed);
            for i in 0..m {
                for t in s..self.steps {
                    let moved = &moved[(i * left + t - s) * n..][..n];
                    let column = jacobians[t].col_as_slice_mut(s * m + i);
                    for (x, to) in column.iter_mut().enumerate() {
                        *to = (moved[x] - fields[t * n + x]) / CHANGE;
                    }
                }
            }
        }
        jacobians
    }

    /// The field after every step, `[samples][steps][points]`.
    fn fields(&self, program: &Program<f64>, samples: usize, z: &[f64], actions: &[f64]) -> Vec<f64> {
        let steps = actions.len() / (samples * self.agents);
        let fixed: Vec<_> = self.fixed.iter().map(|(input, one)| (*input, one.repeat(samples))).collect();
        let inputs = self.inputs(samples, steps, &fixed).with(self.z, z).with(self.action, actions);
        program.forward(&inputs, &self.threads).record(self.z_record).to_vec()
    }

    /// Fixed inputs, and the weights of the first `steps` steps.
    fn inputs<'a>(&self, samples: usize, steps: usize, fixed: &'a [(Input, Vec<f64>)]) -> Inputs<'a, f64> {
        let inputs = Inputs::new(samples, steps, &[]);
        let inputs = fixed.iter().fold(inputs, |inputs, (input, values)| inputs.with(*input, values));
        self.weights
            .iter()
            .fold(inputs, |inputs, (term, weights)| inputs.weighted(*term, weights[..steps].to_vec()))
    }

    /// The plant: the same physics from the field `z0`, one control step at a time.
    pub fn plant(&self, z0: &[f64]) -> Plant {
        Plant {
            session: Session::new(&self.program, &self.inputs(1, 0, &self.fixed).with(self.z, z0)),
            threads: Threads::one(),
            z: self.z,
            action: self.action,
            error_record: self.error_record,
            u_max: self.u_max,
        }
    }
}

/// The controlled system.
pub struct Plant {
    session: Session<f64>,
    threads: Threads,
    z: Input,
    action: Input,
    error_record: Record,
    u_max: f64,
}

impl Plant {
    /// One control step with these actions, in units of their bounds. Returns the mean of `(z - z*)^2` after
    /// it and of `u^2` in it.
    pub fn step(&mut self, actions: &[f64]) -> [f64; 2] {
        self.session.step(&[(self.action, actions)], &self.threads);
        let u2 = actions.iter().map(|a| (self.u_max * a).powi(2)).sum::<f64>() / actions.len() as f64;
        [self.session.record(self.error_record)[0], u2]
    }

    /// The field.
    pub fn z(&self) -> Vec<f64> {
        self.session.state(self.z)
    }
}
