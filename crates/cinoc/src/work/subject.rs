//! A policy under given circumstances: which file, how many agents, which cases, what fails.

use super::Watcher;
use crate::failure::Failure;
use cinoc_adjoint::Threads;
use cinoc_control::config::Around;
use cinoc_control::{Cases, Config, Pool, Targets, Tasks};
use cinoc_lab::report::Parameters;
use cinoc_learn::cases_file::{cases_of, read_cases};
use cinoc_learn::checkpoint::Checkpoint;
use cinoc_learn::files::Tensors;
use cinoc_learn::memory::Needs;
use cinoc_learn::policy_file::PolicyFile;
use cinoc_learn::pool::{cache_folder, cached};
use cinoc_learn::run::{BEST, CHECKPOINT, CONFIG, LATEST, POLICY};
use std::path::{Path, PathBuf};

/// Memory for the trajectories of cases that are evaluated together, in bytes.
pub const TRAJECTORIES: f64 = 100e6;

/// Cases that are evaluated together.
fn at_once(config: &Config) -> usize {
    (TRAJECTORIES / Needs::trajectories(config)).ceil() as usize
}

/// Seed of validation and test cases: the same for every policy, so that policies are compared on the same
/// cases.
const CASES_SEED: u64 = 0;

/// A policy, and where it is from.
pub struct Loaded {
    /// The file it was read from.
    pub path: PathBuf,
    /// Which parameters of the run these are.
    pub parameters: Parameters,
    /// The policy, as it was trained.
    pub policy: PolicyFile,
}

/// Under which circumstances a policy is used.
pub struct Circumstances {
    /// Number of agents; `None` for that of the training.
    pub agents: Option<usize>,
    /// Settings as `key=value`.
    pub sets: Vec<String>,
    /// The share of the agents that fails, and from which control step on, such as `0.3@100`.
    pub fail: Option<String>,
    /// The cases.
    pub cases: CasesFrom,
    /// Threads.
    pub threads: Threads,
}

/// Where cases are from.
pub enum CasesFrom {
    /// A number of validation cases, `test:N`, `paper`, or the path of a file.
    Named(String),
    /// Arrays `z0`, `zt` and `xi0`, as in a file.
    Given(Tensors),
}

/// A policy with its circumstances resolved.
pub struct Resolved {
    /// As it is to be used.
    pub config: Config,
    /// The cases, on the grid of the config.
    pub cases: Cases,
    /// What the cases are, in words.
    pub cases_label: String,
    /// Threads.
    pub threads: Threads,
}

/// Settings and cases of a policy under circumstances.
pub fn resolve(
    trained: &Config,
    circumstances: &Circumstances,
    watcher: &dyn Watcher,
) -> Result<Resolved, Failure> {
    let (config, threads) = (settings(circumstances, trained)?, circumstances.threads.clone());
    let (cases, cases_label) = match &circumstances.cases {
        CasesFrom::Named(name) => load_cases(name, trained, &config, &threads, watcher)?,
        CasesFrom::Given(arrays) => {
            let cases = cases_of(arrays, Path::new("cases"), &config)?;
            tell_doubts(&cases, "cases", &config, watcher);
            let label = format!("{} given cases", cases.count);
            (cases, label)
        }
    };
    Ok(Resolved { config, cases, cases_label, threads })
}

/// The policy of a file or of a run directory; of a run that is not finished, the newest parameters
/// that it has written.
pub fn load_policy(
    given: &Path,
    best: bool,
    tasks: &Tasks,
    watcher: &dyn Watcher,
) -> Result<Loaded, Failure> {
    let (folder, checkpoint) = (given.display(), given.join(CHECKPOINT));
    if best {
        let path = given.join(BEST);
        if !path.exists() {
            return Err(Failure::Request(format!(
                "--best: there is no {BEST} in {folder}; it is written by a training that validates \
                 (train.validate_every)"
            )));
        }
        let policy = PolicyFile::read(&path, tasks)?;
        return Ok(Loaded { path, policy, parameters: Parameters::Best });
    }
    if given.is_dir() && !given.join(POLICY).exists() && checkpoint.exists() {
        let Checkpoint { config, params, adam, .. } = Checkpoint::read(&checkpoint, tasks)?;
        let (done, all) = (adam.step as usize, config.train.updates);
        watcher.warn(&format!(
            "the run in {folder} is not finished; these are the parameters of its checkpoint, after {done} \
             of \
             {all} updates"
        ));
        let (policy, parameters) = (PolicyFile { config, params }, Parameters::Checkpoint(done));
        return Ok(Loaded { path: checkpoint, policy, parameters });
    }
    let latest = given.join(LATEST);
    if given.is_dir() && !given.join(POLICY).exists() && latest.exists() {
        let policy = PolicyFile::read(&latest, tasks)?;
        watcher.warn(&format!("the run in {folder} is not finished; these are the parameters of {LATEST}"));
        return Ok(Loaded { path: latest, policy, parameters: Parameters::Latest });
    }
    let path = policy_path(given)?;
    let policy = PolicyFile::read(&path, tasks)?;
    Ok(Loaded { path, policy, parameters: Parameters::Last })
}

/// The policy file of a run directory, or the file itself.
pub fn policy_path(given: &Path) -> Result<PathBuf, Failure> {
    if !given.is_dir() {
        return Ok(given.to_path_buf());
    }
    let path = given.join(POLICY);
    if path.exists() {
        return Ok(path);
    }
    let folder = given.display();
    Err(Failure::Request(if given.join(CONFIG).exists() {
        format!("the run in {folder} is not finished; continue it with --resume")
    } else {
        format!("{folder} holds no run: there is no {POLICY} in it")
    }))
}

