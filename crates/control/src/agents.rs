//! Where agents start, for any number of them.

use crate::config::Config;

/// Share of the domain that mobile agents spread over: `linspace(0.2, 0.8)`.
const SPREAD: (f64, f64) = (0.2, 0.8);

/// Start positions of the agents: mobile ones equally spaced from 20 % to 80 % of the domain (one agent: in the middle), static ones
/// at the centres of equal parts, `(j + 1/2) L / M`.
pub fn start_positions(config: &Config) -> Vec<f64> {
    let (m, length) = (config.agents, config.grid.length);
    let share = |j: usize| match (config.mobile(), m) {
        (false, _) => (j as f64 + 0.5) / m as f64,
        (true, 1) => 0.5 * (SPREAD.0 + SPREAD.1),
        (true, _) => SPREAD.0 + j as f64 / (m - 1) as f64 * (SPREAD.1 - SPREAD.0),
    };
    (0..m).map(|j| share(j) * length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(task: &str, agents: usize) -> Vec<f64> {
        start_positions(&Config { agents, ..Config::preset(task).unwrap() })
    }

    fn assert_near(a: &[f64], b: &[f64]) {
        assert!(
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-14),
            "{a:?} against {b:?}"
        );
    }

    #[test]
    fn mobile_agents_spread_over_the_middle() {
        assert_near(&positions("fkpp1d", 4), &[0.2, 0.4, 0.6, 0.8]);
        assert_near(&positions("heat1d", 2), &[0.2, 0.8]);
        assert_near(&positions("heat1d", 1), &[0.5]);
    }

    #[test]
    fn static_agents_stand_in_the_middle_of_equal_parts() {
        assert_near(&positions("ks1d", 2), &[5.5, 16.5]);
        assert_near(&positions("ks1d", 1), &[11.0]);
    }
}
