//! Generalised advantage estimation (Schulman et al. 2016).
//!
//! ```text
//! delta_t = r_t + gamma V(s_{t+1}) [not terminated] - V(s_t)
//! A_t     = delta_t + gamma lambda A_{t+1} [episode goes on]
//! ```
//!
//! An episode that ended by its time limit keeps the value of its last state, but gets no advantage from the
//! next episode.

/// The path of one copy over `steps` steps.
pub struct Path<'a> {
    /// Rewards.
    pub rewards: &'a [f32],
    /// Values of the states before each step.
    pub values: &'a [f32],
    /// Values of the states after each step.
    pub next_values: &'a [f32],
    /// Whether the step led to a terminal state.
    pub terminated: &'a [bool],
    /// Whether an episode ended with the step, for any reason.
    pub ended: &'a [bool],
}

/// Advantages of the steps of a path.
pub fn advantages(path: &Path<'_>, gamma: f32, lambda: f32) -> Vec<f32> {
    let mut advantages = vec![0.0; path.rewards.len()];
    let mut later = 0.0;
    for t in (0..advantages.len()).rev() {
        let ahead = if path.terminated[t] { 0.0 } else { gamma * path.next_values[t] };
        let delta = path.rewards[t] + ahead - path.values[t];
        later = delta + if path.ended[t] { 0.0 } else { gamma * lambda * later };
        advantages[t] = later;
    }
    advantages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path<'a>(ended: &'a [bool], terminated: &'a [bool]) -> Path<'a> {
        Path {
            rewards: &[1.0, 2.0, 3.0],
            values: &[0.5, 1.0, 1.5],
            next_values: &[1.0, 1.5, 4.0],
            terminated,
            ended,
        }
    }

    #[test]
    fn with_lambda_one_it_is_the_return_less_the_value() {
        let none = [false; 3];
        let found = advantages(&path(&none, &none), 0.5, 1.0);
        let returns =
            [1.0 + 0.5 * (2.0 + 0.5 * (3.0 + 0.5 * 4.0)), 2.0 + 0.5 * (3.0 + 0.5 * 4.0), 3.0 + 0.5 * 4.0];
        for (found, (wanted, value)) in found.iter().zip(returns.iter().zip([0.5, 1.0, 1.5])) {
            assert!((found - (wanted - value)).abs() < 1e-6, "{found}");
        }
    }

    #[test]
    fn with_lambda_zero_it_is_one_step() {
        let none = [false; 3];
        let found = advantages(&path(&none, &none), 0.5, 0.0);
        assert_eq!(found, [1.0 + 0.5 - 0.5, 2.0 + 0.75 - 1.0, 3.0 + 2.0 - 1.5]);
    }

    #[test]
    fn a_time_limit_keeps_the_value_and_an_end_does_not() {
        let ended = [false, true, false];
        // truncated after the second step: its next value counts, the third step does not
        let cut = advantages(&path(&ended, &[false; 3]), 0.5, 1.0);
        assert_eq!(cut[1], 2.0 + 0.75 - 1.0);
        assert_eq!(cut[0], (1.0 + 0.5 - 0.5) + 0.5 * cut[1]);
        let over = advantages(&path(&ended, &ended), 0.5, 1.0);
        assert_eq!(over[1], 2.0 - 1.0);
    }
}
