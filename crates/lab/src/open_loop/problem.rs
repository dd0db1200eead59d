//! The error of some cases as a function of all actions of all agents, and its gradient.

use std::ops::Range;

use cinoc_adjoint::{Input, Program, Real, Run, Strategy, Threads};
use cinoc_control::agents::start_positions;
use cinoc_control::closed_loop::driven_trace;
use cinoc_control::config::Loss;
use cinoc_control::{Cases, Config, objective, policy};

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
    fixed: Vec<Vec<T>>,
    states: Vec<Vec<T>>,
    weights: Vec<Vec<f64>>,
    /// Index of the fixed input that is the factor of a case.
    factor: usize,
}

/// The error of every case and its derivatives.
pub struct Evaluation {
    /// One number per case.
    pub values: Vec<f64>,
    /// Derivative of a case's error with respect to its actions, `[cases][variables]`.
    pub gradient: Vec<f64>,
}

impl<T: Real> Problem<T> {
    /// The problem for these cases and this `goal`, without noise and failures, in the precision `T`.
    ///
    /// # Panics
    /// If the cases live on another grid than the config's.
    pub fn new(config: &Config, cases: &Cases, goal: Goal, threads: usize) -> Problem<T> {
        assert_eq!(cases.n, config.state_size(), "cases on the grid of the config");
        let config = error_alone(config, goal);
        let trace = driven_trace(&config);
        let names: Vec<&str> = trace.sequences.iter().map(|input| input.name.as_str()).collect();
        assert_eq!(names, ["action"], "actions are all that is given step by step");
        let places = start_positions(&config);
        let given = |input: &Input| -> Vec<T> {
            let of_case = |case: usize| match input.name.as_str() {
                "z" => cases.z0(case).to_vec(),
                "target" => cases.zt(case).to_vec(),
                "xi" => cases.xi0(case).unwrap_or(&places).to_vec(),
                "importance" => vec![1.0],
                name => unreachable!("the error alone needs no input {name}"),
            };
            (0..cases.count).flat_map(of_case).map(T::of).collect()
        };
        let chunk = match config.task.dims {
            1 => CHUNK_1D.min(cases.count),
            _ => 1,
        };
        let (program, steps) = (Program::new(&trace, chunk), config.time.steps);
        let at_once = threads.min(cases.count.div_ceil(chunk));
        let stores = program.store_bytes(steps) * at_once <= STORE_BYTES;
        let factor = trace.fixed.iter().position(|input| input.name == "importance");
        Problem {
            strategy: if stores { Strategy::Store } else { Strategy::Recompute },
            threads: Threads::new(threads),
            samples: cases.count,
            steps,
            per_step: policy::actions(&config) * config.agents,
            fixed: trace.fixed.iter().map(given).collect(),
            states: trace.states.iter().map(given).collect(),
            weights: objective::active(&config).map(|term| term.time_weights(steps)).collect(),
            factor: factor.expect("a factor of every case"),
            single: Program::new(&trace, 1),
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
        let found = program.gradient(&self.run(cases, &actions), &self.threads, self.strategy);
        // a program differentiates the mean over its samples
        let all = |derivatives: &[T]| -> Vec<f64> {
            derivatives.iter().map(|derivative| samples * derivative.f64()).collect()
        };
        // the error of a case is the derivative with respect to its factor
        Evaluation { values: all(&found.fixed[self.factor]), gradient: all(&found.sequences[0]) }
    }

    /// The errors only, by a forward run.
    pub fn values(&self, actions: &[f64]) -> Vec<f64> {
        let actions: Vec<T> = actions.iter().map(|&action| T::of(action)).collect();
        self.program.forward(&self.run(0..self.samples, &actions), &self.threads).terms.swap_remove(0)
    }

    fn run<'a>(&'a self, cases: Range<usize>, actions: &'a [T]) -> Run<'a, T> {
        let part = |values: &'a Vec<T>| {
            let size = values.len() / self.samples;
            &values[cases.start * size..cases.end * size]
        };
        Run {
            samples: cases.len(),
            steps: self.steps,
            params: &[],
            fixed: self.fixed.iter().map(part).collect(),
            states: self.states.iter().map(part).collect(),
            sequences: vec![actions],
            weights: self.weights.clone(),
            carry_limit: None,
        }
    }
}

/// The task with its error as the only loss term. Every case has a factor, which `train.hold` enables.
fn error_alone(config: &Config, goal: Goal) -> Config {
    let mut alone = config.plain();
    (alone.noise.sensor, alone.noise.actuator, alone.failure.share) = (0.0, 0.0, 0.0);
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
