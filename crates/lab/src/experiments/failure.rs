//! `failure`: a fraction of the agents fails, at the start or later; the others notice it or not.

use cinoc_control::Config;
use cinoc_control::Tasks;

use super::{Found, cases_at, name_of, reported, set};
use crate::intervals::{Estimate, estimate, mean, ratio};
use crate::numbers::number;
use crate::published::Reported;
use crate::results::{Chart, Curve, Table};
use crate::workshop::{LabError, Measured, Point, Workshop, failure};

/// Fractions of the agents that fail; the whole swarm is measured too.
const SHARES: [f64; 4] = [0.1, 0.2, 0.3, 0.5];
/// Time of the failure, as a fraction of the horizon.
const MOMENTS: [f64; 2] = [0.0, 0.5];
/// Fraction of failed agents, and the allowed factor of the loss of a tracking task.
const BAR: (f64, f64) = (0.3, 3.0);

/// A failure of some agents at one time.
struct Failed {
    moment: f64,
    agents: usize,
    /// Measured when the others notice it, and when they do not.
    measured: [Measured; 2],
}

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    let shares = workshop.size.pick(SHARES.to_vec(), vec![0.3]);
    let moments = workshop.size.pick(MOMENTS.to_vec(), vec![0.0]);
    let cases = workshop.size.pick(50, 1);
    let (mut losses, mut ratios) = tables();
    let mut chart =
        Chart::new("ratio", "agents that fail at the start", "share of agents", "loss / loss of all agents")
            .log_y();
    let mut findings = Vec::new();
    for task in Tasks::built_in().iter().filter(|task| workshop.has_task(&task.name)) {
        let config = workshop.preset(&task.name)?;
        let plan: Vec<(f64, f64)> = moments
            .iter()
            .flat_map(|moment| distinct(&shares, config.agents).into_iter().map(|share| (*moment, share)))
            .collect();
        let mut points = vec![Point::new(&config, cases)];
        for (moment, share) in &plan {
            for seen in [true, false] {
                let sets = [failure(&config, *share, *moment), vec![set("failure.seen", seen)]].concat();
                points.push(Point::new(&config, cases).with(&sets)?);
            }
        }
        let mut measured = workshop.measure("failure", &points)?.into_iter();
        let whole = measured.next().expect("the whole swarm is measured");
        let mut next = || measured.next().expect("two per failure");
        let failed: Vec<Failed> = plan
            .into_iter()
            .map(|(moment, share)| Failed {
                moment,
                agents: count(share, config.agents),
                measured: [next(), next()],
            })
            .collect();
        for failed in &failed {
            failed.rows(&config, &whole, &mut losses, &mut ratios);
        }
        chart = chart.curve(curve(&config, &whole, &failed));
        findings.extend(finding(&config, &whole, &failed));
    }
    Ok(Found {
        protocol: "the policies of the default preset (seed 0), which are trained with failures. Agents \
                   drawn at random per case output zero from some time on. The others notice it \
                   (failure.seen) or continue as if all were there. 50 cases of the test pool; the same \
                   agents fail in both. Losses are measured after the failure: the paper's metric if agents \
                   fail at the start, else the last step. Fractions that mean the same number of agents are \
                   listed once. Intervals are 95 % bootstrap over cases."
            .to_string(),
        findings,
        tables: vec![ratios, losses],
        charts: vec![chart],
    })
}

fn tables() -> (Table, Table) {
    let columns = |noticed: &'static str, unnoticed: &'static str| {
        ["task", "they fail at", "measured", "failed", "none fails", noticed, unnoticed]
    };
    let losses =
        Table::new("loss", "Loss when some agents fail.", &columns("loss, noticed", "loss, unnoticed"));
    let ratios = Table::new(
        "ratio",
        "The same loss, relative to that of the whole swarm on the same cases.",
        &columns("ratio, noticed", "ratio, unnoticed"),
    );
    (losses, ratios)
}

/// Number of agents of a fraction, rounded as in the closed loop.
fn count(share: f64, agents: usize) -> usize {
    (share * agents as f64).round() as usize
}

