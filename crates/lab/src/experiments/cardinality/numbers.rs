//! The numbers of agents that a policy is measured with.

/// Neighbouring numbers around the ends of a range differ by at most this factor, or by one agent, so that a
/// measured end is not a gap between samples.
pub(super) const FINE: f64 = 1.25;
/// The same far from the ends and from the trained number.
const COARSE: f64 = 1.6;

/// Numbers of agents from one step below a range to one step above it. The ends of the range are multiples of
/// the trained number. The numbers are fine around the ends and from the lower end to a little above the
/// trained number; both neighbours of the trained number are included.
pub(super) fn numbers(trained: usize, range: [f64; 2]) -> Vec<usize> {
    let [low, high] = whole(trained, range);
    let times = |number: usize, factor: f64| (number as f64 * factor) as usize;
    let above = times(trained, FINE * FINE).max(trained + 2).min(high);
    // a little less than the finest factor, so that rounding does not exceed it
    let before_end = [2, 1, 0].map(|steps| (high as f64 / (FINE - 0.01).powi(steps)).round() as usize);
    let below = ((low as f64 / FINE).ceil() as usize).min(low - 1).max(1);

    let mut numbers = vec![below, trained - 1, trained + 1, times(high, FINE).max(high + 1)];
    numbers.extend(ladder(low, trained, FINE));
    numbers.extend(ladder(trained, above, FINE));
    numbers.extend(ladder(above, before_end[0].max(above), COARSE));
    numbers.extend(before_end);
    numbers.sort_unstable();
    numbers.dedup();
    numbers.retain(|number| *number > 0);
    numbers
}

/// The first and the last whole number of agents in a range of multiples.
pub(super) fn whole(trained: usize, [least, most]: [f64; 2]) -> [usize; 2] {
    // 0.6 times 20 must not become 13 by rounding
    let rounding = 1e-9;
    let trained = trained as f64;
    [((least * trained - rounding).ceil() as usize).max(1), (most * trained + rounding).floor() as usize]
}

/// Numbers from one to another, both included; each is at most `factor` times the previous, or one more.
pub(in crate::experiments) fn ladder(from: usize, to: usize, factor: f64) -> Vec<usize> {
    let next = |number: &usize| Some(((*number as f64 * factor) as usize).max(number + 1).min(to));
    let mut numbers: Vec<usize> =
        std::iter::successors(Some(from), next).take_while(|number| *number < to).collect();
    numbers.push(to);
    numbers
}

#[cfg(test)]
mod tests {
    use super::super::sweeps::SWEEPS;
    use super::*;
    use cinoc_control::Config;

    /// Whether two neighbours are close enough to locate an end between them.
    fn close(pair: &[usize]) -> bool {
        pair[1] == pair[0] + 1 || pair[1] as f64 <= FINE * pair[0] as f64
    }

    #[test]
    fn no_edge_of_a_range_is_a_gap_between_samples() {
        for sweep in &SWEEPS {
            let trained = Config::preset(sweep.task).unwrap().agents;
            let numbers = numbers(trained, sweep.required);
            let [low, high] = whole(trained, sweep.required);
            assert!(numbers.len() <= 26, "{}: {} numbers", sweep.task, numbers.len());
            for number in [trained - 1, trained, trained + 1, low, high] {
                assert!(numbers.contains(&number), "{} without {number}: {numbers:?}", sweep.task);
            }
            assert!(numbers[0] < low && *numbers.last().unwrap() > high);
            for pair in numbers.windows(2) {
                let near = |edge: f64| pair[1] as f64 >= edge / 1.5 && pair[0] as f64 <= edge * 1.2;
                let edge = pair[1] <= trained + 1 || near(trained as f64) || near(high as f64);
                assert!(!edge || close(pair), "{}: {pair:?} of {numbers:?}", sweep.task);
                assert!(close(pair) || pair[1] as f64 <= COARSE * pair[0] as f64, "{}: {pair:?}", sweep.task);
            }
        }
    }

    #[test]
    fn a_range_begins_and_ends_with_a_whole_number_inside() {
        assert_eq!(whole(20, [0.6, 50.0]), [12, 1000]);
        assert_eq!(whole(16, [0.56, 32.0]), [9, 512]);
        assert_eq!(whole(9, [0.25, 64.0]), [3, 576]);
    }

    #[test]
    fn a_ladder_has_both_ends() {
        assert_eq!(ladder(2, 9, 1.25), [2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(ladder(16, 25, 1.25), [16, 20, 25]);
        assert_eq!(ladder(7, 7, 1.25), [7]);
    }
}
