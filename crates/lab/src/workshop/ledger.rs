//! What an experiment costs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use super::{Workshop, fingerprint};
use crate::results::{Cost, Provenance, version};

/// What was spent since it was opened.
#[derive(Default)]
pub(super) struct Ledger {
    opened: Option<Instant>,
    /// Seconds by training, so that none is counted twice.
    trainings: BTreeMap<String, f64>,
    /// Seconds of rollouts as they took when they were measured, and of those that were measured now.
    rollouts: f64,
    rollouts_now: f64,
    trainings_now: f64,
    /// Hashes of the policies that were used, by name.
    policies: BTreeMap<String, String>,
    /// Hashes of the settings of all that was trained and measured.
    settings: BTreeSet<String>,
}

impl Workshop<'_> {
    /// Begins to count.
    pub(crate) fn open_ledger(&self) {
        *self.ledger.borrow_mut() = Ledger { opened: Some(Instant::now()), ..Ledger::default() };
    }

    /// A training that the experiment needs took so long, now or before.
    pub(super) fn book_training(&self, name: &str, seconds: f64) {
        self.ledger.borrow_mut().trainings.insert(name.to_string(), seconds);
    }

    /// A training was done just now.
    pub(super) fn book_training_now(&self, seconds: f64) {
        self.ledger.borrow_mut().trainings_now += seconds;
    }

    /// A point took so long, now or before.
    pub(crate) fn book_rollout(&self, seconds: f64, now: bool) {
        let mut ledger = self.ledger.borrow_mut();
        ledger.rollouts += seconds;
        if now {
            ledger.rollouts_now += seconds;
        }
    }

    /// A policy was used.
    pub(super) fn book_policy(&self, name: &str, hash: String) {
        self.ledger.borrow_mut().policies.insert(name.to_string(), hash);
    }

    /// Something was trained or measured with these settings.
    pub(crate) fn book_settings(&self, settings: &str) {
        self.ledger.borrow_mut().settings.insert(fingerprint(settings));
    }

    /// What made the results since it was opened.
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

    /// What it cost since it was opened, as if nothing had been there before.
    pub(crate) fn close_ledger(&self) -> Cost {
        let ledger = self.ledger.borrow();
        let elapsed = ledger.opened.map_or(0.0, |opened| opened.elapsed().as_secs_f64());
        let other = (elapsed - ledger.trainings_now - ledger.rollouts_now).max(0.0);
        Cost {
            trainings: ledger.trainings.len(),
            training_seconds: ledger.trainings.values().fold(0.0, |sum, seconds| sum + seconds),
            measuring_seconds: ledger.rollouts + other,
            threads: self.threads,
        }
    }
}
