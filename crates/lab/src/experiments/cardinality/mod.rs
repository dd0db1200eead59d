//! `cardinality`: one policy per task, run with other numbers of agents than in training, without rescaling.
//!
//! "Stable" is used as in the paper: at most 250 % of the loss with the trained number of agents. Ranges are
//! multiples of that number. `cardinality` measures the policies of the default preset, `cardinality-paper`
//! those of the published form and recipe, in the same way.

mod numbers;
mod sweeps;

pub(super) use numbers::ladder;

use cinoc_control::Config;
use cinoc_control::config::Preset;

use super::{Found, loss_cases, loss_name, mean_loss};
use crate::intervals::{Estimate, estimate, mean, ratio};
use crate::numbers::number;
use crate::results::{Chart, Curve, Table};
use crate::workshop::{LabError, Measured, Point, Workshop};
use numbers::{FINE, numbers, whole};
use sweeps::{SWEEPS, Sweep};

/// Largest stable loss, relative to that of the reference.
pub(super) const STABLE: f64 = 2.5;
/// In 2D swarms of up to so many agents are measured on more cases: they are cheap, and ranges end there.
const FEW: usize = 32;
/// From this number of agents in 2D fewer cases are measured, because rollouts take long.
const MANY: usize = 300;
/// Loss, relative to that with the trained number of agents, after which so many agents are not increased.
const HOPELESS: f64 = 10.0;

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    found(workshop, Preset::Default)
}

pub(super) fn run_paper(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    found(workshop, Preset::Paper)
}

/// Number of cases of a task with this number of agents.
fn cases(dims: usize, agents: usize) -> usize {
    match (dims, agents) {
        (1, _) => 100,
        (_, ..=FEW) => 200,
        (_, ..MANY) => 50,
        _ => 16,
    }
}

fn found(workshop: &Workshop<'_>, preset: Preset) -> Result<Found, LabError> {
    let (mut ranges, mut curves) = (ranges_table(), curves_table());
    let (mut charts, mut findings) = (Vec::new(), Vec::new());
    for sweep in SWEEPS.iter().filter(|sweep| workshop.has_task(sweep.task)) {
        let config = workshop.preset_of(preset, sweep.task, 0)?;
        let mut swept = Swept { sweep, trained: config.agents, measured: Vec::new() };
        let trained = config.agents;
        let mut wanted =
            workshop.size.pick(numbers(trained, sweep.required), vec![trained - 1, trained, trained + 1]);
        while !wanted.is_empty() {
            let costly = |agents: &usize| config.task.dims == 2 && *agents >= MANY;
            let (costly, cheap): (Vec<usize>, Vec<usize>) = wanted.into_iter().partition(costly);
            swept.measure(workshop, &config, &cheap)?;
            for agents in costly {
                if !swept.hopeless_below(agents) {
                    swept.measure(workshop, &config, &[agents])?;
                }
            }
            wanted = between(&swept.relatives(), trained);
        }
        swept.curve(&mut curves);
        swept.range(&mut ranges);
        findings.push(swept.finding());
        charts.push(swept.chart());
    }
    let policies = match preset {
        Preset::Default => "the policies of the default preset (seed 0), one per task",
        Preset::Paper => "policies of the published form and recipe (`--preset paper`, seed 0), one per task",
    };
    Ok(Found {
        protocol: format!(
            "{policies}; nothing is rescaled or retrained. Cases of the test pool: 100 in 1D; in 2D 200 \
             up to {FEW} agents, 16 from {MANY} agents on, else 50. Percentages are ratios of \
             means over the same cases; intervals are 95 % bootstrap over cases. Neighbouring \
             numbers of agents differ by a factor of at most 1.25, or by one agent, around the ends of the \
             required range, around the ends of the measured range, and from the lower end to \
             above the trained number. In 2D from {MANY} agents on, numbers above one whose loss is more \
             than {HOPELESS} times that with the trained number are left out."
        ),
        findings,
        tables: vec![ranges, curves],
        charts,
    })
}

fn ranges_table() -> Table {
    Table::new(
        "ranges",
        "Range in which the loss is at most 250 % of that with the trained number of agents, in multiples \
         of that number.",
        &[
            "task",
            "trained with",
            "agents",
            "stable",
            "stable, upper ends of the intervals",
            "required",
            "published",
            "worst loss inside, % of trained",
            "loss at the last stable below",
            "loss at the last stable above",
        ],
    )
}

fn curves_table() -> Table {
    Table::new(
        "curves",
        "Loss of one policy with M agents. The published percentage is given if the paper has the same \
         multiple of its own trained number of agents, to within 3 %.",
        &[
            "task",
            "when",
            "M",
            "M / trained",
            "cases",
            "loss",
            "% of uncontrolled",
            "% of trained",
            "published % of trained",
            "sum of u²",
        ],
    )
}

