//! Settings that are allowed and that nobody means.

use super::{Config, Decay};

impl Config {
    /// Settings of a training that contradict each other, each as a line that names the keys and the remedy.
    pub fn doubts(&self) -> Vec<String> {
        let (train, loss) = (&self.train, &self.loss);
        let mut doubts = Vec::new();
        if train.schedule == Decay::Cosine {
            if train.warmup >= train.updates {
                doubts.push(format!(
                    "the warm-up (train.warmup = {}) is not shorter than the training (train.updates = {}): \
                     the learning rate never reaches train.lr; lower train.warmup",
                    train.warmup, train.updates
                ));
            }
            for (key, rate) in [("train.lr_start", train.lr_start), ("train.lr_end", train.lr_end)] {
                if rate > train.lr {
                    doubts.push(format!(
                        "{key} = {rate:?} is above train.lr = {:?}, the highest rate of the schedule; \
                         change one of them",
                        train.lr
                    ));
                }
            }
        }
        let tracking =
            [Some(loss.track), Some(loss.terminal), loss.moment, loss.moment_end].into_iter().flatten();
        if tracking.sum::<f64>() == 0.0 {
            let keys = if loss.moment.is_some() {
                "loss.track, loss.terminal, loss.moment and loss.moment_end"
            } else {
                "loss.track and loss.terminal"
            };
            doubts
                .push(format!("{keys} are 0: nothing in the loss asks to reach the target; set one of them"));
        }
        doubts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tasks;

    fn doubts(task: &str, sets: &[&str]) -> Vec<String> {
        let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
        Config::resolve(task, None, &sets).unwrap().doubts()
    }

    #[test]
    fn presets_raise_no_doubts() {
        for task in Tasks::built_in().iter() {
            assert!(doubts(&task.name, &[]).is_empty());
            assert!(Config::paper(&task.name).unwrap().doubts().is_empty(), "{task}");
        }
    }

    #[test]
    fn contradictions_are_named_by_their_keys() {
        let one = |task: &str, sets: &[&str], part: &str| {
            let found = doubts(task, sets);
            assert!(found.len() == 1 && found[0].contains(part), "{sets:?}: {found:?}");
        };
        one("heat1d", &["train.updates=20"], "train.warmup = 20");
        one("heat1d", &["train.lr_end=0.1"], "train.lr_end = 0.1 is above train.lr = 0.003");
        one("heat1d", &["train.lr_start=0.1"], "train.lr_start");
        one("heat1d", &["loss.track=0", "loss.terminal=0"], "loss.track and loss.terminal are 0");
        assert!(doubts("heat1d", &["loss.track=0"]).is_empty());
        // the other schedule has neither a warm-up nor an end
        assert!(
            doubts("heat1d", &["train.schedule=exponential", "train.updates=5", "train.lr_end=1"]).is_empty()
        );
        let density = ["loss.track=0", "loss.terminal=0"];
        assert!(doubts("density2d", &density).is_empty(), "moments track too");
    }
}
