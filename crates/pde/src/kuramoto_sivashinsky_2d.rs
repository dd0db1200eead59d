//! Kuramoto-Sivashinsky equation in two dimensions, `z_t = -lap z - lap^2 z - |grad z|^2 / 2 + f`, periodic.
//!
//! Fourier in space, [`Etdrk4`] in time with the linear symbol `q^2 - q^4`, `q^2 = k_x^2 + k_y^2`. Modes with
//! wave numbers up to N/3 on both axes are resolved: their gradient is computed, and its square is projected
//! on them without aliasing. The other modes have only their linear and their forced part, which is known in
//! closed form for any number of steps. The mean of the nonlinear term only shifts the field and is left out;
//! the mean of the forcing is kept.
//!
//! A response is the spectrum of a forcing. Differentiable with respect to `z` and `f`.

use crate::dynamics::Dynamics;
use crate::etdrk4::Etdrk4;
use crate::fourier::Fourier;
use crate::grid::{Axis, Boundary, Grid};
use crate::random_field::normals;
use cinoc_adjoint::Var;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::f64::consts::TAU;

/// The equation on a periodic rectangle, ready to step.
pub struct KuramotoSivashinsky2d {
    grid: Grid,
    dt: f64,
    fourier: Fourier,
    /// The scheme of the resolved modes; `others` is that of the other modes.
    scheme: Etdrk4,
    others: Etdrk4,
}

impl KuramotoSivashinsky2d {
    /// Periodic axes, time step `dt`.
    ///
    /// # Panics
    /// If an axis is not periodic.
    pub fn new(x: Axis, y: Axis, dt: f64) -> KuramotoSivashinsky2d {
        let axes = [x, y];
        assert!(axes.iter().all(|axis| axis.boundary == Boundary::Periodic), "a periodic rectangle");
        let n = axes.map(|axis| axis.n);
        let fourier = Fourier::new(n, axes.map(|axis| axis.length), n.map(|n| n / 3));
        let (symbol, others) = fourier.split_table(|q2| q2 - q2 * q2);
        let factor = -0.5 * fourier.projection_factor([0, 0]);
        let (weight, _) = fourier.split_table(|q2| if q2 == 0.0 { 0.0 } else { factor });
        let scheme = Etdrk4::new(&symbol, &weight, dt);
        let others = Etdrk4::new(&others, &vec![0.0; others.len()], dt);
        KuramotoSivashinsky2d { grid: Grid::rectangle(x, y), dt, fourier, scheme, others }
    }

    fn squared_gradient<'t>(&self, z: Var<'t>) -> Var<'t> {
        let (x, y) = (self.fourier.evaluate(z, [1, 0]), self.fourier.evaluate(z, [0, 1]));
        self.fourier.project(x.quadratic(y, [1.0, 0.0, 1.0]), [0, 0])
    }

    /// An initial state of mean 0 and standard deviation 1: two long waves of random phases, and noise.
    /// `sin(2 pi x/L + p1) cos(2 pi y/L + p2) + 0.5 sin(4 pi x/L + p3) + noise N(0, 1)`.
    pub fn random_state(&self, noise: f64, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let (nx, ny) = self.grid.shape();
        let p: [f64; 3] = std::array::from_fn(|_| rng.random_range(0.0..TAU));
        let mut z = normals(rng, nx * ny);
        for (index, z) in z.iter_mut().enumerate() {
            let (x, y) = (TAU * (index / ny) as f64 / nx as f64, TAU * (index % ny) as f64 / ny as f64);
            *z = (x + p[0]).sin() * (y + p[1]).cos() + 0.5 * (2.0 * x + p[2]).sin() + noise * *z;
        }
        let mean = z.iter().sum::<f64>() / z.len() as f64;
        let variance = z.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / z.len() as f64;
        z.iter().map(|z| (z - mean) / variance.sqrt()).collect()
    }
}

impl Dynamics for KuramotoSivashinsky2d {
    fn grid(&self) -> Grid {
        self.grid
    }

    fn dt(&self) -> f64 {
        self.dt
    }

    fn order(&self) -> u32 {
        4
    }

    /// The spectrum of a forcing.
    fn response<'t>(&self, f: Var<'t>) -> Var<'t> {
        self.fourier.forward(f.reshape(self.grid.size(), 1))
    }

    /// The field after one step.
    fn step<'t>(&self, z: Var<'t>, response: Var<'t>) -> Var<'t> {
        self.interval(z, response, 1)
    }

    /// The field after `substeps` steps with one forcing, without leaving Fourier space.
    fn interval<'t>(&self, z: Var<'t>, response: Var<'t>, substeps: usize) -> Var<'t> {
        let resolved = |z: Var<'t>, f: Var<'t>| {
            let forced = self.scheme.forced(f);
            (0..substeps).fold(z, |z, _| self.scheme.step(z, forced, |z| self.squared_gradient(z)))
        };
        let others = |z: Var<'t>, f: Var<'t>| {
            let [growth, forced] = self.others.linear(substeps);
            Var::combination(&[(&growth, z), (&forced, f)])
        };
        let (rows, cols) = self.grid.shape();
        self.fourier.advance(z.reshape(rows * cols, 1), response, resolved, others).reshape(rows, cols)
    }
}
