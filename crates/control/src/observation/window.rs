//! 1D: a window of the error, of its gradient (`observe.gradient`) and of the target (`observe.target`): W
//! points of the reference lattice around the agent's cell, each channel resampled to P points.
//!
//! The resampling is a constant matrix, which the policy multiplies into its first layer once per rollout. So
//! are the differences on a periodic lattice, where they are the same everywhere: W + 2 points of the error
//! then hold both channels. On an interval they are one-sided at the ends, and the gradient is a field of its
//! own.

use super::{fields_with, gradient, restriction, sampling, targets};
use crate::config::Config;
use cinoc_adjoint::{Lattice, Sparse, Var};

/// The sensors of a 1D task.
pub struct Windows {
    lattice: Lattice,
    /// From the grid to the lattice.
    restriction: Option<Sparse>,
    /// Of the error on the lattice, where windows of it are cut.
    gradient: Option<Sparse>,
    config: Config,
    resampling: Sparse,
}

impl Windows {
    /// Windows of `width` points, resampled to `points`, otherwise as `config.observe` describes them.
    pub fn new(config: &Config, width: usize, points: usize) -> Windows {
        let (axis, observe) = (config.axes()[0], &config.observe);
        let (channels, observed) = (channels(config), config.task.fields_with(|field| field.observed).len());
        let resampling = resampling(width, points, channels);
        let differenced_in_place = observe.gradient && axis.periodic();
        Windows {
            lattice: Lattice {
                width: if differenced_in_place { width + 2 } else { width },
                n: axis.n_ref,
                density: axis.cells_per_length(),
                periodic: axis.periodic(),
                sampling: sampling(observe.sampling),
            },
            restriction: restriction(&axis),
            gradient: (observe.gradient && !axis.periodic()).then(|| gradient(axis.n_ref, false)),
            config: config.clone(),
            resampling: match differenced_in_place {
                true => differenced(width, observed, channels - observed, &resampling),
                false => Sparse::from_rows(channels * width, resampling),
            },
        }
    }

    /// What the channels of agents at `xi` (`[1][agents]`) are made of: their windows,
    /// `[channels W][agents]`, or the `W + 2` points of every field that hold them.
    pub fn cut<'t>(&self, e: Var<'t>, target: Var<'t>, xi: Var<'t>) -> Var<'t> {
        let on_lattice =
            |field: Var<'t>| self.restriction.as_ref().map_or(field, |matrix| field.linear(matrix));
        let of = |state: Var<'t>, tracked: bool| {
            let seen =
                fields_with(&self.config, state, |field| field.observed && (field.tracked || !tracked));
            seen.into_iter().map(on_lattice).collect::<Vec<_>>()
        };
        let errors = of(e, false);
        let mut fields = errors.clone();
        fields.extend(self.gradient.iter().flat_map(|gradient| errors.iter().map(|e| e.linear(gradient))));
        if targets(&self.config) > 0 {
            fields.extend(of(target, true));
        }
        xi.windows(&fields, self.lattice)
    }

    /// The matrix that turns [`Windows::cut`] into the inputs of the policy, P per channel.
    pub fn resampling(&self) -> &Sparse {
        &self.resampling
    }
}

/// Channels of a window: of every observed field the error and, where they are seen, its gradient and the
/// target.
pub fn channels(config: &Config) -> usize {
    super::channels(config, 1)
}

/// A matrix on windows of W values and W central differences of `observed` fields, then W values of others,
/// as one on the `W + 2` points of each of the `fields` that hold them.
fn differenced(window: usize, observed: usize, fields: usize, rows: &[Vec<(usize, f64)>]) -> Sparse {
    let wide = window + 2;
    let points = |&(j, weight): &(usize, f64)| match (j / window, j % window) {
        (channel, j) if channel < observed => vec![(channel * wide + j + 1, weight)],
        (channel, j) if channel < 2 * observed => {
            let first = (channel - observed) * wide + j;
            vec![(first, -0.5 * weight), (first + 2, 0.5 * weight)]
        }
        (channel, j) => vec![((channel - observed) * wide + j + 1, weight)],
    };
    let row = |row: &Vec<(usize, f64)>| {
        let mut sums = vec![0.0; fields * wide];
        row.iter().flat_map(points).for_each(|(point, weight)| sums[point] += weight);
        sums.into_iter().enumerate().filter(|(_, weight)| *weight != 0.0).collect()
    };
    Sparse::from_rows(fields * wide, rows.iter().map(row).collect())
}

