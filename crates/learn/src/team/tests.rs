//! Any number of ranks gives the bits of a process by itself: parameters, losses, ends, validations, errors.

use super::follower::Follower;
use super::in_memory::together;
use super::{Order, Team};
use crate::checkpoint::Checkpoint;
use crate::learner::Learner;
use crate::train::{Trainer, Update};
use crate::validation::{Validated, Validation};
use cinoc_adjoint::backend::{Arranged, Backend, Executable, Gradient, Outcome, Plan, Strategy, on_cpu};
use cinoc_adjoint::{Real, Threads};
use cinoc_control::{Cases, Config, Pool, Tasks};
use std::sync::Arc;

/// What a training leaves: its updates, its validations, its state.
type Left = (Vec<Update>, Vec<[u64; 3]>, Checkpoint);

fn config(task: &str, sets: &[&str]) -> Config {
    let small = ["time.steps=6", "data.pool=12", "train.validate_every=1", "train.warmup=1"];
    let sets: Vec<String> = small.iter().chain(sets).map(|set| set.to_string()).collect();
    Config::preset(task).unwrap().with_sets(&sets).unwrap()
}

fn cases(config: &Config) -> Cases {
    Cases::draw(config, 0, Pool::Training, config.data.pool, &Threads::one(), &|_, _| {})
}

/// Trains for some updates, goes on from the checkpoint, and trains for some more.
fn train(config: &Config, threads: &Threads, team: &Team) -> Left {
    let (pool, held_out) = (cases(config), cases(config));
    let (mut updates, mut validations) = (Vec::new(), Vec::new());
    let mut checkpoint = Checkpoint::first(config);
    for _ in 0..2 {
        let validation = Validation::leading(config, &held_out, threads, team).unwrap();
        let mut trainer = Trainer::leading(checkpoint, pool.clone(), threads, team);
        for _ in 0..3 {
            updates.push(trainer.update().unwrap());
            let Validated { loss, last, time_mean, .. } = validation.measure(trainer.params());
            validations.push([loss, last, time_mean].map(f64::to_bits));
        }
        checkpoint = trainer.checkpoint().unwrap();
    }
    (updates, validations, checkpoint)
}

/// The leader's part by `lead`; the followers obey.
fn led<R: Send>(ranks: usize, threads: &Threads, lead: impl Fn(&Team) -> R + Sync) -> R {
    let results = together(ranks, |team| {
        if team.follows() {
            let (order, _) = Follower::new(&team, Tasks::built_in(), threads).obey();
            assert_eq!(order, Order::Quit);
            return None;
        }
        let result = lead(&team);
        team.order(Order::Quit, Vec::new);
        Some(result)
    });
    results.into_iter().flatten().next().expect("a leader")
}

#[test]
fn any_number_of_ranks_gives_the_bits_of_one_process() {
    // three chunks, the last one not full; rollouts that go on, lost agents, scattered starts, noise
    let one_dimension = [
        "train.batch=40",
        "train.validation_cases=20",
        "data.pool=20",
        "train.hold=0.5",
        "train.failure=[0.1, 0.5]",
        "train.scatter=0.5",
        "noise.sensor=0.01",
        "noise.actuator=0.1",
    ];
    let two_dimensions = ["train.batch=9", "train.validation_cases=5", "time.steps=3", "train.hold=0.4"];
    for (task, sets) in [("fkpp1d", &one_dimension[..]), ("heat2d", &two_dimensions)] {
        let config = config(task, sets);
        let expected = train(&config, &Threads::one(), &Team::alone());
        assert!(expected.2.ends.is_some(), "rollouts go on");
        for (ranks, threads) in [(1, 2), (2, 1), (3, 2), (4, 1)] {
            let threads = Threads::new(threads).unwrap();
            let left = led(ranks, &threads, |team| train(&config, &threads, team));
            assert_eq!(left, expected, "{task} with {ranks} ranks of {} threads", threads.count());
        }
    }
}

/// The CPU in the manner of a GPU: every sample by itself, and one gradient for all of them.
struct Device;

struct OnDevice<T>(Arc<dyn Executable<T>>);

impl Backend for Device {
    fn name(&self) -> String {
        "a device".into()
    }
    fn chunk(&self, _: usize) -> usize {
        1
    }
    fn singles(&self, plan: Plan) -> Arc<dyn Executable<f32>> {
        Arc::new(OnDevice(on_cpu(plan)))
    }
    fn doubles(&self, plan: Plan) -> Arc<dyn Executable<f64>> {
        Arc::new(OnDevice(on_cpu(plan)))
    }
}

impl<T: Real> Executable<T> for OnDevice<T> {
    fn plan(&self) -> &Plan {
        self.0.plan()
    }
    fn forward(&self, run: &Arranged<'_, T>, threads: &Threads) -> Outcome<T> {
        self.0.forward(run, threads)
    }
    fn gradients(&self, run: &Arranged<'_, T>, threads: &Threads, strategy: Strategy) -> Vec<Gradient<T>> {
        vec![Gradient::sum(self.0.gradients(run, threads, strategy))]
    }
}

#[test]
fn ranks_with_a_device_each_share_a_training_and_repeat_its_bits() {
    let device = Threads::one().with_backend(Arc::new(Device));
    let sets = ["train.batch=6", "train.validation_cases=5", "train.hold=0.5", "noise.sensor=0.01"];
    let config = config("fkpp1d", &sets);
    let alone = train(&config, &device, &Team::alone());
    let near = |one: f64, other: f64| (one - other).abs() < 1e-4 * other.abs();
    // 7 ranks are one more than there are samples
    for ranks in [2, 3, 7] {
        let left = led(ranks, &device, |team| train(&config, &device, team));
        assert_eq!(left, led(ranks, &device, |team| train(&config, &device, team)), "{ranks} ranks");
        for (update, expected) in left.0.iter().zip(&alone.0) {
            assert!(near(update.loss, expected.loss), "{ranks} ranks: {update:?}, alone {expected:?}");
            assert!(near(update.gradient_norm, expected.gradient_norm), "{update:?}, alone {expected:?}");
        }
        let lengths = |left: &Left| left.2.ends.as_ref().map(|ends| (ends.z.len(), ends.xi.len()));
        assert_eq!(lengths(&left), lengths(&alone), "{ranks} ranks");
    }
}

#[test]
fn ranks_tell_of_a_diverged_training_as_one_process_does() {
    let config = config("heat1d", &["train.batch=40", "train.hold=0.5"]);
    let mut pool = cases(&config);
    pool.z0.iter_mut().for_each(|z| *z *= 1e30);
    let diverged = |team: &Team| {
        let checkpoint = Checkpoint::first(&config);
        let mut trainer = Trainer::leading(checkpoint.clone(), pool.clone(), &Threads::one(), team);
        let message = trainer.update().unwrap_err().to_string();
        assert_eq!(trainer.checkpoint().unwrap(), checkpoint, "nothing is changed");
        message
    };
    let expected = diverged(&Team::alone());
    assert!(expected.contains("diverged in update 1"), "{expected}");
    assert_eq!(led(3, &Threads::one(), diverged), expected);
}

#[test]
fn a_follower_without_a_leader_quits() {
    assert_eq!(Team::alone().hear(), (Order::Quit, Vec::new()));
}
