//! Vorticity of an incompressible 2D flow, `w_t + q . grad w = nu lap w + f`, periodic, with the velocity
//! `q = (psi_y, -psi_x)` of the stream function `lap psi = -w`.
//!
//! Fourier in space, the classical Runge-Kutta scheme in time, also for the viscosity. Since the velocity has
//! no divergence, `q . grad w = d_x d_y (q_y^2 - q_x^2) + (d_xx - d_yy)(q_x q_y)`, which needs two transforms
//! to the points where products are formed and two back. All modes are resolved except the highest of an even
//! number of points (N/2). Products are formed without aliasing (on 3/2 as many points). Modes with N/2
//! periods have viscosity and forcing only. The mean of w is kept.
//!
//! A response is the spectrum of a forcing. Differentiable with respect to `w` and `f`.

use crate::dynamics::Dynamics;
use crate::fourier::Fourier;
use crate::grid::{Axis, Boundary, Grid};
use crate::random_field::normals;
use crate::runge_kutta::{rk4, rk4_linear};
use cinoc_adjoint::Var;
use rand_chacha::ChaCha8Rng;

/// The vorticity equation on a periodic rectangle, ready to step.
pub struct Vorticity {
    grid: Grid,
    fourier: Fourier,
    dt: f64,
    /// Viscous decay of the resolved modes, and of the others.
    decay: Vec<f64>,
    others: Vec<f64>,
    /// `psi` from `w`, for resolved modes.
    stream: Vec<f64>,
    /// Factors that turn the two products into `-q . grad w`, for resolved modes.
    advection: (f64, Vec<f64>),
}

impl Vorticity {
    /// Periodic axes, viscosity `nu`, time step `dt`.
    ///
    /// # Panics
    /// If an axis is not periodic.
    pub fn new(x: Axis, y: Axis, nu: f64, dt: f64) -> Vorticity {
        let axes = [x, y];
        assert!(axes.iter().all(|axis| axis.boundary == Boundary::Periodic), "a periodic rectangle");
        let n = axes.map(|axis| axis.n);
        let fourier = Fourier::new(n, axes.map(|axis| axis.length), n.map(|n| (n - 1) / 2));
        let (decay, others) = fourier.split_table(|k2| -nu * k2);
        let (stream, _) = fourier.split_table(inverse_laplacian);
        let (mixed, plain) = (fourier.projection_factor([1, 1]), fourier.projection_factor([0, 0]));
        let resolved = fourier.resolved();
        let anisotropic =
            fourier.wave_numbers()[..resolved].iter().map(|[x, y]| plain * (x * x - y * y)).collect();
        let advection = (-mixed, anisotropic);
        Vorticity { grid: Grid::rectangle(x, y), fourier, dt, decay, others, stream, advection }
    }

    /// `-q . grad w + nu lap w + f` of resolved modes.
    fn rate<'t>(&self, w: Var<'t>, f: Var<'t>) -> Var<'t> {
        let psi = Var::combination(&[(&self.stream, w)]);
        // q_x = psi_y, and p = psi_x = -q_y
        let (q, p) = (self.fourier.evaluate(psi, [0, 1]), self.fourier.evaluate(psi, [1, 0]));
        let squares = self.fourier.project(p.quadratic(q, [1.0, 0.0, -1.0]), [1, 1]);
        let product = self.fourier.project(p.quadratic(q, [0.0, -1.0, 0.0]), [0, 0]);
        let (mixed, anisotropic) = &self.advection;
        Var::combination(&[(&[*mixed], squares), (anisotropic, product), (&self.decay, w), (&[1.0], f)])
    }

    /// An initial state of mean 0: independent normal Fourier modes times `exp(-k^2 / (2 peak^2))`, scaled to
    /// the kinetic energy `mean |q|^2 / 2 = energy`.
    pub fn random_state(&self, peak: f64, energy: f64, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let envelope =
            self.fourier.table(|k2| if k2 == 0.0 { 0.0 } else { (-k2 / (2.0 * peak * peak)).exp() });
        let normals = normals(rng, envelope.len());
        let spectrum: Vec<f64> = normals.iter().zip(&envelope).map(|(n, e)| n * e).collect();
        // the basis is orthonormal: means over the grid are sums over modes
        let inverse = self.fourier.table(inverse_laplacian);
        let drawn =
            0.5 * spectrum.iter().zip(&inverse).map(|(c, i)| c * c * i).sum::<f64>() / spectrum.len() as f64;
        let scale = (energy / drawn).sqrt();
        self.fourier.field(&spectrum.iter().map(|c| scale * c).collect::<Vec<f64>>())
    }
}

impl Dynamics for Vorticity {
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

    /// The vorticity after one step.
    fn step<'t>(&self, w: Var<'t>, response: Var<'t>) -> Var<'t> {
        self.interval(w, response, 1)
    }

    /// The vorticity after `substeps` steps with one forcing, without leaving Fourier space.
    fn interval<'t>(&self, w: Var<'t>, response: Var<'t>, substeps: usize) -> Var<'t> {
        let resolved =
            |w: Var<'t>, f: Var<'t>| (0..substeps).fold(w, |w, _| rk4(w, self.dt, |w| self.rate(w, f)));
        let others = |w: Var<'t>, f: Var<'t>| {
            let pairs: Vec<_> = self.others.iter().map(|l| rk4_linear(*l, self.dt, substeps)).collect();
            let table = |i: usize| pairs.iter().map(|p| p[i]).collect::<Vec<f64>>();
            Var::combination(&[(&table(0), w), (&table(1), f)])
        };
        let (rows, cols) = self.grid.shape();
        self.fourier.advance(w.reshape(rows * cols, 1), response, resolved, others).reshape(rows, cols)
    }
}

/// `1 / k^2`; the stream function has no mean.
fn inverse_laplacian(k2: f64) -> f64 {
    if k2 == 0.0 { 0.0 } else { 1.0 / k2 }
}
