//! Noise and failures: the random inputs of a closed loop.
//!
//! Every sample of every batch has streams of its own, so that what happens to it does not depend on how
//! cases are grouped.

use crate::agents::start_positions;
use crate::config::Config;
use crate::random::{Purpose, stream};
use cinoc_pde::random_field::normals;
use rand::Rng;
use rand::seq::index;
use rand_chacha::ChaCha8Rng;

/// An input of the closed loop that is drawn at random, for every step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RandomInput {
    /// N(0, 1) per grid point: what sensors add to the field.
    SensorNoise,
    /// N(0, 1) per intensity, or per component of the velocity where agents have no intensities.
    ActuatorNoise,
    /// 1 per agent at work, 0 per failed agent.
    Alive,
}

impl RandomInput {
    /// Its name in listings.
    pub fn name(self) -> &'static str {
        match self {
            RandomInput::SensorNoise => "sensor_noise",
            RandomInput::ActuatorNoise => "actuator_noise",
            RandomInput::Alive => "alive",
        }
    }
}

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

    /// For the samples of the same batch from number `first` on.
    pub fn from(self, first: usize) -> Disturbance {
        Disturbance { first: self.first + first as u64, ..self }
    }

    /// Start positions of one sample from those of the task, `[dims][agents]`: others if it is trained on and
    /// has fewer agents or its starts are scattered.
    pub(crate) fn starts(&self, config: &Config, start: &[f64], sample: usize) -> Vec<f64> {
        if self.during == During::Evaluation {
            return start.to_vec();
        }
        let mut start = start.to_vec();
        let lost = self.lost(config, sample, 0);
        if lost.evenly {
            let others = config.agents - lost.count;
            let places = start_positions(&Config { agents: others, ..config.clone() });
            for (start, places) in start.chunks_exact_mut(config.agents).zip(places.chunks_exact(others)) {
                start[..others].copy_from_slice(places);
            }
        }
        let rng = &mut stream(self.seed, Purpose::TrainingStarts, self.first + sample as u64);
        if config.train.scatter == 0.0 || rng.random::<f64>() >= config.train.scatter {
            return start;
        }
        let mut positions = Vec::with_capacity(start.len());
        for (axis, start) in config.axes().iter().zip(start.chunks_exact(config.agents)) {
            let length = axis.length;
            let wall = config.safety.as_ref().and_then(|safety| safety.wall).unwrap_or(0.0);
            if config.mobile() {
                positions.extend(start.iter().map(|_| rng.random_range(wall..length - wall)));
            } else if axis.periodic() {
                let shift = length * rng.random::<f64>();
                positions.extend(start.iter().map(|xi| (xi + shift).rem_euclid(length)));
            } else {
                positions.extend(start);
            }
        }
        positions
    }

    /// The values of a random input of the closed loop for one sample, `[steps][size]`. A sample that goes on
    /// where so many `rounds` before it ended lacks the agents it had lost.
    pub fn draw(&self, config: &Config, input: RandomInput, sample: usize, rounds: usize) -> Vec<f64> {
        let (steps, agents) = (config.time.steps, config.agents);
        let rng = |training: Purpose, evaluation: Purpose| {
            let purpose = if self.during == During::Training { training } else { evaluation };
            stream(self.seed, purpose, self.first + sample as u64)
        };
        match input {
            RandomInput::SensorNoise => normals(
                &mut rng(Purpose::TrainingSensors, Purpose::HeldOutSensors),
                steps * config.state_size(),
            ),
            RandomInput::ActuatorNoise => {
                // one per intensity, or per component of the velocity where agents have none
                let noisy = if config.actuation.u_max.is_some() { 1 } else { config.task.dims };
                normals(
                    &mut rng(Purpose::TrainingActuators, Purpose::HeldOutActuators),
                    steps * noisy * agents,
                )
            }
            RandomInput::Alive => {
                let mut lost = self.lost(config, sample, rounds);
                let which = match lost.evenly {
                    true => (agents - lost.count..agents).collect(),
                    false => index::sample(&mut lost.rng, agents, lost.count).into_vec(),
                };
                alive(steps, agents, if rounds > 0 { 0 } else { lost.step }, &which)
            }
        }
    }

    /// How many agents a sample loses that began so many `rounds` before.
    fn lost(&self, config: &Config, sample: usize, rounds: usize) -> Lost {
        let began = self.first + sample as u64 - (rounds * config.train.batch) as u64;
        let (training, steps, agents) = (self.during == During::Training, config.time.steps, config.agents);
        let purpose = if training { Purpose::TrainingFailures } else { Purpose::HeldOutFailures };
        let mut rng = stream(self.seed, purpose, began);
        let count = |share: f64| (share * agents as f64).round() as usize;
        let [low, high] = config.train.failure;
        if !training || high == 0.0 || config.failure.share > 0.0 {
            let (count, step) = (count(config.failure.share), config.failure.step);
            return Lost { count, step, evenly: false, rng };
        }
        let share = low + (high - low) * rng.random::<f64>();
        // half of the cases lose agents at the start
        let step = rng.random_range(0..=steps).saturating_sub(steps / 2);
        let evenly = config.train.fewer > 0.0 && rng.random::<f64>() < config.train.fewer;
        // one agent is always left
        let count = if evenly { count(share).min(agents - 1) } else { count(share) };
        Lost { count, step: if evenly { 0 } else { step }, evenly, rng }
    }
}

