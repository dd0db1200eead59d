//! Numbers over training seeds.

use super::loss_cases;
use crate::intervals::{Estimate, estimate, median};
use crate::workshop::Measured;

/// Number of seeds of 1D trainings that are compared with each other.
pub(super) const SEEDS: u64 = 5;
/// With fewer seeds there is no finding: one training may be lucky.
pub(super) const ENOUGH: usize = 3;

/// Measurements `[seed][item]` as one list per item over the seeds.
pub(super) fn by_item(measured: &[Measured], items: usize) -> Vec<Vec<&Measured>> {
    (0..items).map(|item| measured.iter().skip(item).step_by(items).collect()).collect()
}

/// Median over seeds of the mean loss over cases. It is NaN if a seed became infinite or NaN.
pub(super) fn median_loss(task: &str, seeds: &[&Measured]) -> Estimate {
    let cases: Vec<Vec<f64>> =
        seeds.iter().map(|measured| loss_cases(task, &measured.per_case).to_vec()).collect();
    estimate(&cases, median)
}

/// Median over seeds of one number per seed.
pub(super) fn median_of(seeds: &[f64]) -> Estimate {
    let cases: Vec<Vec<f64>> = seeds.iter().map(|value| vec![*value]).collect();
    estimate(&cases, median)
}

/// Findings, if there are enough seeds.
pub(super) fn carried(seeds: usize, findings: Vec<String>) -> Vec<String> {
    match seeds {
        1 => vec!["one seed: no verdict.".to_string()],
        ..ENOUGH => vec![format!("{seeds} seeds: no verdict.")],
        _ => findings,
    }
}

/// Text for a protocol.
pub(super) fn told(seeds: usize) -> String {
    match seeds {
        1 => "one training seed; 95 % bootstrap intervals over cases".to_string(),
        _ => {
            format!("medians over {seeds} training seeds, with 95 % bootstrap intervals over seeds and cases")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_seeds_carry_no_finding() {
        let findings = || vec!["fkpp1d: better.".to_string()];
        assert_eq!(carried(1, findings()), ["one seed: no verdict."]);
        assert_eq!(carried(2, findings()), ["2 seeds: no verdict."]);
        assert_eq!(carried(3, findings()), findings());
    }

    #[test]
    fn a_median_over_seeds_has_an_interval_of_seeds() {
        let found = median_of(&[1.0, 5.0, 2.0]);
        assert_eq!((found.value, found.low, found.high), (2.0, 1.0, 5.0));
    }
}
