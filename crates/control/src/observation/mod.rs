//! What an agent sees: the tracking error and its gradient, and the target where asked for, around its own
//! position; how many others are near ([`crowd`]).
//!
//! The error `e = z - z*` is read on the *reference lattice*, so that a policy sees the same on any finer
//! grid: on a grid refined by an integer factor s every s-th point is read, on others values are
//! interpolated linearly. Gradient channels are central differences per reference cell,
//! `(e_{j+1} - e_{j-1}) / 2`, not divided by the spacing; one-sided first differences at the ends of an axis,
//! wrapped on a periodic one.
//! Channels are computed on the whole field, then cut out around every agent: [`window`] in 1D, [`patch`] in
//! 2D.
//!
//! Differentiated in `e`; in the position only with `observe.sampling = "linear"`.

pub mod crowd;
pub mod patch;
pub mod window;

use crate::config::{self, Config, ReferenceAxis};
use crate::task::Field;
use cinoc_adjoint::{Interpolation, Sparse, Var};

/// Some fields of a state.
fn fields_with<'t>(config: &Config, state: Var<'t>, has: impl Fn(&Field) -> bool) -> Vec<Var<'t>> {
    let rows = state.rows() / config.task.fields.len();
    config.task.fields_with(has).into_iter().map(|i| part(state, i * rows, rows)).collect()
}

/// Some rows of a value; the value itself if those are all.
fn part(value: Var<'_>, first: usize, rows: usize) -> Var<'_> {
    if rows == value.rows() { value } else { value.slice(first..first + rows) }
}

/// The tracked fields of a state, one above the other.
///
/// # Panics
/// If the task tracks none.
pub fn tracked<'t>(config: &Config, state: Var<'t>) -> Var<'t> {
    let fields = fields_with(config, state, |field| field.tracked);
    fields.into_iter().reduce(Var::stack).expect("a checked task tracks a field, be it to rest")
}

/// Channels an agent sees, where each gradient has `dims` components.
fn channels(config: &Config, dims: usize) -> usize {
    let observed = config.task.fields_with(|field| field.observed).len();
    let gradients = if config.observe.gradient { dims * observed } else { 0 };
    observed + gradients + targets(config)
}

/// Targets an agent sees.
fn targets(config: &Config) -> usize {
    let seen = config.observe.target == Some(true);
    if seen { config.task.fields_with(|field| field.observed && field.tracked).len() } else { 0 }
}

/// From the grid of an axis to its reference lattice; `None` where they are the same.
fn restriction(axis: &ReferenceAxis) -> Option<Sparse> {
    (axis.n != axis.n_ref).then(|| Sparse::from_rows(axis.n, axis.readings()))
}

/// Differences per reference cell along an axis, on its reference lattice.
fn gradient(n_ref: usize, periodic: bool) -> Sparse {
    let row = |j: usize| {
        let (before, after) = match periodic {
            true => ((j + n_ref - 1) % n_ref, (j + 1) % n_ref),
            false => (j.saturating_sub(1), (j + 1).min(n_ref - 1)),
        };
        let weight = if !periodic && (j == 0 || j == n_ref - 1) { 1.0 } else { 0.5 };
        vec![(before, -weight), (after, weight)]
    };
    Sparse::from_rows(n_ref, (0..n_ref).map(row).collect())
}

fn sampling(sampling: config::Sampling) -> Interpolation {
    match sampling {
        config::Sampling::Cell => Interpolation::Cell,
        config::Sampling::Linear => Interpolation::Linear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_has_the_same_gradient_everywhere() {
        let field: Vec<f64> = (0..10).map(|j| 0.5 * j as f64).collect();
        assert_eq!(gradient(10, false).apply(&field), [0.5; 10]);
    }

    #[test]
    fn a_wave_is_differentiated_across_the_seam() {
        let wave: Vec<f64> = (0..16).map(|j| (std::f64::consts::TAU * j as f64 / 16.0).sin()).collect();
        let slope = gradient(16, true).apply(&wave);
        assert!((slope[0] - (std::f64::consts::TAU / 16.0).sin()).abs() < 1e-15);
    }

    #[test]
    fn a_finer_grid_is_read_at_the_reference_points() {
        let sets = ["grid.n=199", "observe.n_ref=100"].map(String::from);
        let config = Config::preset("heat1d").unwrap().with_sets(&sets).unwrap();
        let fine: Vec<f64> = (0..199).map(f64::from).collect();
        let read = restriction(&config.axes()[0]).unwrap().apply(&fine);
        assert_eq!(read, (0..100).map(|j| f64::from(2 * j)).collect::<Vec<_>>());
    }

    #[test]
    fn between_grid_points_the_field_is_interpolated() {
        let read = |task: &str, set: &str, field: &dyn Fn(f64) -> f64| {
            let config = Config::preset(task).unwrap().with_sets(&[set.to_string()]).unwrap();
            let axis = config.axes()[0];
            let on = |points: usize| -> Vec<f64> {
                let cells = if axis.periodic() { points } else { points - 1 };
                (0..points).map(|j| field(j as f64 / cells as f64)).collect()
            };
            let found = restriction(&axis).unwrap().apply(&on(axis.n));
            let exact = on(axis.n_ref);
            found.iter().zip(&exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        assert!(read("heat1d", "observe.n_ref=37", &|x| 3.0 * x - 1.0) < 1e-14, "a line is exact");
        // across the seam of a ring too; the error of linear interpolation is h^2 / 8 times the curvature
        let wave = read("ks1d", "observe.n_ref=100", &|x| (std::f64::consts::TAU * x).cos());
        assert!(wave < (std::f64::consts::TAU / 128.0).powi(2) / 8.0, "{wave}");
    }
}
