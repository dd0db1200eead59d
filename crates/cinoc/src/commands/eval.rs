//! `cinoc eval`: how well a policy controls cases it has never seen.

use super::resolved;
use crate::arguments::Eval;
use crate::failure::Failure;
use crate::terminal::{Terminal, number, say, table};
use crate::work::evaluation::evaluate;
use crate::work::subject::Resolved;
use cinoc_control::{Cases, Config, Tasks};
use cinoc_learn::cases_file::extents;
use cinoc_learn::evaluate::{Evaluation, Rollouts, Spread};
use cinoc_learn::files::GrowingTensors;
use std::path::Path;

pub fn run(request: &Eval, tasks: &Tasks) -> Result<(), Failure> {
    let terminal = Terminal::default();
    let (loaded, subject) = resolved(&request.subject, tasks, &terminal)?;
    let mut saved =
        request.save.as_deref().map(|path| Saved::begin(path, &subject, request.seed)).transpose()?;
    let keep = |rollouts: &Rollouts| saved.as_mut().map_or(Ok(()), |saved| saved.append(rollouts));
    let evaluated = evaluate(&loaded.policy, &subject, request.seed, &terminal, keep)?;
    if let Some(saved) = saved {
        saved.file.finish().map_err(|error| Failure::Run(error.to_string()))?;
    }
    if request.json {
        return super::print_json(&evaluated);
    }
    show(&evaluated.evaluation, &subject.cases_label)?;
    let trained_agents = evaluated.trained_agents;
    let other = |_: &f64| subject.config.agents != trained_agents;
    if let Some(relative) = evaluated.relative_to_trained.filter(other) {
        say!("{relative:.3} x the error with the trained number of agents ({trained_agents})");
    }
    if let Some(path) = &request.save {
        say!("rollouts: {}", path.display());
    }
    Ok(())
}

/// A file of rollouts while it is written. It holds the cases too, so it can be given to `--cases`.
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
            "z" => extents(config, config.task.fields.len()),
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
        let given = given(config, &subject.cases);
        let of_cases = given.iter().map(|(name, shape, _)| (*name, shape.clone()));
        let records = RECORDS.into_iter().filter(|name| recorded(name)).map(|name| (name, shape(name)));
        let shapes: Vec<(&str, Vec<usize>)> = of_cases.chain(records).collect();
        let (settings, seed) = (config.to_toml(), seed.to_string());
        let metadata = [
            ("task", config.task.name.as_str()),
            ("cases", subject.cases_label.as_str()),
            ("seed", seed.as_str()),
            ("settings", settings.as_str()),
        ];
        let file = GrowingTensors::begin(path, &shapes, &metadata);
        let mut file = file.map_err(|error| Failure::Request(error.to_string()))?;
        for (name, _, values) in &given {
            file.append(name, values).map_err(|error| Failure::Run(error.to_string()))?;
        }
        Ok(Saved { file })
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

/// The cases as a file of cases has them: names, shapes and numbers, in the precision of rollouts.
fn given(config: &Config, cases: &Cases) -> Vec<(&'static str, Vec<usize>, Vec<f32>)> {
    let singles = |values: &[f64]| values.iter().map(|&value| value as f32).collect();
    let fields = &config.task.fields;
    let mut given =
        vec![("z0", [vec![cases.count], extents(config, fields.len())].concat(), singles(&cases.z0))];
    if config.task.tracks {
        let steps = Some(cases.target_steps()).filter(|&steps| steps > 1);
        let tracked = fields.iter().filter(|field| field.tracked).count();
        let shape = [cases.count].into_iter().chain(steps).chain(extents(config, tracked)).collect();
        let of_fields = cases.zt.chunks_exact(config.points()).zip(fields.iter().cycle());
        let of_tracked = of_fields.filter(|(_, field)| field.tracked);
        given.push(("zt", shape, of_tracked.flat_map(|(target, _)| singles(target)).collect()));
    }
    if let Some(xi0) = &cases.xi0 {
        let (agents, dims) = (config.agents, config.task.dims);
        let agent_by_agent = |xi: &[f64]| -> Vec<f32> {
            (0..agents * dims).map(|at| xi[at % dims * agents + at / dims] as f32).collect()
        };
        let places = if dims == 1 { vec![agents] } else { vec![agents, dims] };
        let xi0 = xi0.chunks_exact(agents * dims).flat_map(agent_by_agent).collect();
        given.push(("xi0", [vec![cases.count], places].concat(), xi0));
    }
    given
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
