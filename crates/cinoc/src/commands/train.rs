//! `cinoc train`: draw the cases, train, evaluate, report.

use super::eval::show;
use super::subject::{load_cases, policy_path, read_own_cases};
use crate::arguments::{Preset, REPORT_CASES, Train};
use crate::failure::Failure;
use crate::terminal::say;
use crate::terminal::{Progress, number, stop_on_interrupt, warn};
use cinoc_adjoint::Threads;
use cinoc_control::{Cases, Config, Pool, Targets, Tasks};
use cinoc_lab::figures::Format;
use cinoc_lab::numbers::duration;
use cinoc_lab::report::{Parameters, Report};
use cinoc_lab::training_log::TrainingLog;
use cinoc_learn::evaluate::{Evaluation, evaluate, roll_out};
use cinoc_learn::inputs::{InputFile, Inputs};
use cinoc_learn::learner::check_targets;
use cinoc_learn::memory::Needs;
use cinoc_learn::policy_file::PolicyFile;
use cinoc_learn::pool::{cache_folder, cached};
use cinoc_learn::run::{BEST, CONFIG, Ended, METRICS, Run, RunError, Start, keeps_checkpoints};
use cinoc_learn::validation::Validation;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Actions whose mean square is above this share of the bound's square are at the bound most of the time.
const SATURATED: f64 = 0.9;

pub fn run(request: &Train, tasks: &Tasks) -> Result<(), Failure> {
    let (config, folder) = asked(request, tasks)?;
    let threads = super::threads(request.threads)?;
    let inputs = inputs(request, &folder)?;
    let own = |input: &Option<InputFile>| {
        input.as_ref().map(|input| read_own_cases(&input.file, &config)).transpose()
    };
    let (own_pool, own_validation) = (own(&inputs.cases)?, own(&inputs.validation)?);
    check_memory(&config, [&own_pool, &own_validation], threads.count())?;
    if let (Some((cases, _)), Some(given)) = (&own_pool, &inputs.cases) {
        let refused = |error| Failure::Request(format!("--cases {}: {error}", given.file.display()));
        check_targets(&config, cases).map_err(refused)?;
    }
    let run = open(request, &folder, &config, &inputs, tasks)?;
    let config = run.config().clone();
    config.doubts().iter().for_each(|doubt| warn(doubt));
    if own_pool.is_some() && own_validation.is_none() {
        warn(
            "the training is validated on cases that the task draws; give --validation FILE for cases like \
             those of --cases",
        );
    }
    let pool = own_pool.map_or_else(|| draw_pool(&config, &threads), |(cases, _)| Ok(cases))?;
    let count = config.train.validation_cases.max(REPORT_CASES.parse().expect("a number")).to_string();
    let held_out = own_validation.map_or_else(|| load_cases(&count, &config, &config, &threads), Ok)?;
    match train(run, &config, pool, &held_out.0, &threads)? {
        Ended::Stopped(done) => Err(Failure::Interrupted(format!(
            "after {done} of {} updates; continue with train --resume {}",
            config.train.updates,
            folder.display()
        ))),
        Ended::Finished(path) => {
            let policy = PolicyFile::read(&path, tasks)?;
            let closing = Closing { folder: &folder, path: &path, policy: &policy, inputs: &inputs };
            closing.report(&held_out, &threads, request.json)
        }
    }
}

/// Refuses a training that does not fit into memory, with its own cases if it has any.
fn check_memory(config: &Config, own: [&Option<(Cases, String)>; 2], threads: usize) -> Result<(), Failure> {
    let moving = own.into_iter().flatten().any(|(cases, _)| cases.targets() == Targets::Moving);
    let targets = if moving { Targets::Moving } else { Targets::Fixed };
    let together = config.train.batch + config.train.validation_cases;
    Ok(Needs::training(config, threads).with_targets(config, targets, together).check()?)
}

