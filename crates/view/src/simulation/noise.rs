//! Noise of a simulation.

use std::collections::HashMap;

use cinoc_control::disturbance::RandomInput;
use cinoc_control::{Config, Disturbance};

/// Noise of a horizon has streams of its own; so far apart are those of consecutive horizons.
const ROUND: usize = 1 << 20;

/// Noise of a simulation that may go on for ever: that of `cinoc eval` in the first horizon, then of other
/// streams.
pub(super) struct Noise {
    seed: u64,
    case: usize,
    drawn: std::cell::RefCell<HashMap<(&'static str, usize), Vec<f32>>>,
}

impl Noise {
    pub(super) fn new(seed: u64, case: usize) -> Noise {
        Noise { seed, case, drawn: Default::default() }
    }

    pub(super) fn forget(&self) {
        self.drawn.borrow_mut().clear();
    }

    pub(super) fn at(&self, config: &Config, what: RandomInput, step: u64) -> Vec<f32> {
        let (round, within) = (step as usize / config.time.steps, step as usize % config.time.steps);
        let mut drawn = self.drawn.borrow_mut();
        drawn.retain(|(_, of), _| *of == round);
        let values = drawn.entry((what.name(), round)).or_insert_with(|| {
            let disturbance = Disturbance::evaluation(self.seed, self.case + round * ROUND);
            disturbance.draw(config, what, 0, 0).iter().map(|&value| value as f32).collect()
        });
        let size = values.len() / config.time.steps;
        values[within * size..][..size].to_vec()
    }
}
