//! Noise and failures: the random inputs of a closed loop.
//!
//! Every sample of every batch has streams of its own, so that what happens to it does not depend on how cases are grouped.

use crate::config::Config;
use crate::random::{Purpose, stream};
use pde::random_field::normals;
use rand::Rng;
use rand::seq::index;

/// Where the disturbances of a batch come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disturbance {
    /// Seed of the run.
    pub seed: u64,
    /// Whether the batch is trained on or evaluated.
    pub during: During,
    /// Stream index of the first sample: the case, or `update * batch`.
    pub first: u64,
}

/// Training and evaluation do not share noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum During {
    /// A batch that is trained on.
    Training,
    /// A batch that is evaluated.
    Evaluation,
}

impl Disturbance {
    /// For the batch of update number `update`.
    pub fn training(seed: u64, update: usize, batch: usize) -> Disturbance {
        Disturbance { seed, during: During::Training, first: (update * batch) as u64 }
    }

    /// For evaluation cases from number `first` on.
    pub fn evaluation(seed: u64, first: usize) -> Disturbance {
        Disturbance { seed, during: During::Evaluation, first: first as u64 }
    }

    /// The factor on what the agents of one sample do to the field: 1 unless it is trained on. The samples of a batch are spread evenly
    /// over the range, whose middle they share at random.
    pub(crate) fn crowd(&self, config: &Config, sample: usize) -> f64 {
        if self.during == During::Evaluation {
            return 1.0;
        }
        let [low, high] = config.train.crowd.map(f64::ln);
        let offset: f64 = stream(self.seed, Purpose::TrainingCrowds, self.first).random();
        let share = (sample as f64 + offset) / config.train.batch as f64;
        (low + share.fract() * (high - low)).exp()
    }

    /// Start positions of one sample from those of the task, `[dims][agents]`: elsewhere if it is trained on and starts are scattered.
    pub(crate) fn scattered(&self, config: &Config, start: &[f64], sample: usize) -> Vec<f64> {
        let scatter = config.train.scatter;
        if self.during == During::Evaluation || scatter == 0.0 {
            return start.to_vec();
        }
        let rng = &mut stream(self.seed, Purpose::TrainingStarts, self.first + sample as u64);
        let mut positions = Vec::with_capacity(start.len());
        for (axis, start) in config.axes().iter().zip(start.chunks_exact(config.agents)) {
            let length = axis.length;
            if axis.periodic() {
                let shift = scatter * length * rng.random::<f64>();
                positions.extend(start.iter().map(|xi| (xi + shift).rem_euclid(length)));
            } else {
                let spacing = length / (config.agents as f64).powf(1.0 / config.axes().len() as f64);
                let moved = |xi: &f64| xi + scatter * spacing * (2.0 * rng.random::<f64>() - 1.0);
                positions.extend(start.iter().map(moved).map(|xi| xi.clamp(0.0, length)));
            }
        }
        positions
    }

    /// The values of a sequence input of the closed loop for one sample, `[steps][size]`.
    pub fn draw(&self, config: &Config, input: &str, sample: usize) -> Vec<f64> {
        let (steps, agents) = (config.time.steps, config.agents);
        let rng = |training: Purpose, evaluation: Purpose| {
            let purpose = if self.during == During::Training { training } else { evaluation };
            stream(self.seed, purpose, self.first + sample as u64)
        };
        match input {
            "sensor_noise" => {
                normals(&mut rng(Purpose::TrainingSensors, Purpose::HeldOutSensors), steps * config.points())
            }
            "actuator_noise" => {
                // one per intensity, or per component of the velocity where agents have none
                let noisy = if config.actuation.u_max.is_some() { 1 } else { config.equation().dims() };
                normals(
                    &mut rng(Purpose::TrainingActuators, Purpose::HeldOutActuators),
                    steps * noisy * agents,
                )
            }
            "alive" => {
                let failures = (config.failure.share * agents as f64).round() as usize;
                let rng = &mut rng(Purpose::TrainingFailures, Purpose::HeldOutFailures);
                alive(steps, agents, config.failure.step, &index::sample(rng, agents, failures).into_vec())
            }
            name => unreachable!("a closed loop has no sequence {name}"),
        }
    }
}

/// 1 for every agent and step, 0 for the `failed` from step `from` on.
fn alive(steps: usize, agents: usize, from: usize, failed: &[usize]) -> Vec<f64> {
    let mut alive = vec![1.0; steps * agents];
    for step in from..steps {
        for agent in failed {
            alive[step * agents + agent] = 0.0;
        }
    }
    alive
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        let sets = ["time.steps=5", "failure.share=0.25", "failure.step=3", "noise.sensor=0.1"];
        Config::preset("fkpp1d").unwrap().with_sets(&sets.map(String::from)).unwrap()
    }

    #[test]
    fn the_chosen_share_fails_at_the_chosen_step() {
        let alive = Disturbance::evaluation(1, 0).draw(&config(), "alive", 0);
        for (step, row) in alive.chunks(20).enumerate() {
            assert_eq!(row.iter().sum::<f64>(), if step < 3 { 20.0 } else { 15.0 });
        }
    }

    #[test]
    fn crowds_fill_their_range_in_training_only() {
        let config = config().with_sets(&["train.crowd=[0.5, 8]".to_string()]).unwrap();
        let drawn: Vec<f64> = (0..200)
            .map(|sample| Disturbance::training(1, sample / 32, 32).crowd(&config, sample % 32))
            .collect();
        let below = |bound: f64| drawn.iter().filter(|&&crowd| crowd < bound).count();
        assert_eq!((below(0.5), below(8.0)), (0, 200));
        // log-uniform: a half of all below the geometric mean
        assert!((80..=120).contains(&below(2.0)), "{}", below(2.0));
        assert_eq!(Disturbance::evaluation(1, 0).crowd(&config, 0), 1.0);
    }

    #[test]
    fn starts_are_scattered_in_training_only() {
        let scattered = |task: &str, during: Disturbance| {
            let config = Config::preset(task).unwrap().with_sets(&["train.scatter=0.5".to_string()]).unwrap();
            let start = crate::agents::start_positions(&config);
            (during.scattered(&config, &start, 3), start)
        };
        let (same, start) = scattered("heat1d", Disturbance::evaluation(0, 0));
        assert_eq!(same, start);
        let (moved, start) = scattered("heat1d", Disturbance::training(0, 0, 32));
        let apart: Vec<f64> = moved.iter().zip(&start).map(|(a, b)| (a - b).abs()).collect();
        assert!(apart.iter().all(|&d| d <= 0.5 / 8.0) && apart.iter().any(|&d| d > 0.01), "{apart:?}");
        // on a ring the lattice moves as one
        let (moved, start) = scattered("ks1d", Disturbance::training(0, 0, 32));
        let shift = |i: usize| (moved[i] - start[i]).rem_euclid(22.0);
        assert!(shift(0) > 0.0 && (0..8).all(|i| (shift(i) - shift(0)).abs() < 1e-9));
    }

    #[test]
    fn a_sample_keeps_its_noise_wherever_it_stands_in_a_batch() {
        let (config, draw) = (config(), |from: usize, sample| {
            Disturbance::evaluation(1, from).draw(&config(), "sensor_noise", sample)
        });
        assert_eq!(draw(0, 3), draw(2, 1));
        assert_ne!(draw(0, 3), draw(0, 2));
        assert_ne!(draw(0, 0), Disturbance::training(1, 0, 32).draw(&config, "sensor_noise", 0));
    }
}
