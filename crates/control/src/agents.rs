//! Where agents start, for any number of them.

use crate::config::{Config, Equation};
use crate::obstacles::Discs;

/// Where agents start, as shares of an axis: from the first to the second of them.
pub fn spread(config: &Config) -> Vec<(f64, f64)> {
    match config.equation() {
        _ if !config.mobile() => vec![(0.0, 1.0); config.equation().dims()],
        Equation::Density => vec![(0.15, 0.85), (0.12, 0.8)],
        _ => vec![(0.2, 0.8); config.equation().dims()],
    }
}

/// Start positions of the agents, `[dims][agents]`.
///
/// 1D: mobile agents stand equally spaced from 20 % to 80 % of the domain (one agent: in the middle), static ones at the centres of equal
/// parts, `(j + 1/2) L / M`. 2D: the first M points of such a lattice with `ceil(sqrt M)` points per side, x slowest; out of
/// the margins of discs.
pub fn start_positions(config: &Config) -> Vec<f64> {
    let (axes, m) = (config.axes(), config.agents);
    let side = if axes.len() == 1 { m } else { m.isqrt() + usize::from(m.isqrt().pow(2) < m) };
    let along = |axis: usize, j: usize| {
        let (low, high) = spread(config)[axis];
        axes[axis].length
            * match (config.mobile(), side) {
                (false, _) => low + (j as f64 + 0.5) / side as f64 * (high - low),
                (true, 1) => 0.5 * (low + high),
                (true, _) => low + j as f64 / (side - 1) as f64 * (high - low),
            }
    };
    if axes.len() == 1 {
        return (0..m).map(|j| along(0, j)).collect();
    }
    let discs = Discs::of(config);
    let positions: Vec<[f64; 2]> = (0..m)
        .map(|j| [along(0, j / side), along(1, j % side)])
        .map(|position| discs.as_ref().map_or(position, |discs| discs.clear_of_margins(position)))
        .collect();
    (0..2).flat_map(|axis| positions.iter().map(move |position| position[axis])).collect()
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

    #[test]
    fn lattices_fill_column_after_column() {
        assert_near(&positions("heat2d", 4), &[0.2, 0.2, 0.8, 0.8, 0.2, 0.8, 0.2, 0.8]);
        assert_near(&positions("heat2d", 3), &[0.2, 0.2, 0.8, 0.2, 0.8, 0.2]);
        assert_near(&positions("turb2d", 4), &[0.25, 0.25, 0.75, 0.75, 0.25, 0.75, 0.25, 0.75]);
        assert_near(&positions("density2d", 4), &[0.15, 0.15, 0.85, 0.85, 0.15, 1.0, 0.15, 1.0]);
        assert_near(&positions("density2d", 1), &[0.5, 0.575]);
    }
}
