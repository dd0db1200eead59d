//! Noise and failures: the random inputs of a closed loop.
//!
//! Every sample of every batch has streams of its own, so that what happens to it does not depend on how
//! cases are grouped.

use crate::agents::start_positions;
use crate::config::{Config, FailureFrom};
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
    /// Agents of the loop beyond those of the task: only cases with more agents have them.
    pub spare: usize,
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
        Disturbance { seed, during: During::Training, first: (update * batch) as u64, spare: 0 }
    }

    /// For evaluation cases from number `first` on.
    pub fn evaluation(seed: u64, first: usize) -> Disturbance {
        Disturbance { seed, during: During::Evaluation, first: first as u64, spare: 0 }
    }

    /// For the samples of the same batch from number `first` on.
    pub fn from(self, first: usize) -> Disturbance {
        Disturbance { first: self.first + first as u64, ..self }
    }

    /// For a loop with so many agents beyond those of the task.
    pub fn with_spare(self, spare: usize) -> Disturbance {
        Disturbance { spare, ..self }
    }

    /// Start positions of one sample from those of the task, `[dims][agents]`: others if it is trained on and
    /// has another number of agents or its starts are scattered.
    pub(crate) fn starts(&self, config: &Config, start: &[f64], sample: usize) -> Vec<f64> {
        if self.during == During::Evaluation {
            return start.to_vec();
        }
        let (places, mut start) = (config.agents + self.spare, self.with_spare_places(config, start));
        let agents = self.swarm(config, sample, 0).agents;
        if agents != config.agents {
            let even = start_positions(&Config { agents, ..config.clone() });
            for (start, even) in start.chunks_exact_mut(places).zip(even.chunks_exact(agents)) {
                start[..agents].copy_from_slice(even);
            }
        }
        let rng = &mut stream(self.seed, Purpose::TrainingStarts, self.first + sample as u64);
        if config.train.scatter == 0.0 || rng.random::<f64>() >= config.train.scatter {
            return start;
        }
        let mut positions = Vec::with_capacity(start.len());
        for (axis, start) in config.axes().iter().zip(start.chunks_exact(places)) {
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

    /// The same places, and those of spare agents where others are.
    pub(crate) fn with_spare_places(&self, config: &Config, start: &[f64]) -> Vec<f64> {
        let places = config.agents + self.spare;
        start
            .chunks_exact(config.agents)
            .flat_map(|along| along.iter().cycle().take(places))
            .copied()
            .collect()
    }

    /// The values of a random input of the closed loop for one sample, `[steps][size]`. A sample that goes on
    /// where so many `rounds` before it ended lacks the agents it had lost.
    pub fn draw(&self, config: &Config, input: RandomInput, sample: usize, rounds: usize) -> Vec<f64> {
        let (steps, places) = (config.time.steps, config.agents + self.spare);
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
                    steps * noisy * places,
                )
            }
            RandomInput::Alive => {
                let swarm = self.swarm(config, sample, rounds);
                let from = if rounds > 0 { 0 } else { swarm.step };
                let [before, after] = swarm.alive(places);
                (0..steps).flat_map(|step| if step < from { &before } else { &after }).copied().collect()
            }
        }
    }

    /// Who is at work in a sample whose agents fail from the start: 1 per agent at work, 0 per failed agent.
    pub(crate) fn living(&self, config: &Config, sample: usize, rounds: usize) -> Vec<f64> {
        let [_, after] = self.swarm(config, sample, rounds).alive(config.agents + self.spare);
        after
    }

    /// The swarm of a sample that began so many `rounds` before.
    fn swarm(&self, config: &Config, sample: usize, rounds: usize) -> Swarm {
        let began = self.first + sample as u64 - (rounds * config.train.batch) as u64;
        let (training, steps, agents) = (self.during == During::Training, config.time.steps, config.agents);
        let purpose = if training { Purpose::TrainingFailures } else { Purpose::HeldOutFailures };
        let mut rng = stream(self.seed, purpose, began);
        let part = |share: f64, agents: usize| (share * agents as f64).round() as usize;
        let [low, high] = config.train.failure;
        if !training || (high == 0.0 && self.spare == 0) || config.failure.share > 0.0 {
            let (failing, step) = (part(config.failure.share, agents), config.failure.step);
            return Swarm { agents, failing, step, rng };
        }
        let share = low + (high - low) * rng.random::<f64>();
        // half of the cases lose agents at the start
        let step = match rng.random_range(0..=steps).saturating_sub(steps / 2) {
            step if config.train.failure_from == FailureFrom::Random => step,
            _ => 0,
        };
        let fewer = config.train.fewer > 0.0 && rng.random::<f64>() < config.train.fewer;
        let missing = match (fewer, self.spare) {
            (false, _) => 0.0,
            (true, 0) => share,
            (true, _) => high,
        };
        let least = agents.saturating_sub(part(missing, agents)).max(1);
        let agents = match self.spare {
            0 => least,
            spare => rng.random_range(least..=agents + spare),
        };
        Swarm { agents, failing: if fewer { 0 } else { part(share, agents) }, step, rng }
    }
}

