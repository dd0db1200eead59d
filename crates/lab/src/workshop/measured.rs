//! Measurements of points.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use cinoc_control::{Cases, Pool, Trajectories};
use cinoc_learn::evaluate::{Effort, Metric, Rollouts, Violations, controlled, evaluate, uncontrolled};
use cinoc_learn::files::{fnv1a, write_atomically};
use cinoc_learn::policy_file::PolicyFile;
use cinoc_learn::pool::{cache_folder, cached};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::point::Sample;
use super::{LabError, Point, Trained, Workshop, fingerprint, work};
use crate::results::numerics;

/// Seed of held-out cases: the same for every policy, so that policies are compared on the same cases.
pub const CASES_SEED: u64 = 0;
/// Name of the folder of measurements.
const MEASURED: &str = "measured";
/// Fraction of the horizon, at its end, over which the effort of a settled swarm is measured.
const SETTLED: f64 = 0.7;

/// Measurement of a policy under given circumstances.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Number of cases.
    pub cases: usize,
    /// Distance of the field from its target; `None` if it became infinite or NaN.
    pub metric: Option<Metric>,
    /// The same without control, where that was asked for.
    pub uncontrolled: Option<Metric>,
    /// The numbers per case, for intervals.
    pub per_case: PerCase,
    /// The same without control, where that was asked for.
    pub uncontrolled_per_case: PerCase,
    /// Effort of the agents.
    pub effort: Option<Effort>,
    /// How often agents were inside obstacles, if there are any; only for points measured with and without
    /// control.
    pub violations: Option<Violations>,
    /// Sum over agents of `u²`, mean over the last 70 % of the horizon and over the cases.
    pub settled_effort: Option<f64>,
    /// Mean over cases of the error after every control step.
    pub course: Vec<f64>,
    /// Seconds of the rollouts.
    pub seconds: f64,
    /// Seconds of the policy's training; `None` for a shipped one.
    pub training_seconds: Option<f64>,
}

/// Numbers per case; empty if the rollout became infinite or NaN.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PerCase {
    /// Error at the last control step.
    pub last: Vec<f64>,
    /// Error after half of the control steps, of 2D tasks.
    pub half: Vec<f64>,
    /// Mean error over all control steps.
    pub time_mean: Vec<f64>,
    /// Mean of `u²` over agents and control steps; empty without intensities.
    pub u2: Vec<f64>,
}

