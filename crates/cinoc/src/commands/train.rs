//! `cinoc train`: draw the cases, train, evaluate, report.

use super::eval::show;
use crate::arguments::{Preset, Train};
use crate::failure::Failure;
use crate::ranks::Crew;
use crate::terminal::{Terminal, number, say, warn};
use crate::work::training::{Training, Wanted, default_folder, resumed};
use cinoc_adjoint::Threads;
use cinoc_control::{Cases, Config, Tasks};
use cinoc_lab::figures::Format;
use cinoc_lab::numbers::duration;
use cinoc_lab::report::{Parameters, Report};
use cinoc_lab::training_log::TrainingLog;
use cinoc_learn::evaluate::{Evaluation, evaluate, roll_out};
use cinoc_learn::inputs::Inputs;
use cinoc_learn::policy_file::PolicyFile;
use cinoc_learn::run::{BEST, Ended, METRICS};
use std::path::{Path, PathBuf};

/// Actions whose mean square is above this share of the bound's square are at the bound most of the time.
const SATURATED: f64 = 0.9;

pub fn run(request: &Train, tasks: &Tasks, crew: &Crew) -> Result<(), Failure> {
    let (config, folder) = asked(request, tasks)?;
    let threads = crew.threads(request.on.threads, request.on.device)?;
    crew.warn(request.on.threads);
    let training = Training {
        config,
        folder: folder.clone(),
        resume: request.resume.is_some(),
        init: request.init.clone(),
        cases: request.cases.clone(),
        validation: request.validation.clone(),
        threads: threads.clone(),
        team: crew.team.clone(),
    };
    let trained = training.run(tasks, &Terminal::saving_on_interrupt())?;
    match trained.ended {
        Ended::Stopped(done) => Err(Failure::Interrupted(format!(
            "after {done} of {} updates; continue with train --resume {}",
            trained.config.train.updates,
            folder.display()
        ))),
        Ended::Finished(path) => {
            let policy = PolicyFile::read(&path, tasks)?;
            let closing = Closing { folder: &folder, path: &path, policy: &policy, inputs: &trained.inputs };
            closing.report(&trained.held_out, &threads, request.json)
        }
    }
}

/// The settings that are asked for, and the run directory.
pub fn asked(request: &Train, tasks: &Tasks) -> Result<(Config, PathBuf), Failure> {
    match (&request.resume, &request.task) {
        (Some(Some(folder)), _) => Ok((of_run(request, folder, tasks)?, folder.clone())),
        (_, Some(task)) => {
            let wanted = Wanted {
                preset: request.preset.into(),
                method: request.method.clone(),
                file: request.config.clone(),
                sets: request.sets.clone(),
                seed: request.seed,
                updates: request.updates,
            };
            let config = wanted.config(tasks.find(task)?)?;
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
fn of_run(request: &Train, folder: &Path, tasks: &Tasks) -> Result<Config, Failure> {
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
    let config = resumed(folder, &request.sets, request.updates, tasks)?;
    match request.task.as_ref().filter(|task| **task != config.task.name) {
        Some(task) => Err(Failure::Request(format!(
            "{} holds a run of {}, not of {task}",
            folder.display(),
            config.task
        ))),
        None => Ok(config),
    }
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
