//! `cardinality`: one policy per task, run with other numbers of agents than it was trained with, nothing rescaled.
//!
//! Stable is what the paper calls stable: at most 250 % of the loss with as many agents as in training. Ranges are multiples of that
//! number. The policies of the presets are measured, and one per task that is trained for many sizes.

use control::Config;

use super::{Found, loss_name, mean_loss};
use crate::numbers::number;
use crate::published::{leading, published};
use crate::results::{Chart, Curve, Table};
use crate::workshop::{LabError, Measured, Point, Workshop};

/// Loss that is still called stable, relative to that of the reference.
const STABLE: f64 = 2.5;

/// How many times the agents in training a policy is looked at that is not trained for many sizes.
const SHARP: usize = 16;

/// What is measured of a task, and what the paper says about it.
struct Sweep {
    task: &'static str,
    agents: &'static [usize],
    cases: usize,
    /// Settings, beside the preset's, of a policy that is trained for many sizes of swarms, with the paper's number of agents; none
    /// where the preset is that already.
    recipe: &'static [&'static str],
    /// The same of a policy that is less sharp with the reference number of agents, and so loses less, relatively, with fewer.
    gentle: &'static [&'static str],
    /// The paper's number of agents in training.
    reference: usize,
    /// The paper's stable range.
    stable: [usize; 2],
    /// The paper's loss at some numbers of agents, in percent of that at the reference.
    curve: &'static [(usize, f64)],
}

