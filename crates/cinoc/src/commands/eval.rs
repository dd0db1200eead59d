//! `cinoc eval`: how well a policy controls cases it has never seen.

use super::subject::{Resolved, TRAJECTORIES, resolve};
use crate::arguments::Eval;
use crate::failure::Failure;
use crate::terminal::say;
use crate::terminal::{Progress, number, table};
use cinoc_control::{Config, Tasks};
use cinoc_lab::published::{Reported, reported};
use cinoc_learn::evaluate::{Evaluation, Evaluator, Metric, Rollouts, Spread, Tally};
use cinoc_learn::files::GrowingTensors;
use serde::Serialize;
use std::path::Path;

/// An evaluation with what it was an evaluation of.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    evaluation: &'a Evaluation,
    /// What the cases are, in words.
    cases_from: &'a str,
    /// Of noise and failures.
    seed: u64,
    trained_agents: usize,
    /// Which error the next one is about: `final`, `half` or `time_mean`.
    measure: &'static str,
    /// The error in units of that with the trained number of agents, all else the same; `null` where that number
    /// cannot run, because the cases say where other agents start.
    relative_to_trained: Option<f64>,
    /// All settings of the evaluation.
    settings: &'a Config,
}

pub fn run(request: &Eval, tasks: &Tasks) -> Result<(), Failure> {
    let subject = resolve(&request.subject, tasks)?;
    let (config, cases) = (&subject.config, &subject.cases);
    let evaluator = Evaluator::new(config, &subject.policy.params, cases, request.seed, &subject.threads);
    let mut saved =
        request.save.as_deref().map(|path| Saved::begin(path, &subject, request.seed)).transpose()?;
    let mut tally = Tally::new(config, cases);
    let progress = Progress::new("evaluating", cases.count);
    for part in evaluator.parts(TRAJECTORIES) {
        let end = part.end;
        let rollouts = evaluator.roll_out(part)?;
        if let Some(saved) = &mut saved {
            saved.append(&rollouts)?;
        }
        tally.add(&rollouts);
        progress.set_position(end);
    }
    drop(progress);
    let evaluation = tally.evaluation();
    if let Some(saved) = saved {
        saved.file.finish().map_err(|error| Failure::Run(error.to_string()))?;
    }
    let trained_agents = subject.policy.config.agents;
    let (measure, error) = leading(config, &evaluation.controlled);
    let relative = error_as_trained(&subject, request.seed, error)?.map(|trained| error / trained);
    if request.json {
        return super::print_json(&Told {
            evaluation: &evaluation,
            cases_from: &subject.cases_label,
            seed: request.seed,
            trained_agents,
            measure,
            relative_to_trained: relative,
            settings: config,
        });
    }
    show(&evaluation, &subject.cases_label)?;
    if let Some(relative) = relative.filter(|_| config.agents != trained_agents) {
        say!("{relative:.3} x the error with the trained number of agents ({trained_agents})");
    }
    if let Some(path) = &request.save {
        say!("rollouts: {}", path.display());
    }
    Ok(())
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
fn error_as_trained(subject: &Resolved, seed: u64, error: f64) -> Result<Option<f64>, Failure> {
    let agents = subject.policy.config.agents;
    if agents == subject.config.agents {
        return Ok(Some(error));
    }
    if subject.cases.xi0.is_some() {
        return Ok(None);
    }
    let config = Config { agents, ..subject.config.clone() };
    let (params, cases) = (&subject.policy.params, &subject.cases);
    let evaluator = Evaluator::new(&config, params, cases, seed, &subject.threads);
    let progress = Progress::new(&format!("with {agents} agents"), cases.count);
    let (mut sum, mut count) = (0.0, 0.0);
    for part in evaluator.parts(TRAJECTORIES) {
        let (end, size) = (part.end, part.len() as f64);
        let metric = Metric::of(&config, cases, &evaluator.controlled(part)?);
        sum += size * leading(&config, &metric).1;
        count += size;
        progress.set_position(end);
    }
    Ok(Some(sum / count))
}

/// A file of rollouts while it is written.
struct Saved {
    file: GrowingTensors,
}

/// What is recorded of every case and control step, where a task has it.
const RECORDS: [&str; 5] = ["z", "xi", "u", "v", "error"];

impl Saved {
    fn begin(path: &Path, subject: &Resolved, seed: u64) -> Result<Saved, Failure> {
        let (config, count) = (&subject.config, subject.cases.count);
        let (steps, agents, dims) = (config.time.steps, config.agents, config.task.dims);
        let of_step = |name: &str| match name {
            "z" => {
                let fields = Some(config.task.fields.len()).filter(|&fields| fields > 1);
                fields.into_iter().chain(config.axes().iter().map(|axis| axis.n)).collect()
            }
            "xi" | "v" if dims == 2 => vec![dims, agents],
            "xi" | "u" | "v" => vec![agents],
            _ => vec![],
        };
        let shape = |name: &str| [vec![count, steps], of_step(name)].concat();
        let recorded = |name: &str| match name {
            "u" => config.actuation.u_max.is_some(),
            "v" => config.mobile(),
            _ => true,
        };
        let shapes: Vec<(&str, Vec<usize>)> =
            RECORDS.into_iter().filter(|name| recorded(name)).map(|name| (name, shape(name))).collect();
        let (settings, seed) = (config.to_toml(), seed.to_string());
        let metadata = [
            ("task", config.task.name.as_str()),
            ("cases", subject.cases_label.as_str()),
            ("seed", seed.as_str()),
            ("settings", settings.as_str()),
        ];
        let file = GrowingTensors::begin(path, &shapes, &metadata);
        Ok(Saved { file: file.map_err(|error| Failure::Request(error.to_string()))? })
    }

    fn append(&mut self, rollouts: &Rollouts) -> Result<(), Failure> {
        let ran = &rollouts.controlled;
        let values = [Some(ran.z()), ran.xi(), ran.u(), ran.v(), Some(ran.errors())];
        for (name, values) in RECORDS.into_iter().zip(values) {
            if let Some(values) = values.filter(|values| !values.is_empty()) {
                self.file.append(name, values).map_err(|error| Failure::Run(error.to_string()))?;
            }
        }
        Ok(())
    }
}

/// Prints an evaluation as a table.
pub fn show(evaluation: &Evaluation, cases: &str) -> Result<(), Failure> {
    say!("{} with {} agents, {cases}", evaluation.task, evaluation.agents);
    let row = |name: &str, spread: &Spread, free: &Spread| {
        let cells = [spread.mean, spread.std, free.mean, free.std].map(number);
        let paper = format!("{} ± {}", number(spread.mean), number(2.0 * spread.std));
        [vec![name.to_string()], cells.to_vec(), vec![paper]].concat()
    };
    let (with, without) = (&evaluation.controlled, &evaluation.uncontrolled);
    let heading =
        ["mean (z - z*)²", "controlled", "std", "uncontrolled", "std", "controlled ± 2 std (paper's form)"];
    let mut rows =
        vec![heading.map(String::from).to_vec(), row("at the last step", &with.last, &without.last)];
    rows.extend(with.half.iter().zip(&without.half).map(|(with, without)| row("half-way", with, without)));
    rows.push(row("mean over time", &with.time_mean, &without.time_mean));
    table(&rows);
    show_more(evaluation);
    say!("evaluation: {:.2} s", evaluation.seconds);
    Ok(())
}

/// What only some tasks have.
fn show_more(evaluation: &Evaluation) {
    let Evaluation { controlled, uncontrolled, effort, violations, .. } = evaluation;
    if let (Some(with), Some(without)) = (controlled.moment, uncontrolled.moment) {
        say!(
            "distance of centroid and spread at the end: {}, {} without control",
            number(with.mean),
            number(without.mean)
        );
    }
    if let (Some(with), Some(without)) = (controlled.mass_change, uncontrolled.mass_change) {
        say!("change of mass: {}, {} without control", number(with.mean), number(without.mean));
    }
    if effort.mean_u2 > 0.0 {
        say!("effort: mean u² {}, sum over agents {}", number(effort.mean_u2), number(effort.sum_u2));
    }
    if let Some(mean_v2) = effort.mean_v2 {
        say!("motion: mean |v|² {}", number(mean_v2));
    }
    if let Some(violations) = violations {
        say!(
            "agents inside a disc: {} of all agent-steps, inside a margin: {}",
            number(violations.disc),
            number(violations.margin)
        );
    }
}
