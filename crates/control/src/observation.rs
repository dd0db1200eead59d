//! What an agent sees: a window of the tracking error and of its gradient, around its own position.
//!
//! The error `e = z - z*` is read on the *reference lattice*, the points of the task's default grid, so that a policy sees the
//! same numbers on any finer grid: on a grid refined by an integer factor s every s-th point is read. The second channel is
//! the central difference per reference cell, `(e_{j+1} - e_{j-1}) / 2`, not divided by the spacing; one-sided first
//! differences at held ends, wrapped on a periodic domain. Both channels are computed on the whole field, then windowed
//! (W points around the agent's cell) and resampled to P points.
//!
//! Differentiated in `e`; in the position only with `observe.sampling = "linear"`. The resampling is a constant matrix, which
//! the policy multiplies into its first layer once per rollout.

use crate::config::{self, Config};
use adjoint::{Lattice, Sampling, Sparse, Var};

/// The sensors of a task.
pub struct Observation {
    lattice: Lattice,
    /// From the grid to the lattice; `None` where they are the same.
    restriction: Option<Sparse>,
    /// From the grid to the gradient channel on the lattice.
    gradient: Sparse,
    resampling: Sparse,
}

impl Observation {
    /// The sensors that `config.observe` describes.
    pub fn new(config: &Config) -> Observation {
        let (n_ref, stride) = (config.observe.n_ref, config.stride());
        let restriction =
            || Sparse::from_rows(config.grid.n, (0..n_ref).map(|j| vec![(stride * j, 1.0)]).collect());
        Observation {
            lattice: Lattice {
                width: config.observe.window,
                n: n_ref,
                density: config.cells_per_length(),
                periodic: config.periodic(),
                sampling: match config.observe.sampling {
                    config::Sampling::Cell => Sampling::Cell,
                    config::Sampling::Linear => Sampling::Linear,
                },
            },
            restriction: (stride > 1).then(restriction),
            gradient: gradient(config.grid.n, n_ref, stride, config.periodic()),
            resampling: resampling(config.observe.window, config.observe.points),
        }
    }

    /// The windows of both channels around agents at `xi` (`[1][agents]`): `[2 W][agents]`.
    pub fn windows<'t>(&self, e: Var<'t>, xi: Var<'t>) -> Var<'t> {
        let on_lattice = self.restriction.as_ref().map_or(e, |matrix| e.linear(matrix));
        xi.windows(&[on_lattice, e.linear(&self.gradient)], self.lattice)
    }

    /// The matrix that resamples [`Observation::windows`] to the `2 P` inputs of the policy.
    pub fn resampling(&self) -> &Sparse {
        &self.resampling
    }
}

/// Differences per reference cell, read from a grid `stride` times as fine.
fn gradient(n: usize, n_ref: usize, stride: usize, periodic: bool) -> Sparse {
    let row = |j: usize| {
        let (before, after) = match periodic {
            true => ((j + n_ref - 1) % n_ref, (j + 1) % n_ref),
            false => (j.saturating_sub(1), (j + 1).min(n_ref - 1)),
        };
        let weight = if !periodic && (j == 0 || j == n_ref - 1) { 1.0 } else { 0.5 };
        vec![(stride * before, -weight), (stride * after, weight)]
    };
    Sparse::from_rows(n, (0..n_ref).map(row).collect())
}

/// Resampling of two channels from `window` to `points` values each, half-pixel centres `s_i = (i + 1/2) W/P - 1/2`: linear
/// interpolation where that refines; a triangle of half-width `W/P` (no aliasing) where it coarsens.
fn resampling(window: usize, points: usize) -> Sparse {
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
    Sparse::from_rows(2 * window, channel(0).chain(channel(1)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_ramp_has_the_same_gradient_everywhere() {
        let field: Vec<f64> = (0..10).map(|j| 0.5 * j as f64).collect();
        assert_eq!(gradient(10, 10, 1, false).apply(&field), [0.5; 10]);
    }

    #[test]
    fn a_finer_grid_shows_the_same_gradient() {
        let wave = |n: usize| {
            (0..n).map(|j| (std::f64::consts::TAU * j as f64 / n as f64).sin()).collect::<Vec<_>>()
        };
        let (coarse, fine) =
            (gradient(16, 16, 1, true).apply(&wave(16)), gradient(64, 16, 4, true).apply(&wave(64)));
        assert!(coarse.iter().zip(&fine).all(|(a, b)| (a - b).abs() < 1e-15));
        assert!((coarse[0] - (std::f64::consts::TAU / 16.0).sin()).abs() < 1e-15);
    }
}
