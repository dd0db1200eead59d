//! `cinoc eval`: how well a policy controls cases it has never seen.

use super::subject::resolve;
use crate::arguments::Eval;
use crate::failure::Failure;
use crate::terminal::{number, table};
use cinoc_control::Tasks;
use cinoc_learn::evaluate::{Evaluation, Spread, evaluate, roll_out};

pub fn run(request: &Eval, tasks: &Tasks) -> Result<(), Failure> {
    let subject = resolve(&request.subject, tasks)?;
    let rollouts = roll_out(&subject.config, &subject.policy.params, &subject.cases, subject.threads)?;
    let evaluation = evaluate(&subject.config, &subject.cases, &rollouts);
    if request.json { super::print_json(&evaluation) } else { show(&evaluation, &subject.cases_label) }
}

/// Prints an evaluation as a table.
pub fn show(evaluation: &Evaluation, cases: &str) -> Result<(), Failure> {
    println!("{} with {} agents, {cases}", evaluation.task, evaluation.agents);
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
    println!("evaluation: {:.2} s", evaluation.seconds);
    Ok(())
}

/// What only some tasks have.
fn show_more(evaluation: &Evaluation) {
    let Evaluation { controlled, uncontrolled, effort, violations, .. } = evaluation;
    if let (Some(with), Some(without)) = (controlled.moment, uncontrolled.moment) {
        println!(
            "distance of centroid and spread at the end: {}, {} without control",
            number(with.mean),
            number(without.mean)
        );
    }
    if let (Some(with), Some(without)) = (controlled.mass_change, uncontrolled.mass_change) {
        println!("change of mass: {}, {} without control", number(with.mean), number(without.mean));
    }
    if effort.mean_u2 > 0.0 {
        println!("effort: mean u² {}, sum over agents {}", number(effort.mean_u2), number(effort.sum_u2));
    }
    if let Some(mean_v2) = effort.mean_v2 {
        println!("motion: mean |v|² {}", number(mean_v2));
    }
    if let Some(violations) = violations {
        println!(
            "agents inside a disc: {} of all agent-steps, inside a margin: {}",
            number(violations.disc),
            number(violations.margin)
        );
    }
}