/// Fractions with different numbers of agents, at least one.
fn distinct(shares: &[f64], agents: usize) -> Vec<f64> {
    let mut kept: Vec<f64> = Vec::new();
    for share in shares {
        let known = kept.last().map_or(0, |last| count(*last, agents));
        if count(*share, agents) > known {
            kept.push(*share);
        }
    }
    kept
}

/// The time of measurement of the loss, such that it is after the failure.
fn when(task: &str, moment: f64) -> Reported {
    if moment == 0.0 { reported(task) } else { Reported::Final }
}

impl Failed {
    fn when(&self, config: &Config) -> Reported {
        when(&config.task.name, self.moment)
    }

    /// Loss relative to the whole swarm, if the others notice the failure and if not.
    fn ratios(&self, config: &Config, whole: &Measured) -> [Estimate; 2] {
        let when = self.when(config);
        [0, 1].map(|i| ratio(cases_at(when, &self.measured[i].per_case), cases_at(when, &whole.per_case)))
    }

    fn rows(&self, config: &Config, whole: &Measured, losses: &mut Table, ratios: &mut Table) {
        let when = self.when(config);
        let loss = |measured: &Measured| estimate(&[cases_at(when, &measured.per_case).to_vec()], mean);
        let head = || {
            [
                config.task.name.as_str().into(),
                format!("{:.0} % of the horizon", 100.0 * self.moment).into(),
                name_of(when).into(),
                format!("{} of {}", self.agents, config.agents).into(),
            ]
        };
        let all = [whole, &self.measured[0], &self.measured[1]];
        losses.row(head().into_iter().chain(all.map(|measured| loss(measured).into())));
        let relative = self.ratios(config, whole).map(Into::into);
        ratios.row(head().into_iter().chain([1.0.into()]).chain(relative));
    }
}

fn curve(config: &Config, whole: &Measured, failed: &[Failed]) -> Curve {
    let mut points = vec![(0.0, 1.0)];
    for failed in failed.iter().filter(|failed| failed.moment == 0.0) {
        points.push((failed.agents as f64 / config.agents as f64, failed.ratios(config, whole)[0].value));
    }
    let (x, y): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
    Curve::new(&config.task.name, &x, &y)
}

/// Finding about the fraction of [`BAR`] that fails at the start.
fn finding(config: &Config, whole: &Measured, failed: &[Failed]) -> Option<String> {
    let agents = count(BAR.0, config.agents);
    let found = failed.iter().find(|failed| failed.moment == 0.0 && failed.agents == agents)?;
    let [noticed, unnoticed] = found.ratios(config, whole);
    let kind = if config.task.tracks { "tracking" } else { "stabilisation" };
    let verdict = if noticed.value <= BAR.1 { "within" } else { "beyond" };
    Some(format!(
        "{} ({kind}): with {:.0} % ({agents} of {} agents) failed from the start the loss is {} times that \
         of the whole swarm, {verdict} a factor of {}; {} times if the others do not notice it.",
        config.task,
        100.0 * BAR.0,
        config.agents,
        number(noticed.value),
        BAR.1,
        number(unnoticed.value)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_that_mean_the_same_agents_are_listed_once() {
        assert_eq!(distinct(&SHARES, 9), [0.1, 0.2, 0.3, 0.5]);
        // 1.6 and 2.4 of 8 agents are 2
        assert_eq!(distinct(&SHARES, 8), [0.1, 0.2, 0.5]);
        assert_eq!(distinct(&SHARES, 4), [0.2, 0.5]);
        assert_eq!(distinct(&SHARES, 1), [0.5]);
    }

    #[test]
    fn every_loss_is_measured_after_the_failure() {
        for task in Tasks::built_in().iter() {
            for moment in MOMENTS {
                let config = Config::preset(&task.name).unwrap();
                let failed = &failure(&config, 0.3, moment)[1];
                let step: usize = failed.strip_prefix("failure.step=").unwrap().parse().unwrap();
                // the first of the control steps that the loss is made of
                let measured = match when(&task.name, moment) {
                    Reported::Final => config.time.steps - 1,
                    Reported::Half => config.time.steps / 2 - 1,
                    Reported::TimeMean => 0,
                };
                assert!(step <= measured, "{}: fails at {step}, measured at {measured}", &task.name);
            }
        }
    }
}
