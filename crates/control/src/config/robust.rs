//! What training does to make a policy robust: failures, scattered starts, rollouts that go on, bounded
//! derivatives.

use super::Config;

impl Config {
    /// The same, without what training does to make a policy robust: exact gradients, every case as it is.
    pub fn plain(&self) -> Config {
        let mut plain = self.clone();
        let train = &mut plain.train;
        (train.step_clip, train.scatter, train.hold) = (0.0, 0.0, 0.0);
        (train.failure, train.fewer) = ([0.0; 2], 0.0);
        plain
    }
}
