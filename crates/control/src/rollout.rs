//! Running a closed loop: from cases and parameters to trajectories and gradients.
//!
//! One type serves the controlled and the uncontrolled loop, static and mobile agents, with and without
//! disturbances.

use crate::agents::start_positions;
use crate::closed_loop::{self, StepInputs, StepRecords, TracedStep};
use crate::config::Config;
use crate::data::{Cases, Targets};
use crate::disturbance::Disturbance;
use crate::objective::LossTerm;
use crate::trajectories::Trajectories;
use cinoc_adjoint::{Gradient, Input, Inputs, Program, Real, Strategy, Term, Threads};

/// A loop ready to run, for `config.agents` agents and `config.time.steps` control steps.
///
/// ```
/// use cinoc_adjoint::Threads;
/// use cinoc_control::policy::initial_params;
/// use cinoc_control::random::{Purpose, stream};
/// use cinoc_control::{Cases, ClosedLoop, Config, Disturbance, Pool};
///
/// let config = Config::preset("heat1d").unwrap().with_sets(&["time.steps=5".to_string()]).unwrap();
/// let (threads, params) = (Threads::one(), initial_params(&config, &mut stream(0, Purpose::Parameters, 0)));
/// let cases = Cases::draw(&config, 0, Pool::Validation, 2, &threads, &|_, _| {});
///
/// let closed_loop = ClosedLoop::<f64>::observed(&config, 2);
/// let batch = closed_loop.batch(&cases, &[0, 1], Disturbance::evaluation(0, 0));
/// let ran = closed_loop.forward(&params, &batch, &threads);
/// assert_eq!(ran.error(1).len(), 5);
/// ```
pub struct ClosedLoop<T: Real> {
    config: Config,
    form: Form,
    targets: Targets,
    program: Program<T>,
    inputs: StepInputs,
    records: StepRecords,
    terms: Vec<WeightedTerm>,
}

/// What a loop consists of.
#[derive(Clone, Debug)]
enum Form {
    /// Policy and loss.
    Complete,
    /// The same with derivatives for parameters only.
    Training,
    /// The same with weights of the agents.
    Weighted(Vec<f64>),
    /// The policy without a loss.
    Observed,
    /// The physics alone.
    Uncontrolled,
}

impl Form {
    fn trace(&self, config: &Config, targets: Targets) -> TracedStep {
        let with_loss = |weights| closed_loop::trace(config, true, weights, targets);
        match self {
            Form::Complete => with_loss(None),
            Form::Training => {
                let mut all = config.clone();
                all.agents += config.spare_agents();
                // nobody may count agents that a case does not have
                all.failure.seen |= config.spare_agents() > 0;
                let step = closed_loop::trace(&all, true, None, targets);
                TracedStep { trace: step.trace.inputs_given(), ..step }
            }
            Form::Weighted(weights) => with_loss(Some(weights)),
            Form::Observed => closed_loop::trace(config, false, None, targets),
            Form::Uncontrolled => closed_loop::uncontrolled_trace(config, targets),
        }
    }
}

/// A term of the loss as this loop computes it.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedTerm {
    /// Its name.
    pub name: &'static str,
    /// Its weight in the loss.
    pub weight: f64,
    /// How much every control step counts in it.
    pub over_time: Vec<f64>,
    /// Its handle.
    pub term: Term,
}

impl WeightedTerm {
    /// How much every control step counts in the loss.
    fn in_loss(&self) -> Vec<f64> {
        self.over_time.iter().map(|w| self.weight * w).collect()
    }
}

/// A rollout of a batch: a case from its start, or after so many rounds before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rollout {
    /// The case.
    pub case: usize,
    /// Rollouts of it that came before this one goes on.
    pub rounds: usize,
}

impl Rollout {
    /// Cases from their start.
    pub fn fresh(cases: &[usize]) -> Vec<Rollout> {
        cases.iter().map(|&case| Rollout { case, rounds: 0 }).collect()
    }
}

/// Fields and places of agents at the end of the rollouts of a batch, `[samples][size]`; no places where
/// agents do not move.
#[derive(Clone, Debug, PartialEq)]
pub struct Ends<T> {
    /// Fields.
    pub z: Vec<T>,
    /// Places.
    pub xi: Vec<T>,
}

impl<T> Ends<T> {
    /// No rollouts.
    pub fn none() -> Ends<T> {
        Ends { z: Vec::new(), xi: Vec::new() }
    }
}

/// The inputs of some cases, in the precision they are run in.
#[derive(Clone, Debug)]
pub struct Batch<T> {
    /// Cases in it.
    pub samples: usize,
    values: Vec<(Input, Vec<T>)>,
}

impl<T: Real> ClosedLoop<T> {
    /// The loop with the policy in it; `chunk` samples are worked on together.
    pub fn new(config: &Config, chunk: usize) -> ClosedLoop<T> {
        ClosedLoop::build(config, Form::Complete, Targets::Fixed, chunk)
    }

