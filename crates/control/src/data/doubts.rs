//! What a task cannot hold: targets that no control reaches, and fields that are not finite.

use std::cmp::Ordering;

use cinoc_pde::Boundary;
use thiserror::Error;

use super::{Cases, Targets};
use crate::config::Config;

/// Deviations below this share of the largest value of a target are roundings.
const NEGLIGIBLE: f64 = 1e-3;
/// Masses that differ by less than this share are the same: blobs near a wall are cut a little.
const SAME_MASS: f64 = 0.1;
/// Cases that a doubt lists by number.
const LISTED: usize = 5;

/// Drawn cases are not finite.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cannot draw cases of {task}: {what}")]
pub struct NotFinite {
    task: String,
    what: String,
}

impl Cases {
    /// Refuses cases with values that are infinite or NaN. Where states are run without control before they
    /// are used, this is what an unstable scheme gives.
    pub fn check_finite(&self, config: &Config) -> Result<(), NotFinite> {
        let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        let Some(case) =
            (0..self.count).find(|&case| !finite(self.z0(case)) || !finite(self.targets_of(case)))
        else {
            return Ok(());
        };
        let data = &config.data.values;
        let what = match data.get("spin_up").filter(|&time| time > 0.0) {
            Some(time) => {
                let step = if data.get("spin_up_dt").is_some() { "data.spin_up_dt" } else { "time.dt" };
                format!(
                    "the field of case {case} became infinite or NaN in the spin-up, before any control \
                     (data.spin_up = {time:?}); try a smaller {step}"
                )
            }
            None => {
                format!("case {case} has values that are infinite or NaN; check [data] and the task's cases")
            }
        };
        Err(NotFinite { task: config.task.to_string(), what })
    }

    /// Targets that the task cannot hold, a line per reason with the numbers of the cases (from 0): values
    /// of the wrong sign, values at walls where the field is 0, and masses that stirring cannot change. Of
    /// targets that move, the worst step counts. Another line tells if they have other steps than a rollout.
    pub fn doubts(&self, config: &Config) -> Vec<String> {
        let mut doubts: Vec<String> = self.other_steps(config).into_iter().collect();
        if !config.task.tracks {
            return doubts;
        }
        let tracked = config.task.fields.iter().enumerate().filter(|(_, field)| field.tracked);
        for (index, field) in tracked {
            let part = index * config.points()..(index + 1) * config.points();
            // the largest number that a measure gives for the target of any step, of a case and its start
            let worst = |case: usize, measure: &dyn Fn(&[f64], &[f64]) -> f64| {
                let targets = self.targets_of(case).chunks_exact(self.n).map(|state| &state[part.clone()]);
                targets.map(|target| measure(target, &self.z0(case)[part.clone()])).fold(0.0, f64::max)
            };
            let mut doubt = |measure: &dyn Fn(&[f64], &[f64]) -> f64, share: f64, what: &str| {
                let wrong = (0..self.count).filter(|&case| worst(case, measure) > share);
                doubts.extend(listed(&wrong.collect::<Vec<_>>()).map(|cases| format!("{cases} {what}")));
            };
            let relative = |value: f64, target: &[f64]| {
                let largest = target.iter().fold(0.0, |most: f64, z| most.max(z.abs()));
                value / largest.max(f64::MIN_POSITIVE)
            };
            let name = &field.name;
            if field.positive {
                let below = |target: &[f64], _: &[f64]| {
                    relative(-target.iter().fold(0.0, |least: f64, &z| least.min(z)), target)
                };
                doubt(&below, NEGLIGIBLE, &format!("has negative values; {name} is never negative"));
            }
            if config.task.boundary == Boundary::Dirichlet {
                let at_wall = |target: &[f64], _: &[f64]| {
                    relative(rim(config, target).fold(0.0, |most: f64, z| most.max(z.abs())), target)
                };
                doubt(&at_wall, NEGLIGIBLE, &format!("is not 0 at the boundary; {name} is 0 there"));
            }
            if config.task.density {
                let mass = |values: &[f64]| values.iter().sum::<f64>();
                let change = |target: &[f64], start: &[f64]| (mass(target) / mass(start) - 1.0).abs();
                doubt(&change, SAME_MASS, "has another mass than the start; agents move mass and make none");
            }
        }
        doubts
    }

    /// What becomes of targets that move for fewer or more steps than a rollout has.
    fn other_steps(&self, config: &Config) -> Option<String> {
        let (given, steps) = (self.target_steps(), config.time.steps);
        let what = match (self.targets(), given.cmp(&steps)) {
            (Targets::Fixed, _) | (_, Ordering::Equal) => return None,
            (_, Ordering::Less) => "then the last one stays",
            (_, Ordering::Greater) => "the others are not used",
        };
        let first = given.min(steps);
        Some(format!(
            "zt has {given} control steps and a rollout {steps} (time.steps): the first {first} targets \
             move, {what}"
        ))
    }
}

