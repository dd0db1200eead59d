//! `cinoc bench`: how fast a task runs here.

use crate::arguments::{Bench, Precision};
use crate::failure::Failure;
use crate::terminal::{Progress, say, table};
use cinoc_adjoint::{Real, Threads};
use cinoc_control::{Config, Tasks};
use cinoc_learn::bench::bench;
use cinoc_learn::latency::{Count, Percentiles, decisions, nothing};
use cinoc_learn::memory::Needs;
use serde::Serialize;

/// Agents whose decisions are timed if nothing else is asked for.
const AGENTS: [usize; 7] = [1, 10, 20, 100, 1_000, 10_000, 100_000];

pub fn run(request: &Bench, tasks: &Tasks) -> Result<(), Failure> {
    if request.decision {
        return match request.dtype {
            Precision::F32 => run_decisions::<f32>(request, tasks),
            Precision::F64 => run_decisions::<f64>(request, tasks),
        };
    }
    let agents = match request.agents[..] {
        [] => None,
        [agents] => Some(agents),
        _ => return Err(Failure::Request("several --agents go with --decision; give one number".into())),
    };
    let config = config(request, tasks, agents)?;
    let threads = crate::work::threads(request.threads, request.device)?;
    Needs::training(&config, threads.count()).check()?;
    let progress = Progress::unknown(&format!("timing {}", config.task));
    let times = match request.dtype {
        Precision::F32 => bench::<f32>(&config, &threads, request.repeat),
        Precision::F64 => bench::<f64>(&config, &threads, request.repeat),
    };
    drop(progress);
    if request.json {
        return super::print_json(&times);
    }
    let row = |name: &str, value: String| vec![name.to_string(), value];
    table(&[
        row("what", format!("{} ({}, {} threads)", times.task, times.dtype, times.threads)),
        row("updates and rollouts on", times.device.clone()),
        row("training update", format!("{:.2} ms", 1e3 * times.update_s)),
        row("rollouts alone", format!("{:.2} ms", 1e3 * times.forward_s)),
        row("one decision, median", format!("{:.1} us", times.decision_us_p50)),
        row("one decision, 99 %", format!("{:.1} us", times.decision_us_p99)),
        row("environments", format!("{:.0} control steps per second", times.env_steps_per_s)),
        row("peak memory", format!("{:.0} MB", times.peak_rss_mb)),
        row("arithmetic", format!("{:.1} Gflop/s, {:.0} % of peak", times.gflops, 100.0 * times.peak_share)),
    ]);
    Ok(())
}

fn config(request: &Bench, tasks: &Tasks, agents: Option<usize>) -> Result<Config, Failure> {
    let mut sets = request.sets.clone();
    sets.extend(request.batch.map(|batch| format!("train.batch={batch}")));
    sets.extend(agents.map(|agents| format!("agents={agents}")));
    Ok(tasks.find(&request.task)?.resolve(request.preset.into(), "cinoc", None, &sets)?)
}

/// What `--decision --json` prints; a stable interface.
#[derive(Serialize)]
struct Latency {
    task: String,
    dtype: &'static str,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    agents: usize,
    threads: usize,
    #[serde(flatten)]
    decisions: Percentiles,
    us_per_agent: f64,
    /// As many waits of the same length that touch no memory.
    waits: Percentiles,
}

fn run_decisions<T: Real>(request: &Bench, tasks: &Tasks) -> Result<(), Failure> {
    let count = request.decisions.map_or(Count::MILLION, Count::exactly);
    let threads = match request.threads {
        Some(count) => vec![Threads::new(count)?],
        None => vec![Threads::one(), Threads::all()?],
    };
    let agents = if request.agents.is_empty() { &AGENTS[..] } else { &request.agents };
    let configs: Vec<Config> =
        agents.iter().map(|&agents| config(request, tasks, Some(agents))).collect::<Result<_, _>>()?;
    let mut rows = Vec::new();
    for config in &configs {
        for threads in threads.iter().take(if threads[threads.len() - 1].count() > 1 { 2 } else { 1 }) {
            Needs::decisions(config, threads.count()).check()?;
            let progress = Progress::unknown(&format!(
                "decisions of {} agents on {} threads",
                config.agents,
                threads.count()
            ));
            let decisions = decisions::<T>(config, threads, count);
            let waits = nothing(decisions.p50_us, Count { most: decisions.count, ..count });
            drop(progress);
            let us_per_agent = decisions.p50_us / config.agents as f64;
            rows.push(Row {
                agents: config.agents,
                threads: threads.count(),
                decisions,
                us_per_agent,
                waits,
            });
        }
    }
    if request.json {
        return super::print_json(&Latency { task: request.task.clone(), dtype: T::NAME, rows });
    }
    let heading = ["agents", "threads", "decisions", "50 %", "99 %", "99.9 %", "worst", "per agent"];
    let mut lines = vec![heading.map(String::from).to_vec()];
    lines[0].push("waits: 99.9 %, worst".into());
    for Row { agents, threads, decisions, us_per_agent, waits } in &rows {
        let Percentiles { count, p50_us, p99_us, p999_us, worst_us } = *decisions;
        let mut line = vec![agents.to_string(), threads.to_string(), count.to_string()];
        line.extend([p50_us, p99_us, p999_us, worst_us].map(duration));
        line.push(format!("{us_per_agent:.2} us"));
        line.push(format!("{}, {}", duration(waits.p999_us), duration(waits.worst_us)));
        lines.push(line);
    }
    table(&lines);
    say!(
        "waits: as many, each as long as the median decision, that touch no memory: what the machine itself \
         adds"
    );
    Ok(())
}

/// Microseconds for people.
fn duration(us: f64) -> String {
    match us {
        ..1e3 => format!("{us:.1} us"),
        ..1e6 => format!("{:.2} ms", us / 1e3),
        _ => format!("{:.2} s", us / 1e6),
    }
}
