//! Several processes of one job, started by `mpirun` or `srun`: who this one is, and how many threads it has.
//!
//! Rank 0 leads: it runs the command as a process by itself does. The others obey it ([`serve`]). MPI is touched
//! only if a launcher started more than one process. In a program that was built without the feature `mpi`,
//! such a job is refused: its processes would all do the same work and fight for one run directory.

mod launch;
mod machine;
#[cfg(feature = "mpi")]
mod mpi;
mod serve;
mod signals;

pub(crate) use serve::serve;

use crate::failure::Failure;
use crate::work::Device;
use cinoc_adjoint::Threads;
use cinoc_learn::team::{Order, Team};

/// This process and those it works with.
#[derive(Default)]
pub(crate) struct Crew {
    /// The team.
    pub team: Team,
    /// Threads of this rank if nobody says otherwise; `None` for one per core.
    threads: Option<usize>,
    /// What the user should know about the machines of the job.
    doubts: Vec<String>,
    /// Ends MPI when it is dropped.
    #[cfg(feature = "mpi")]
    _universe: Option<::mpi::environment::Universe>,
}

impl Crew {
    /// The crew of this process, as its launcher says. An error is to be told by one rank only: `Err(None)`.
    pub fn join() -> Result<Crew, Option<Failure>> {
        let Some(launch) = launch::launch() else { return Ok(Crew::default()) };
        let joined = Crew::launched(&launch);
        joined.map_err(|failure| (launch.rank == 0).then_some(failure))
    }

    #[cfg(not(feature = "mpi"))]
    fn launched(launch: &launch::Launch) -> Result<Crew, Failure> {
        Err(Failure::Request(format!(
            "{} starts {} processes, but this program was built without MPI; build it with --features mpi \
             (docs/cluster.md), start it once, or set CINOC_MPI=off if each process has work of its own",
            launch.launcher, launch.size
        )))
    }

    #[cfg(feature = "mpi")]
    fn launched(launch: &launch::Launch) -> Result<Crew, Failure> {
        let (universe, ranks, machines) = mpi::join(launch)?;
        let team = Team::of(std::sync::Arc::new(ranks));
        let crew = Crew {
            threads: Some(machines.threads(team.rank())),
            doubts: if team.follows() { Vec::new() } else { machines.doubts() },
            _universe: Some(universe),
            team,
        };
        signals::prepare(&crew.team, &machines);
        Ok(crew)
    }

    /// The threads of this rank: as many as were asked for, or its share of the cores of its machine.
    pub fn threads(&self, asked: Option<usize>, device: Device) -> Result<Threads, Failure> {
        if device != Device::Cpu && self.team.has_followers() {
            let why = "several ranks share a batch on CPUs only; start one process for --device cuda";
            return Err(Failure::Request(why.into()));
        }
        crate::work::threads(asked.or(self.threads), device)
    }

    /// Tells what the user should know before work begins.
    pub fn warn(&self, asked: Option<usize>) {
        if !self.team.has_followers() {
            return;
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        if let Some(asked) = asked.filter(|asked| *asked > cores) {
            crate::terminal::warn(&format!(
                "--threads {asked}: rank 0 may run on {cores} of the cores only; mpirun binds ranks to cores: \
                 give it --bind-to none, or --map-by slot:PE={asked}"
            ));
        }
        self.doubts.iter().for_each(|doubt| crate::terminal::warn(doubt));
    }

    /// As the leader: the work is done, whatever came of it.
    pub fn dismiss(&self) {
        self.team.order(Order::Quit, Vec::new);
    }
}