/// Resampling of some channels from `window` to `points` values each, half-pixel centres
/// `s_i = (i + 1/2) W/P - 1/2`: linear interpolation where that refines; a triangle of half-width `W/P` (no
/// aliasing) where it coarsens. Entries by row.
fn resampling(window: usize, points: usize, channels: usize) -> Vec<Vec<(usize, f64)>> {
    let ratio = window as f64 / points as f64;
    let row = |i: usize| {
        let centre = (i as f64 + 0.5) * ratio - 0.5;
        let weight = |j: usize| (1.0 - (j as f64 - centre).abs() / ratio.max(1.0)).max(0.0);
        let total: f64 = (0..window).map(weight).sum();
        (0..window).map(|j| (j, weight(j) / total)).filter(|entry| entry.1 > 0.0).collect::<Vec<_>>()
    };
    let channel = |c: usize| {
        (0..points).map(move |i| row(i).into_iter().map(|(j, weight)| (c * window + j, weight)).collect())
    };
    (0..channels).flat_map(channel).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resampling(window: usize, points: usize) -> Sparse {
        Sparse::from_rows(2 * window, super::resampling(window, points, 2))
    }

    #[test]
    fn on_a_ring_the_points_around_a_window_hold_its_differences() {
        let points: Vec<f64> = (0..10).map(|j| f64::from(j * j * j)).collect();
        let differences = (0..8).map(|j| (points[j + 2] - points[j]) / 2.0);
        let both: Vec<f64> = points[1..9].iter().copied().chain(differences).collect();
        for samples in [5, 8, 20] {
            let seen = differenced(8, 1, 1, &super::resampling(8, samples, 2)).apply(&points);
            for (seen, expected) in seen.iter().zip(resampling(8, samples).apply(&both)) {
                assert!(
                    (seen - expected).abs() < 1e-12 * (1.0 + expected.abs()),
                    "{samples}: {seen} {expected}"
                );
            }
        }
    }

    #[test]
    fn a_target_on_a_ring_is_read_inside_its_own_points() {
        let e = [0.0; 10];
        let target: Vec<f64> = (0..10).map(f64::from).collect();
        let seen = differenced(8, 1, 2, &super::resampling(8, 8, 3)).apply(&[&e[..], &target].concat());
        assert_eq!(seen[16..], target[1..9]);
        assert!(seen[..16].iter().all(|&x| x == 0.0));
    }

    #[test]
    fn resampling_keeps_constants() {
        for window in [2, 4, 8, 20, 30, 100] {
            let constant = [vec![3.0; window], vec![-1.0; window]].concat();
            let seen = resampling(window, 20).apply(&constant);
            assert!(seen[..20].iter().all(|x| (x - 3.0).abs() < 1e-14), "window {window}");
            assert!(seen[20..].iter().all(|x| (x + 1.0).abs() < 1e-14), "window {window}");
        }
    }

    #[test]
    fn refining_is_linear_interpolation_and_holds_the_ends() {
        let ramp = [0.0, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0];
        let seen = resampling(4, 8).apply(&ramp);
        assert_eq!(seen[..8], [0.0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3.0]);
    }

    #[test]
    fn as_many_points_as_the_window_changes_nothing() {
        let values: Vec<f64> = (0..40).map(|j| (j * j) as f64).collect();
        assert_eq!(resampling(20, 20).apply(&values), values);
    }

    #[test]
    fn coarsening_spreads_every_point_over_its_neighbours() {
        // no value of a wide window is overlooked
        for j in 0..100 {
            let mut spike = vec![0.0; 200];
            spike[j] = 1.0;
            assert!(resampling(100, 20).apply(&spike).iter().sum::<f64>() > 0.1, "point {j}");
        }
    }
}
