//! Ranks of MPI.
//!
//! Only the main thread calls MPI. What the leader orders and what it is told may take long, and those who
//! wait for it sleep; the exchange of gradients is waited for without a pause, as MPI does.

use super::launch::Launch;
use super::machine::{Hello, Machines};
use crate::failure::Failure;
use cinoc_learn::team::Ranks;
use mpi::Threading;
use mpi::datatype::{Partition, PartitionMut};
use mpi::environment::{Universe, processor_name};
use mpi::request::{Request, Scope, scope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Root, Source};
use std::time::{Duration, Instant};

/// The processes of this job.
pub struct Mpi {
    rank: usize,
    size: usize,
    neighbours: usize,
}

/// Bytes of a message that travel with its length.
const SHORT: usize = 56;
/// Bytes that are sent at once, at most: MPI counts in 32 bits.
const BLOCK: usize = 1 << 30;

/// Starts MPI and tells who is there.
pub fn join(launch: &Launch) -> Result<(Universe, Mpi, Machines), Failure> {
    let failed = || Failure::Run("MPI does not start".into());
    let (universe, _) = mpi::initialize_with_threading(Threading::Funneled).ok_or_else(failed)?;
    let world = universe.world();
    let mut ranks = Mpi { rank: world.rank() as usize, size: world.size() as usize, neighbours: 1 };
    if ranks.size != launch.size {
        return Err(Failure::Request(format!(
            "{} starts {} processes, but MPI sees {}; use the mpirun of the MPI that this program was built \
             with, or srun --mpi=pmix",
            launch.launcher, launch.size, ranks.size
        )));
    }
    let host = processor_name().unwrap_or_else(|_| "a machine without a name".into());
    let told = serde_json::to_vec(&Hello::of_this_process(host)).unwrap_or_default();
    let mut all = ranks.gather(&told).join(&b'\n');
    ranks.broadcast(&mut all);
    let hellos = all.split(|byte| *byte == b'\n').map(serde_json::from_slice);
    let machines = hellos.collect::<Result<Vec<Hello>, _>>().map(Machines);
    let machines = machines.map_err(|_| Failure::Request("the ranks run other programs".into()))?;
    if let Some(stranger) = machines.stranger() {
        let version = |rank: usize| &machines.0[rank].version;
        return Err(Failure::Request(format!(
            "rank {stranger} on {} runs version {}, rank 0 version {}; start the same program everywhere",
            machines.0[stranger].host,
            version(stranger),
            version(0)
        )));
    }
    ranks.neighbours = machines.neighbours(ranks.rank);
    // a rank that fails must not wait for the others in its last moments
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        told(panic);
        std::process::exit(101);
    }));
    Ok((universe, ranks, machines))
}

impl Mpi {
    fn world(&self) -> SimpleCommunicator {
        SimpleCommunicator::world()
    }
}

impl Ranks for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn on_this_machine(&self) -> usize {
        self.neighbours
    }

    fn broadcast(&self, message: &mut Vec<u8>) {
        let world = self.world();
        let leader = world.process_at_rank(0);
        let mut head = [0u8; 8 + SHORT];
        if self.rank == 0 {
            let short = message.len().min(SHORT);
            head[..8].copy_from_slice(&(message.len() as u64).to_le_bytes());
            head[8..8 + short].copy_from_slice(&message[..short]);
        }
        scope(|scope| wait(leader.immediate_broadcast_into(scope, &mut head[..])));
        let length = u64::from_le_bytes(head[..8].try_into().expect("eight bytes")) as usize;
        let short = length.min(SHORT);
        if self.rank > 0 {
            message.clear();
            message.extend_from_slice(&head[8..8 + short]);
            message.resize(length, 0);
        }
        for block in message[short..].chunks_mut(BLOCK) {
            leader.broadcast_into(block);
        }
    }

    fn gather(&self, message: &[u8]) -> Vec<Vec<u8>> {
        let world = self.world();
        let (length, mut lengths) = (message.len() as u64, vec![0u64; self.size]);
        scope(|scope| wait(world.immediate_all_gather_into(scope, &length, &mut lengths[..])));
        if self.rank > 0 {
            message.chunks(BLOCK).for_each(|block| world.process_at_rank(0).send(block));
            return Vec::new();
        }
        let receive = |(rank, length): (usize, &u64)| {
            let mut received = vec![0u8; *length as usize];
            let from = world.process_at_rank(rank as i32);
            received.chunks_mut(BLOCK).for_each(|block| {
                from.receive_into(block);
            });
            received
        };
        let others = lengths.iter().enumerate().skip(1).map(receive);
        std::iter::once(message.to_vec()).chain(others).collect()
    }

    fn exchange(&self, numbers: &[f32], to: &[usize], from: &[usize]) -> Vec<f32> {
        let mut received = vec![0.0f32; from.iter().sum()];
        let ((to, to_starts), (from, from_starts)) = (counts(to), counts(from));
        let sent = Partition::new(numbers, to, to_starts);
        let mut arrived = PartitionMut::new(&mut received[..], from, from_starts);
        self.world().all_to_all_varcount_into(&sent, &mut arrived);
        received
    }

    fn collect(&self, numbers: &[f32], from: &[usize]) -> Vec<f32> {
        let mut received = vec![0.0f32; from.iter().sum()];
        let (from, starts) = counts(from);
        let mut arrived = PartitionMut::new(&mut received[..], from, starts);
        self.world().all_gather_varcount_into(numbers, &mut arrived);
        received
    }
}

/// Counts and first places as MPI has them. Callers keep messages below 2^31 numbers.
fn counts(counts: &[usize]) -> (Vec<i32>, Vec<i32>) {
    let starts = counts.iter().scan(0usize, |sum, count| Some(std::mem::replace(sum, *sum + count) as i32));
    (counts.iter().map(|&count| count as i32).collect(), starts.collect())
}

/// Waits for something that may take hours: with full attention for a moment, then with naps.
fn wait<'a, D: ?Sized, S: Scope<'a>>(mut request: Request<'a, D, S>) {
    let start = Instant::now();
    while let Err(unfinished) = request.test() {
        request = unfinished;
        match start.elapsed() {
            passed if passed < Duration::from_millis(2) => std::thread::yield_now(),
            passed if passed < Duration::from_millis(200) => std::thread::sleep(Duration::from_micros(50)),
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}
