//! Where agents start, for any number of them.

use crate::config::{Config, Starts};
use crate::obstacles::Discs;

/// Start positions of the agents, `[dims][agents]`.
///
/// Mobile agents stand equally spaced from end to end of a range (one agent: in the middle), static ones at
/// the centres of equal parts of it, `(j + 1/2) / M`. 1D: the range is [`Task::starts`](crate::Task::starts);
/// with `actuation.starts = "staggered"` every other agent stands half a spacing nearer to its neighbour. 2D:
/// they stand in columns, as `actuation.starts` says, out of the margins of discs.
pub fn start_positions(config: &Config) -> Vec<f64> {
    let (m, mobile) = (config.agents, config.mobile());
    let ranges: Vec<Range> = config
        .task
        .starts
        .iter()
        .zip(config.axes())
        .map(|(&(low, high), axis)| Range { low: low * axis.length, width: (high - low) * axis.length })
        .collect();
    let starts = config.actuation.starts.unwrap_or(Starts::Rows);
    let quarter = |index: usize| if index.is_multiple_of(2) { -0.25 } else { 0.25 };
    let [x, y] = match ranges[..] {
        [x] if starts == Starts::Staggered => {
            return (0..m).map(|j| x.shifted(j, m, -quarter(j))).collect();
        }
        [x] => return (0..m).map(|j| x.place(j, m, mobile)).collect(),
        [x, y] => [x, y],
        _ => unreachable!("a checked task has 1 or 2 axes"),
    };
    let places: Vec<[f64; 2]> = match starts {
        Starts::Square => {
            let side = m.isqrt() + usize::from(m.isqrt().pow(2) < m);
            (0..m).map(|j| [x.place(j / side, side, mobile), y.place(j % side, side, mobile)]).collect()
        }
        Starts::Rows | Starts::Staggered => {
            // neighbours on a staggered lattice are equally far when columns are nearer to each other than
            // agents in them
            let hexagonal = if starts == Starts::Staggered { 2.0 / 3f64.sqrt() } else { 1.0 };
            let columns = columns(m, hexagonal * x.width / y.width);
            let place = |column: usize, j: usize| {
                let count = columns[column];
                let along = match starts {
                    Starts::Staggered => y.shifted(j, count, quarter(column)),
                    _ => y.place(j, count, mobile),
                };
                [x.place(column, columns.len(), mobile), along]
            };
            (0..columns.len())
                .flat_map(|column| (0..columns[column]).map(move |j| (column, j)))
                .map(|(column, j)| place(column, j))
                .collect()
        }
    };
    let discs = Discs::of(config);
    let places: Vec<[f64; 2]> = places
        .into_iter()
        .map(|place| discs.as_ref().map_or(place, |discs| discs.clear_of_margins(place)))
        .collect();
    (0..2).flat_map(|axis| places.iter().map(move |place| place[axis])).collect()
}

/// A part of an axis.
#[derive(Clone, Copy)]
struct Range {
    low: f64,
    width: f64,
}

impl Range {
    /// Place `j` of `count`: from end to end for agents that move, else in the middle of equal parts.
    fn place(self, j: usize, count: usize, mobile: bool) -> f64 {
        match (mobile, count) {
            (false, _) | (true, 1) => self.shifted(j, count, 0.0),
            (true, _) => self.low + j as f64 / (count - 1) as f64 * self.width,
        }
    }

    /// The middle of part `j` of `count`, moved by a share of the part.
    fn shifted(self, j: usize, count: usize, shift: f64) -> f64 {
        self.low + (j as f64 + 0.5 + shift) / count as f64 * self.width
    }
}

