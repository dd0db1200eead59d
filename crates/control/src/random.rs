//! Random numbers: one named stream per purpose, all from one seed.
//!
//! A stream is the ChaCha8 generator keyed by the seed, with the purpose and an index (a case, an update) as
//! its stream number. Streams do not overlap, the numbers are the same on every machine, and a new consumer
//! shifts none of the others.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// What random numbers are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Cases of the training pool.
    TrainingCases = 1,
    /// Cases that settings are chosen on, never trained on.
    ValidationCases = 2,
    /// First parameters of the policy.
    Parameters = 3,
    /// Which cases an update is made of.
    Batches = 4,
    /// Sensor noise in training.
    TrainingSensors = 5,
    /// Actuator noise in training.
    TrainingActuators = 6,
    /// Which agents fail in training.
    TrainingFailures = 7,
    /// Sensor noise in evaluation.
    HeldOutSensors = 8,
    /// Actuator noise in evaluation.
    HeldOutActuators = 9,
    /// Which agents fail in evaluation.
    HeldOutFailures = 10,
    /// Directions and states of numerical checks.
    Checks = 11,
    /// How crowded training cases are.
    TrainingCrowds = 12,
    /// Where agents start in training.
    TrainingStarts = 13,
    /// First parameters of critics.
    Critics = 14,
    /// What a learner tries.
    Exploration = 15,
    /// Which transitions a gradient step is made of.
    Minibatches = 16,
    /// Which cases the episodes of an environment are.
    Episodes = 17,
    /// Cases that results are reported on; nothing is chosen on them.
    TestCases = 18,
}

/// The stream of a purpose; `index` tells streams of the same purpose apart (below 2^48).
pub fn stream(seed: u64, purpose: Purpose, index: u64) -> ChaCha8Rng {
    debug_assert!(index < 1 << 48, "stream index {index}");
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream((purpose as u64) << 48 | index);
    rng
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngCore;

    #[test]
    fn streams_differ_and_repeat() {
        let first = |seed, purpose, index| stream(seed, purpose, index).next_u64();
        let all = [
            first(0, Purpose::TrainingCases, 0),
            first(1, Purpose::TrainingCases, 0),
            first(0, Purpose::ValidationCases, 0),
            first(0, Purpose::TrainingCases, 1),
        ];
        for (i, a) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|b| a != b));
        }
        assert_eq!(all[0], first(0, Purpose::TrainingCases, 0));
    }

    #[test]
    fn numbers_are_the_same_on_every_machine() {
        assert_eq!(stream(0, Purpose::Parameters, 0).next_u64(), 12_745_797_082_936_650_099);
    }
}
