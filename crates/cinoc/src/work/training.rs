//! A training: its settings, its files, its cases, its run directory.

use super::Watcher;
use super::subject::{draw_cases, load_cases, policy_path, read_own_cases};
use crate::failure::Failure;
use cinoc_adjoint::Threads;
use cinoc_control::config::{ConfigError, Preset};
use cinoc_control::{Cases, Config, Pool, Targets, Task, Tasks};
use cinoc_learn::inputs::{InputFile, Inputs};
use cinoc_learn::learner::check_targets;
use cinoc_learn::memory::Needs;
use cinoc_learn::policy_file::PolicyFile;
use cinoc_learn::run::{CONFIG, Done, Ended, Run, RunError, Start, keeps_checkpoints};
use cinoc_learn::team::Team;
use cinoc_learn::train::share;
use cinoc_learn::validation::Validation;
use std::path::{Path, PathBuf};

/// Number of validation cases in the report of a training, and wherever nobody says otherwise.
pub const REPORT_CASES: usize = 100;

/// What a new training is asked to be.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Settings to start from.
    pub preset: Preset,
    /// The method.
    pub method: String,
    /// A TOML file whose settings come next.
    pub file: Option<PathBuf>,
    /// Settings as `key=value`, which come last.
    pub sets: Vec<String>,
    /// Setting `train.seed`.
    pub seed: Option<u64>,
    /// Setting `train.updates`.
    pub updates: Option<usize>,
}

impl Wanted {
    /// All settings.
    pub fn config(&self, task: &Task) -> Result<Config, Failure> {
        let file = match &self.file {
            Some(path) => Some(std::fs::read_to_string(path).map_err(|error| {
                Failure::Request(format!("cannot read {}: {error}; check the path", path.display()))
            })?),
            None => None,
        };
        let mut sets = self.sets.clone();
        sets.extend(self.seed.map(|seed| format!("train.seed={seed}")));
        sets.extend(self.updates.map(|updates| format!("train.updates={updates}")));
        let in_file = |error: ConfigError| match &self.file {
            Some(path) => Failure::Request(format!("{error} (with settings of {})", path.display())),
            None => error.into(),
        };
        task.resolve(self.preset, &self.method, file.as_deref(), &sets).map_err(in_file)
    }
}

/// The settings of the run in a folder, some of them changed; more updates extend it.
pub fn resumed(
    folder: &Path,
    sets: &[String],
    updates: Option<usize>,
    tasks: &Tasks,
) -> Result<Config, Failure> {
    let path = folder.join(CONFIG);
    if !path.exists() {
        return Err(RunError::NothingToResume(folder.display().to_string()).into());
    }
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Failure::Request(format!("cannot read {}: {error}", path.display())))?;
    let config = tasks.read_config(&text)?;
    if updates.is_some_and(|updates| updates < config.train.updates) {
        let (folder, updates) = (folder.display().to_string(), config.train.updates);
        return Err(RunError::Fewer { folder, updates }.into());
    }
    let updates = updates.map(|updates| format!("train.updates={updates}"));
    Ok(config.with_sets(&[sets, updates.as_slice()].concat())?)
}

/// Where a run goes if nobody says where.
pub fn default_folder(config: &Config) -> PathBuf {
    let method = config.method.as_ref().map_or(String::new(), |_| format!("{}-", config.method_name()));
    Path::new("runs").join(format!("{}-{method}{}", config.task, config.train.seed))
}

/// A training to be done.
pub struct Training {
    /// Its settings.
    pub config: Config,
    /// Its run directory.
    pub folder: PathBuf,
    /// Whether it goes on with the run there.
    pub resume: bool,
    /// A policy to start from: a file or a run directory.
    pub init: Option<PathBuf>,
    /// A file of cases to train on; drawn ones if there is none.
    pub cases: Option<PathBuf>,
    /// A file of cases to validate on; drawn ones if there is none.
    pub validation: Option<PathBuf>,
    /// Threads.
    pub threads: Threads,
    /// Processes that help.
    pub team: Team,
}

/// How a training went.
pub struct Trained {
    /// Whether it was finished.
    pub ended: Ended,
    /// The settings it trained with.
    pub config: Config,
    /// The files it was given.
    pub inputs: Inputs,
    /// Cases that it was not trained on, and what they are in words. Settings are chosen by looking at
    /// reports: these are never test cases.
    pub held_out: (Cases, String),
}

