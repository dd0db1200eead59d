//! How fast a task runs on this machine.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cinoc_adjoint::backend::Backend;
use cinoc_adjoint::{Real, Threads, peak_flops};
use cinoc_control::policy::initial_params;
use cinoc_control::random::{Purpose, stream};
use cinoc_control::{Cases, ClosedLoop, Config, Disturbance, Pool};
use serde::Serialize;

use crate::latency::{Count, Percentiles, decisions, decisions_of};
use crate::rl::environment::Environment;
use crate::rl::field::FieldEnvironment;
use crate::train::{cast, chunk, strategy};
use cinoc_adjoint::optimiser::{Adam, clip_global_norm};

/// Decisions that are timed.
const DECISIONS: Count = Count { most: 2000, least: 5, time: Duration::from_secs(3) };
/// Environments side by side on a CPU, on a GPU in one and in two dimensions, and how long they are timed.
const ENVIRONMENTS: usize = 32;
const ENVIRONMENTS_ON_GPU: [usize; 2] = [4096, 512];
const ENVIRONMENT_SECONDS: f64 = 0.5;

/// Timings; the JSON is a stable interface.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bench {
    /// The task.
    pub task: String,
    /// Cases per update.
    pub batch: usize,
    /// Agents.
    pub agents: usize,
    /// Control steps.
    pub steps: usize,
    /// Threads.
    pub threads: usize,
    /// Precision.
    pub dtype: &'static str,
    /// Median seconds of one training update: all steps forward and backward, clip, Adam.
    pub update_s: f64,
    /// Median seconds of the rollouts alone.
    pub forward_s: f64,
    /// Median microseconds of one control decision on one thread.
    pub decision_us_p50: f64,
    /// The 99th percentile.
    pub decision_us_p99: f64,
    /// Control steps per second of environments whose actions are given, as learners by trial use them, in
    /// single precision.
    pub env_steps_per_s: f64,
    /// How many of them there are on a GPU; on a CPU 32.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub envs: Option<usize>,
    /// Highest memory use of this process, in MB; 0 where the system does not tell.
    pub peak_rss_mb: f64,
    /// Arithmetic of an update per second, in Gflop/s.
    pub gflops: f64,
    /// That, as a share of what the same threads reach on nothing but fused products. On a GPU it is 0.
    pub peak_share: f64,
    /// Where updates and rollouts were computed: `cpu`, or the name of a GPU.
    pub device: String,
    /// Seconds until the first update on a GPU was done: generating, compiling and loading its code included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compile_s: Option<f64>,
    /// How a GPU computes an update: blocks that share a sample, bytes of shared memory, barriers.
    #[serde(flatten)]
    pub details: BTreeMap<&'static str, usize>,
}

/// Times a task in precision `T`.
pub fn bench<T: Real>(config: &Config, threads: &Threads, repeat: usize) -> Bench {
    // the states' history does not matter for speed: a short spin-up will do
    let mut quick = config.clone();
    quick.data.limit_spin_up(20.0);
    let cases = Cases::draw(&quick, 0, Pool::Training, config.train.batch, threads, &|_, _| {});
    let params = initial_params(config, &mut stream(0, Purpose::Parameters, 0));
    let typed: Vec<T> = params.iter().map(|&p| T::of(p)).collect();

    let closed_loop = ClosedLoop::<T>::for_training(config, chunk(config));
    let all: Vec<usize> = (0..cases.count).collect();
    let batch = closed_loop.batch(&cases, &all, Disturbance::training(0, 0, cases.count));
    let strategy = strategy(&closed_loop, threads.count());
    let (mut trained, mut adam) = (cast(&params), Adam::new(params.len()));
    let mut there = closed_loop.program().descending(&typed, &adam, threads);
    // no update changes what the next one starts from, so that all of them do the same work
    let mut update = || {
        if let Some(there) = &mut there {
            let inputs = closed_loop.loss_inputs(&[], &batch);
            there.update(&inputs, config.train.clip, 0.0, config.train.hold > 0.0);
            return;
        }
        let gradient = closed_loop.gradient(&typed, &batch, threads, strategy);
        let mut single: Vec<f32> = gradient.params.iter().map(|g| g.f64() as f32).collect();
        clip_global_norm(&mut single, config.train.clip as f32);
        adam.update(&mut trained, &single, 1e-3);
    };
    let begin = Instant::now();
    update();
    let first = begin.elapsed().as_secs_f64();
    let update_s = median(repeat, &mut update);
    let forward_s = median(repeat, || drop(closed_loop.forward(&typed, &batch, threads)));

    let program = closed_loop.program();
    let chunks = cases.count.div_ceil(program.chunk()) as f64;
    let gflops = chunks * program.gradient_flops(config.time.steps, strategy) / update_s / 1e9;
    let decided = decisions_of(config, &typed, &cases, &Threads::one(), DECISIONS);
    let peak_rss_mb = peak_rss_mb();
    Bench {
        env_steps_per_s: env_steps_per_second(config, &cases, threads),
        envs: threads.backend().map(|_| environments(config, threads)),
        task: config.task.to_string(),
        batch: cases.count,
        agents: config.agents,
        steps: config.time.steps,
        threads: threads.count(),
        dtype: T::NAME,
        update_s,
        forward_s,
        decision_us_p50: decided.p50_us,
        decision_us_p99: decided.p99_us,
        peak_rss_mb,
        gflops,
        peak_share: if threads.backend().is_some() { 0.0 } else { gflops * 1e9 / peak_flops::<T>(threads) },
        device: threads.backend().map_or("cpu".into(), Backend::name),
        compile_s: threads.backend().map(|_| first - update_s),
        details: program.details(threads).into_iter().collect(),
    }
}

/// Environments side by side: enough to keep all processors busy.
fn environments(config: &Config, threads: &Threads) -> usize {
    match threads.backend() {
        None => ENVIRONMENTS,
        Some(_) => ENVIRONMENTS_ON_GPU[config.task.dims - 1],
    }
}

/// Control steps per second, all copies together.
fn env_steps_per_second(config: &Config, cases: &Cases, threads: &Threads) -> f64 {
    let copies = environments(config, threads);
    let mut environment = FieldEnvironment::new(config, cases.clone(), copies, 1, 16, threads);
    let actions = vec![0.1; copies * environment.actions() * environment.agents()];
    environment.step(&actions);
    let (begin, mut steps) = (Instant::now(), 0);
    while begin.elapsed().as_secs_f64() < ENVIRONMENT_SECONDS {
        std::hint::black_box(environment.step(&actions));
        steps += copies;
    }
    steps as f64 / begin.elapsed().as_secs_f64()
}

fn median(repeat: usize, mut run: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..repeat.max(1))
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Median and 99th percentile of one decision of all agents on one thread, in microseconds, in single
/// precision.
pub fn decision_microseconds(config: &Config) -> [f64; 2] {
    let Percentiles { p50_us, p99_us, .. } = decisions::<f32>(config, &Threads::one(), DECISIONS);
    [p50_us, p99_us]
}

/// Highest resident memory of this process so far.
fn peak_rss_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) * 1024.0 / 1e6
}