/// The agents of a sample, evenly placed, of which some fail from a step on.
struct Swarm {
    agents: usize,
    failing: usize,
    step: usize,
    /// Tells which ones.
    rng: ChaCha8Rng,
}

impl Swarm {
    /// 1 per agent at work and 0 per other of so many places: before some fail, and after.
    fn alive(mut self, places: usize) -> [Vec<f64>; 2] {
        let mut before = vec![1.0; places];
        before[self.agents..].fill(0.0);
        let mut after = before.clone();
        index::sample(&mut self.rng, self.agents, self.failing).iter().for_each(|failed| after[failed] = 0.0);
        [before, after]
    }
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
    fn the_same_agents_fail_from_the_start() {
        let sets = ["train.failure=[0.1, 0.5]", "failure.share=0"].map(String::from);
        let later = config().with_sets(&sets).unwrap();
        let at_once = later.with_sets(&["train.failure_from=start".to_string()]).unwrap();
        let training = Disturbance::training(1, 0, 64);
        for sample in 0..64 {
            let living = training.living(&at_once, sample, 0);
            assert_eq!(training.draw(&at_once, RandomInput::Alive, sample, 0), living.repeat(5));
            assert_eq!(training.draw(&later, RandomInput::Alive, sample, 0)[80..], living);
        }
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
    fn some_cases_have_more_agents() {
        let sets = ["train.failure=[0, 0.5]", "train.fewer=0.5", "train.more=1", "train.scatter=0"];
        let sets = sets
            .iter()
            .chain(&["failure.share=0", "loss.coll=0"])
            .map(ToString::to_string)
            .collect::<Vec<_>>();
        let config = config().with_sets(&sets).unwrap();
        assert_eq!(config.spare_agents(), 20);
        let (start, training) =
            (start_positions(&config), Disturbance::training(1, 0, 400).with_spare(config.spare_agents()));
        let (mut least, mut most, mut failing) = (40, 0, 0);
        for sample in 0..400 {
            let places = training.starts(&config, &start, sample);
            let alive = training.draw(&config, RandomInput::Alive, sample, 0);
            assert_eq!((places.len(), alive.len()), (40, 5 * 40));
            let swarm = training.swarm(&config, sample, 0);
            let even = start_positions(&Config { agents: swarm.agents, ..config.clone() });
            assert_eq!(places[..swarm.agents], even, "evenly placed");
            assert!(alive.chunks(40).all(|row| row[swarm.agents..].iter().all(|&alive| alive == 0.0)));
            let left = alive[4 * 40..].iter().sum::<f64>() as usize;
            assert_eq!(left, swarm.agents - swarm.failing);
            (least, most) = (least.min(swarm.agents), most.max(swarm.agents));
            failing += usize::from(swarm.failing > 0);
        }
        assert_eq!((least, most), (10, 40));
        assert!((140..=240).contains(&failing), "{failing}");
        // a loop without them has at most the agents of the task
        let alone = Disturbance::training(1, 0, 400);
        assert!((0..400).all(|sample| alone.swarm(&config, sample, 0).agents <= 20));
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
