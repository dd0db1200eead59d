//! Decisions without physics: what they may not do to a control loop.

use cinoc_adjoint::Real;
use cinoc_control::agents::start_positions;
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

fn requests_of_decisions<T: Real>(config: &Config) -> usize {
    let params = policy::initial_params(config, &mut random::stream(3, Purpose::Parameters, 0));
    let (z, target, xi) = (field(config, 0), field(config, 7), typed(&start_positions(config)));
    let mut controller = Decision::<T>::new(config).controller(&typed(&params), &target);
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
            assert_eq!(requests_of_decisions::<f32>(&config), 0, "{}, f32", config.task);
            assert_eq!(requests_of_decisions::<f64>(&config), 0, "{}, f64", config.task);
        }
    }
}
