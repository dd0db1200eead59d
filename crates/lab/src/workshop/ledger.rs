//! What an experiment costs.

use std::collections::BTreeMap;
use std::time::Instant;

use super::Workshop;
use crate::results::Cost;

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
