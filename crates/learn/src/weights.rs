//! Parameters in training with the state of their optimiser: on the CPU, or on the device that computes their
//! gradient.

use cinoc_adjoint::Descending;
use cinoc_adjoint::optimiser::Adam;
use std::cell::OnceCell;

/// Parameters and the state of Adam.
pub(crate) struct Weights {
    /// As they are now; empty after an update on a device, until somebody asks.
    here: OnceCell<(Vec<f32>, Adam)>,
    /// On a device, if they are updated there.
    there: Option<Descending<f32>>,
}

impl Weights {
    /// Parameters that begin like this, and are kept on a device too if there is one.
    pub fn new(params: Vec<f32>, adam: Adam, there: Option<Descending<f32>>) -> Weights {
        Weights { here: OnceCell::from((params, adam)), there }
    }

    /// Parameters and the state of Adam as they are now.
    pub fn state(&self) -> &(Vec<f32>, Adam) {
        let fetched = || self.there.as_ref().expect("parameters are here or on a device").state();
        self.here.get_or_init(fetched)
    }

    /// Parameters as they are now.
    pub fn params(&self) -> &[f32] {
        &self.state().0
    }

    /// Updates done.
    pub fn updates(&self) -> usize {
        self.there.as_ref().map_or_else(|| self.state().1.step, Descending::updates) as usize
    }

    /// Whether a device updates them.
    pub fn are_there(&self) -> bool {
        self.there.is_some()
    }

    /// To be updated on the device, if that is done there.
    pub fn there(&mut self) -> Option<&mut Descending<f32>> {
        let there = self.there.as_mut()?;
        self.here.take();
        Some(there)
    }

    /// To be updated here.
    pub fn here(&mut self) -> (&mut [f32], &mut Adam) {
        self.state();
        let (params, adam) = self.here.get_mut().expect("they were just fetched");
        (params, adam)
    }
}
