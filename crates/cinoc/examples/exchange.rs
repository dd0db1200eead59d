//! How long the ranks of a job need to exchange a gradient, without any computing:
//!
//! ```text
//! cargo build --release --features mpi --example exchange
//! mpirun -n 4 target/release/examples/exchange 12000 8
//! ```
//!
//! The numbers are the parameters of a policy and the chunks of a batch. The output is one JSON object with
//! times in microseconds, for the model in docs/cluster.md.

use mpi::datatype::{Partition, PartitionMut};
use mpi::traits::{Communicator, CommunicatorCollectives, Root};
use std::time::Instant;

/// Repetitions; the median counts.
const REPETITIONS: usize = 301;

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let [params, chunks] = numbers[..] else {
        eprintln!("exchange PARAMETERS CHUNKS");
        std::process::exit(2);
    };
    let Some(universe) = mpi::initialize() else {
        eprintln!("MPI does not start");
        std::process::exit(1);
    };
    let world = universe.world();
    let (rank, size) = (world.rank() as usize, world.size() as usize);
    let part = |count: usize, rank: usize| count * (rank + 1) / size - count * rank / size;
    let counts = |of: &dyn Fn(usize) -> usize| -> (Vec<i32>, Vec<i32>) {
        let counts: Vec<i32> = (0..size).map(|rank| of(rank) as i32).collect();
        let starts = counts.iter().scan(0, |sum, count| Some(std::mem::replace(sum, *sum + count)));
        let starts = starts.collect();
        (counts, starts)
    };
    let (mine, own) = (part(chunks, rank), part(params, rank));
    let (to, from) = (counts(&|r| mine * part(params, r)), counts(&|r| part(chunks, r) * own));
    let all = counts(&|r| part(params, r));
    let sent = vec![1.0f32; mine * params];
    let mut received = vec![0.0f32; chunks * own];
    let (mut sums, mut gradient) = (vec![0.0f32; own], vec![0.0f32; params]);
    let median = |run: &mut dyn FnMut()| {
        let mut times: Vec<f64> = (0..REPETITIONS)
            .map(|_| {
                world.barrier();
                let start = Instant::now();
                run();
                1e6 * start.elapsed().as_secs_f64()
            })
            .collect();
        times.sort_by(f64::total_cmp);
        times[REPETITIONS / 2]
    };
    let order = median(&mut || world.process_at_rank(0).broadcast_into(&mut [0u8; 64][..]));
    let exchange = median(&mut || {
        let sent = Partition::new(&sent[..], &to.0[..], &to.1[..]);
        let mut arrived = PartitionMut::new(&mut received[..], &from.0[..], &from.1[..]);
        world.all_to_all_varcount_into(&sent, &mut arrived);
        sums.fill(0.0);
        for chunk in received.chunks_exact(own.max(1)) {
            sums.iter_mut().zip(chunk).for_each(|(sum, x)| *sum += x);
        }
        let mut arrived = PartitionMut::new(&mut gradient[..], &all.0[..], &all.1[..]);
        world.all_gather_varcount_into(&sums[..], &mut arrived);
    });
    if rank == 0 {
        println!(
            "{{\"ranks\": {size}, \"params\": {params}, \"chunks\": {chunks}, \"order_us\": {order:.1}, \
             \"gradient_us\": {exchange:.1}}}"
        );
    }
}