/// How many agents stand in each column of a domain `aspect` times as wide as high: as many columns as make
/// the spacing alike along both axes; columns that hold one agent more lie evenly between the others.
fn columns(agents: usize, aspect: f64) -> Vec<usize> {
    let columns = ((agents as f64 * aspect).sqrt().round() as usize).clamp(1, agents);
    // agents before column k, spread from the middle so that the pattern is symmetric
    let before = |k: usize| (2 * k * agents + columns) / (2 * columns);
    (0..columns).map(|k| before(k + 1) - before(k)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn positions(task: &str, agents: usize) -> Vec<f64> {
        start_positions(&Config { agents, ..Config::preset(task).unwrap() })
    }

    fn published(task: &str, agents: usize) -> Vec<f64> {
        start_positions(&Config { agents, ..Config::paper(task).unwrap() })
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
    fn published_lattices_fill_column_after_column() {
        assert_near(&published("heat2d", 4), &[0.2, 0.2, 0.8, 0.8, 0.2, 0.8, 0.2, 0.8]);
        assert_near(&published("heat2d", 3), &[0.2, 0.2, 0.8, 0.2, 0.8, 0.2]);
        assert_near(&published("turb2d", 4), &[0.25, 0.25, 0.75, 0.75, 0.25, 0.75, 0.25, 0.75]);
        assert_near(&published("density2d", 4), &[0.15, 0.15, 0.85, 0.85, 0.15, 1.0, 0.15, 1.0]);
        assert_near(&published("density2d", 1), &[0.5, 0.575]);
    }

    #[test]
    fn full_lattices_are_the_published_ones() {
        for (task, agents) in
            [("heat2d", 9), ("heat2d", 16), ("heat2d", 256), ("turb2d", 64), ("density2d", 9)]
        {
            assert_near(&positions(task, agents), &published(task, agents));
        }
    }

    #[test]
    fn one_agent_more_stands_in_the_middle_column() {
        let all = positions("turb2d", 101);
        let column = |x: f64| all[..101].iter().filter(|&&xi| (xi - x).abs() < 1e-9).count();
        let counts: Vec<usize> = (0..10).map(|k| column(0.1 * (f64::from(k) + 0.5))).collect();
        assert_eq!(counts.iter().sum::<usize>(), 101);
        assert_eq!(counts.iter().filter(|&&count| count == 11).count(), 1);
        assert_eq!(counts[4] + counts[5], 21, "{counts:?}");
    }

    #[test]
    fn staggered_columns_differ_by_half_a_spacing() {
        let sets = ["actuation.starts=staggered".to_string()];
        let config = Config::preset("ks2d").unwrap().with_sets(&sets).unwrap();
        let all = start_positions(&config);
        // 11 columns of 9 or 10: neighbours in a column are further apart than columns, as on a hexagonal
        // lattice
        let columns: Vec<f64> = (0..11).map(|k| 32.0 * (f64::from(k) + 0.5) / 11.0).collect();
        let of = |k: usize| -> Vec<f64> {
            let here = (0..100).filter(|&i| (all[i] - columns[k]).abs() < 1e-9);
            here.map(|i| all[100 + i]).collect()
        };
        let counts: Vec<usize> = (0..11).map(|k| of(k).len()).collect();
        assert!(counts.iter().all(|count| [9, 10].contains(count)), "{counts:?}");
        for (k, count) in counts.iter().enumerate() {
            let spacing = 32.0 / *count as f64;
            let first = if k % 2 == 0 { 0.25 } else { 0.75 } * spacing;
            let expected: Vec<f64> = (0..*count).map(|j| first + j as f64 * spacing).collect();
            assert_near(&of(k), &expected);
        }
        // on a ring agents stand in pairs
        let sets = ["actuation.starts=staggered", "agents=4"].map(String::from);
        let config = Config::preset("ks1d").unwrap().with_sets(&sets).unwrap();
        assert_near(&start_positions(&config), &[4.125, 6.875, 15.125, 17.875]);
    }

    proptest! {
        /// No place of a 2D domain is much further from an agent than the spacing of an even lattice.
        #[test]
        fn any_number_covers_the_domain_evenly(agents in 1usize..400, side in 0usize..20, up in 0usize..20) {
            let all = positions("turb2d", agents);
            let at = [side, up].map(|k| (k as f64 + 0.5) / 20.0);
            let nearest = (0..agents)
                .map(|i| {
                    let d = [all[i] - at[0], all[agents + i] - at[1]].map(|d: f64| d - d.round());
                    d[0].hypot(d[1])
                })
                .fold(f64::INFINITY, f64::min);
            let spacing = 1.0 / (agents as f64).sqrt();
            prop_assert!(nearest < 1.05 * spacing, "{agents} agents: {nearest} against {spacing}");
        }
    }
}
