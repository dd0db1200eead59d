//! How well a policy controls cases it has never seen.

use super::Watcher;
use super::subject::{Resolved, TRAJECTORIES};
use crate::failure::Failure;
use cinoc_control::trajectories::Recorded;
use cinoc_control::{Config, Trajectories};
use cinoc_lab::published::{Reported, reported};
use cinoc_learn::evaluate::{Evaluation, Evaluator, Metric, Rollouts, Tally};
use cinoc_learn::memory::Needs;
use cinoc_learn::policy_file::PolicyFile;
use serde::Serialize;

/// An evaluation with what it was an evaluation of; its JSON is a stable interface.
#[derive(Serialize)]
pub struct Evaluated<'a> {
    /// The numbers.
    #[serde(flatten)]
    pub evaluation: Evaluation,
    /// What the cases are, in words.
    pub cases_from: &'a str,
    /// Of noise and failures.
    pub seed: u64,
    /// Number of agents in the training.
    pub trained_agents: usize,
    /// Which error the next one is about: `final`, `half` or `time_mean`.
    pub measure: &'static str,
    /// The error in units of that with the trained number of agents, all else the same; `null` where that
    /// number cannot run, because the cases say where other agents start.
    pub relative_to_trained: Option<f64>,
    /// All settings of the evaluation.
    pub settings: &'a Config,
}

/// Evaluates a policy; `seed` decides on noise and failures. `keep` is given the rollouts, part by part.
pub fn evaluate<'a>(
    policy: &PolicyFile,
    subject: &'a Resolved,
    seed: u64,
    watcher: &dyn Watcher,
    mut keep: impl FnMut(&Rollouts) -> Result<(), Failure>,
) -> Result<Evaluated<'a>, Failure> {
    let Resolved { config, cases, threads, .. } = subject;
    let evaluator = Evaluator::new(config, &policy.params, cases, seed, threads);
    let mut tally = Tally::new(config, cases);
    watcher.begin("evaluating", cases.count);
    for part in evaluator.parts(TRAJECTORIES) {
        go_on(watcher)?;
        let end = part.end;
        let rollouts = evaluator.roll_out(part)?;
        keep(&rollouts)?;
        tally.add(&rollouts);
        watcher.reached(end);
    }
    watcher.end();
    let evaluation = tally.evaluation();
    let (measure, error) = leading(config, &evaluation.controlled);
    let relative = error_as_trained(policy, subject, seed, error, watcher)?.map(|trained| error / trained);
    Ok(Evaluated {
        evaluation,
        cases_from: &subject.cases_label,
        seed,
        trained_agents: policy.config.agents,
        measure,
        relative_to_trained: relative,
        settings: config,
    })
}

/// Everything that happened to all cases, with and without control.
pub fn roll_out(
    policy: &PolicyFile,
    subject: &Resolved,
    seed: u64,
    watcher: &dyn Watcher,
) -> Result<[Recorded<f32>; 2], Failure> {
    let Resolved { config, cases, threads, .. } = subject;
    Needs::evaluation(config, cases.count, cases.count, threads.count()).check()?;
    let evaluator = Evaluator::new(config, &policy.params, cases, seed, threads);
    let mut recorded: Option<[Recorded<f32>; 2]> = None;
    watcher.begin("rolling out", cases.count);
    for part in evaluator.parts(TRAJECTORIES) {
        go_on(watcher)?;
        let end = part.end;
        let Rollouts { controlled, uncontrolled, .. } = evaluator.roll_out(part)?;
        let part = [controlled, uncontrolled].map(Trajectories::into_recorded);
        match &mut recorded {
            None => recorded = Some(part),
            Some(all) => all.iter_mut().zip(part).for_each(|(all, part)| all.append(part)),
        }
        watcher.reached(end);
    }
    watcher.end();
    recorded.ok_or_else(|| Failure::Request("there are no cases".into()))
}

fn go_on(watcher: &dyn Watcher) -> Result<(), Failure> {
    if watcher.keep_going() {
        return Ok(());
    }
    Err(Failure::Interrupted("nothing is kept; start it again".into()))
}

/// The error that is reported of a task, and its name in the JSON object.
fn leading(config: &Config, metric: &Metric) -> (&'static str, f64) {
    match (reported(&config.task.name), metric.half) {
        (Reported::Half, Some(half)) => ("half", half.mean),
        (Reported::TimeMean, _) => ("time_mean", metric.time_mean.mean),
        (Reported::Half | Reported::Final, _) => ("final", metric.last.mean),
    }
}

/// The error with the trained number of agents, all else the same.
fn error_as_trained(
    policy: &PolicyFile,
    subject: &Resolved,
    seed: u64,
    error: f64,
    watcher: &dyn Watcher,
) -> Result<Option<f64>, Failure> {
    let agents = policy.config.agents;
    if agents == subject.config.agents {
        return Ok(Some(error));
    }
    if subject.cases.xi0.is_some() {
        return Ok(None);
    }
    let config = Config { agents, ..subject.config.clone() };
    let cases = &subject.cases;
    let evaluator = Evaluator::new(&config, &policy.params, cases, seed, &subject.threads);
    watcher.begin(&format!("with {agents} agents"), cases.count);
    let (mut sum, mut count) = (0.0, 0.0);
    for part in evaluator.parts(TRAJECTORIES) {
        go_on(watcher)?;
        let (end, size) = (part.end, part.len() as f64);
        let metric = Metric::of(&config, cases, &evaluator.controlled(part)?);
        sum += size * leading(&config, &metric).1;
        count += size;
        watcher.reached(end);
    }
    watcher.end();
    Ok(Some(sum / count))
}