const SWEEPS: [Sweep; 7] = [
    Sweep {
        task: "fkpp1d",
        agents: &[5, 10, 14, 15, 20, 21, 30, 40, 60, 100, 150, 200, 300, 600],
        cases: 100,
        recipe: &[
            "agents=30",
            "policy.head_scale=0.1",
            "train.crowd=[0.4, 5.5]",
            "train.swarms=[20, 33, 67, 100]",
            "train.step_clip=0.1",
            "train.balance=true",
            "train.updates=500",
        ],
        gentle: &[],
        reference: 30,
        stable: [20, 150],
        curve: &[
            (15, 377.0),
            (20, 115.0),
            (30, 100.0),
            (40, 69.0),
            (60, 55.0),
            (100, 43.0),
            (120, 43.0),
            (150, 129.0),
            (180, 290.0),
            (200, 439.0),
            (300, 1261.0),
        ],
    },
    Sweep {
        task: "heat1d",
        agents: &[2, 4, 6, 8, 12, 15, 16, 24, 30, 32, 60, 90, 120, 180, 240],
        cases: 100,
        recipe: &[
            "agents=30",
            "policy.head_scale=0.1",
            // few agents with little strength too: what is learned for 15 and 30 alone leaves three times the error with 15
            "train.crowd=[0.3, 4.2]",
            "train.swarms=[20, 33, 50, 100]",
            "train.step_clip=0.1",
            "train.updates=600",
        ],
        gentle: &[],
        reference: 30,
        stable: [15, 120],
        curve: &[(15, 146.0), (30, 100.0), (120, 208.0)],
    },
    Sweep {
        task: "heat2d",
        agents: &[4, 9, 16, 25, 64, 144, 256],
        cases: 50,
        recipe: &[
            "policy.padding=field",
            "policy.head_scale=0.05",
            "loss.terminal=1000",
            "train.crowd=[1, 24]",
            "train.step_clip=10000",
            "train.balance=true",
            "train.updates=150",
        ],
        gentle: &[],
        reference: 16,
        stable: [16, 256],
        curve: &[(9, 566.0), (16, 100.0), (25, 38.0), (64, 19.0), (144, 16.0), (256, 54.0), (324, 2138.0)],
    },
    Sweep {
        task: "ks1d",
        agents: &[4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 24, 30, 45, 60, 90, 180],
        cases: 200,
        recipe: &["agents=30", "train.crowd=[0.5, 6]"],
        gentle: &[],
        reference: 30,
        stable: [15, 90],
        curve: &[(15, 100.0), (30, 100.0), (90, 114.0)],
    },
    Sweep {
        task: "ks2d",
        agents: &[49, 64, 81, 100, 121, 144, 196, 256, 324, 400],
        cases: 50,
        recipe: &[
            "agents=196",
            "policy.head_scale=0.05",
            "train.swarms=[73, 100]",
            "train.scatter=1",
            "train.crowd=[1, 4]",
            "train.step_clip=5",
            "train.balance=true",
            "train.updates=120",
        ],
        gentle: &["agents=196", "train.scatter=1", "train.crowd=[0.7, 2]", "train.updates=120"],
        reference: 196,
        stable: [144, 256],
        curve: &[(144, 45.0), (196, 100.0), (256, 230.0), (324, 270.0), (400, 434.0), (1024, 3472.0)],
    },
    Sweep {
        task: "turb2d",
        agents: &[16, 36, 49, 64, 100, 144, 256, 576, 1024],
        cases: 50,
        recipe: &[],
        gentle: &[],
        reference: 64,
        stable: [36, 1024],
        curve: &[(36, 200.0), (64, 100.0), (100, 43.0), (144, 22.0), (256, 36.0), (1024, 76.0)],
    },
    Sweep {
        task: "density2d",
        agents: &[1, 4, 9, 16, 25, 64, 256, 1024],
        cases: 50,
        recipe: &[
            "agents=16",
            "train.swarms=[25, 100]",
            "train.scatter=1",
            "train.crowd=[0.5, 8]",
            // with the preset's 1000 the gradient of the pixel error, which sees nothing before the blobs overlap, drowns that of the moments
            "loss.terminal=100",
            "policy.head_scale=0.01",
            "train.updates=1000",
        ],
        gentle: &[],
        reference: 16,
        stable: [4, 1024],
        curve: &[(4, 142.0), (16, 100.0), (25, 68.0), (256, 82.0), (1024, 84.0)],
    },
];

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    let mut plans = Vec::new();
    for sweep in SWEEPS.iter().filter(|sweep| workshop.has_task(sweep.task)) {
        let preset = workshop.preset(sweep.task)?;
        plans.push(Plan::new(workshop, "preset", sweep, &preset)?);
        for (name, recipe) in [("many sizes", sweep.recipe), ("many sizes, gentle", sweep.gentle)] {
            if !recipe.is_empty() && workshop.size.pick(true, false) {
                let sets: Vec<String> = recipe.iter().map(|set| set.to_string()).collect();
                plans.push(Plan::new(workshop, name, sweep, &preset.with_sets(&sets)?)?);
            }
        }
    }
    let points: Vec<Point> = plans.iter().flat_map(|plan| plan.points.clone()).collect();
    let mut measured = workshop.measure("cardinality", &points)?.into_iter();

    let mut ranges = Table::new(
        "ranges",
        "Where the loss is at most 250 % of that with as many agents as in training.",
        &[
            "task",
            "policy",
            "trained with",
            "stable",
            "times trained",
            "published: trained with",
            "published: stable",
            "published: times trained",
        ],
    );
    let mut curves = Table::new(
        "curves",
        "Loss of one policy with M agents.",
        &[
            "task",
            "when",
            "policy",
            "trained with",
            "M",
            "M / trained",
            "loss",
            "std over cases",
            "% of trained",
            "published %",
            "sum of u²",
        ],
    );
    let chart = |name: &str, title: &str| {
        Chart::new(name, title, "agents / agents in training", "loss / loss in training")
            .log_x()
            .log_y()
            .reference(STABLE, "stable")
    };
    let mut charts =
        [chart("preset", "policies of the presets"), chart("many", "policies for many sizes of swarms")];
    let mut findings = Vec::new();
    for Plan { name, sweep, trained, points } in &plans {
        let measured: Vec<Measured> = measured.by_ref().take(points.len()).collect();
        let losses: Vec<(usize, f64)> = points
            .iter()
            .zip(&measured)
            .map(|(point, m)| (point.circumstances.agents, mean_loss(sweep.task, m)))
            .collect();
        let home = losses.iter().find(|(m, _)| m == trained).map_or(f64::NAN, |(_, loss)| *loss);
        for ((agents, loss), measured) in losses.iter().zip(&measured) {
            let published = sweep.curve.iter().find(|(m, _)| m == agents && *trained == sweep.reference);
            curves.row([
                sweep.task.into(),
                loss_name(sweep.task).into(),
                (*name).into(),
                (*trained).into(),
                (*agents).into(),
                (*agents as f64 / *trained as f64).into(),
                (*loss).into(),
                measured.metric.as_ref().map(|metric| super::loss(sweep.task, metric).std).into(),
                (100.0 * loss / home).into(),
                published.map(|(_, percent)| *percent).into(),
                measured.effort.map(|effort| effort.sum_u2).into(),
            ]);
        }
        let range = stable(&losses, *trained);
        ranges.row([
            sweep.task.into(),
            (*name).into(),
            (*trained).into(),
            shown(range, 1).into(),
            shown(range, *trained).into(),
            sweep.reference.into(),
            shown(sweep.stable, 1).into(),
            shown(sweep.stable, sweep.reference).into(),
        ]);
        findings.push(sweep.verdict(name, *trained, range, home));
        let (x, y): (Vec<f64>, Vec<f64>) =
            losses.iter().map(|(m, loss)| (*m as f64 / *trained as f64, loss / home)).unzip();
        let gentle = if name.ends_with("gentle") { ", gentle" } else { "" };
        let curve = Curve::new(&format!("{}{gentle}", sweep.task), &x, &y);
        if *name == "preset" {
            charts[0].curves.push(curve.clone());
        }
        // a preset that is trained for many sizes is in both
        if *name != "preset" || sweep.recipe.is_empty() {
            charts[1].curves.push(curve);
        }
    }
    Ok(Found {
        protocol: format!(
            "policies of the presets (seed 0, those of the main table), and one policy per task trained once for many sizes of swarms, with the \
             paper's number of agents; u is never rescaled; 50 to 200 held-out cases. Settings of those policies beside the preset's: {}.",
            recipes()
        ),
        findings,
        tables: vec![ranges, curves],
        charts: charts.to_vec(),
    })
}