impl Workshop<'_> {
    /// Measures points and trains the policies they need. Announces the amount of work first.
    pub fn measure(&self, what: &str, points: &[Point]) -> Result<Vec<Measured>, LabError> {
        let trainings: Vec<_> = points.iter().map(|point| point.trained.clone()).collect();
        self.prepare(what, &trainings)?;
        self.prepare_points(what, points)?;
        let mut to_train: Vec<_> = Vec::new();
        for point in points {
            if !to_train.contains(&&point.trained) && !self.is_trained(&point.trained) {
                to_train.push(&point.trained);
            }
        }
        let training: f64 = to_train.into_iter().map(super::cost::training_work).sum();
        self.watch.begin(what, training + points.iter().map(Point::work).sum::<f64>());
        points
            .iter()
            .map(|point| {
                let trained = self.policy(&point.trained)?;
                self.watch.now(&point.told());
                let measured = self.measure_one(point, &trained)?;
                self.watch.done(point.work());
                Ok(measured)
            })
            .collect()
    }

    /// Measures points of a given policy.
    pub fn measure_policy(
        &self,
        what: &str,
        trained: &Trained,
        points: &[Point],
    ) -> Result<Vec<Measured>, LabError> {
        self.each(what, trained, points, |point| self.measure_one(point, trained))
    }

    /// The same, but no measurement is kept in the folder or taken from it.
    pub fn measure_once(
        &self,
        what: &str,
        trained: &Trained,
        points: &[Point],
    ) -> Result<Vec<Measured>, LabError> {
        let elsewhere = self.measure_elsewhere(what, &trained.policy, points)?;
        let mut elsewhere: VecDeque<_> = elsewhere.into();
        self.each(what, trained, points, |point| {
            self.check()?;
            self.book_settings(&point.settings());
            let (measured, now) = match elsewhere.pop_front().flatten() {
                Some(measured) => (measured, false),
                None => (self.roll_out(point, &trained.policy), true),
            };
            self.book_rollout(measured.seconds, now);
            Ok(measured)
        })
    }

    /// Measures points of a policy one after the other and reports the progress.
    fn each(
        &self,
        what: &str,
        trained: &Trained,
        points: &[Point],
        mut measure: impl FnMut(&Point) -> Result<Measured, LabError>,
    ) -> Result<Vec<Measured>, LabError> {
        self.watch.begin(what, points.iter().map(Point::work).sum());
        let params: Vec<u8> = trained.policy.params.iter().flat_map(|p| p.to_le_bytes()).collect();
        self.book_policy(&trained.policy.config.task.name, format!("{:016x} (parameters)", fnv1a(&params)));
        let one = |point: &Point| {
            self.watch.now(&point.told());
            let measured = measure(point)?;
            self.watch.done(point.work());
            Ok(measured)
        };
        points.iter().map(one).collect()
    }

    pub(super) fn measure_one(&self, point: &Point, trained: &Trained) -> Result<Measured, LabError> {
        self.book_settings(&point.settings());
        let key = point.key(&trained.policy);
        let (measured, now) = self.kept(&key, || self.roll_out(point, &trained.policy))?;
        self.book_rollout(measured.seconds, now);
        Ok(Measured { training_seconds: trained.seconds, ..measured })
    }

    /// The result of `make`, read from the folder of measurements if it exists for this key. The key contains
    /// everything that determines the result except the code. Also returns whether it was made now.
    pub(crate) fn kept<X: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        make: impl FnOnce() -> X,
    ) -> Result<(X, bool), LabError> {
        self.kept_if(key, || Ok(make()))
    }

    /// The same for a `make` that may fail or be stopped; then nothing is kept.
    pub(crate) fn kept_if<X: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        make: impl FnOnce() -> Result<X, LabError>,
    ) -> Result<(X, bool), LabError> {
        self.check()?;
        let path = self.kept_at(key);
        if let Some(before) = fs::read_to_string(&path).ok().and_then(|text| serde_json::from_str(&text).ok())
        {
            return Ok((before, false));
        }
        let made = make()?;
        let folder = self.folder.join(MEASURED);
        fs::create_dir_all(&folder)
            .map_err(|error| cinoc_learn::files::FileError::io("create", &folder, error))?;
        let text = serde_json::to_string(&made).expect("measurements are plain data");
        write_atomically(&path, |file| file.write_all(text.as_bytes()))?;
        Ok((made, true))
    }

    /// The file of a measurement with this key.
    fn kept_at(&self, key: &str) -> PathBuf {
        // other code may give other numbers
        let name = fingerprint(&format!("{} {key}", numerics()));
        self.folder.join(MEASURED).join(format!("{name}.json"))
    }

    /// Whether there is a measurement with this key.
    pub(super) fn is_kept(&self, key: &str) -> bool {
        self.kept_at(key).exists()
    }

    pub(super) fn roll_out(&self, point: &Point, policy: &PolicyFile) -> Measured {
        let (config, cases) = (&point.circumstances, self.cases(point));
        let start = Instant::now();
        // a rollout that became infinite or NaN is a result, not an error
        let with = controlled(config, &policy.params, &cases, &self.threads).ok();
        let without = point.uncontrolled.then(|| uncontrolled(config, &cases, &self.threads).ok()).flatten();
        let metric = |of: &Trajectories<f32>| Metric::of(config, &cases, of);
        let plane = config.task.dims == 2;
        let per_case = |of: &Option<Trajectories<f32>>| {
            of.as_ref().map_or_else(PerCase::default, |of| PerCase::of(of, plane))
        };
        let mut measured = Measured {
            cases: cases.count,
            metric: with.as_ref().map(metric),
            uncontrolled: without.as_ref().map(metric),
            per_case: per_case(&with),
            uncontrolled_per_case: per_case(&without),
            effort: with.as_ref().map(|with| Effort::of(config, with)),
            violations: None,
            settled_effort: with.as_ref().and_then(settled_effort),
            course: with.as_ref().map_or_else(Vec::new, course),
            seconds: start.elapsed().as_secs_f64(),
            training_seconds: None,
        };
        if let (Some(controlled), Some(uncontrolled), Some(_)) = (with, without, &config.obstacles) {
            let rollouts = Rollouts { controlled, uncontrolled, seconds: measured.seconds };
            measured.violations = evaluate(config, &cases, &rollouts).violations;
        }
        measured
    }

    /// The cases of a point. On the domain of the training these are the cases of the training's config,
    /// whatever else has changed; on a finer grid they are refined.
    pub(crate) fn cases(&self, point: &Point) -> Cases {
        let (trained, config) = (&point.trained, &point.circumstances);
        let same_domain = trained.grid.length == config.grid.length;
        let source = if same_domain { trained } else { config };
        let test = |count: usize| {
            let folder = cache_folder();
            cached(source, CASES_SEED, Pool::Test, count, &self.threads, folder.as_deref(), &|_, _| {})
        };
        let cases = match point.cases {
            Sample::Test(count) => test(count),
            Sample::Paper => Cases::paper(source).unwrap_or_else(|_| test(50)),
        };
        cases.refined(source, config)
    }
}