/// The settings that are asked for, and the run directory.
fn asked(request: &Train, tasks: &Tasks) -> Result<(Config, PathBuf), Failure> {
    match (&request.resume, &request.task) {
        (Some(Some(folder)), _) => Ok((resumed(request, folder, tasks)?, folder.clone())),
        (_, Some(task)) => {
            let config = settings(request, task, tasks)?;
            let folder = request.out.clone().unwrap_or_else(|| default_folder(&config));
            Ok((config, folder))
        }
        (Some(None), None) => {
            Err(Failure::Request("--resume: name the run directory, such as --resume runs/heat1d-0".into()))
        }
        (None, None) => {
            Err(Failure::Request(format!("name a task, one of {}, or --resume RUN", tasks.names())))
        }
    }
}

/// The settings of a run that is named, with those of `--set` and `--updates`.
fn resumed(request: &Train, folder: &Path, tasks: &Tasks) -> Result<Config, Failure> {
    let given = [
        ("--out", request.out.is_some()),
        ("--config", request.config.is_some()),
        ("--seed", request.seed.is_some()),
        ("--init", request.init.is_some()),
        ("--method", request.method != "cinoc"),
        ("--preset", !matches!(request.preset, Preset::Default)),
    ];
    if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
        return Err(Failure::Request(format!(
            "--resume RUN takes the settings of the run; leave out {option}"
        )));
    }
    let path = folder.join(CONFIG);
    if !path.exists() {
        return Err(RunError::NothingToResume(folder.display().to_string()).into());
    }
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Failure::Request(format!("cannot read {}: {error}", path.display())))?;
    let config = tasks.read_config(&text)?;
    if let Some(task) = request.task.as_ref().filter(|task| **task != config.task.name) {
        return Err(Failure::Request(format!(
            "{} holds a run of {}, not of {task}",
            folder.display(),
            config.task
        )));
    }
    let updates = request.updates.map(|updates| format!("train.updates={updates}"));
    let fewer = request.updates.is_some_and(|updates| updates < config.train.updates);
    if fewer {
        let (folder, updates) = (folder.display().to_string(), config.train.updates);
        return Err(RunError::Fewer { folder, updates }.into());
    }
    Ok(config.with_sets(&[&request.sets[..], updates.as_slice()].concat())?)
}

fn settings(request: &Train, task: &str, tasks: &Tasks) -> Result<Config, Failure> {
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
    let task = tasks.find(task)?;
    task.resolve(request.preset.into(), &request.method, file.as_deref(), &sets).map_err(in_file)
}

fn default_folder(config: &Config) -> PathBuf {
    let method = config.method.as_ref().map_or(String::new(), |_| format!("{}-", config.method_name()));
    Path::new("runs").join(format!("{}-{method}{}", config.task, config.train.seed))
}

/// The files that are asked for; a run that goes on has those it began with.
fn inputs(request: &Train, folder: &Path) -> Result<Inputs, Failure> {
    let bad = |error: cinoc_learn::files::FileError| Failure::Request(error.to_string());
    let begun = match request.resume {
        Some(_) => Inputs::read(folder).map_err(bad)?,
        None => Inputs::default(),
    };
    let hashed = |given: &Option<PathBuf>, begun: &Option<InputFile>| {
        let path = given.as_ref().or(begun.as_ref().map(|begun| &begun.file));
        path.map(|path| InputFile::of(path)).transpose().map_err(bad)
    };
    let init = match &request.init {
        Some(given) => Some(InputFile::of(&policy_path(given)?).map_err(bad)?),
        // its parameters are in the checkpoint: the file is not needed any more
        None => begun.init,
    };
    let cases = hashed(&request.cases, &begun.cases)?;
    let validation = hashed(&request.validation, &begun.validation)?;
    Ok(Inputs { init, cases, validation })
}

/// A directory that cannot be made is a wrong request; a file that cannot be written later is a failed run.
fn open(
    request: &Train,
    folder: &Path,
    config: &Config,
    inputs: &Inputs,
    tasks: &Tasks,
) -> Result<Run, Failure> {
    let run = match (&request.resume, &inputs.init) {
        (Some(_), _) => Run::resume(folder, config, inputs),
        (None, init) => {
            let params = init.as_ref().map(|init| first_params(&init.file, config, tasks)).transpose()?;
            Run::create(folder, config, Start { inputs: inputs.clone(), params })
        }
    };
    run.map_err(|error| match error {
        RunError::File(error) => Failure::Request(error.to_string()),
        error => error.into(),
    })
}

