//! How long decisions take, and how long the slowest of them: percentiles over many decisions.

use std::time::{Duration, Instant};

use cinoc_adjoint::{Real, Threads};
use cinoc_control::policy::initial_params;
use cinoc_control::random::{Purpose, stream};
use cinoc_control::{Cases, Config, Decision, Pool};
use rand::Rng;
use serde::Serialize;

/// Fields and positions that decisions are made about, in turns.
const SITUATIONS: usize = 4;

/// Decisions before the clock runs: caches and branch predictors have seen the program.
const WARM_UP: usize = 3;

/// How many decisions are timed: at most so many, no more after so much time, but not fewer than the least.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    /// Most.
    pub most: usize,
    /// Least.
    pub least: usize,
    /// No decision is begun after this time.
    pub time: Duration,
}

impl Count {
    /// A million, or what ten seconds allow.
    pub const MILLION: Count = Count { most: 1_000_000, least: 20, time: Duration::from_secs(10) };

    /// So many, however long that takes.
    pub fn exactly(count: usize) -> Count {
        Count { most: count, least: count, time: Duration::MAX }
    }
}

/// Percentiles in microseconds; the JSON is a stable interface.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Percentiles {
    /// How many were timed.
    pub count: usize,
    /// The median.
    pub p50_us: f64,
    /// 99 of 100 were not slower.
    pub p99_us: f64,
    /// 999 of 1000 were not slower.
    pub p999_us: f64,
    /// The slowest.
    pub worst_us: f64,
}

impl Percentiles {
    /// Times something again and again.
    fn of(count: Count, mut run: impl FnMut(usize)) -> Percentiles {
        // room for all beforehand: nothing but the run is between two looks at the clock
        let mut times: Vec<u64> = Vec::with_capacity(count.most);
        let begin = Instant::now();
        while times.len() < count.least || (times.len() < count.most && begin.elapsed() < count.time) {
            let start = Instant::now();
            run(times.len());
            times.push(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX));
        }
        Percentiles::sorted(times)
    }

    /// Of some times in nanoseconds.
    fn sorted(mut times: Vec<u64>) -> Percentiles {
        times.sort_unstable();
        let at = |per_mille: usize| {
            let rank = (times.len() * per_mille).div_ceil(1000).max(1);
            times.get(rank - 1).map_or(0.0, |&time| time as f64 / 1e3)
        };
        Percentiles {
            count: times.len(),
            p50_us: at(500),
            p99_us: at(990),
            p999_us: at(999),
            worst_us: at(1000),
        }
    }
}

/// Decisions of `config.agents` agents with an untrained policy: the weights do not matter for the time.
/// Agents are anywhere in the domain.
pub fn decisions<T: Real>(config: &Config, threads: &Threads, count: Count) -> Percentiles {
    let mut quick = config.clone();
    quick.data.limit_spin_up(1.0);
    let cases = Cases::draw(&quick, 0, Pool::Training, SITUATIONS, threads, &|_, _| {});
    let params = initial_params(config, &mut stream(0, Purpose::Parameters, 0));
    decisions_of(config, &typed::<T>(&params), &cases, threads, count)
}

/// The same with given parameters, about given cases.
pub(crate) fn decisions_of<T: Real>(
    config: &Config,
    params: &[T],
    cases: &Cases,
    threads: &Threads,
    count: Count,
) -> Percentiles {
    let mut rng = stream(0, Purpose::Checks, 0);
    let axes = config.axes();
    let mut places = || -> Vec<T> {
        let along = axes.iter().flat_map(|axis| std::iter::repeat_n(axis.length, config.agents));
        along.map(|length| T::of(length * rng.random::<f64>())).collect()
    };
    let situations: Vec<(Vec<T>, Vec<T>)> =
        (0..SITUATIONS).map(|k| (typed(cases.z0(k % cases.count)), places())).collect();
    let decision = Decision::<T>::new(config);
    let mut controller = decision.controller_on(params, &typed::<T>(cases.zt(0)), threads);
    let mut decide = |k: usize| {
        let (z, xi) = &situations[k % SITUATIONS];
        std::hint::black_box(controller.decide(z, xi));
    };
    (0..WARM_UP).for_each(&mut decide);
    Percentiles::of(count, decide)
}

/// Nothing, timed in the same way: what clock and system add to every percentile on this machine, while
/// decisions of `like` microseconds would run. It spins for that long, without touching memory.
pub fn nothing(like_us: f64, count: Count) -> Percentiles {
    let like = Duration::from_nanos((1e3 * like_us) as u64);
    Percentiles::of(count, |_| {
        let start = Instant::now();
        while start.elapsed() < like {
            std::hint::spin_loop();
        }
    })
}

fn typed<T: Real>(values: &[f64]) -> Vec<T> {
    values.iter().map(|&x| T::of(x)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_so_many_did_not_exceed() {
        let found = Percentiles::sorted((1..=2000).rev().map(|i| 1000 * i).collect());
        let Percentiles { count, p50_us, p99_us, p999_us, worst_us } = found;
        assert_eq!((count, p50_us, p99_us, p999_us, worst_us), (2000, 1000.0, 1980.0, 1998.0, 2000.0));
        // of a few, the rare ones are the slowest
        let few = Percentiles::sorted(vec![3000, 1000, 2000]);
        assert_eq!((few.p50_us, few.p99_us, few.p999_us, few.worst_us), (2.0, 3.0, 3.0, 3.0));
    }

    #[test]
    fn as_many_are_timed_as_were_asked_for() {
        let mut done = 0;
        assert_eq!(Percentiles::of(Count::exactly(7), |_| done += 1).count, 7);
        assert_eq!(done, 7);
        let none_left = Count { most: 100, least: 2, time: Duration::ZERO };
        assert_eq!(Percentiles::of(none_left, |_| ()).count, 2);
    }
}
