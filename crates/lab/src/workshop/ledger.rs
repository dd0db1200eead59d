//! Cost and provenance of an experiment.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use super::{Workshop, fingerprint};
use crate::results::{Cost, Provenance, version};

/// Costs since it was opened.
#[derive(Default)]
pub(super) struct Ledger {
    opened: Option<Instant>,
    /// Seconds by training, so that no training is counted twice.
    trainings: BTreeMap<String, f64>,
    /// Seconds of all rollouts, as they took when they were measured; `rollouts_now` are those measured now.
    rollouts: f64,
    rollouts_now: f64,
    trainings_now: f64,
    /// Hashes of the policies that were used, by name.
    policies: BTreeMap<String, String>,
    /// Hashes of the settings of all trainings and measurements.
    settings: BTreeSet<String>,
}

impl Workshop<'_> {
    /// Starts counting.
    pub(crate) fn open_ledger(&self) {
        *self.ledger.borrow_mut() = Ledger { opened: Some(Instant::now()), ..Ledger::default() };
    }

    /// Records the duration of a training that the experiment needs, done now or before.
    pub(super) fn book_training(&self, name: &str, seconds: f64) {
        self.ledger.borrow_mut().trainings.insert(name.to_string(), seconds);
    }

    /// Records a training that was done now.
    pub(super) fn book_training_now(&self, seconds: f64) {
        self.ledger.borrow_mut().trainings_now += seconds;
    }

    /// Records the duration of a point, measured now or before.
    pub(crate) fn book_rollout(&self, seconds: f64, now: bool) {
        let mut ledger = self.ledger.borrow_mut();
        ledger.rollouts += seconds;
        if now {
            ledger.rollouts_now += seconds;
        }
    }

    /// Records the use of a policy.
    pub(super) fn book_policy(&self, name: &str, hash: String) {
        self.ledger.borrow_mut().policies.insert(name.to_string(), hash);
    }

    /// Records the settings of a training or measurement.
    pub(crate) fn book_settings(&self, settings: &str) {
        self.ledger.borrow_mut().settings.insert(fingerprint(settings));
    }

    /// The provenance of the results since it was opened.
    pub(crate) fn provenance(&self) -> Provenance {
        let ledger = self.ledger.borrow();
        let settings: Vec<&str> = ledger.settings.iter().map(String::as_str).collect();
        Provenance {
            version: version(),
            earlier: BTreeSet::new(),
            settings: fingerprint(&settings.join(" ")),
            policies: ledger.policies.clone(),
        }
    }

    /// The cost since it was opened, as if nothing had been cached.
    pub(crate) fn close_ledger(&self) -> Cost {
        let ledger = self.ledger.borrow();
        let elapsed = ledger.opened.map_or(0.0, |opened| opened.elapsed().as_secs_f64());
        let other = (elapsed - ledger.trainings_now - ledger.rollouts_now).max(0.0);
        Cost {
            trainings: ledger.trainings.len(),
            training_seconds: ledger.trainings.values().fold(0.0, |sum, seconds| sum + seconds),
            measuring_seconds: ledger.rollouts + other,
            threads: self.threads.count(),
        }
    }
}