    /// The same for training: derivatives with respect to the parameters are wanted, those with respect to
    /// target, noise and places of static agents are left out.
    pub fn for_training(config: &Config, chunk: usize) -> ClosedLoop<T> {
        ClosedLoop::build(config, Form::Training, Targets::Fixed, chunk)
    }

    /// The same with agents that stand for many, or for parts of one: an agent of weight `w` does to the
    /// field what `w` agents in its place would, and counts like them in means over agents.
    ///
    /// # Panics
    /// If the weights are not one per agent, or the objective has the term `coll`, which is about pairs.
    pub fn weighted(config: &Config, weights: &[f64], chunk: usize) -> ClosedLoop<T> {
        ClosedLoop::build(config, Form::Weighted(weights.to_vec()), Targets::Fixed, chunk)
    }

    /// The loop without its loss: to see what a policy does, at a cost that grows with the agents and not
    /// with their pairs.
    pub fn observed(config: &Config, chunk: usize) -> ClosedLoop<T> {
        ClosedLoop::build(config, Form::Observed, Targets::Fixed, chunk)
    }

    /// The physics alone: no agents, no parameters, no loss. Records `z` and `error`.
    pub fn uncontrolled(config: &Config, chunk: usize) -> ClosedLoop<T> {
        ClosedLoop::build(config, Form::Uncontrolled, Targets::Fixed, chunk)
    }

    /// The same loop for the targets of some cases: they are fixed, unless this says that they move.
    pub fn with_targets(self, targets: Targets) -> ClosedLoop<T> {
        if targets == self.targets {
            return self;
        }
        ClosedLoop::build(&self.config, self.form, targets, self.program.chunk())
    }

    fn build(config: &Config, form: Form, targets: Targets, chunk: usize) -> ClosedLoop<T> {
        let step = form.trace(config, targets);
        let weighted = |&(term, handle): &(&'static LossTerm, Term)| WeightedTerm {
            name: term.name,
            weight: term.weight(config),
            over_time: term.time_weights(config.time.steps),
            term: handle,
        };
        ClosedLoop {
            config: config.clone(),
            form,
            targets,
            program: Program::new(&step.trace, chunk),
            inputs: step.inputs,
            records: step.records,
            terms: step.terms.iter().map(weighted).collect(),
        }
    }

    /// The config it was built for.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The program that runs it.
    pub fn program(&self) -> &Program<T> {
        &self.program
    }

    /// The terms of the loss.
    pub fn terms(&self) -> &[WeightedTerm] {
        &self.terms
    }

    /// Handles of its inputs.
    pub fn inputs(&self) -> &StepInputs {
        &self.inputs
    }

    /// Inputs of the cases `which`, disturbed by noise and failures as far as the config has any.
    ///
    /// # Panics
    /// If the cases live on another grid or have another number of agents, or if their targets move and those
    /// of the loop are fixed.
    pub fn batch(&self, cases: &Cases, which: &[usize], disturbance: Disturbance) -> Batch<T> {
        self.batch_of(cases, &Rollout::fresh(which), disturbance)
    }

    /// The same with rollouts that go on where others ended; those have to be told where, by
    /// [`ClosedLoop::go_on`].
    pub fn batch_of(&self, cases: &Cases, which: &[Rollout], disturbance: Disturbance) -> Batch<T> {
        assert_eq!(cases.n, self.config.state_size(), "cases whose states have {} numbers", cases.n);
        let StepInputs { z, target, xi, previous_v, start, importance, living, random } = &self.inputs;
        let mut values = Vec::new();
        let mut give = |input: Input, of_sample: &dyn Fn(usize, &Rollout) -> Vec<f64>| {
            let mut all: Vec<T> = Vec::new();
            for (sample, rollout) in which.iter().enumerate() {
                let numbers = of_sample(sample, rollout);
                all.reserve_exact((which.len() - sample) * numbers.len());
                all.extend(numbers.into_iter().map(T::of));
            }
            values.push((input, all));
        };
        give(*z, &|_, rollout| cases.z0(rollout.case).to_vec());
        give(*target, &|_, rollout| self.target(cases, rollout));
        start.iter().for_each(|input| give(*input, &|_, rollout| cases.z0(rollout.case).to_vec()));
        let spare = if matches!(self.form, Form::Training) { self.config.spare_agents() } else { 0 };
        let disturbance = disturbance.with_spare(spare);
        if let Some(xi) = xi {
            let places = start_positions(&self.config);
            give(*xi, &|sample, rollout| match cases.xi0(rollout.case) {
                Some(xi0) => {
                    assert_eq!(xi0.len(), places.len(), "places of the agents of case {}", rollout.case);
                    disturbance.with_spare_places(&self.config, xi0)
                }
                None => disturbance.starts(&self.config, &places, sample),
            });
        }
        importance.iter().for_each(|input| give(*input, &|_, _| vec![1.0]));
        previous_v.iter().for_each(|input| give(*input, &|_, _| vec![0.0; input.size()]));
        living.iter().for_each(|input| {
            give(*input, &|sample, rollout| disturbance.living(&self.config, sample, rollout.rounds));
        });
        for &(what, input) in random {
            give(input, &|sample, rollout| disturbance.draw(&self.config, what, sample, rollout.rounds));
        }
        Batch { samples: which.len(), values }
    }