fn settings(asked: &Circumstances, trained: &Config) -> Result<Config, Failure> {
    let mut sets = asked.sets.clone();
    sets.extend(asked.agents.map(|agents| format!("agents={agents}")));
    if let Some(fail) = &asked.fail {
        let bad = || Failure::Request(format!("--fail {fail}: must be SHARE@STEP, such as 0.3@100"));
        let (share, step) = fail.split_once('@').ok_or_else(bad)?;
        let (share, step): (f64, usize) =
            (share.parse().map_err(|_| bad())?, step.parse().map_err(|_| bad())?);
        sets.extend([format!("failure.share={share:?}"), format!("failure.step={step}")]);
    }
    changed(trained, &sets)
}

/// The settings of a trained policy with some of them changed, which its network must allow.
pub fn changed(trained: &Config, sets: &[String]) -> Result<Config, Failure> {
    if let Some(idle) = sets.iter().find(|set| only_training(set)) {
        let key = idle.split('=').next().unwrap_or(idle).trim();
        return Err(Failure::Request(format!(
            "--set {idle}: {key} matters in training only; leave it out, or train another policy with it"
        )));
    }
    let config = trained.with_sets(sets)?;
    let network = |config: &Config| {
        let observe = &config.observe;
        let senses =
            (observe.gradient, observe.target, observe.crowd, observe.crowd_ref, observe.crowd_limit);
        // the width of a window may change: it is resampled to the same points
        let around = match observe.around {
            Around::Window { points, .. } => Around::Window { window: 0, points },
            patch => patch,
        };
        (config.policy.clone(), config.method.clone(), around, senses)
    };
    if trained.centralised() && (config.agents, config.shape()) != (trained.agents, trained.shape()) {
        return Err(Failure::Request(format!(
            "a centralised policy ({}) runs only with the agents and the grid of its training ({} agents); \
             policies shared by all agents also run with others",
            trained.method_name(),
            trained.agents
        )));
    }
    if network(&config) != network(trained) {
        return Err(Failure::Request(
            "the network of a trained policy is fixed: policy.*, observe.points, observe.patch, \
             observe.view, observe.gradient, observe.target and observe.crowd* cannot be set; train another \
             policy"
                .into(),
        ));
    }
    Ok(config)
}

/// Whether a setting says nothing about the use of a trained policy.
fn only_training(set: &str) -> bool {
    let key = set.split('=').next().unwrap_or(set).trim();
    key == "data.pool" || ["train.", "loss.", "method."].iter().any(|section| key.starts_with(section))
}

/// The config whose cases are drawn: that of the training on the same domain, so that policies are compared
/// on the same cases whatever the grid and the coefficients are; but with the data that are asked for.
fn source_of_cases(trained: &Config, config: &Config) -> Config {
    let same_domain = trained.axes().iter().zip(config.axes()).all(|(a, b)| a.length == b.length);
    if !same_domain {
        return config.clone();
    }
    Config { data: config.data.clone(), agents: config.agents, ..trained.clone() }
}

/// Cases by number (of the validation pool, or of the test pool), by file, or the published ones.
pub fn load_cases(
    what: &str,
    trained: &Config,
    config: &Config,
    threads: &Threads,
    watcher: &dyn Watcher,
) -> Result<(Cases, String), Failure> {
    let source = source_of_cases(trained, config);
    if what == "paper" {
        let cases = Cases::paper(&source)?.refined(&source, config);
        let label = format!("the paper's {} cases", cases.count);
        return Ok((cases, label));
    }
    let (pool, number) = match what.strip_prefix("test:") {
        Some(number) => (Pool::Test, number),
        None => (Pool::Validation, what),
    };
    match number.parse::<usize>() {
        Ok(0) => Err(Failure::Request(format!("--cases {what}: must be at least 1"))),
        Err(_) if pool == Pool::Test => {
            Err(Failure::Request(format!("--cases {what}: must be test:N, such as test:200")))
        }
        Ok(count) => {
            Needs::evaluation(config, count, at_once(config), threads.count()).check()?;
            let cases = draw_cases(&source, CASES_SEED, pool, count, threads, watcher)?;
            let cases = cases.refined(&source, config);
            let name = if pool == Pool::Test { "test" } else { "validation" };
            Ok((cases, format!("{count} {name} cases")))
        }
        Err(_) => read_own_cases(Path::new(what), config, watcher),
    }
}

/// Cases that a task draws, or those of an earlier drawing.
pub fn draw_cases(
    config: &Config,
    seed: u64,
    pool: Pool,
    count: usize,
    threads: &Threads,
    watcher: &dyn Watcher,
) -> Result<Cases, Failure> {
    watcher.begin("drawing cases", count);
    let told = |done: usize, _: usize| watcher.reached(done);
    let folder = cache_folder();
    let cases = cached(config, seed, pool, count, threads, folder.as_deref(), &told);
    watcher.end();
    cases.check_finite(config)?;
    Ok(cases)
}

/// The cases of a file and what they are, with a warning about targets that the task cannot hold.
pub fn read_own_cases(
    path: &Path,
    config: &Config,
    watcher: &dyn Watcher,
) -> Result<(Cases, String), Failure> {
    let cases = read_cases(path, config)?;
    tell_doubts(&cases, &path.display().to_string(), config, watcher);
    let name = path.file_name().map_or(path.to_string_lossy(), |name| name.to_string_lossy());
    let moving = if cases.targets() == Targets::Moving { ", with moving targets" } else { "" };
    let label = format!("{} cases of {name}{moving}", cases.count);
    Ok((cases, label))
}

fn tell_doubts(cases: &Cases, name: &str, config: &Config, watcher: &dyn Watcher) {
    cases.doubts(config).iter().for_each(|doubt| watcher.warn(&format!("{name}: {doubt}")));
}