/// Measurements of a task.
struct Swept {
    sweep: &'static Sweep,
    trained: usize,
    /// By number of agents.
    measured: Vec<(usize, Measured)>,
}

impl Swept {
    /// Losses by case with the trained number of agents.
    fn home(&self) -> &Measured {
        let home = self.measured.iter().find(|(agents, _)| *agents == self.trained);
        &home.expect("the number in training is measured").1
    }

    /// Loss relative to that with the trained number of agents, on the same cases.
    fn relative(&self, measured: &Measured) -> Estimate {
        let of = |measured: &Measured| loss_cases(self.sweep.task, &measured.per_case).to_vec();
        ratio(&of(measured), &of(self.home()))
    }

    fn multiple(&self, agents: usize) -> f64 {
        agents as f64 / self.trained as f64
    }

    /// Loss relative to that with the trained number of agents, by number of agents.
    fn relatives(&self) -> Vec<(usize, f64)> {
        self.measured.iter().map(|(agents, measured)| (*agents, self.relative(measured).value)).collect()
    }

    /// Whether the loss with fewer agents than these, but more than in training, is already hopeless: even
    /// more agents would say nothing new, at the highest cost.
    fn hopeless_below(&self, agents: usize) -> bool {
        let relatives = self.relatives();
        relatives
            .iter()
            .any(|&(m, loss)| m > self.trained && m < agents && (loss > HOPELESS || loss.is_nan()))
    }

    /// The first and the last number of agents of the stable range.
    fn stable(&self) -> [usize; 2] {
        stable(&self.relatives(), self.trained)
    }

    /// The same, if the upper ends of the intervals must be stable.
    fn surely_stable(&self) -> [usize; 2] {
        let high = |(agents, measured): &(usize, Measured)| (*agents, self.relative(measured).high);
        stable(&self.measured.iter().map(high).collect::<Vec<_>>(), self.trained)
    }

    /// Measures more numbers of agents.
    fn measure(
        &mut self,
        workshop: &Workshop<'_>,
        config: &Config,
        agents: &[usize],
    ) -> Result<(), LabError> {
        let dims = config.task.dims;
        let point = |agents: &usize| {
            let point = Point::new(config, workshop.size.pick(cases(dims, *agents), 2)).agents(*agents)?;
            // without control the number of agents does not matter
            let home = *agents == self.trained;
            Ok::<_, LabError>(if home { point.beside_uncontrolled() } else { point })
        };
        let points = agents.iter().map(point).collect::<Result<Vec<Point>, _>>()?;
        let measured = workshop.measure(&format!("cardinality of {}", config.task), &points)?;
        self.measured.extend(agents.iter().copied().zip(measured));
        self.measured.sort_by_key(|(agents, _)| *agents);
        Ok(())
    }

    fn curve(&self, table: &mut Table) {
        let task = self.sweep.task;
        let free = loss_cases(task, &self.home().uncontrolled_per_case);
        for (agents, measured) in &self.measured {
            let losses = loss_cases(task, &measured.per_case);
            let multiple = self.multiple(*agents);
            table.row([
                task.into(),
                loss_name(task).into(),
                (*agents).into(),
                multiple.into(),
                measured.cases.into(),
                estimate(&[losses.to_vec()], mean).into(),
                ratio(losses, free).times(100.0).into(),
                if *agents == self.trained {
                    100.0.into()
                } else {
                    self.relative(measured).times(100.0).into()
                },
                self.sweep.published.as_ref().and_then(|paper| paper.percent(multiple)).into(),
                measured.effort.map(|effort| effort.sum_u2).into(),
            ]);
        }
    }

    fn range(&self, table: &mut Table) {
        let (task, [low, high]) = (self.sweep.task, self.stable());
        let at = |wanted: usize| {
            let found = self.measured.iter().find(|(agents, _)| *agents == wanted);
            found.map(|(_, measured)| mean_loss(task, measured))
        };
        let paper = self.sweep.published.as_ref();
        table.row([
            task.into(),
            self.trained.into(),
            format!("{low} to {high}").into(),
            self.shown([low, high]).into(),
            self.shown(self.surely_stable()).into(),
            multiples(self.sweep.required).into(),
            paper.map_or(String::new(), |paper| multiples(paper.multiples())).into(),
            (100.0 * self.worst([low, high])).into(),
            at(low).into(),
            at(high).into(),
        ]);
    }

    /// The highest loss in a range, relative to that with the trained number of agents.
    fn worst(&self, [low, high]: [usize; 2]) -> f64 {
        let inside = self.measured.iter().filter(|(agents, _)| (low..=high).contains(agents));
        inside.map(|(_, measured)| self.relative(measured).value).fold(0.0, f64::max)
    }

    fn shown(&self, range: [usize; 2]) -> String {
        multiples(range.map(|agents| self.multiple(agents)))
    }