/// The recipes, as text.
fn recipes() -> String {
    let shown = |sweep: &Sweep| match (sweep.recipe, sweep.gentle) {
        ([], _) => format!("{}: none", sweep.task),
        (recipe, []) => format!("{}: `{}`", sweep.task, recipe.join(" ")),
        (recipe, gentle) => format!("{}: `{}`, gentle `{}`", sweep.task, recipe.join(" "), gentle.join(" ")),
    };
    SWEEPS.iter().map(shown).collect::<Vec<_>>().join("; ")
}

/// One policy and the points it is measured at.
struct Plan<'a> {
    /// "preset", "many sizes", or "many sizes, gentle".
    name: &'static str,
    sweep: &'a Sweep,
    trained: usize,
    points: Vec<Point>,
}

impl<'a> Plan<'a> {
    fn new(
        workshop: &Workshop<'_>,
        name: &'static str,
        sweep: &'a Sweep,
        config: &Config,
    ) -> Result<Plan<'a>, LabError> {
        let trained = config.agents;
        // a preset that is not meant for many sizes is not looked at far beyond its own
        let most = if name == "preset" && !sweep.recipe.is_empty() { SHARP * trained } else { usize::MAX };
        let agents = workshop.size.pick(sweep.agents.to_vec(), vec![trained, 2 * trained]);
        let agents: Vec<usize> = agents.into_iter().filter(|agents| *agents <= most).collect();
        let point = |agents: &usize| Point::new(config, workshop.size.pick(sweep.cases, 1)).agents(*agents);
        Ok(Plan { name, sweep, trained, points: agents.iter().map(point).collect::<Result<_, _>>()? })
    }
}

impl Sweep {
    /// How a stable range, in multiples of the number in training, compares with the paper's.
    fn verdict(&self, name: &str, trained: usize, [low, high]: [usize; 2], loss: f64) -> String {
        let free = published(self.task).and_then(|paper| leading(paper.uncontrolled));
        if free.is_some_and(|free| loss > 0.5 * free) {
            return format!(
                "{} ({name}, trained with {trained}): the training FAILED, {} is hardly below the loss without control; its range means nothing.",
                self.task,
                number(loss)
            );
        }
        let times = |agents: usize, of: usize| agents as f64 / of as f64;
        let [least, most] = self.stable.map(|agents| times(agents, self.reference));
        let wide = times(low, trained) <= least && times(high, trained) >= most;
        let verdict = if wide { "at least as wide as" } else { "NARROWER than" };
        format!(
            "{} ({name}, trained with {trained}): stable from {} times, {verdict} published ({} times).",
            self.task,
            shown([low, high], trained),
            shown(self.stable, self.reference)
        )
    }
}

/// A range in multiples of a number.
fn shown(range: [usize; 2], of: usize) -> String {
    let [low, high] = range.map(|agents| match of {
        1 => agents.to_string(),
        of => number(agents as f64 / of as f64),
    });
    format!("{low} to {high}")
}

/// The numbers of agents around a reference up to the first that is not stable, among those measured.
///
/// # Panics
/// If the reference was not measured.
fn stable(losses: &[(usize, f64)], reference: usize) -> [usize; 2] {
    let middle =
        losses.iter().position(|(agents, _)| *agents == reference).expect("the reference is measured");
    let fine = |index: &usize| losses[*index].1 <= STABLE * losses[middle].1;
    let last = |found: Option<usize>| losses[found.unwrap_or(middle)].0;
    let low = last((0..=middle).rev().take_while(fine).last());
    let high = last((middle..losses.len()).take_while(fine).last());
    [low, high]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stable_range_ends_at_the_first_that_is_not() {
        let losses = [(4, 1.0), (8, 9.0), (16, 2.0), (32, 1.0), (64, 0.5), (128, f64::NAN), (256, 0.1)];
        assert_eq!(stable(&losses, 32), [16, 64]);
        assert_eq!(stable(&losses, 8), [4, 64]);
    }

    #[test]
    fn every_sweep_has_its_references() {
        for sweep in &SWEEPS {
            let trained = Config::preset(sweep.task).unwrap().agents;
            for agents in [trained, sweep.reference].iter().chain(&sweep.stable) {
                assert!(sweep.agents.contains(agents), "{} with {agents}", sweep.task);
            }
            assert!(sweep.agents.is_sorted());
        }
    }
}
