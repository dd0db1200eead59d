//! `cinoc train`: draw the pool, train, evaluate, report.

use super::eval::show;
use super::subject::load_cases;
use crate::arguments::Train;
use crate::failure::Failure;
use crate::terminal::{Progress, number, stop_on_interrupt};
use cinoc_adjoint::Threads;
use cinoc_control::{Cases, Config, Pool, Tasks};
use cinoc_lab::report::write_report;
use cinoc_learn::evaluate::{evaluate, roll_out};
use cinoc_learn::memory::Needs;
use cinoc_learn::policy_file::PolicyFile;
use cinoc_learn::pool::{cache_folder, cached};
use cinoc_learn::run::{Ended, METRICS, Run, RunError};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

pub fn run(request: &Train, tasks: &Tasks) -> Result<(), Failure> {
    let config = config(request, tasks)?;
    let folder = request.out.clone().unwrap_or_else(|| default_folder(&config));
    let threads = super::threads(request.threads);
    Needs::training(&config, threads).check()?;
    let run = open(&folder, &config, request.resume)?;
    match train(run, &config, threads)? {
        Ended::Stopped(done) => Err(Failure::Interrupted(format!(
            "after {done} of {} updates; continue with the same command and --resume",
            config.train.updates
        ))),
        Ended::Finished(path) => report(&path, tasks, &folder, threads, request.json),
    }
}

fn config(request: &Train, tasks: &Tasks) -> Result<Config, Failure> {
    let file = match &request.config {
        Some(path) => Some(std::fs::read_to_string(path).map_err(|error| {
            Failure::Request(format!("cannot read {}: {error}; check the path", path.display()))
        })?),
        None => None,
    };
    let mut sets = request.sets.clone();
    sets.extend(request.seed.map(|seed| format!("train.seed={seed}")));
    sets.extend(request.updates.map(|updates| format!("train.updates={updates}")));
    let in_file = |error: cinoc_control::config::ConfigError| match &request.config {
        Some(path) => Failure::Request(format!("{error} (with settings of {})", path.display())),
        None => error.into(),
    };
    let task = tasks.find(&request.task)?;
    task.resolve(request.preset.into(), &request.method, file.as_deref(), &sets).map_err(in_file)
}

fn default_folder(config: &Config) -> PathBuf {
    let method = config.method.as_ref().map_or(String::new(), |_| format!("{}-", config.method_name()));
    Path::new("runs").join(format!("{}-{method}{}", config.task, config.train.seed))
}

/// A directory that cannot be made is a wrong request; a file that cannot be written later is a failed run.
fn open(folder: &Path, config: &Config, resume: bool) -> Result<Run, Failure> {
    let run = if resume { Run::resume(folder, config) } else { Run::create(folder, config) };
    run.map_err(|error| match error {
        RunError::File(error) => Failure::Request(error.to_string()),
        error => error.into(),
    })
}

fn draw_pool(config: &Config, threads: usize) -> Cases {
    let progress = Progress::new("drawing cases", config.data.pool);
    let told = |done: usize, _: usize| progress.set_position(done);
    let (pool, folder) = (Threads::new(threads), cache_folder());
    let (seed, count) = (config.train.seed, config.data.pool);
    cached(config, seed, Pool::Training, count, &pool, folder.as_deref(), &told)
}

fn train(run: Run, config: &Config, threads: usize) -> Result<Ended, Failure> {
    let pool = draw_pool(config, threads);
    let stop = stop_on_interrupt();
    let what = format!("training {} ({})", config.task, config.method_name());
    let progress = Progress::new(&what, config.train.updates);
    let watch = |update: &cinoc_learn::train::Update| {
        progress.set_position(update.update);
        progress.set_message(format!("loss {}", number(update.loss)));
    };
    Ok(run.train(pool, threads, watch, || !stop.load(Ordering::SeqCst))?)
}

fn report(path: &Path, tasks: &Tasks, folder: &Path, threads: usize, json: bool) -> Result<(), Failure> {
    let policy = PolicyFile::read(path, tasks)?;
    // settings are chosen by looking at reports: never on test cases
    let (cases, label) = load_cases("100", &policy.config, &policy.config, threads)?;
    let rollouts = roll_out(&policy.config, &policy.params, &cases, threads)?;
    let evaluation = evaluate(&policy.config, &cases, &rollouts);
    let metrics = folder.join(METRICS);
    let written = write_report(folder, &policy, &evaluation, &rollouts, &cases, &label, Some(&metrics))
        .map_err(|error| Failure::Run(error.to_string()))?;
    if json {
        return super::print_json(&evaluation);
    }
    show(&evaluation, &label)?;
    println!("policy: {}\nreport: {}", path.display(), written.display());
    Ok(())
}
