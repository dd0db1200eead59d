//! Trainings and measurements on several ranks: each is done by one of them.
//!
//! This only fills the folder of runs and measurements, which all ranks see. Afterwards the leader goes on as
//! if it were alone and finds there what it needs. What could not be done is found missing and done by the
//! leader, which also tells what was wrong.

use std::path::{Path, PathBuf};
use std::time::Instant;

use cinoc_adjoint::Threads;
use cinoc_control::{Config, Tasks};
use cinoc_learn::files::write_atomically;
use cinoc_learn::policy_file::PolicyFile;
use cinoc_learn::team::share::spread;
use cinoc_learn::team::{Order, Team};
use serde::{Deserialize, Serialize};

use super::cost::training_work;
use super::point::Sample;
use super::policies::run_name;
use super::{LabError, Measured, Point, Trained, Watch, Workshop};

/// What the ranks are asked to do.
#[derive(Serialize, Deserialize)]
struct Jobs {
    folder: PathBuf,
    shipped: PathBuf,
    /// A file in the folder that every rank must see; `None` if nothing is kept there.
    token: Option<String>,
    /// The policy that is measured; `None` if each point has its own.
    policy: Option<Policy>,
    jobs: Vec<Job>,
    /// Who does which job.
    ranks: Vec<usize>,
}

/// A policy as text and bits.
#[derive(Serialize, Deserialize)]
struct Policy {
    config: String,
    params: Vec<u32>,
}

#[derive(Serialize, Deserialize)]
enum Job {
    Train { config: String },
    Measure { trained: String, circumstances: String, cases: Sample, uncontrolled: bool },
}

/// What a rank answers.
#[derive(Serialize, Deserialize)]
struct Reply {
    sees_folder: bool,
    /// Measurements that are not kept in the folder, by the number of their job.
    measured: Vec<(usize, Measured)>,
}

impl Job {
    fn training(config: &Config) -> Job {
        Job::Train { config: config.to_toml() }
    }

    fn measurement(point: &Point) -> Job {
        let Point { trained, circumstances, cases, uncontrolled } = point;
        let (trained, circumstances) = (trained.to_toml(), circumstances.to_toml());
        Job::Measure { trained, circumstances, cases: *cases, uncontrolled: *uncontrolled }
    }
}

impl Workshop<'_> {
    /// Trains those of these configs that are not trained yet, each on one rank of the team.
    pub fn prepare(&self, what: &str, configs: &[Config]) -> Result<(), LabError> {
        let mut missing: Vec<&Config> = Vec::new();
        for config in configs {
            let known = |other: &&Config| run_name(other) == run_name(config);
            if !self.is_trained(config) && !missing.iter().any(known) {
                missing.push(config);
            }
        }
        let work: Vec<f64> = missing.iter().map(|config| training_work(config)).collect();
        // all ranks share the work of a training that is the only one
        if !self.team.has_followers() || missing.len() < 2 {
            self.watch.begin(what, work.iter().sum());
            return missing.into_iter().try_for_each(|config| self.outcome(config).map(|_| ()));
        }
        let jobs = missing.into_iter().map(Job::training).collect();
        self.spread(what, jobs, &work, None).map(|_| ())
    }

    /// Measures those of these points that are not measured yet and whose policies are trained, each on one
    /// rank.
    pub(super) fn prepare_points(&self, what: &str, points: &[Point]) -> Result<(), LabError> {
        let mut missing: Vec<&Point> = Vec::new();
        for point in points.iter().filter(|_| self.team.has_followers()) {
            if !missing.contains(&point) && self.is_trained(&point.trained) {
                let trained = self.policy(&point.trained)?;
                if !self.is_kept(&point.key(&trained.policy)) {
                    missing.push(point);
                }
            }
        }
        if missing.len() < 2 {
            return Ok(());
        }
        let work: Vec<f64> = missing.iter().map(|point| point.work()).collect();
        let jobs = missing.into_iter().map(Job::measurement).collect();
        self.spread(what, jobs, &work, None).map(|_| ())
    }

    /// Measures points of a policy, each on one rank; nothing is kept. `None` for points that have to be
    /// measured here.
    pub(super) fn measure_elsewhere(
        &self,
        what: &str,
        policy: &PolicyFile,
        points: &[Point],
    ) -> Result<Vec<Option<Measured>>, LabError> {
        if !self.team.has_followers() || points.len() < 2 {
            return Ok(points.iter().map(|_| None).collect());
        }
        let work: Vec<f64> = points.iter().map(Point::work).collect();
        self.spread(what, points.iter().map(Job::measurement).collect(), &work, Some(policy))
    }

    /// Lets every rank do its part of some jobs.
    fn spread(
        &self,
        what: &str,
        jobs: Vec<Job>,
        work: &[f64],
        policy: Option<&PolicyFile>,
    ) -> Result<Vec<Option<Measured>>, LabError> {
        let start = Instant::now();
        let token = policy.is_none().then(|| format!(".ranks-{}", std::process::id()));
        if let Some(token) = &token {
            std::fs::create_dir_all(&self.folder)
                .map_err(|error| cinoc_learn::files::FileError::io("create", &self.folder, error))?;
            write_atomically(&self.folder.join(token), |_| Ok(()))?;
        }
        let (count, size) = (jobs.len(), self.team.size());
        let ranks = spread(work, size);
        let own: f64 = work.iter().zip(&ranks).filter(|(_, rank)| **rank == 0).map(|(work, _)| work).sum();
        let bits = |policy: &PolicyFile| Policy {
            config: policy.config.to_toml(),
            params: policy.params.iter().map(|p| p.to_bits()).collect(),
        };
        let jobs = Jobs {
            folder: self.folder.clone(),
            shipped: self.shipped.clone(),
            token,
            policy: policy.map(bits),
            jobs,
            ranks,
        };
        self.team.order(Order::Jobs, || serde_json::to_vec(&jobs).expect("jobs are plain data"));
        self.watch.begin(&format!("{what}, {count} jobs on {size} ranks"), own);
        // the settings of a policy may be of a task that is not built in
        let task = policy.map(|policy| Tasks::only(&policy.config.task));
        let reply = jobs.done_by(0, self, task.as_ref().unwrap_or(Tasks::built_in()));
        self.watch.now("waiting for the other ranks");
        let replies = self.team.gather(serde_json::to_vec(&reply).expect("replies are plain data"));
        let mut measured: Vec<Option<Measured>> = (0..count).map(|_| None).collect();
        let mut blind = None;
        for (rank, reply) in replies.iter().enumerate() {
            // a measurement with a number that JSON cannot hold is done again by the leader
            let Ok(reply) = serde_json::from_slice::<Reply>(reply) else { continue };
            blind = blind.or((!reply.sees_folder).then_some(rank));
            reply.measured.into_iter().for_each(|(job, found)| measured[job] = Some(found));
        }
        if let Some(token) = &jobs.token {
            // without it nothing is lost
            let _ = std::fs::remove_file(self.folder.join(token));
        }
        self.book_training_now(start.elapsed().as_secs_f64());
        if let Some(rank) = blind {
            return Err(LabError::NotShared { rank, folder: self.folder.display().to_string() });
        }
        self.check()?;
        Ok(measured)
    }
}

