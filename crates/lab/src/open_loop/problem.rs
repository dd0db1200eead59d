//! The error of some cases as a function of all actions of all agents, and its gradient.

use std::ops::Range;

use cinoc_adjoint::{Input, Inputs, Program, Real, Strategy, Term, Threads};
use cinoc_control::agents::start_positions;
use cinoc_control::closed_loop::driven_trace;
use cinoc_control::config::Loss;
use cinoc_control::{Cases, Config, Disturbance, policy};

use super::Goal;

/// Memory for stored values of all steps, in bytes; a program that needs more recomputes them.
const STORE_BYTES: usize = 300_000_000;
/// Cases per chunk in 1D: enough to fill SIMD vectors, few enough to share the work among threads.
const CHUNK_1D: usize = 8;

/// Cases of a task whose actions are the variables.
pub struct Problem<T: Real> {
    program: Program<T>,
    /// The same program for one case.
    single: Program<T>,
    threads: Threads,
    strategy: Strategy,
    samples: usize,
    steps: usize,
    /// Number of actions of one case in one step.
    per_step: usize,
    action: Input,
    /// What else is given, of all cases: fields and places before the first step, and which agents are at
    /// work in every step.
    given: Vec<(Input, Vec<T>)>,
    /// Terms of the error, with their weights over time.
    terms: Vec<(Term, Vec<f64>)>,
    /// The factor of a case.
    factor: Input,
}

/// The error of every case and its derivatives.
pub struct Evaluation {
    /// One number per case.
    pub values: Vec<f64>,
    /// Derivative of a case's error with respect to its actions, `[cases][variables]`.
    pub gradient: Vec<f64>,
}

impl<T: Real> Problem<T> {
    /// The problem for these cases and this `goal`, without noise, in the precision `T`. The agents that fail
    /// are those that fail in an evaluation; their actions have no effect.
    ///
    /// # Panics
    /// If the cases live on another grid than the config's.
    pub fn new(config: &Config, cases: &Cases, goal: Goal, threads: &Threads) -> Problem<T> {
        assert_eq!(cases.n, config.state_size(), "cases on the grid of the config");
        let config = error_alone(config, goal);
        let (step, action) = driven_trace(&config);
        let places = start_positions(&config);
        let factor = step.inputs.importance.expect("`error_alone` asks for a factor");
        let all = |of_case: &dyn Fn(usize) -> Vec<f64>| -> Vec<T> {
            (0..cases.count).flat_map(of_case).map(T::of).collect()
        };
        let mut given = vec![
            (step.inputs.z, all(&|case| cases.z0(case).to_vec())),
            (step.inputs.target, all(&|case| cases.zt(case).to_vec())),
            (factor, all(&|_| vec![1.0])),
        ];
        let xi = all(&|case| cases.xi0(case).unwrap_or(&places).to_vec());
        given.extend(step.inputs.xi.map(|input| (input, xi)));
        let disturbance = Disturbance::evaluation(0, 0);
        given.extend(
            step.inputs
                .random
                .iter()
                .map(|&(what, input)| (input, all(&|case| disturbance.draw(&config, what, case, 0)))),
        );
        let chunk = match config.task.dims {
            1 => CHUNK_1D.min(cases.count),
            _ => 1,
        };
        let (program, steps) = (Program::new(&step.trace, chunk), config.time.steps);
        let at_once = threads.count().min(cases.count.div_ceil(chunk));
        let stores = program.store_bytes(steps) * at_once <= STORE_BYTES;
        Problem {
            strategy: if stores { Strategy::Store } else { Strategy::Recompute },
            threads: threads.clone(),
            samples: cases.count,
            steps,
            per_step: policy::actions(&config) * config.agents,
            action,
            given,
            terms: step.terms.iter().map(|(term, handle)| (*handle, term.time_weights(steps))).collect(),
            factor,
            single: Program::new(&step.trace, 1),
            program,
        }
    }

    /// The threads it runs on.
    pub fn threads(&self) -> &Threads {
        &self.threads
    }

    /// Number of cases.
    pub fn cases(&self) -> usize {
        self.samples
    }

    /// Number of variables of one case: actions of all agents in all steps.
    pub fn variables(&self) -> usize {
        self.steps * self.per_step
    }

    /// The errors and their derivatives at some actions, `[cases][steps][actions][agents]` in units of their
    /// bounds.
    pub fn evaluate(&self, actions: &[f64]) -> Evaluation {
        self.evaluate_with(&self.program, 0..self.samples, actions)
    }

    /// The same for one case.
    pub fn evaluate_case(&self, case: usize, actions: &[f64]) -> Evaluation {
        self.evaluate_with(&self.single, case..case + 1, actions)
    }

    fn evaluate_with(&self, program: &Program<T>, cases: Range<usize>, actions: &[f64]) -> Evaluation {
        let actions: Vec<T> = actions.iter().map(|&action| T::of(action)).collect();
        let samples = cases.len() as f64;
        let found = program.gradient(&self.inputs(cases, &actions), &self.threads, self.strategy);
        // a program differentiates the mean over its samples
        let all = |derivatives: &[T]| -> Vec<f64> {
            derivatives.iter().map(|derivative| samples * derivative.f64()).collect()
        };
        // the error of a case is the derivative with respect to its factor
        Evaluation { values: all(found.input(self.factor)), gradient: all(found.input(self.action)) }
    }

    /// The errors only, by a forward run.
    pub fn values(&self, actions: &[f64]) -> Vec<f64> {
        let actions: Vec<T> = actions.iter().map(|&action| T::of(action)).collect();
        let outcome = self.program.forward(&self.inputs(0..self.samples, &actions), &self.threads);
        let error = |case: usize| self.terms.iter().map(|(term, _)| outcome.term(*term)[case]).sum();
        (0..self.samples).map(error).collect()
    }

    fn inputs<'a>(&'a self, cases: Range<usize>, actions: &'a [T]) -> Inputs<'a, T> {
        let mut inputs = Inputs::new(cases.len(), self.steps, &[]).with(self.action, actions);
        for (input, values) in &self.given {
            let of_case = values.len() / self.samples;
            inputs = inputs.with(*input, &values[cases.start * of_case..cases.end * of_case]);
        }
        self.terms.iter().fold(inputs, |inputs, (term, weights)| inputs.weighted(*term, weights.clone()))
    }
}

/// The task with its error as the only loss term. Every case has a factor, which `train.hold` enables.
fn error_alone(config: &Config, goal: Goal) -> Config {
    let mut alone = config.plain();
    (alone.noise.sensor, alone.noise.actuator) = (0.0, 0.0);
    let (track, terminal) = match goal {
        Goal::TimeMean => (1.0, 0.0),
        Goal::Final => (0.0, 1.0),
    };
    alone.loss = Loss {
        track,
        terminal,
        effort_u: None,
        effort_v: None,
        bound: None,
        coll: None,
        accel: None,
        total_forcing: None,
        obstacle: None,
        moment: None,
        moment_end: None,
        mass: None,
        smooth: None,
    };
    alone.train.hold = 1.0;
    alone
}