/// The parameters of a policy, which must fit the network of a config.
fn first_params(path: &Path, config: &Config, tasks: &Tasks) -> Result<Vec<f32>, Failure> {
    if !keeps_checkpoints(config) {
        return Err(Failure::Request(format!(
            "--init works with the methods cinoc and dpc; {} starts from its seed",
            config.method_name()
        )));
    }
    let policy = PolicyFile::read(path, tasks)?;
    policy.params_for(config).map_err(|differing| {
        Failure::Request(format!("--init {}: its network does not fit: {differing}", path.display()))
    })
}

fn draw_pool(config: &Config, threads: &Threads) -> Result<Cases, Failure> {
    let progress = Progress::new("drawing cases", config.data.pool);
    let told = |done: usize, _: usize| progress.set_position(done);
    let folder = cache_folder();
    let (seed, count) = (config.train.seed, config.data.pool);
    let cases = cached(config, seed, Pool::Training, count, threads, folder.as_deref(), &told);
    cases.check_finite(config)?;
    Ok(cases)
}

fn train(
    run: Run,
    config: &Config,
    pool: Cases,
    held_out: &Cases,
    threads: &Threads,
) -> Result<Ended, Failure> {
    let stop = stop_on_interrupt();
    let what = format!("training {} ({})", config.task, config.method_name());
    let progress = Progress::new(&what, config.train.updates);
    let watch = |update: &cinoc_learn::train::Update| {
        progress.set_position(update.update);
        progress.set_message(format!("loss {}", number(update.loss)));
    };
    let validation = Validation::new(config, held_out, threads);
    Ok(run.train(pool, validation, threads, watch, || !stop.load(Ordering::SeqCst))?)
}

/// What is told when a training has finished.
struct Closing<'a> {
    folder: &'a Path,
    path: &'a Path,
    policy: &'a PolicyFile,
    inputs: &'a Inputs,
}

impl Closing<'_> {
    /// Evaluates the policy and writes its report. Settings are chosen by looking at reports: the cases are
    /// never test cases.
    fn report(&self, (cases, label): &(Cases, String), threads: &Threads, json: bool) -> Result<(), Failure> {
        let Closing { folder, policy, .. } = self;
        let rollouts = roll_out(&policy.config, &policy.params, cases, threads)?;
        let evaluation = &evaluate(&policy.config, cases, &rollouts);
        let metrics = folder.join(METRICS);
        let report = Report {
            policy,
            config: &policy.config,
            evaluation,
            rollouts: &rollouts,
            cases,
            cases_label: label,
            metrics: Some(&metrics),
            format: Format::default(),
            commands: &[super::given_command()],
            parameters: Parameters::Last,
            inputs: self.inputs,
        };
        let written = report.write(folder).map_err(|error| Failure::Run(error.to_string()))?;
        self.warn_of_saturation(evaluation);
        if json {
            return super::print_json(evaluation);
        }
        show(evaluation, label)?;
        say!("{}", self.times(&metrics));
        say!("policy: {}\nreport: {}", self.path.display(), written.display());
        Ok(())
    }

    /// How long the training took, over all its resumptions, and which update validated best.
    fn times(&self, metrics: &Path) -> String {
        let log = TrainingLog::read(metrics).unwrap_or_default();
        let mut text =
            format!("training: {} updates in {}", log.updates.len(), duration(log.total_seconds()));
        if let Some((update, loss)) = log.validation.best() {
            text += &format!(
                ", validation in {}\nbest: {} (validation loss {} after {update} updates)",
                duration(log.validation_seconds()),
                self.folder.join(BEST).display(),
                number(loss)
            );
        }
        text
    }

    fn warn_of_saturation(&self, evaluation: &Evaluation) {
        let (mean_u2, u_max) = (evaluation.effort.mean_u2, self.policy.config.actuation.u_max);
        if let Some(u_max) = u_max.filter(|u_max| mean_u2 > SATURATED * u_max.powi(2)) {
            warn(&format!(
                "the actions are at their bound most of the time (mean u² {}, actuation.u_max² {}): a policy \
                 that always pushes as hard as it can has hardly learned; raise actuation.u_max, lower \
                 train.lr, or raise loss.effort_u",
                number(mean_u2),
                number(u_max.powi(2))
            ));
        }
    }
}
