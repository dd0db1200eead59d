//! Several processes of one job, started by `mpirun` or `srun`: who this one is, and how many threads it has.
//!
//! Rank 0 leads: it runs the command as a process by itself does. The others obey it ([`serve`]). MPI is
//! touched only if a launcher started more than one process. In a program that was built without the
//! feature `mpi`, such a job is refused: its processes would all do the same work and fight for one run
//! directory.

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
use machine::Machines;

/// This process and those it works with.
#[derive(Default)]
pub(crate) struct Crew {
    /// The team.
    pub team: Team,
    /// Threads of this rank if nobody says otherwise; `None` for one per core.
    threads: Option<usize>,
    /// Where all ranks are; empty if this is a process by itself.
    machines: Machines,
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
        let crew =
            Crew { threads: Some(machines.threads(team.rank())), _universe: Some(universe), machines, team };
        signals::prepare(&crew.team, &crew.machines);
        Ok(crew)
    }

    /// The threads of this rank: as many as were asked for, or its share of the cores of its machine. With
    /// a device, every rank opens one, and all of them must succeed.
    pub fn threads(&self, asked: Option<usize>, device: Device) -> Result<Threads, Failure> {
        if device == Device::Cpu || !self.team.has_followers() {
            return self.own_threads(asked, device);
        }
        if let (Device::Cuda(Some(_)), Some((host, ranks))) = (device, self.machines.crowded()) {
            return Err(Failure::Request(format!(
                "--device {device} is one GPU for all {ranks} ranks on {host}; --device cuda gives each \
                 rank its own"
            )));
        }
        self.team.order(Order::Device, || device.to_string().into_bytes());
        let (own, told) = self.opened(asked, device);
        let failed = told.iter().enumerate().skip(1).find(|(_, reason)| !reason.is_empty());
        match (own, failed) {
            (Ok(_), Some((rank, reason))) => {
                Err(Failure::Request(self.of_rank(rank, &String::from_utf8_lossy(reason))))
            }
            (own, _) => own,
        }
    }

    /// As a follower: opens the device that the leader names, and tells how it went.
    fn follow_to(&self, device: &[u8], asked: Option<usize>) -> Option<Threads> {
        let device = std::str::from_utf8(device).ok().and_then(|name| name.parse().ok());
        self.opened(asked, device.expect("a device of a leader of the same program")).0.ok()
    }

    /// Threads with the device of this rank; the leader also gets the reasons of all ranks that have none.
    fn opened(&self, asked: Option<usize>, device: Device) -> (Result<Threads, Failure>, Vec<Vec<u8>>) {
        let own = self.own_threads(asked, device.at(self.machines.place(self.team.rank())));
        let reason = own.as_ref().err().map_or("", Failure::message);
        let told = self.team.gather(reason.into());
        (own, told)
    }

    fn own_threads(&self, asked: Option<usize>, device: Device) -> Result<Threads, Failure> {
        crate::work::threads(asked.or(self.threads), device)
    }

    /// A message about a rank.
    fn of_rank(&self, rank: usize, message: &str) -> String {
        format!("rank {rank} on {}: {message}", self.machines.0[rank].host)
    }

    /// Does the work of this rank. If a device fails in a team, the process ends at once: other ranks may
    /// wait for this one and cannot be told. The launcher ends them.
    pub fn bearing_device_errors<R>(&self, work: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
        crate::work::bearing_device_errors(|| Ok(work())).unwrap_or_else(|failure| {
            if self.team.size() == 1 {
                return Err(failure);
            }
            Failure::Run(self.of_rank(self.team.rank(), failure.message())).report();
            std::process::exit(1)
        })
    }

    /// Tells what the user should know before work begins.
    pub fn warn(&self, asked: Option<usize>) {
        if !self.team.has_followers() {
            return;
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        if let Some(asked) = asked.filter(|asked| *asked > cores) {
            crate::terminal::warn(&format!(
                "--threads {asked}: rank 0 may run on {cores} of the cores only; mpirun binds ranks to \
                 cores: \
                 give it --bind-to none, or --map-by slot:PE={asked}"
            ));
        }
        self.machines.doubts().iter().for_each(|doubt| crate::terminal::warn(doubt));
    }

    /// As the leader: the work is done, whatever came of it.
    pub fn dismiss(&self) {
        self.team.order(Order::Quit, Vec::new);
    }
}
