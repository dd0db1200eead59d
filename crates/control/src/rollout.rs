//! Running a closed loop: from cases and parameters to trajectories and gradients.
//!
//! The inputs of a trace are filled by name, so that one type serves the controlled and the uncontrolled loop, static and
//! mobile agents, with and without disturbances.

use crate::agents::start_positions;
use crate::closed_loop;
use crate::config::Config;
use crate::data::Cases;
use crate::disturbance::Disturbance;
use crate::objective;
use cinoc_adjoint::{Gradient, Input, Outcome, Program, Real, Run, Shape, Strategy, Threads, Trace};

/// A loop ready to run, for `config.agents` agents and `config.time.steps` control steps.
///
/// ```
/// use cinoc_adjoint::Threads;
/// use cinoc_control::policy::initial_params;
/// use cinoc_control::random::{Purpose, stream};
/// use cinoc_control::{Cases, ClosedLoop, Config, Disturbance, Pool};
///
/// let config = Config::preset("heat1d").unwrap().with_sets(&["time.steps=5".to_string()]).unwrap();
/// let (threads, params) = (Threads::new(1), initial_params(&config, &mut stream(0, Purpose::Parameters, 0)));
/// let cases = Cases::draw(&config, 0, Pool::Validation, 2, &threads, &|_, _| {});
///
/// let closed_loop = ClosedLoop::<f64>::observed(&config, 2);
/// let batch = closed_loop.batch(&cases, &[0, 1], Disturbance::evaluation(0, 0));
/// let ran = closed_loop.forward(&params, &batch, &threads);
/// assert_eq!(ran.error(1).len(), 5);
/// ```
pub struct ClosedLoop<T: Real> {
    config: Config,
    program: Program<T>,
    fixed: Vec<Input>,
    states: Vec<Input>,
    sequences: Vec<Input>,
    records: Vec<(String, Shape)>,
    terms: Vec<LossTerm>,
}

/// A term of the loss as this loop computes it.
#[derive(Clone, Debug, PartialEq)]
pub struct LossTerm {
    /// Its name.
    pub name: &'static str,
    /// Its weight in the loss.
    pub weight: f64,
    /// How much every control step counts in it.
    pub over_time: Vec<f64>,
}

/// The terms that a trace has.
fn loss_terms(config: &Config, trace: &Trace) -> Vec<LossTerm> {
    let term = |term: &'static objective::Term| LossTerm {
        name: term.name,
        weight: term.weight(config),
        over_time: term.time_weights(config.time.steps),
    };
    objective::active(config)
        .filter(|term| trace.term_names().any(|name| name == term.name))
        .map(term)
        .collect()
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

/// Fields and places of agents at the end of the rollouts of a batch, `[samples][size]`; no places where agents do not move.
#[derive(Clone, Debug, PartialEq)]
pub struct Ends<T> {
    /// Fields.
    pub z: Vec<T>,
    /// Places.
    pub xi: Vec<T>,
}

/// The inputs of some cases, in the precision they are run in.
#[derive(Clone, Debug)]
pub struct Batch<T> {
    /// Cases in it.
    pub samples: usize,
    fixed: Vec<Vec<T>>,
    states: Vec<Vec<T>>,
    sequences: Vec<Vec<T>>,
}

impl<T: Real> ClosedLoop<T> {
    /// The loop with the policy in it; `chunk` samples are worked on together.
    pub fn new(config: &Config, chunk: usize) -> ClosedLoop<T> {
        let trace = closed_loop::trace(config, true, None);
        ClosedLoop::build(config, &trace, chunk)
    }

    /// The same for training: derivatives with respect to the parameters are wanted, those with respect to target, noise
    /// and places of static agents are left out.
    pub fn for_training(config: &Config, chunk: usize) -> ClosedLoop<T> {
        let trace = closed_loop::trace(config, true, None);
        ClosedLoop::build(config, &trace.inputs_given(), chunk)
    }

    /// The same with agents that stand for many, or for parts of one: an agent of weight `w` does to the field what `w`
    /// agents in its place would, and counts like them in means over agents.
    ///
    /// # Panics
    /// If the weights are not one per agent, or the objective has the term `coll`, which is about pairs.
    pub fn weighted(config: &Config, weights: &[f64], chunk: usize) -> ClosedLoop<T> {
        let trace = closed_loop::trace(config, true, Some(weights));
        ClosedLoop::build(config, &trace, chunk)
    }

    /// The loop without its loss: to see what a policy does, at a cost that grows with the agents and not with their pairs.
    pub fn observed(config: &Config, chunk: usize) -> ClosedLoop<T> {
        let trace = closed_loop::trace(config, false, None);
        ClosedLoop::build(config, &trace, chunk)
    }

