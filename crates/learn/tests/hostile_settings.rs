//! Random settings with hostile values: each is refused in one line, or runs within the memory that was
//! estimated for it.
//!
//! `CINOC_HOSTILE=10000 cargo test --release -p cinoc-learn --test hostile_settings` tries more of them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use cinoc_adjoint::{Strategy, Threads};
use cinoc_control::config::{Preset, methods};
use cinoc_control::policy::initial_params;
use cinoc_control::random::{Purpose, stream};
use cinoc_control::{Cases, ClosedLoop, Config, Disturbance, Pool, Tasks};
use cinoc_learn::memory::Needs;
use cinoc_learn::train::chunk;
use rand::Rng;
use rand::seq::IndexedRandom;
use toml::{Table, Value};

/// Counts what is allocated.
struct Counting;
static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; only numbers are kept beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`, and the memory is of the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const VALUES: [&str; 34] = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "8",
    "64",
    "1000",
    "-1",
    "1000000000",
    "1000000001",
    "999999999999",
    "9223372036854775807",
    "99999999999999999999",
    "0.0",
    "1e-300",
    "1e300",
    "-0.0",
    "0.5",
    "nan",
    "inf",
    "-inf",
    "true",
    "false",
    "\"\"",
    "[]",
    "[0.5, 0.1]",
    "[1e300, 1e300]",
    "[1, 2, 3]",
    "{a = 1}",
    "crowd",
    "'''a\nb'''",
    "\u{1f525}",
    "none",
];

/// All keys of a config.
fn keys(table: &Table, path: &str, found: &mut Vec<String>) {
    for (name, value) in table {
        let key = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match value {
            Value::Table(inner) => keys(inner, &key, found),
            _ => found.push(key),
        }
    }
}

/// Two steps of a training, if they are small enough for a test; `None` if not.
fn run(config: &Config) -> Option<usize> {
    let mut config = config.clone();
    config.data.limit_spin_up(2.0 * config.time.dt);
    let needs = Needs::training(&config, 1);
    if needs.total() > 150e6 || config.time.steps > 8 || config.time.substeps > 20 || config.data.pool > 4 {
        return None;
    }
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let threads = Threads::one();
    let cases = Cases::draw(&config, 0, Pool::Training, 2, &threads, &|_, _| {});
    let params = initial_params(&config, &mut stream(0, Purpose::Parameters, 0));
    let params: Vec<f32> = params.iter().map(|&p| p as f32).collect();
    let closed_loop = ClosedLoop::<f32>::for_training(&config, chunk(&config));
    let which: Vec<usize> = (0..config.train.batch.min(4)).map(|i| i % 2).collect();
    let batch = closed_loop.batch(&cases, &which, Disturbance::training(0, 0, which.len()));
    closed_loop.gradient(&params, &batch, &threads, Strategy::Recompute);
    let used = MOST.load(Ordering::Relaxed) - before;
    assert!(used as f64 <= needs.total(), "used {} MB, estimated {needs:?}", used / 1_000_000);
    Some(used)
}

#[test]
fn hostile_settings_are_refused_in_one_line_or_run_within_their_estimate() {
    let count: usize =
        std::env::var("CINOC_HOSTILE").ok().and_then(|number| number.parse().ok()).unwrap_or(400);
    let rng = &mut stream(1, Purpose::Checks, 0);
    let tasks: Vec<_> = Tasks::built_in().iter().collect();
    let (mut refused, mut ran) = (0, 0);
    for _ in 0..count {
        let task = tasks.choose(rng).unwrap();
        let preset = if rng.random::<f64>() < 0.3 { Preset::Paper } else { Preset::Default };
        let method = if rng.random::<f64>() < 0.8 { "cinoc" } else { methods().choose(rng).unwrap().name };
        let mut found = Vec::new();
        let plain = task.resolve(preset, method, None, &[]).unwrap();
        keys(&plain.to_toml().parse().unwrap(), "", &mut found);
        let mut sets: Vec<String> =
            ["time.steps=2", "train.batch=2", "data.pool=2", "train.memory_mb=0"].map(String::from).to_vec();
        for _ in 0..rng.random_range(1..=2) {
            sets.push(format!("{}={}", found.choose(rng).unwrap(), VALUES.choose(rng).unwrap()));
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| match task.resolve(preset, method, None, &sets) {
            Err(error) => {
                let message = error.to_string();
                assert!(message.lines().count() == 1 && message.len() > 10, "{message:?}");
                false
            }
            Ok(config) => run(&config).is_some(),
        }));
        match outcome {
            Err(_) => panic!("{task} {method} {preset:?} {sets:?}"),
            Ok(true) => ran += 1,
            Ok(false) => refused += 1,
        }
    }
    println!("{refused} refused or too large for a test, {ran} ran");
    assert!(refused > count / 4 && ran > count / 20, "{refused} refused, {ran} ran");
}
