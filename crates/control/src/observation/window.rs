//! 1D: a window of the error and of its gradient, W points of the reference lattice around the agent's cell, each channel resampled to
//! P points.
//!
//! The resampling is a constant matrix, which the policy multiplies into its first layer once per rollout.

use super::{gradient, restriction, sampling};
use crate::config::Config;
use adjoint::{Lattice, Sparse, Var};

/// The sensors of a 1D task.
pub struct Windows {
    lattice: Lattice,
    /// From the grid to the lattice.
    restriction: Option<Sparse>,
    gradient: Sparse,
    resampling: Sparse,
}

impl Windows {
    /// The sensors that `config.observe` describes.
    ///
    /// # Panics
    /// If the task is not one-dimensional.
    pub fn new(config: &Config) -> Windows {
        let (axis, observe) = (config.axes()[0], &config.observe);
        let width = observe.window.expect("1D tasks have a window");
        Windows {
            lattice: Lattice {
                width,
                n: axis.n_ref,
                density: axis.cells_per_length(),
                periodic: axis.periodic(),
                sampling: sampling(observe.sampling),
            },
            restriction: restriction(&axis),
            gradient: gradient(axis.n_ref, axis.periodic()),
            resampling: resampling(width, observe.points.expect("1D tasks resample their window")),
        }
    }

    /// The windows of both channels around agents at `xi` (`[1][agents]`): `[2 W][agents]`.
    pub fn cut<'t>(&self, e: Var<'t>, xi: Var<'t>) -> Var<'t> {
        let e = self.restriction.as_ref().map_or(e, |matrix| e.linear(matrix));
        xi.windows(&[e, e.linear(&self.gradient)], self.lattice)
    }

    /// The matrix that resamples [`Windows::cut`] to the `2 P` inputs of the policy.
    pub fn resampling(&self) -> &Sparse {
        &self.resampling
    }
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
}
