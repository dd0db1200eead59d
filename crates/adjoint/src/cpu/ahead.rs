//! Prefetches what the next step will read, while this one computes.
//!
//! States and stored values of a rollout do not fit into the cache, so every step begins with numbers from
//! main memory. There is time to fetch them during the step before, but not all at once: a core waits for a
//! dozen cache lines at a time, and its own misses would queue behind them. Matrix products therefore
//! prefetch a little in every round of their innermost loops, where the load units are idle. One step is like
//! another: the number of loop rounds in the last step decides how much to prefetch per round.

use super::simd::Vector;
use std::ops::Range;

/// Bytes per round at most, a cache line.
const FASTEST: usize = 64;

/// What is still to be fetched, as addresses. Nothing is read through them, so they may be out of date.
#[derive(Default)]
pub(crate) struct Ahead {
    now: Range<usize>,
    later: Vec<Range<usize>>,
    /// Bytes per round.
    pace: usize,
    /// Rounds counted in this step.
    rounds: usize,
}

/// What one loop fetches.
#[derive(Clone, Copy)]
pub(crate) struct Share {
    start: usize,
    pace: usize,
}

impl Ahead {
    /// Forgets what was left, and starts with the first of these buffers.
    pub fn expect<'a, T: 'a>(&mut self, buffers: impl DoubleEndedIterator<Item = &'a [T]>) {
        self.later.clear();
        let mut bytes = 0;
        for buffer in buffers.rev() {
            let range = buffer.as_ptr_range();
            let range = range.start as usize..range.end as usize;
            if !range.is_empty() {
                bytes += range.len();
                self.later.push(range);
            }
        }
        self.now = 0..0;
        // some room at the end, and no less than one byte
        self.pace = (bytes * 5 / 4 / self.rounds.max(1)).clamp(1, FASTEST);
        self.rounds = 0;
    }

    /// What a loop of so many rounds prefetches.
    #[inline(always)]
    pub fn share(&mut self, rounds: usize) -> Share {
        self.rounds += rounds;
        if self.now.is_empty() {
            match self.later.pop() {
                Some(next) => self.now = next,
                // a line that is in cache
                None => return Share { start: &raw const *self as usize, pace: 0 },
            }
        }
        let start = self.now.start;
        self.now.start += rounds * self.pace;
        Share { start, pace: self.pace }
    }
}

impl Share {
    #[inline(always)]
    pub fn fetch<V: Vector>(self, round: usize) {
        V::prefetch(self.start + round * self.pace);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first addresses of loops of `rounds` rounds until nothing is left.
    fn starts(ahead: &mut Ahead, rounds: usize) -> Vec<usize> {
        let mut all = Vec::new();
        loop {
            match ahead.share(rounds) {
                Share { pace: 0, .. } => return all,
                Share { start, .. } => all.push(start),
            }
        }
    }

    #[test]
    fn every_line_of_every_buffer_is_fetched_in_order() {
        let (first, second) = (vec![0f32; 100], vec![0f32; 33]);
        let mut ahead = Ahead::default();
        assert!(starts(&mut ahead, 7).is_empty());
        for rounds in [1, 4, 7, 1000] {
            ahead.expect([&first[..], &[], &second].into_iter());
            let expected = [&first, &second].into_iter().flat_map(|buffer| {
                let range = buffer.as_ptr_range();
                (range.start as usize..range.end as usize).step_by(rounds * ahead.pace)
            });
            let expected: Vec<_> = expected.collect();
            assert_eq!(starts(&mut ahead, rounds), expected, "{rounds} rounds");
        }
    }

    #[test]
    fn the_next_step_is_fetched_within_the_rounds_of_this_one() {
        let buffer = vec![0f32; 1000];
        let mut ahead = Ahead::default();
        ahead.expect([&buffer[..]].into_iter());
        for rounds in [100, 1000, 10_000] {
            for _ in 0..rounds / 10 {
                ahead.share(10);
            }
            ahead.expect([&buffer[..]].into_iter());
            let needed = starts(&mut ahead, 10).len() * 10;
            assert!(needed <= rounds.max(4000 / FASTEST + 10), "{needed} of {rounds} rounds");
            // the same number of rounds as a step before the next is expected
            ahead.rounds = 0;
        }
    }

    #[test]
    fn what_is_left_is_forgotten_when_another_step_begins() {
        let (old, new) = (vec![0f32; 100], vec![0f32; 4]);
        let mut ahead = Ahead::default();
        ahead.expect([&old[..], &old].into_iter());
        ahead.share(1);
        ahead.expect([&new[..]].into_iter());
        assert_eq!(starts(&mut ahead, 1), [new.as_ptr() as usize]);
    }
}
