//! 95 % bootstrap intervals over seeds and cases.
//!
//! Losses are skewed: a few hard cases carry most of the mean, and two standard deviations below it may be
//! negative. The percentile bootstrap needs no distribution. Seeds are drawn with replacement first, then
//! cases within each seed, because the cases of one policy are not independent trials of the training.

/// Resamples behind an interval: its ends are the 25th and the 975th of them in order.
const RESAMPLES: usize = 1000;

/// A number and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The number itself; NaN if it was not measured.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Estimate {
    /// A number without spread.
    pub fn exact(value: f64) -> Estimate {
        Estimate { value, low: value, high: value }
    }

    /// A factor times the number.
    pub fn times(self, factor: f64) -> Estimate {
        let Estimate { value, low, high } = self;
        Estimate { value: value * factor, low: low * factor, high: high * factor }
    }
}

/// Mean over cases.
pub fn mean(cases: &[f64]) -> f64 {
    cases.iter().sum::<f64>() / cases.len() as f64
}

/// Median: the middle, or the mean of the two in the middle.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n => 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]),
    }
}

/// Mean over the cases of every seed, then `over_seeds` of these. No seeds, or one without cases, give NaN.
pub fn estimate(seeds: &[Vec<f64>], over_seeds: fn(&[f64]) -> f64) -> Estimate {
    if seeds.is_empty() || seeds.iter().any(Vec::is_empty) {
        return Estimate::exact(f64::NAN);
    }
    let means: Vec<f64> = seeds.iter().map(|cases| mean(cases)).collect();
    let resampled = |random: &mut Random| {
        let means: Vec<f64> = (0..seeds.len())
            .map(|_| {
                let cases = &seeds[random.below(seeds.len())];
                (0..cases.len()).map(|_| cases[random.below(cases.len())]).sum::<f64>() / cases.len() as f64
            })
            .collect();
        over_seeds(&means)
    };
    around(over_seeds(&means), resampled)
}

/// Mean of one thing divided by the mean of another on the same cases, which are drawn together: what makes a
/// case hard for both does not widen the interval. Cases that only one of them has are left out.
pub fn ratio(of: &[f64], to: &[f64]) -> Estimate {
    let count = of.len().min(to.len());
    if count == 0 {
        return Estimate::exact(f64::NAN);
    }
    let resampled = |random: &mut Random| {
        let (mut above, mut below) = (0.0, 0.0);
        for _ in 0..count {
            let case = random.below(count);
            above += of[case];
            below += to[case];
        }
        above / below
    };
    around(mean(&of[..count]) / mean(&to[..count]), resampled)
}

/// The percentiles of what is resampled, around a value.
fn around(value: f64, resampled: impl Fn(&mut Random) -> f64) -> Estimate {
    let random = &mut Random(0);
    let mut drawn: Vec<f64> = (0..RESAMPLES).map(|_| resampled(random)).collect();
    drawn.sort_by(f64::total_cmp);
    Estimate { value, low: drawn[RESAMPLES / 40 - 1], high: drawn[RESAMPLES - RESAMPLES / 40 - 1] }
}

/// SplitMix64: the same numbers everywhere, always from the same seed, so that a page of results does not
/// change when nothing has changed.
struct Random(u64);

impl Random {
    /// A number below `count`; the bias of at most `count / 2^64` does not matter.
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        ((u128::from(bits) * count as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uniform in [0, 1).
    fn uniform(random: &mut Random, count: usize) -> Vec<f64> {
        (0..count).map(|_| random.below(1 << 30) as f64 / f64::from(1 << 30)).collect()
    }

    #[test]
    fn an_interval_covers_the_mean_of_a_known_distribution_in_most_of_many_trials() {
        let random = &mut Random(1);
        // squares of uniform numbers: skewed, with mean 1/3
        let trials = 300;
        let covered = (0..trials)
            .filter(|_| {
                let cases: Vec<f64> = uniform(random, 60).iter().map(|x| x * x).collect();
                let found = estimate(&[cases], mean);
                found.low <= 1.0 / 3.0 && 1.0 / 3.0 <= found.high
            })
            .count();
        let share = covered as f64 / f64::from(trials);
        assert!((0.90..=0.99).contains(&share), "{share}");
    }

    #[test]
    fn seeds_that_differ_widen_an_interval() {
        let random = &mut Random(2);
        let seeds: Vec<Vec<f64>> =
            (0..6).map(|seed| uniform(random, 50).iter().map(|x| x + f64::from(seed)).collect()).collect();
        let (within, across) = (estimate(&seeds[..1], mean), estimate(&seeds, mean));
        assert!(across.high - across.low > 5.0 * (within.high - within.low), "{across:?} {within:?}");
        assert!(across.low <= across.value && across.value <= across.high);
    }

    #[test]
    fn the_same_numbers_give_the_same_interval() {
        let cases = vec![uniform(&mut Random(3), 20)];
        assert_eq!(estimate(&cases, median), estimate(&cases, median));
    }

    #[test]
    fn one_case_has_no_spread_and_none_is_no_number() {
        assert_eq!(estimate(&[vec![0.25]], mean), Estimate::exact(0.25));
        assert_eq!(ratio(&[3.0], &[2.0]), Estimate::exact(1.5));
        assert!(estimate(&[], mean).value.is_nan() && estimate(&[vec![]], mean).value.is_nan());
        assert!(ratio(&[], &[1.0]).value.is_nan());
    }

    #[test]
    fn a_ratio_is_of_the_same_cases() {
        // cases differ a hundredfold, the ratio does not
        let to: Vec<f64> = (0..30).map(|case| 10_f64.powf(f64::from(case) / 15.0)).collect();
        let of: Vec<f64> = to.iter().map(|x| 2.0 * x).collect();
        let found = ratio(&of[..20], &to);
        assert!((found.low - 2.0).abs() < 1e-12 && (found.high - 2.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn a_median_is_the_middle() {
        assert_eq!([median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0])], [2.0, 2.5]);
        assert!(median(&[]).is_nan());
    }
}
