//! Decisions without physics: they ask the system for nothing, and many agents in blocks decide what they
//! would together.

use cinoc_adjoint::{Real, Threads};
use cinoc_control::{Config, Decision, Purpose, Tasks, policy, random};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Requests of this thread to the allocator.
    static REQUESTS: Cell<usize> = const { Cell::new(0) };
}

/// The allocator of the system, with a count of what is asked of it.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count() {
    REQUESTS.with(|requests| requests.set(requests.get() + 1));
}

// SAFETY: every request goes on to the allocator of the system as it came. The counter is a number that is
// there before the thread runs: counting asks for no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller's.
        unsafe { System.dealloc(memory, layout) }
    }
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// A number between 0 and 1 for every index, the same in every run.
fn scattered(i: usize) -> f64 {
    (i as f64 * 0.618_033_988_749).fract()
}

fn typed<T: Real>(values: &[f64]) -> Vec<T> {
    values.iter().map(|&x| T::of(x)).collect()
}

fn field<T: Real>(config: &Config, from: usize) -> Vec<T> {
    (0..config.state_size()).map(|i| T::of(scattered(i + from))).collect()
}

/// Agents anywhere in the domain, `[dims][agents]`.
fn places<T: Real>(config: &Config) -> Vec<T> {
    let along = config.axes().into_iter().enumerate();
    let along = along.flat_map(|(a, axis)| (0..config.agents).map(move |i| (i + 1000 * a, axis.length)));
    along.map(|(i, length)| T::of(length * scattered(i))).collect()
}

fn params<T: Real>(config: &Config) -> Vec<T> {
    typed(&policy::initial_params(config, &mut random::stream(3, Purpose::Parameters, 0)))
}

fn with_agents(task: &str, agents: usize) -> Config {
    Config::preset(task).unwrap().with_sets(&[format!("agents={agents}")]).unwrap()
}

fn requests<T: Real>(config: &Config, decision: &Decision<T>) -> usize {
    let (z, target, xi) = (field(config, 0), field(config, 7), places(config));
    let mut controller = decision.controller(&params(config), &target);
    let before = REQUESTS.get();
    for _ in 0..3 {
        controller.decide(&z, &xi);
        controller.aim(&z);
    }
    REQUESTS.get() - before
}

#[test]
fn a_decision_allocates_nothing() {
    for task in Tasks::built_in().iter() {
        for config in [Config::preset(&task.name), Config::paper(&task.name)] {
            let config = config.unwrap();
            assert_eq!(requests(&config, &Decision::<f32>::new(&config)), 0, "{}, f32", config.task);
            assert_eq!(requests(&config, &Decision::<f64>::new(&config)), 0, "{}, f64", config.task);
        }
        let config = with_agents(&task.name, 40);
        assert_eq!(
            requests(&config, &Decision::<f32>::in_blocks(&config, 16)),
            0,
            "{} in blocks",
            config.task
        );
    }
}

/// What is decided, intensities and velocities.
fn decided<T: Real>(config: &Config, decision: &Decision<T>, threads: &Threads) -> Vec<T> {
    let (z, target) = (field(config, 0), field::<T>(config, 7));
    // aimed at another target first: nothing of it may be left in any stage
    let mut controller = decision.controller_on(&params(config), &z, threads);
    controller.decide(&target, &places(config));
    controller.aim(&target);
    let decided = controller.decide(&z, &places(config));
    [decided.u, decided.v].into_iter().flatten().flatten().copied().collect()
}

#[test]
fn agents_in_blocks_decide_what_they_would_together() {
    // with and without a rest: the last block is filled up
    for (agents, most) in [(52, 16), (32, 16), (17, 16)] {
        for task in Tasks::built_in().iter() {
            let sets = [format!("agents={agents}")];
            for config in [Config::preset(&task.name), Config::paper(&task.name)] {
                let config = config.unwrap().with_sets(&sets).unwrap();
                let together =
                    decided(&config, &Decision::<f64>::in_blocks(&config, agents), &Threads::one());
                let blocks = decided(&config, &Decision::<f64>::in_blocks(&config, most), &Threads::one());
                assert_eq!(together.len(), blocks.len());
                let largest = together.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
                for (a, b) in together.iter().zip(&blocks) {
                    assert!((a - b).abs() <= 1e-12 * largest, "{} {agents} agents: {a} {b}", config.task);
                }
            }
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit_of_a_decision() {
    // several groups of the crowd, several blocks
    for (task, agents) in [("fkpp1d", 2500), ("ks1d", 2500), ("heat2d", 130), ("density2d", 70)] {
        let config = with_agents(task, agents);
        let decision = Decision::<f32>::new(&config);
        let one = decided(&config, &decision, &Threads::one());
        for count in [2, 5] {
            assert_eq!(
                decided(&config, &decision, &Threads::new(count).unwrap()),
                one,
                "{task}, {count} threads"
            );
        }
    }
}

#[test]
fn parts_of_a_swarm_feel_all_of_it() {
    // agents of the second group stand among those of the first: a crowd of two groups is as dense as both
    // together
    let config = with_agents("fkpp1d", 1500);
    let blocks = decided(&config, &Decision::<f64>::new(&config), &Threads::one());
    let together = decided(&config, &Decision::<f64>::in_blocks(&config, 1500), &Threads::one());
    let close = blocks.iter().zip(&together).all(|(a, b)| (a - b).abs() <= 1e-10 * (1.0 + b.abs()));
    assert!(close, "{blocks:?} {together:?}");
}
