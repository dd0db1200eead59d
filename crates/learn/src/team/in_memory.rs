//! Ranks that are threads of one process, for tests.

use super::{Ranks, Team};
use std::sync::{Arc, Barrier, Mutex};

/// What a rank puts on the table in a round: bytes, or numbers and how many of them are for each rank.
#[derive(Clone, Default)]
struct Posted {
    bytes: Vec<u8>,
    numbers: Vec<f32>,
    to: Vec<usize>,
}

struct Table {
    posted: Mutex<Vec<Posted>>,
    barrier: Barrier,
}

struct Seat {
    rank: usize,
    size: usize,
    table: Arc<Table>,
}

/// Runs `rank` once per rank, each in a thread of its own, and gives what they return.
pub fn together<R: Send>(size: usize, rank: impl Fn(Team) -> R + Sync) -> Vec<R> {
    let posted = Mutex::new(vec![Posted::default(); size]);
    let table = Arc::new(Table { posted, barrier: Barrier::new(size) });
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..size)
            .map(|number| Team::of(Arc::new(Seat { rank: number, size, table: table.clone() })))
            .map(|team| scope.spawn(|| rank(team)))
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a rank panicked")).collect()
    })
}

impl Seat {
    fn round(&self, mine: Posted) -> Vec<Posted> {
        self.table.posted.lock().unwrap()[self.rank] = mine;
        self.table.barrier.wait();
        let all = self.table.posted.lock().unwrap().clone();
        self.table.barrier.wait();
        all
    }
}

impl Ranks for Seat {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn on_this_machine(&self) -> usize {
        self.size
    }

    fn broadcast(&self, message: &mut Vec<u8>) {
        let mine = Posted { bytes: std::mem::take(message), ..Posted::default() };
        *message = self.round(mine).swap_remove(0).bytes;
    }

    fn gather(&self, message: &[u8]) -> Vec<Vec<u8>> {
        let all = self.round(Posted { bytes: message.to_vec(), ..Posted::default() });
        if self.rank == 0 { all.into_iter().map(|posted| posted.bytes).collect() } else { Vec::new() }
    }

    fn exchange(&self, numbers: &[f32], to: &[usize], from: &[usize]) -> Vec<f32> {
        assert_eq!(to.iter().sum::<usize>(), numbers.len());
        let all = self.round(Posted { numbers: numbers.to_vec(), to: to.to_vec(), ..Posted::default() });
        let mut received = Vec::new();
        for (posted, &expected) in all.iter().zip(from) {
            assert_eq!(posted.to[self.rank], expected);
            let start: usize = posted.to[..self.rank].iter().sum();
            received.extend_from_slice(&posted.numbers[start..start + expected]);
        }
        received
    }

    fn collect(&self, numbers: &[f32], from: &[usize]) -> Vec<f32> {
        let all = self.round(Posted { numbers: numbers.to_vec(), ..Posted::default() });
        assert!(all.iter().zip(from).all(|(posted, &expected)| posted.numbers.len() == expected));
        all.into_iter().flat_map(|posted| posted.numbers).collect()
    }
}
