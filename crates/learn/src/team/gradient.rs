//! The gradient of a batch whose chunks were run by several ranks.
//!
//! Sums of rounded numbers depend on their order, so ranks must not add their own chunks first. Instead every
//! rank adds a slice of the parameters over all chunks, in their order: ranks exchange the slices (every rank
//! sends its chunks once, in pieces), add, and collect the sums. With a chunk per rank this is as much
//! traffic as the best sum in any order.
//!
//! A GPU gives one gradient for all its samples. Ranks with GPUs therefore bring one gradient each, which are
//! added in the order of ranks: the last digits of the sum then depend on the number of ranks.

use super::Ranks;
use super::share::{Share, part};
use cinoc_adjoint::Gradient;
use std::ops::Range;

/// Numbers that a rank sends at once, at most: MPI counts them in 32 bits.
const MOST: usize = 1 << 28;

/// Adds what all chunks of a batch contribute, given the gradients that this rank brings. `params` and
/// `terms` are the lengths of the sums.
pub(crate) fn sum(
    ranks: &dyn Ranks,
    share: &Share,
    mine: &[Gradient<f32>],
    params: usize,
    terms: usize,
) -> Gradient<f32> {
    sum_at_most(MOST, ranks, share, mine, params, terms)
}

fn sum_at_most(
    most: usize,
    ranks: &dyn Ranks,
    share: &Share,
    mine: &[Gradient<f32>],
    params: usize,
    terms: usize,
) -> Gradient<f32> {
    // rank 0 has as many chunks as any
    let rounds = (share.gradients_of(0) * params).div_ceil(most).max(1);
    let (mut sums, mut term_sums) = (Vec::with_capacity(params), vec![0.0f64; terms]);
    for round in 0..rounds {
        let range = part(params, rounds, round);
        let term_sums = if round == 0 { &mut term_sums[..] } else { &mut [] };
        sums.extend(sum_range(ranks, share, mine, range, term_sums));
    }
    Gradient::of_parameters(sums, term_sums)
}

/// The sums of a range of the parameters; adds the terms too, as far as there is room for their sums.
fn sum_range(
    ranks: &dyn Ranks,
    share: &Share,
    mine: &[Gradient<f32>],
    range: Range<usize>,
    term_sums: &mut [f64],
) -> Vec<f32> {
    let (size, terms) = (ranks.size(), term_sums.len());
    let slice = |rank: usize| {
        let slice = part(range.len(), size, rank);
        range.start + slice.start..range.start + slice.end
    };
    // terms are few and everybody needs them: they travel with every slice, as pairs of singles
    let mut numbers = Vec::with_capacity(mine.len() * (range.len() + 2 * terms * size));
    for rank in 0..size {
        for chunk in mine {
            numbers.extend_from_slice(&chunk.params[slice(rank)]);
            numbers.extend(chunk.terms()[..terms].iter().flat_map(|&term| halves(term)));
        }
    }
    let own = slice(ranks.rank()).len();
    let to: Vec<usize> = (0..size).map(|rank| mine.len() * (slice(rank).len() + 2 * terms)).collect();
    let from: Vec<usize> = (0..size).map(|rank| share.gradients_of(rank) * (own + 2 * terms)).collect();
    let received = ranks.exchange(&numbers, &to, &from);

    let mut sums = vec![0.0f32; own];
    // ranks have neighbouring chunks: what arrived in the order of ranks is in the order of chunks
    for chunk in received.chunks_exact((own + 2 * terms).max(1)) {
        let (slice, halves) = chunk.split_at(own);
        sums.iter_mut().zip(slice).for_each(|(sum, x)| *sum += x);
        term_sums.iter_mut().zip(halves.chunks_exact(2)).for_each(|(sum, pair)| *sum += whole(pair));
    }
    let lengths: Vec<usize> = (0..size).map(|rank| slice(rank).len()).collect();
    ranks.collect(&sums, &lengths)
}

/// The bits of a number in double precision, as two singles that are never computed with.
fn halves(x: f64) -> [f32; 2] {
    let bits = x.to_bits();
    [f32::from_bits(bits as u32), f32::from_bits((bits >> 32) as u32)]
}

fn whole(pair: &[f32]) -> f64 {
    f64::from_bits(u64::from(pair[0].to_bits()) | u64::from(pair[1].to_bits()) << 32)
}

#[cfg(test)]
mod tests {
    use super::super::in_memory::together;
    use super::*;

    /// Gradients of chunks whose sum depends on the order of addition.
    fn chunk(c: usize) -> Gradient<f32> {
        let number = |i: usize| ((c * 31 + i * 7) % 17) as f32 * 10f32.powi((c % 5) as i32 - 2);
        Gradient::of_parameters((0..11).map(number).collect(), vec![f64::from(number(3)) / 3.0, 0.1])
    }

    #[test]
    fn sums_in_one_round_or_many_are_those_of_one_process() {
        let share = Share { samples: 9, chunk: 1, ranks: 4, at_once: false };
        let expected = Gradient::sum((0..9).map(chunk).collect());
        for most in [MOST, 10, 1] {
            let sums = together(4, |team| {
                let mine: Vec<_> = share.samples_of(team.rank()).map(chunk).collect();
                sum_at_most(most, team.ranks().expect("ranks"), &share, &mine, 11, 2)
            });
            assert!(sums.iter().all(|sum| *sum == expected), "at most {most}");
        }
    }

    #[test]
    fn halves_make_the_same_number_again() {
        for x in [0.0, -0.0, 1.0 / 3.0, -1e300, f64::MIN_POSITIVE, f64::INFINITY, f64::NAN] {
            assert_eq!(whole(&halves(x)).to_bits(), x.to_bits());
        }
    }
}
