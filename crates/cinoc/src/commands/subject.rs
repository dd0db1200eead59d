//! A policy under given circumstances: which file, how many agents, which cases, what fails.

use crate::arguments::Subject;
use crate::failure::Failure;
use crate::terminal::progress;
use cinoc_adjoint::Threads;
use cinoc_control::config::Around;
use cinoc_control::{Cases, Config, Pool, Tasks};
use cinoc_learn::cases_file::read_cases;
use cinoc_learn::memory::Needs;
use cinoc_learn::policy_file::PolicyFile;
use cinoc_learn::pool::{cache_folder, cached};
use cinoc_learn::run::POLICY;
use std::path::{Path, PathBuf};

/// Seed of validation and test cases: the same for every policy, so that policies are compared on the same
/// cases.
const CASES_SEED: u64 = 0;

/// A policy with its circumstances resolved.
pub struct Resolved {
    /// The file it was read from.
    pub path: PathBuf,
    /// As it was trained.
    pub policy: PolicyFile,
    /// As it is to be used.
    pub config: Config,
    pub cases: Cases,
    /// What the cases are, in words.
    pub cases_label: String,
    pub threads: usize,
}

pub fn resolve(subject: &Subject, tasks: &Tasks) -> Result<Resolved, Failure> {
    let path = policy_path(&subject.policy)?;
    let policy = PolicyFile::read(&path, tasks)?;
    let config = circumstances(subject, &policy.config)?;
    let threads = super::threads(subject.threads);
    let (cases, cases_label) = load_cases(&subject.cases, &config, threads)?;
    Ok(Resolved { path, policy, config, cases, cases_label, threads })
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
    Err(Failure::Request(if given.join("config.toml").exists() {
        format!("the run in {folder} is not finished; continue it with --resume")
    } else {
        format!("{folder} holds no run: there is no {POLICY} in it")
    }))
}

fn circumstances(subject: &Subject, trained: &Config) -> Result<Config, Failure> {
    let mut sets = subject.sets.clone();
    sets.extend(subject.agents.map(|agents| format!("agents={agents}")));
    if let Some(fail) = &subject.fail {
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

/// Cases by number (of the validation pool, or of the test pool), by file, or the published ones.
pub fn load_cases(what: &str, config: &Config, threads: usize) -> Result<(Cases, String), Failure> {
    if what == "paper" {
        let cases = Cases::paper(config)?;
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
            Needs::evaluation(config, count, threads).check()?;
            let bar = progress("drawing cases", count);
            let told = |done: usize, _: usize| bar.set_position(done as u64);
            let (threads, folder) = (Threads::new(threads), cache_folder());
            let cases = cached(config, CASES_SEED, pool, count, &threads, folder.as_deref(), &told);
            bar.finish_and_clear();
            let name = if pool == Pool::Test { "test" } else { "validation" };
            Ok((cases, format!("{count} {name} cases")))
        }
        Err(_) => {
            let path = Path::new(what);
            let cases = read_cases(path, config)?;
            let name = path.file_name().map_or(what.into(), |name| name.to_string_lossy());
            let label = format!("{} cases of {name}", cases.count);
            Ok((cases, label))
        }
    }
}
