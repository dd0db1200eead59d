//! Cases on another grid: the same fields, between their grid points continued by the series that suits the
//! boundary.
//!
//! Fourier series on a periodic axis, sines where the field is zero at both ends, cosines where nothing flows
//! through them. Where a point of the new grid is one of the old, the value stays what it was.

use std::f64::consts::PI;

use super::Cases;
use crate::config::{Config, ReferenceAxis};
use cinoc_pde::Boundary;

impl Cases {
    /// Cases of one config's grid on that of another, finer or coarser, of the same lengths.
    pub fn refined(self, from: &Config, to: &Config) -> Cases {
        if from.shape() == to.shape() {
            return self;
        }
        let boundary = from.task.boundary;
        let axes: Vec<Vec<Vec<f64>>> =
            from.axes().iter().zip(to.axes()).map(|(from, to)| interpolation(boundary, from, &to)).collect();
        let all =
            |fields: &[f64]| fields.chunks_exact(from.points()).flat_map(|z| along_axes(&axes, z)).collect();
        Cases { count: self.count, n: to.state_size(), z0: all(&self.z0), zt: all(&self.zt), xi0: self.xi0 }
    }
}

/// A field `[x][y]`, or `[x]`, interpolated along every axis.
fn along_axes(axes: &[Vec<Vec<f64>>], z: &[f64]) -> Vec<f64> {
    let [x, y] = axes else { return z_times(&axes[0], z, 1) };
    let cols = y[0].len();
    // the rows of y first: [x][y'] from [x][y]
    let wide: Vec<f64> = z.chunks_exact(cols).flat_map(|row| z_times(y, row, 1)).collect();
    z_times(x, &wide, y.len())
}

/// `matrix` times values `[from][cols]`.
fn z_times(matrix: &[Vec<f64>], values: &[f64], cols: usize) -> Vec<f64> {
    let mut out = Vec::with_capacity(matrix.len() * cols);
    for weights in matrix {
        for col in 0..cols {
            out.push(weights.iter().enumerate().map(|(k, w)| w * values[k * cols + col]).sum());
        }
    }
    out
}

/// Values on one axis from those on another, `[to][from]`.
fn interpolation(boundary: Boundary, from: &ReferenceAxis, to: &ReferenceAxis) -> Vec<Vec<f64>> {
    let ends = usize::from(!from.periodic());
    let (cells, others) = (from.n - ends, to.n - ends);
    let at = |j: usize| (j * cells) as f64 / others as f64;
    let row = |j: usize| (0..from.n).map(|k| weight(boundary, cells, at(j), k)).collect();
    (0..to.n).map(row).collect()
}

/// How much point `k` counts at `x`, in cells.
fn weight(boundary: Boundary, cells: usize, x: f64, k: usize) -> f64 {
    let (n, k) = (cells as f64, k as f64);
    match boundary {
        Boundary::Periodic => {
            let wave = |q: usize| (2.0 * PI * q as f64 * (x - k) / n).cos();
            // the highest wave of an even number of points is its own mirror image
            let highest = if cells.is_multiple_of(2) { wave(cells / 2) } else { 0.0 };
            (1.0 + 2.0 * (1..cells.div_ceil(2)).map(wave).sum::<f64>() + highest) / n
        }
        Boundary::Dirichlet => {
            let wave = |q: usize| (PI * q as f64 * k / n).sin() * (PI * q as f64 * x / n).sin();
            2.0 / n * (1..cells).map(wave).sum::<f64>()
        }
        Boundary::ZeroFlux => {
            let end = |at: bool| if at { 0.5 } else { 1.0 };
            let wave = |q: usize| {
                end(q == 0 || q == cells) * (PI * q as f64 * k / n).cos() * (PI * q as f64 * x / n).cos()
            };
            2.0 / n * end(k == 0.0 || k == n) * (0..=cells).map(wave).sum::<f64>()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refined(task: &str, sets: &[&str], field: impl Fn(f64, f64) -> f64) -> f64 {
        let from = Config::preset(task).unwrap();
        let to = from.with_sets(&sets.map_to_strings()).unwrap();
        let on = |config: &Config| -> Vec<f64> {
            let axes = config.axes();
            let y = axes.get(1).map_or(1, |axis| axis.n);
            let at = |axis: &ReferenceAxis, i: usize| i as f64 * axis.h() / axis.length;
            (0..axes[0].n * y)
                .map(|i| field(at(&axes[0], i / y), axes.get(1).map_or(0.0, |axis| at(axis, i % y))))
                .collect()
        };
        let cases = Cases { count: 1, n: from.points(), z0: on(&from), zt: on(&from), xi0: None };
        let fine = cases.refined(&from, &to);
        fine.z0.iter().zip(on(&to)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    trait Strings {
        fn map_to_strings(&self) -> Vec<String>;
    }

    impl Strings for [&str] {
        fn map_to_strings(&self) -> Vec<String> {
            self.iter().map(|set| set.to_string()).collect()
        }
    }

    #[test]
    fn waves_of_the_boundary_are_continued_exactly() {
        let sines = |x: f64, y: f64| (3.0 * PI * x).sin() * (2.0 * PI * y).sin();
        assert!(refined("heat2d", &["grid.n=94"], sines) < 1e-12);
        let line = |x: f64, _: f64| (3.0 * PI * x).sin();
        assert!(refined("fkpp1d", &["grid.n=199"], line) < 1e-12);
        assert!(refined("fkpp1d", &["grid.n=73", "observe.n_ref=73"], line) < 1e-12, "a coarser grid");
        let fourier = |x: f64, y: f64| (2.0 * PI * (3.0 * x + y)).cos() + 0.5;
        assert!(refined("ks2d", &["grid.n=128"], fourier) < 1e-12);
        let cosines = |x: f64, y: f64| 1.0 + (3.0 * PI * x).cos() * (2.0 * PI * y).cos();
        assert!(refined("density2d", &["grid.n=127", "grid.n_y=159"], cosines) < 1e-12);
    }
}
