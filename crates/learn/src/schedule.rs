//! Learning rate over the updates.

use std::f64::consts::PI;

/// A learning rate that depends on the number of updates done.
#[derive(Clone, Debug, PartialEq)]
pub enum Schedule {
    /// `lr 0.5^(step / half_life)`.
    Exponential {
        /// Rate of the first update.
        lr: f64,
        /// Updates until the rate has halved.
        half_life: f64,
    },
    /// Linear from `start` to `peak` over the first `warmup` updates, then half a cosine that reaches `end`
    /// at the last update. A training that was extended does this again in every part, from `end` to `peak`
    /// and back: at the low rate of its end, more updates would change little.
    Cosine {
        /// Rate of the first update of the warm-up.
        start: f64,
        /// Rate of the first update after the warm-up; a schedule without decay stays there.
        peak: f64,
        /// Rate of the last update.
        end: f64,
        /// Updates of the warm-up; at most half of a later part.
        warmup: usize,
        /// Total number of updates at the end of each part; the last one is that of the training, and there
        /// is at least one.
        parts: Vec<usize>,
    },
}

impl Schedule {
    /// The rate of the update that follows `step` updates; the first update has step 0.
    pub fn rate(&self, step: usize) -> f64 {
        match self {
            Schedule::Exponential { lr, half_life } => lr * 0.5_f64.powf(step as f64 / half_life),
            Schedule::Cosine { start, peak, end, warmup, parts } => {
                let part = parts.iter().position(|&end| step < end).unwrap_or(parts.len() - 1);
                let (first, before) = (part == 0, if part == 0 { 0 } else { parts[part - 1] });
                let updates = parts[part] - before;
                let start = if first { *start } else { *end };
                let warmup = if first { *warmup } else { (*warmup).min(updates / 2) };
                Cycle { start, peak: *peak, end: *end, warmup, updates }.rate(step - before)
            }
        }
    }
}

/// One warm-up and one decay.
struct Cycle {
    start: f64,
    peak: f64,
    end: f64,
    warmup: usize,
    updates: usize,
}

impl Cycle {
    fn rate(&self, step: usize) -> f64 {
        let Cycle { start, peak, end, warmup, updates } = *self;
        if step < warmup {
            return start + (peak - start) * step as f64 / warmup as f64;
        }
        let done = step - warmup;
        let decay = updates.saturating_sub(warmup + 1);
        let progress = if done == 0 { 0.0 } else { (done as f64 / decay as f64).min(1.0) };
        end + (peak - end) * 0.5 * (1.0 + (PI * progress).cos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-15, "{a} instead of {b}");
    }

    #[test]
    fn exponential_starts_at_lr_and_halves() {
        let schedule = Schedule::Exponential { lr: 1e-3, half_life: 2000.0 };
        assert_eq!(schedule.rate(0), 1e-3);
        assert_eq!(schedule.rate(2000), 5e-4);
        assert_eq!(schedule.rate(4000), 2.5e-4);
        close(schedule.rate(1000), 1e-3 / 2.0_f64.sqrt());
    }

    #[test]
    fn cosine_passes_through_its_corners() {
        let schedule = Schedule::Cosine { start: 5e-4, peak: 1e-3, end: 1e-5, warmup: 50, parts: vec![501] };
        close(schedule.rate(0), 5e-4);
        close(schedule.rate(25), 7.5e-4);
        close(schedule.rate(49), 5e-4 + 5e-4 * 0.98);
        close(schedule.rate(50), 1e-3);
        close(schedule.rate(275), 0.5 * (1e-3 + 1e-5));
        assert_eq!(schedule.rate(500), 1e-5);
        assert_eq!(schedule.rate(1000), 1e-5);
        for step in 50..500 {
            assert!(schedule.rate(step + 1) < schedule.rate(step), "rises after step {step}");
        }
    }

    #[test]
    fn cosine_without_warmup_starts_at_the_peak() {
        let schedule = Schedule::Cosine { start: 0.0, peak: 0.1, end: 0.0, warmup: 0, parts: vec![11] };
        close(schedule.rate(0), 0.1);
        close(schedule.rate(5), 0.05);
        assert_eq!(schedule.rate(10), 0.0);
    }

    #[test]
    fn cosine_without_room_for_decay_stays_at_the_peak() {
        let single = Schedule::Cosine { start: 0.0, peak: 0.1, end: 0.01, warmup: 0, parts: vec![1] };
        close(single.rate(0), 0.1);
        assert_eq!(single.rate(1), 0.01);
        let warm = Schedule::Cosine { start: 0.0, peak: 0.1, end: 0.01, warmup: 4, parts: vec![5] };
        close(warm.rate(4), 0.1);
    }

    #[test]
    fn every_part_of_an_extended_training_is_a_cycle() {
        let cosine = |parts: &[usize]| Schedule::Cosine {
            start: 1e-4,
            peak: 1e-3,
            end: 1e-5,
            warmup: 10,
            parts: parts.to_vec(),
        };
        let (first, extended) = (cosine(&[100]), cosine(&[100, 150, 156]));
        assert!((0..100).all(|step| first.rate(step) == extended.rate(step)), "what was done stays");
        // from the end of the first part back to the peak, and down again
        close(extended.rate(100), 1e-5);
        close(extended.rate(105), 0.5 * (1e-5 + 1e-3));
        close(extended.rate(110), 1e-3);
        close(extended.rate(149), 1e-5);
        // a short part has a short warm-up
        close(extended.rate(153), 1e-3);
        close(extended.rate(155), 1e-5);
        close(extended.rate(1000), 1e-5);
    }
}
