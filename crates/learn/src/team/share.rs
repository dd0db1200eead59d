//! Who does what: the part of a batch that a rank takes.

use super::Team;
use cinoc_adjoint::Threads;
use std::ops::Range;

/// Part `index` of `parts` of `count` things: neighbours, and no part is larger than another by more than
/// one.
pub fn part(count: usize, parts: usize, index: usize) -> Range<usize> {
    let (each, more) = (count / parts, count % parts);
    let start = |index: usize| index * each + index.min(more);
    start(index)..start(index + 1)
}

/// The chunks of a batch, distributed over ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Samples of the batch.
    pub samples: usize,
    /// Samples of a chunk.
    pub chunk: usize,
    /// Ranks.
    pub ranks: usize,
    /// Whether a rank runs all its chunks at once and brings one sum, as a GPU does.
    pub at_once: bool,
}

impl Share {
    /// Samples that a CPU takes in chunks of `chunk`, distributed over a team. Its ranks run programs where
    /// these threads do.
    pub fn new(samples: usize, chunk: usize, threads: &Threads, team: &Team) -> Share {
        let backend = threads.backend();
        let chunk = backend.map_or(chunk, |backend| backend.chunk(chunk));
        Share { samples, chunk, ranks: team.size(), at_once: backend.is_some() }
    }

    /// Chunks of the whole batch.
    pub fn chunks(&self) -> usize {
        self.samples.div_ceil(self.chunk)
    }

    /// Number of chunks that a rank takes.
    pub fn chunks_of(&self, rank: usize) -> usize {
        part(self.chunks(), self.ranks, rank).len()
    }

    /// Number of gradients that a rank brings: one per chunk, or the sum of all its chunks.
    pub fn gradients_of(&self, rank: usize) -> usize {
        let chunks = self.chunks_of(rank);
        if self.at_once { chunks.min(1) } else { chunks }
    }

    /// Samples that a rank takes.
    pub fn samples_of(&self, rank: usize) -> Range<usize> {
        let chunks = part(self.chunks(), self.ranks, rank);
        let sample = |chunk: usize| (chunk * self.chunk).min(self.samples);
        sample(chunks.start)..sample(chunks.end)
    }

    /// Ranks that have nothing to do.
    pub fn idle(&self) -> usize {
        self.ranks.saturating_sub(self.chunks())
    }
}

/// Distributes jobs over ranks by their work: the largest first, each to the rank with the least work so far.
/// Gives the rank of every job.
pub fn spread(work: &[f64], ranks: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..work.len()).collect();
    order.sort_by(|&a, &b| work[b].total_cmp(&work[a]));
    let (mut load, mut rank_of) = (vec![0.0; ranks], vec![0; work.len()]);
    for job in order {
        let least = (0..ranks).min_by(|&a, &b| f64::total_cmp(&load[a], &load[b])).unwrap_or(0);
        load[least] += work[job];
        rank_of[job] = least;
    }
    rank_of
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_neighbours_and_even() {
        for (count, parts) in [(0, 3), (1, 4), (4, 3), (7, 2), (8, 8), (100, 7)] {
            let all: Vec<Range<usize>> = (0..parts).map(|index| part(count, parts, index)).collect();
            assert_eq!(all.iter().cloned().flatten().collect::<Vec<_>>(), (0..count).collect::<Vec<_>>());
            let sizes = || all.iter().map(ExactSizeIterator::len);
            assert!(sizes().max().unwrap() - sizes().min().unwrap() <= 1, "{all:?}");
        }
    }

    #[test]
    fn a_rank_takes_whole_chunks() {
        let share = Share { samples: 40, chunk: 16, ranks: 2, at_once: false };
        assert_eq!((share.samples_of(0), share.samples_of(1)), (0..32, 32..40));
        let many = Share { ranks: 4, ..share };
        assert_eq!((many.samples_of(2), many.samples_of(3), many.idle()), (32..40, 40..40, 1));
        let gradients = |share: Share| (0..4).map(|rank| share.gradients_of(rank)).collect::<Vec<_>>();
        assert_eq!(gradients(many), [1, 1, 1, 0]);
        assert_eq!(gradients(Share { chunk: 1, ..many }), [10, 10, 10, 10]);
        assert_eq!(gradients(Share { chunk: 1, at_once: true, ..many }), [1, 1, 1, 1]);
        assert_eq!(gradients(Share { samples: 3, chunk: 1, at_once: true, ..many }), [1, 1, 1, 0]);
    }

    #[test]
    fn large_jobs_are_spread_first() {
        assert_eq!(spread(&[1.0, 1.0, 1.0, 3.0], 2), [1, 1, 1, 0]);
        assert_eq!(spread(&[2.0, 5.0], 4), [1, 0]);
        assert_eq!(spread(&[], 2), [0; 0]);
    }
}