impl Point {
    pub(super) fn work(&self) -> f64 {
        let cases = match self.cases {
            Sample::Test(count) => count,
            Sample::Paper => 50,
        };
        cases as f64 * work(&self.circumstances) * if self.uncontrolled { 1.5 } else { 1.0 }
    }

    pub(super) fn told(&self) -> String {
        let changed = crate::settings::changed_settings(&self.trained, &self.circumstances);
        format!("measuring {} {}", self.trained.task, changed.join(" "))
    }

    /// All settings that determine the measurement.
    fn settings(&self) -> String {
        let Point { trained, circumstances, cases, uncontrolled } = self;
        let configs = [trained, circumstances].map(|config| config.regardless_of_speed().to_toml()).concat();
        format!("{configs} {cases:?} {uncontrolled}")
    }

    /// Everything that determines the measurement.
    pub(super) fn key(&self, policy: &PolicyFile) -> String {
        let params: Vec<String> = policy.params.iter().map(|p| format!("{:x}", p.to_bits())).collect();
        format!("{} {}", self.settings(), params.join(" "))
    }
}

impl PerCase {
    fn of(trajectories: &Trajectories<f32>, plane: bool) -> PerCase {
        let errors: Vec<Vec<f64>> = (0..trajectories.samples).map(|case| trajectories.error(case)).collect();
        let each = |of: &dyn Fn(&[f64]) -> f64| errors.iter().map(|error| of(error)).collect::<Vec<f64>>();
        let u2 = |u: &[f32]| {
            let of_case = u.chunks_exact(u.len() / trajectories.samples);
            let squares =
                of_case.map(|u| u.iter().map(|&u| f64::from(u).powi(2)).sum::<f64>() / u.len() as f64);
            squares.collect()
        };
        PerCase {
            last: each(&|e| e[e.len() - 1]),
            half: if plane { each(&|e| e[(e.len() / 2).max(1) - 1]) } else { Vec::new() },
            time_mean: each(&|e| e.iter().sum::<f64>() / e.len() as f64),
            u2: trajectories.u().filter(|u| !u.is_empty()).map_or_else(Vec::new, u2),
        }
    }
}

fn course(trajectories: &Trajectories<f32>) -> Vec<f64> {
    let errors: Vec<Vec<f64>> = (0..trajectories.samples).map(|case| trajectories.error(case)).collect();
    let mean = |step: usize| errors.iter().map(|error| error[step]).sum::<f64>() / errors.len() as f64;
    (0..trajectories.steps).map(mean).collect()
}

fn settled_effort(trajectories: &Trajectories<f32>) -> Option<f64> {
    let u = trajectories.u()?;
    let (cases, steps) = (trajectories.samples, trajectories.steps);
    let agents = u.len() / (cases * steps);
    let first = ((1.0 - SETTLED) * steps as f64).round() as usize;
    let settled = u.chunks_exact(steps * agents).flat_map(|case| &case[first * agents..]);
    let sum: f64 = settled.map(|&u| f64::from(u).powi(2)).sum();
    Some(sum / (cases * (steps - first)) as f64)
}

#[cfg(test)]
mod tests {
    /// Measurements are kept as JSON. A parser that loses the last bit would make cached results differ from
    /// new ones.
    #[test]
    fn numbers_come_back_bit_by_bit() {
        let mut bits = 0x3f88_f02b_7a3d_1e5b_u64;
        for _ in 0..2000 {
            let number = f64::from_bits(bits);
            let text = serde_json::to_string(&number).unwrap();
            assert_eq!(serde_json::from_str::<f64>(&text).unwrap().to_bits(), bits, "{text}");
            bits += 0x1234_5678_9abc;
        }
    }
}