    fn finding(&self) -> String {
        let (task, range) = (self.sweep.task, self.stable());
        let home = self.home();
        let share = ratio(loss_cases(task, &home.per_case), loss_cases(task, &home.uncontrolled_per_case));
        let beside = |name: &str, wanted: [f64; 2]| {
            let [least, most] = whole(self.trained, wanted);
            let verdict = if range[0] <= least && range[1] >= most { "covers" } else { "does not cover" };
            format!("{verdict} the {name} range ({} times)", multiples(wanted))
        };
        let published = self.sweep.published.as_ref();
        let published = published.map_or("the paper has no sweep of this task".to_string(), |paper| {
            format!("it {}", beside("published", paper.multiples()))
        });
        format!(
            "{task}: stable from {} times the {} agents in training. This {}; {published}. The worst loss \
             inside is {} % of the loss in training. The loss in training is {} % of that without control.",
            self.shown(range),
            self.trained,
            beside("required", self.sweep.required),
            number(100.0 * self.worst(range)),
            number(100.0 * share.value)
        )
    }

    fn chart(&self) -> Chart {
        let task = self.sweep.task;
        let relative: Vec<Estimate> = self.measured.iter().map(|(_, m)| self.relative(m)).collect();
        let x: Vec<f64> = self.measured.iter().map(|(agents, _)| self.multiple(*agents)).collect();
        let y: Vec<f64> = relative.iter().map(|found| found.value).collect();
        let (low, high) = relative.iter().map(|found| (found.low, found.high)).unzip();
        let mut chart = Chart::new(task, task, "agents / agents in training", "loss / loss in training")
            .log_x()
            .log_y()
            .reference(STABLE, "stable")
            .curve(Curve::new(task, &x, &y).band(low, high));
        if let Some(paper) = &self.sweep.published {
            let (x, y): (Vec<f64>, Vec<f64>) = paper
                .curve
                .iter()
                .map(|(agents, percent)| (*agents as f64 / paper.trained as f64, percent / 100.0))
                .unzip();
            chart = chart.curve(Curve::new(&format!("{task}, published"), &x, &y).published());
        }
        chart
    }
}

impl sweeps::PublishedSweep {
    /// The stable range in multiples of the trained number.
    fn multiples(&self) -> [f64; 2] {
        self.stable.map(|agents| agents as f64 / self.trained as f64)
    }
}

/// A range as text.
fn multiples([low, high]: [f64; 2]) -> String {
    format!("{} to {}", number(low), number(high))
}

/// The stable range around a reference: the measured numbers of agents up to the first unstable one on each
/// side.
///
/// # Panics
/// If the reference was not measured.
pub(super) fn stable(relative: &[(usize, f64)], reference: usize) -> [usize; 2] {
    let middle =
        relative.iter().position(|(agents, _)| *agents == reference).expect("the reference is measured");
    // an infinite or NaN loss counts as unstable
    let fine = |index: &usize| relative[*index].1 <= STABLE;
    let last = |found: Option<usize>| relative[found.unwrap_or(middle)].0;
    let low = last((0..=middle).rev().take_while(fine).last());
    let high = last((middle..relative.len()).take_while(fine).last());
    [low, high]
}

/// Numbers still to be measured, so that the ends of the stable range are known precisely.
fn between(relative: &[(usize, f64)], trained: usize) -> Vec<usize> {
    let ends = stable(relative, trained);
    let mut missing = Vec::new();
    for pair in relative.windows(2) {
        let (low, high) = (pair[0].0, pair[1].0);
        if high == ends[0] || low == ends[1] {
            missing
                .extend(ladder(low, high, FINE).into_iter().filter(|number| low < *number && *number < high));
        }
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_the_range_that_is_found_are_searched_finely() {
        let swept = [(8, 9.0), (16, 2.0), (32, 1.0), (64, 0.5), (128, f64::NAN), (256, 0.1)];
        assert_eq!(between(&swept, 32), [10, 12, 15, 80, 100, 125]);
        let fine = [(15, 9.0), (16, 2.0), (32, 1.0), (64, 0.5), (80, 3.0), (256, 0.1)];
        assert!(between(&fine, 32).is_empty());
        assert!(between(&fine[1..4], 32).is_empty(), "nothing is known beyond the last");
    }

    #[test]
    fn a_stable_range_ends_at_the_first_that_is_not() {
        let losses = [(4, 1.0), (8, 9.0), (16, 2.0), (32, 1.0), (64, 0.5), (128, f64::NAN), (256, 0.1)];
        assert_eq!(stable(&losses, 32), [16, 64]);
        assert_eq!(stable(&losses[..2], 4), [4, 4]);
    }

    #[test]
    fn large_swarms_in_2d_have_fewer_cases() {
        let numbers = [cases(1, 1000), cases(2, 32), cases(2, 33), cases(2, 299), cases(2, 300)];
        assert_eq!(numbers, [100, 200, 50, 50, 16]);
    }
}
