//! `cinoc bench`: how fast a task runs here.

use crate::arguments::{Bench, Precision};
use crate::failure::Failure;
use crate::terminal::{Progress, table};
use cinoc_control::Tasks;
use cinoc_learn::bench::bench;
use cinoc_learn::memory::Needs;

pub fn run(request: &Bench, tasks: &Tasks) -> Result<(), Failure> {
    let mut sets = request.sets.clone();
    sets.extend(request.batch.map(|batch| format!("train.batch={batch}")));
    sets.extend(request.agents.map(|agents| format!("agents={agents}")));
    let config = tasks.find(&request.task)?.resolve(request.preset.into(), "cinoc", None, &sets)?;
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