    /// The physics alone: no agents, no parameters, no loss. Records `z` and `error`.
    pub fn uncontrolled(config: &Config, chunk: usize) -> ClosedLoop<T> {
        ClosedLoop::build(config, &closed_loop::uncontrolled_trace(config), chunk)
    }

    fn build(config: &Config, trace: &Trace, chunk: usize) -> ClosedLoop<T> {
        ClosedLoop {
            config: config.clone(),
            program: Program::new(trace, chunk),
            fixed: trace.fixed.clone(),
            states: trace.states.clone(),
            sequences: trace.sequences.clone(),
            records: trace.records().map(|(name, shape)| (name.to_string(), shape)).collect(),
            terms: loss_terms(config, trace),
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
    pub fn terms(&self) -> &[LossTerm] {
        &self.terms
    }

    /// Inputs of the cases `which`, disturbed by noise and failures as far as the config has any.
    ///
    /// # Panics
    /// If the cases live on another grid or have another number of agents.
    pub fn batch(&self, cases: &Cases, which: &[usize], disturbance: Disturbance) -> Batch<T> {
        self.batch_of(cases, &Rollout::fresh(which), disturbance)
    }

    /// The same with rollouts that go on where others ended; those have to be told where, by [`ClosedLoop::go_on`].
    pub fn batch_of(&self, cases: &Cases, which: &[Rollout], disturbance: Disturbance) -> Batch<T> {
        assert_eq!(cases.n, self.config.state_size(), "cases whose states have {} numbers", cases.n);
        let per_case = |input: &Input, value: &dyn Fn(usize, usize) -> Vec<f64>| {
            let size = input.shape.size();
            let mut data = Vec::with_capacity(which.len() * size);
            for (sample, rollout) in which.iter().enumerate() {
                data.extend(value(sample, rollout.case).into_iter().map(T::of));
            }
            data
        };
        let start = start_positions(&self.config);
        let given = |input: &Input| {
            per_case(input, &|sample, case| match input.name.as_str() {
                "z" | "start" => cases.z0(case).to_vec(),
                "target" => cases.zt(case).to_vec(),
                "xi" => cases
                    .xi0(case)
                    .map_or_else(|| disturbance.starts(&self.config, &start, sample), <[f64]>::to_vec),
                "importance" => vec![1.0],
                "previous_v" => vec![0.0; input.shape.size()],
                name => unreachable!("a closed loop has no input {name}"),
            })
        };
        let drawn = |input: &Input| {
            let rounds = |sample: usize| which[sample].rounds;
            per_case(input, &|sample, _| disturbance.draw(&self.config, &input.name, sample, rounds(sample)))
        };
        let batch = Batch {
            samples: which.len(),
            fixed: self.fixed.iter().map(given).collect(),
            states: self.states.iter().map(given).collect(),
            sequences: self.sequences.iter().map(drawn).collect(),
        };
        let given = self.fixed.iter().zip(&batch.fixed).chain(self.states.iter().zip(&batch.states));
        for (input, data) in given {
            assert_eq!(data.len(), which.len() * input.shape.size(), "{} of the cases", input.name);
        }
        batch
    }

    /// Lets a sample of a batch begin where a rollout ended, and count `train.hold_weight` times as much.
    ///
    /// # Panics
    /// If the loop is not one for training with `train.hold`.
    pub fn go_on(&self, batch: &mut Batch<T>, sample: usize, ends: &Ends<T>) {
        for (input, values) in self.states.iter().zip(&mut batch.states) {
            let from = match input.name.as_str() {
                "z" => &ends.z,
                "xi" => &ends.xi,
                _ => continue,
            };
            let part = sample * input.shape.size()..(sample + 1) * input.shape.size();
            values[part.clone()].copy_from_slice(&from[part]);
        }
        let counts = self.fixed.iter().position(|input| input.name == "importance");
        batch.fixed[counts.expect("rollouts that go on count more")][sample] =
            T::of(self.config.train.hold_weight);
    }

    /// Where the rollouts of a batch ended, from their gradient.
    pub fn ends(&self, gradient: &Gradient<T>) -> Ends<T> {
        let named = |name: &str| self.states.iter().position(|input| input.name == name);
        let end = |name| named(name).map_or_else(Vec::new, |state| gradient.ends[state].clone());
        Ends { z: end("z"), xi: end("xi") }
    }

    /// Runs a batch forward.
    pub fn forward(&self, params: &[T], batch: &Batch<T>, threads: &Threads) -> Trajectories<T> {
        let weights = self.terms.iter().map(|term| term.over_time.clone()).collect();
        Trajectories {
            samples: batch.samples,
            steps: self.config.time.steps,
            outcome: self.program.forward(&self.run(params, batch, weights), threads),
            records: self.records.clone(),
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
        let weighted = |term: &LossTerm| term.over_time.iter().map(|w| term.weight * w).collect();
        let weights = self.terms.iter().map(weighted).collect();
        self.program.gradient(&self.run(params, batch, weights), threads, strategy)
    }

    /// Of a gradient, the part with respect to an initial value or fixed input, `[samples][size]`: `z`, `xi`, `target`.
    pub fn input_gradient(&self, gradient: &Gradient<T>, name: &str) -> Option<Vec<T>> {
        let find = |name: &str| {
            let states = self.states.iter().zip(&gradient.states);
            let fixed = self.fixed.iter().zip(&gradient.fixed);
            states.chain(fixed).find(|(input, _)| input.name == name).map(|(_, values)| values)
        };
        let mut values = find(name)?.clone();
        if let Some(start) = find("start").filter(|_| name == "z") {
            values.iter_mut().zip(start).for_each(|(value, start)| *value += *start);
        }
        Some(values)
    }

    fn run<'a>(&self, params: &'a [T], batch: &'a Batch<T>, weights: Vec<Vec<f64>>) -> Run<'a, T> {
        let slices = |values: &'a [Vec<T>]| values.iter().map(Vec::as_slice).collect();
        Run {
            samples: batch.samples,
            steps: self.config.time.steps,
            params,
            fixed: slices(&batch.fixed),
            states: slices(&batch.states),
            sequences: slices(&batch.sequences),
            weights,
            carry_limit: Some(self.config.train.step_clip).filter(|&limit| limit > 0.0),
        }
    }
}

/// What happened in a rollout of some cases.
pub struct Trajectories<T> {
    /// Cases.
    pub samples: usize,
    /// Control steps.
    pub steps: usize,
    outcome: Outcome<T>,
    records: Vec<(String, Shape)>,
    terms: Vec<LossTerm>,
}

impl<T: Real> Trajectories<T> {
    /// A recorded value, `[samples][steps][size]`: `z`, `xi`, `u`, `v`, `error`. `None` if the loop has no such record.
    pub fn record(&self, name: &str) -> Option<&[T]> {
        let index = self.records.iter().position(|(known, _)| known == name)?;
        Some(&self.outcome.records[index])
    }

    /// Mean of `(z - z*)^2` after every control step of a case.
    pub fn error(&self, sample: usize) -> Vec<f64> {
        let error = self.record("error").expect("every loop records its error");
        error[sample * self.steps..(sample + 1) * self.steps].iter().map(|value| value.f64()).collect()
    }

    /// The first sign that the field left the finite numbers, if it did.
    pub fn blow_up(&self) -> Option<BlowUp> {
        let z = self.record("z").expect("every loop records its field");
        let size = z.len() / (self.samples * self.steps);
        for (case, rollout) in z.chunks_exact(self.steps * size).enumerate() {
            let finite = rollout.iter().position(|z| !z.is_finite());
            if let Some(at) = finite {
                let largest = rollout[..at].iter().map(|z| z.f64().abs()).fold(0.0, f64::max);
                return Some(BlowUp { case, step: at / size + 1, largest });
            }
        }
        None
    }

    /// Largest finite value of the field, and where it was reached.
    pub fn largest(&self) -> BlowUp {
        let z = self.record("z").expect("every loop records its field");
        let size = z.len() / (self.samples * self.steps);
        let mut found = BlowUp { case: 0, step: 1, largest: 0.0 };
        for (i, z) in z.iter().enumerate().filter(|(_, z)| z.is_finite()) {
            if z.f64().abs() > found.largest {
                let step = i / size;
                found =
                    BlowUp { case: step / self.steps, step: step % self.steps + 1, largest: z.f64().abs() };
            }
        }
        found
    }

    /// A loss term, without its weight, per case.
    pub fn term(&self, name: &str) -> Option<&[f64]> {
        let index = self.terms.iter().position(|term| term.name == name)?;
        Some(&self.outcome.terms[index])
    }

    /// The loss of a case.
    pub fn loss(&self, sample: usize) -> f64 {
        self.terms.iter().zip(&self.outcome.terms).map(|(term, values)| term.weight * values[sample]).sum()
    }
}

/// Where a field left the finite numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlowUp {
    /// The case.
    pub case: usize,
    /// Control step, from 1.
    pub step: usize,
    /// Largest value before.
    pub largest: f64,
}

impl std::fmt::Display for BlowUp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let BlowUp { case, step, largest } = self;
        write!(f, "was no longer finite at step {step} of case {case} (largest value before: {largest:.3e})")
    }
}