/// Agents that a sample loses, at random from a step on or, `evenly`, the last ones from the start: the
/// others are placed as a swarm of their number.
struct Lost {
    count: usize,
    step: usize,
    evenly: bool,
    /// Tells which ones.
    rng: ChaCha8Rng,
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
        let alive = Disturbance::evaluation(1, 0).draw(&config(), RandomInput::Alive, 0, 0);
        for (step, row) in alive.chunks(20).enumerate() {
            assert_eq!(row.iter().sum::<f64>(), if step < 3 { 20.0 } else { 15.0 });
        }
    }

    #[test]
    fn training_loses_a_random_share_from_a_random_step_on() {
        let sets = ["train.failure=[0.1, 0.5]", "failure.share=0"].map(String::from);
        let config = config().with_sets(&sets).unwrap();
        let drawn = |sample| Disturbance::training(1, 0, 64).draw(&config, RandomInput::Alive, sample, 0);
        let (mut at_once, mut losses) = (0, Vec::new());
        for alive in (0..64).map(drawn) {
            let rows: Vec<f64> = alive.chunks(20).map(|row| row.iter().sum()).collect();
            assert!(rows.windows(2).all(|pair| pair[1] <= pair[0]), "failed agents stay silent: {rows:?}");
            at_once += usize::from(rows[0] < 20.0);
            losses.push(20.0 - rows[4]);
        }
        assert!((20..=48).contains(&at_once), "{at_once}");
        assert!(losses.contains(&2.0) && losses.contains(&10.0), "{losses:?}");
        assert!(losses.iter().all(|loss| (2.0..=10.0).contains(loss)), "{losses:?}");
    }

    #[test]
    fn what_goes_on_lacks_the_agents_it_had_lost() {
        let sets = ["train.failure=[0.1, 0.5]", "failure.share=0"].map(String::from);
        let config = config().with_sets(&sets).unwrap();
        let batch = config.train.batch;
        let draw = |update, rounds| {
            Disturbance::training(1, update, batch).draw(&config, RandomInput::Alive, 3, rounds)
        };
        let (before, after) = (draw(4, 0), draw(6, 2));
        assert!(after.chunks(20).all(|row| row == &before[80..]), "from its first step on");
    }

    #[test]
    fn starts_are_scattered_in_training_only() {
        let scattered = |task: &str, during: Disturbance| {
            let sets = ["train.scatter=1", "train.fewer=0"].map(String::from);
            let config = Config::preset(task).unwrap().with_sets(&sets).unwrap();
            let start = crate::agents::start_positions(&config);
            (during.starts(&config, &start, 3), start)
        };
        let (same, start) = scattered("heat1d", Disturbance::evaluation(0, 0));
        assert_eq!(same, start);
        let (moved, start) = scattered("heat1d", Disturbance::training(0, 0, 32));
        assert!(moved.iter().all(|xi| (0.0..=1.0).contains(xi)) && moved != start);
        // on a ring the lattice moves as one
        let (moved, start) = scattered("ks1d", Disturbance::training(0, 0, 32));
        let shift = |i: usize| (moved[i] - start[i]).rem_euclid(22.0);
        assert!(shift(0) > 0.0 && (0..8).all(|i| (shift(i) - shift(0)).abs() < 1e-9));
    }

    #[test]
    fn the_chosen_share_of_cases_starts_elsewhere() {
        let config = config().with_sets(&["train.scatter=0.3".to_string()]).unwrap();
        let start = crate::agents::start_positions(&config);
        let training = Disturbance::training(0, 0, 200);
        let moved = (0..200).filter(|&sample| training.starts(&config, &start, sample) != start).count();
        assert!((40..=80).contains(&moved), "{moved}");
    }

    #[test]
    fn the_chosen_share_of_cases_has_fewer_agents_evenly_placed() {
        let sets = ["train.failure=[0.25, 0.5]", "train.fewer=0.4", "train.scatter=0", "failure.share=0"];
        let config = config().with_sets(&sets.map(String::from)).unwrap();
        let (start, training) = (start_positions(&config), Disturbance::training(1, 0, 200));
        let mut fewer = 0;
        for sample in 0..200 {
            let (places, alive) = (
                training.starts(&config, &start, sample),
                training.draw(&config, RandomInput::Alive, sample, 0),
            );
            if places == start {
                continue;
            }
            fewer += 1;
            let left = alive[..20].iter().sum::<f64>() as usize;
            assert!((10..=15).contains(&left), "{left}");
            assert!(alive.chunks(20).all(|row| row == &alive[..20]), "from the start to the end");
            assert_eq!(alive[..left], vec![1.0; left]);
            assert_eq!(places[..left], start_positions(&Config { agents: left, ..config.clone() }));
        }
        assert!((55..=105).contains(&fewer), "{fewer}");
    }

    #[test]
    fn a_sample_keeps_its_noise_wherever_it_stands_in_a_batch() {
        let (config, draw) = (config(), |from: usize, sample| {
            Disturbance::evaluation(1, from).draw(&config(), RandomInput::SensorNoise, sample, 0)
        });
        assert_eq!(draw(0, 3), draw(2, 1));
        assert_ne!(draw(0, 3), draw(0, 2));
        assert_ne!(draw(0, 0), Disturbance::training(1, 0, 32).draw(&config, RandomInput::SensorNoise, 0, 0));
    }
}