impl Jobs {
    /// Does the jobs of a rank. What fails is left to the leader, which will meet the same error.
    fn done_by(&self, rank: usize, workshop: &Workshop<'_>, tasks: &Tasks) -> Reply {
        let sees_folder = self.token.as_ref().is_none_or(|token| self.folder.join(token).exists());
        let mut reply = Reply { sees_folder, measured: Vec::new() };
        let policy = self.policy.as_ref().and_then(|policy| {
            let config = tasks.read_config(&policy.config).ok()?;
            let params = policy.params.iter().map(|bits| f32::from_bits(*bits)).collect();
            Some(PolicyFile { config, params })
        });
        let mine = self.jobs.iter().enumerate().filter(|(job, _)| self.ranks[*job] == rank && sees_folder);
        for (number, job) in mine {
            if workshop.check().is_err() {
                break;
            }
            match (job, &policy) {
                (Job::Train { config }, _) => {
                    let config = tasks.read_config(config).ok();
                    config.map(|config| workshop.train_alone(&config));
                }
                (Job::Measure { trained, circumstances, cases, uncontrolled }, policy) => {
                    let configs = (tasks.read_config(trained), tasks.read_config(circumstances));
                    let (Ok(trained), Ok(circumstances)) = configs else { continue };
                    let (cases, uncontrolled) = (*cases, *uncontrolled);
                    let point = Point { trained, circumstances, cases, uncontrolled };
                    let measured = workshop.measure_alone(&point, policy.as_ref());
                    reply.measured.extend(measured.map(|measured| (number, measured)));
                }
            }
        }
        reply
    }
}

impl Workshop<'_> {
    /// Trains in this process only.
    fn train_alone(&self, config: &Config) -> Result<(), LabError> {
        self.train(config, &self.folder.join(run_name(config)), &Team::alone())
    }

    /// Measures a point. If the policy is given, the measurement is returned and not kept.
    fn measure_alone(&self, point: &Point, policy: Option<&PolicyFile>) -> Option<Measured> {
        self.watch.now(&point.told());
        let measured = match policy {
            Some(policy) => Some(self.roll_out(point, policy)),
            None => {
                let trained: Option<Trained> = self.policy(&point.trained).ok();
                let _kept = trained.map(|trained| self.measure_one(point, &trained));
                None
            }
        };
        self.watch.done(point.work());
        measured
    }
}

/// As a follower: does its part of the jobs that the leader described. `keep_going` is asked before every job
/// and every update.
pub fn follow(about: &[u8], team: &Team, tasks: &Tasks, threads: &Threads, keep_going: &dyn Fn() -> bool) {
    struct Quiet<'a>(&'a dyn Fn() -> bool);
    impl Watch for Quiet<'_> {
        fn begin(&self, _: &str, _: f64) {}
        fn done(&self, _: f64) {}
        fn now(&self, _: &str) {}
        fn keep_going(&self) -> bool {
            (self.0)()
        }
    }
    let jobs: Jobs = serde_json::from_slice(about).expect("jobs of a leader of the same program");
    let (folder, shipped): (&Path, &Path) = (&jobs.folder, &jobs.shipped);
    let quiet = Quiet(keep_going);
    let size = super::Size::Full;
    let workshop =
        Workshop::new(size, threads.clone(), None, folder.to_path_buf(), shipped.to_path_buf(), &quiet);
    let reply = jobs.done_by(team.rank(), &workshop, tasks);
    team.gather(serde_json::to_vec(&reply).expect("replies are plain data"));
}
