//! What training does to make a policy robust: failures, scattered starts, rollouts that go on, bounded
//! derivatives.

use super::Config;

impl Config {
    /// The same, without what training does to make a policy robust: exact gradients, every case as it is.
    pub fn plain(&self) -> Config {
        let mut plain = self.clone();
        let train = &mut plain.train;
        (train.step_clip, train.scatter, train.hold) = (0.0, 0.0, 0.0);
        (train.failure, train.fewer, train.more) = ([0.0; 2], 0.0, 0.0);
        plain
    }

    /// Agents beyond those of the task that some training cases have.
    pub fn spare_agents(&self) -> usize {
        (self.train.more * self.agents as f64).round() as usize
    }
}