/// "the target of case 3", "the targets of cases 3, 4"; nothing if there are none.
fn listed(cases: &[usize]) -> Option<String> {
    let numbers: Vec<String> = cases.iter().take(LISTED).map(usize::to_string).collect();
    match cases.len() {
        0 => None,
        1 => Some(format!("the target of case {}", numbers[0])),
        more if more <= LISTED => Some(format!("the target of each of cases {}", numbers.join(", "))),
        more => Some(format!("the target of each of {more} cases ({}, ...)", numbers.join(", "))),
    }
}

/// Values of a field at the ends of the domain.
fn rim<'a>(config: &Config, field: &'a [f64]) -> impl Iterator<Item = f64> + use<'a> {
    let ((rows, cols), plane) = (config.shape(), config.task.dims == 2);
    field.iter().enumerate().filter_map(move |(point, &z)| {
        let (row, col) = (point / cols, point % cols);
        let at_end = row == 0 || row == rows - 1 || (plane && (col == 0 || col == cols - 1));
        at_end.then_some(z)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Pool;
    use crate::{Config, Tasks};
    use cinoc_adjoint::Threads;

    fn drawn(task: &str, sets: &[&str]) -> (Config, Cases) {
        let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
        let config = Config::resolve(task, None, &sets).unwrap();
        let cases = Cases::draw(&config, 0, Pool::Validation, 8, &Threads::one(), &|_, _| {});
        (config, cases)
    }

    #[test]
    fn drawn_and_published_cases_raise_no_doubts() {
        for task in Tasks::built_in().iter().filter(|task| task.tracks) {
            let (config, cases) = drawn(&task.name, &[]);
            assert_eq!(cases.doubts(&config), [""; 0], "{task}");
            if let Ok(paper) = Cases::paper(&config) {
                assert_eq!(paper.doubts(&config), [""; 0], "{task}, published");
            }
        }
    }

    #[test]
    fn what_a_task_cannot_hold_is_named_with_its_cases() {
        let (config, mut cases) = drawn("fkpp1d", &[]);
        cases.zt[2 * cases.n + 40] = -0.2;
        cases.zt[3 * cases.n] = 0.5;
        cases.zt[6 * cases.n + cases.n - 1] = 0.5;
        let doubts = cases.doubts(&config);
        assert_eq!(
            doubts,
            [
                "the target of case 2 has negative values; z is never negative",
                "the target of each of cases 3, 6 is not 0 at the boundary; z is 0 there",
            ]
        );
        let (config, mut cases) = drawn("density2d", &[]);
        cases.zt.iter_mut().for_each(|z| *z *= 2.0);
        assert_eq!(
            cases.doubts(&config),
            ["the target of each of 8 cases (0, 1, 2, 3, 4, ...) has another mass than the start; agents \
                 move \
              mass and make none"]
        );
        let (config, mut cases) = drawn("heat2d", &[]);
        cases.zt[32 * 5] = 0.5;
        assert_eq!(cases.doubts(&config), ["the target of case 0 is not 0 at the boundary; z is 0 there"]);
        // of targets that move, every step counts
        let (config, mut cases) = drawn("fkpp1d", &["time.steps=2"]);
        cases.zt = (0..8).flat_map(|case| cases.zt(case).repeat(2)).collect();
        assert_eq!(cases.doubts(&config), [""; 0]);
        cases.zt[(2 * 3 + 1) * cases.n + 40] = -0.2;
        assert_eq!(cases.doubts(&config), ["the target of case 3 has negative values; z is never negative"]);
        let longer = config.with_sets(&["time.steps=5".to_string()]).unwrap();
        assert!(cases.doubts(&longer)[0].starts_with("zt has 2 control steps and a rollout 5 (time.steps)"));
        assert!(cases.doubts(&longer)[0].ends_with("then the last one stays"));
        // a negative temperature is nothing special
        let (config, mut cases) = drawn("heat1d", &[]);
        cases.zt[50] = -3.0;
        assert_eq!(cases.doubts(&config), [""; 0]);
    }

    #[test]
    fn a_spin_up_that_blows_up_is_told_as_such() {
        let (config, mut cases) = drawn("ks1d", &["data.spin_up=1"]);
        assert_eq!(cases.check_finite(&config), Ok(()));
        cases.z0[3 * cases.n + 1] = f64::NAN;
        let message = cases.check_finite(&config).unwrap_err().to_string();
        assert!(message.contains("case 3") && message.contains("in the spin-up"), "{message}");
        assert!(message.ends_with("try a smaller time.dt"), "{message}");
    }
}