    /// The target of a rollout, or those of all its steps. A rollout that goes on meets the next targets.
    fn target(&self, cases: &Cases, rollout: &Rollout) -> Vec<f64> {
        match self.targets {
            Targets::Fixed => cases.zt(rollout.case).to_vec(),
            Targets::Moving => {
                let (steps, rounds) = (self.config.time.steps, rollout.rounds);
                let steps = rounds * steps..(rounds + 1) * steps;
                steps.flat_map(|step| cases.target(rollout.case, step)).copied().collect()
            }
        }
    }

    /// Lets a sample of a batch begin where a rollout ended. With `train.hold` it counts `train.hold_weight`
    /// times as much.
    pub fn go_on(&self, batch: &mut Batch<T>, sample: usize, ends: &Ends<T>) {
        for (input, values) in &mut batch.values {
            let from = match *input {
                input if input == self.inputs.z => &ends.z,
                input if Some(input) == self.inputs.xi && self.config.mobile() => &ends.xi,
                input if Some(input) == self.inputs.importance => {
                    values[sample] = T::of(self.config.train.hold_weight);
                    continue;
                }
                _ => continue,
            };
            let part = sample * input.size()..(sample + 1) * input.size();
            values[part.clone()].copy_from_slice(&from[part]);
        }
    }

    /// Where the rollouts of a batch ended, from their gradient.
    pub fn ends(&self, gradient: &Gradient<T>) -> Ends<T> {
        let xi = self.inputs.xi.filter(|_| self.config.mobile());
        Ends {
            z: gradient.end(self.inputs.z).to_vec(),
            xi: xi.map_or_else(Vec::new, |xi| gradient.end(xi).to_vec()),
        }
    }

    /// Runs a batch forward.
    pub fn forward(&self, params: &[T], batch: &Batch<T>, threads: &Threads) -> Trajectories<T> {
        let inputs = self.run_inputs(params, batch, |term| term.over_time.clone());
        Trajectories {
            samples: batch.samples,
            steps: self.config.time.steps,
            outcome: self.program.forward(&inputs, threads),
            records: self.records,
            terms: self.terms.clone(),
        }
    }

    /// The mean loss of a batch and its gradient.
    pub fn gradient(
        &self,
        params: &[T],
        batch: &Batch<T>,
        threads: &Threads,
        strategy: Strategy,
    ) -> Gradient<T> {
        self.program.gradient(&self.loss_inputs(params, batch), threads, strategy)
    }

    /// What every chunk of a part of a batch contributes to the mean loss of all `samples` of it and to its
    /// gradient, in order. The part begins with a chunk.
    pub fn gradients_of_part(
        &self,
        params: &[T],
        part: &Batch<T>,
        samples: usize,
        threads: &Threads,
        strategy: Strategy,
    ) -> Vec<Gradient<T>> {
        let inputs = self.loss_inputs(params, part).part_of(samples);
        self.program.gradients(&inputs, threads, strategy)
    }

    /// What the program is given for the mean loss of a batch.
    pub fn loss_inputs<'a>(&self, params: &'a [T], batch: &'a Batch<T>) -> Inputs<'a, T> {
        self.run_inputs(params, batch, WeightedTerm::in_loss)
    }

    /// Of a gradient, the part with respect to the first fields, `[samples][size]`.
    pub fn z_gradient(&self, gradient: &Gradient<T>) -> Vec<T> {
        let mut values = gradient.input(self.inputs.z).to_vec();
        if let Some(start) = self.inputs.start {
            values.iter_mut().zip(gradient.input(start)).for_each(|(value, start)| *value += *start);
        }
        values
    }

    /// The same with respect to the first places of the agents; empty in a loop without agents.
    pub fn xi_gradient(&self, gradient: &Gradient<T>) -> Vec<T> {
        self.inputs.xi.map_or_else(Vec::new, |xi| gradient.input(xi).to_vec())
    }

    fn run_inputs<'a>(
        &self,
        params: &'a [T],
        batch: &'a Batch<T>,
        weights: impl Fn(&WeightedTerm) -> Vec<f64>,
    ) -> Inputs<'a, T> {
        let limit = Some(self.config.train.step_clip).filter(|&limit| limit > 0.0);
        let inputs = Inputs::new(batch.samples, self.config.time.steps, params).carry_limit(limit);
        let inputs = batch.values.iter().fold(inputs, |inputs, (input, values)| inputs.with(*input, values));
        self.terms.iter().fold(inputs, |inputs, term| inputs.weighted(term.term, weights(term)))
    }
}