impl Training {
    /// Trains. Whatever can be wrong with the request is checked before anything is written.
    pub fn run(&self, tasks: &Tasks, watcher: &dyn Watcher) -> Result<Trained, Failure> {
        let threads = &self.threads;
        let inputs = self.inputs()?;
        let own = |input: &Option<InputFile>| {
            input.as_ref().map(|input| read_own_cases(&input.file, &self.config, watcher)).transpose()
        };
        let (own_pool, own_validation) = (own(&inputs.cases)?, own(&inputs.validation)?);
        self.check_team()?;
        check_memory(&self.config, [&own_pool, &own_validation], threads.count(), &self.team)?;
        if let (Some((cases, _)), Some(given)) = (&own_pool, &inputs.cases) {
            let refused = |error| Failure::Request(format!("--cases {}: {error}", given.file.display()));
            check_targets(&self.config, cases).map_err(refused)?;
        }
        let run = self.open(&inputs, tasks)?;
        let config = run.config().clone();
        config.doubts().iter().for_each(|doubt| watcher.warn(doubt));
        let share = share(&config, threads, &self.team);
        if share.idle() > 0 {
            watcher.warn(&format!(
                "{} of {} ranks have nothing to do: a batch of {} is {} chunks of {}; raise train.batch, or \
                 start \
                 fewer ranks with more threads",
                share.idle(),
                share.ranks,
                share.samples,
                share.chunks(),
                share.chunk
            ));
        }
        if own_pool.is_some() && own_validation.is_none() {
            watcher.warn(
                "the training is validated on cases that the task draws; give --validation FILE for cases \
                 like \
                 those of --cases",
            );
        }
        let drawn = || {
            let (seed, count) = (config.train.seed, config.data.pool);
            draw_cases(&config, seed, Pool::Training, count, threads, watcher)
        };
        let pool = own_pool.map_or_else(drawn, |(cases, _)| Ok(cases))?;
        let count = config.train.validation_cases.max(REPORT_CASES).to_string();
        let drawn = || load_cases(&count, &config, &config, threads, watcher);
        let held_out = own_validation.map_or_else(drawn, Ok)?;
        let training = format!("training {} ({})", config.task, config.method_name());
        let begin = || watcher.begin(&training, config.train.updates);
        begin();
        let watch = |done: Done<'_>| match done {
            Done::Prepared { parts, of } => {
                if parts == 1 {
                    watcher.begin(&format!("{training}, before its first update"), of);
                }
                watcher.reached(parts);
                if parts == of {
                    begin();
                }
            }
            Done::Updated(update, validated) => watcher.updated(update, validated),
        };
        let validation = Validation::leading(&config, &held_out.0, threads, &self.team);
        let ended =
            run.with_team(&self.team).train(pool, validation, threads, watch, || watcher.keep_going());
        watcher.end();
        Ok(Trained { ended: ended?, config, inputs, held_out })
    }

    /// Refuses what several processes cannot do together.
    fn check_team(&self) -> Result<(), Failure> {
        if self.team.size() == 1 || keeps_checkpoints(&self.config) {
            return Ok(());
        }
        Err(Failure::Request(format!(
            "{} trains in one process; start it without mpirun, or spread whole trainings over ranks with \
             mpirun cinoc reproduce",
            self.config.method_name()
        )))
    }

    /// The files that are asked for; a run that goes on has those it began with.
    fn inputs(&self) -> Result<Inputs, Failure> {
        let bad = |error: cinoc_learn::files::FileError| Failure::Request(error.to_string());
        let begun = match self.resume {
            true => Inputs::read(&self.folder).map_err(bad)?,
            false => Inputs::default(),
        };
        let hashed = |given: &Option<PathBuf>, begun: &Option<InputFile>| {
            let path = given.as_ref().or(begun.as_ref().map(|begun| &begun.file));
            path.map(|path| InputFile::of(path)).transpose().map_err(bad)
        };
        let init = match &self.init {
            Some(given) => Some(InputFile::of(&policy_path(given)?).map_err(bad)?),
            // its parameters are in the checkpoint: the file is not needed any more
            None => begun.init,
        };
        let cases = hashed(&self.cases, &begun.cases)?;
        let validation = hashed(&self.validation, &begun.validation)?;
        Ok(Inputs { init, cases, validation })
    }

    /// A directory that cannot be made is a wrong request; a file that cannot be written later is a failed
    /// run.
    fn open(&self, inputs: &Inputs, tasks: &Tasks) -> Result<Run, Failure> {
        let run = match (self.resume, &inputs.init) {
            (true, _) => Run::resume(&self.folder, &self.config, inputs),
            (false, init) => {
                let params =
                    init.as_ref().map(|init| first_params(&init.file, &self.config, tasks)).transpose()?;
                Run::create(&self.folder, &self.config, Start { inputs: inputs.clone(), params })
            }
        };
        run.map_err(|error| match error {
            RunError::File(error) => Failure::Request(error.to_string()),
            error => error.into(),
        })
    }
}

/// Refuses a training that does not fit into memory, with its own cases if it has any.
/// Ranks on one machine share its memory.
fn check_memory(
    config: &Config,
    own: [&Option<(Cases, String)>; 2],
    threads: usize,
    team: &Team,
) -> Result<(), Failure> {
    let moving = own.into_iter().flatten().any(|(cases, _)| cases.targets() == Targets::Moving);
    let targets = if moving { Targets::Moving } else { Targets::Fixed };
    let together = config.train.batch + config.train.validation_cases;
    let needs = Needs::training(config, threads).with_targets(config, targets, together);
    Ok(needs.of_processes(team.on_this_machine()).check()?)
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
