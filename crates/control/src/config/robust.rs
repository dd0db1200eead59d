//! What training does to make a policy robust: several sizes of swarms, crowds, scattered starts, balanced cases.

use super::Config;

impl Config {
    /// The same, without what training does to make a policy robust: one swarm, exact gradients, every case as it is.
    pub fn plain(&self) -> Config {
        let mut plain = self.clone();
        let train = &mut plain.train;
        (train.step_clip, train.scatter, train.balance) = (0.0, 0.0, false);
        (train.crowd, train.swarms) = ([1.0; 2], Vec::new());
        plain
    }

    /// The numbers of agents that updates take turns with; on a plane, of full lattices.
    pub fn swarms(&self) -> Vec<usize> {
        let number = |percent: &usize| {
            let wanted = *percent as f64 / 100.0 * self.agents as f64;
            match (percent, self.equation().dims()) {
                (100, _) => self.agents,
                (_, 1) => wanted.round().max(1.0) as usize,
                _ => (wanted.sqrt().round().max(1.0) as usize).pow(2),
            }
        };
        if self.train.swarms.is_empty() {
            return vec![self.agents];
        }
        self.train.swarms.iter().map(number).collect()
    }
}
