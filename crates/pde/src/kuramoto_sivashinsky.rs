//! Kuramoto-Sivashinsky equation `z_t + z z_x + z_xx + z_xxxx = f`, periodic on `[0, L)`.
//!
//! Fourier in space. Crank-Nicolson for the linear terms, explicit Euler for advection and forcing:
//! `z^' = [(1 + dt l/2) z^ + dt (-(i k/2) F(z^2) + F(f))] / (1 - dt l/2)` with `l = k^2 - k^4`. The product
//! `z^2` is not de-aliased. On an even number of points the derivative of the highest (Nyquist) mode is 0: it
//! is a cosine, and the corresponding sine is 0 on the grid.
//!
//! The response to a forcing is `F^-1 [dt F(f) / (1 - dt l/2)]`, a field that is added. Differentiable with
//! respect to `z` and `f`; `dt`, `L` and the grid are constants.
//!
//! [`KuramotoSivashinskyEtdrk4`] has the same discretisation in space and a fourth-order scheme in time, for
//! reference runs.

use crate::dynamics::Dynamics;
use crate::etdrk4::Etdrk4;
use crate::grid::{Axis, Boundary, Grid};
use cinoc_adjoint::Var;
use std::f64::consts::TAU;

/// The Kuramoto-Sivashinsky equation, ready to step.
pub struct KuramotoSivashinsky {
    x: Axis,
    dt: f64,
    /// Factors of `F(z)`, `F(z^2)` and `F(f)` in one step, per mode.
    linear: Vec<[f64; 2]>,
    advection: Vec<[f64; 2]>,
    forcing: Vec<[f64; 2]>,
}

/// Growth rate of a small wave of wave number `k`, `l = k^2 - k^4`.
pub fn growth_rate(k: f64) -> f64 {
    k * k - k.powi(4)
}

impl KuramotoSivashinsky {
    /// Domain of `length` with `n` points, time step `dt`.
    pub fn new(n: usize, length: f64, dt: f64) -> KuramotoSivashinsky {
        let modes = || (0..=n / 2).map(|m| (m, TAU / length * m as f64));
        let implicit = |k: f64| 1.0 - dt / 2.0 * growth_rate(k);
        let derivative = |(m, k): (usize, f64)| if 2 * m == n { 0.0 } else { k };
        KuramotoSivashinsky {
            x: Axis { n, length, boundary: Boundary::Periodic },
            dt,
            linear: modes().map(|(_, k)| [(1.0 + dt / 2.0 * growth_rate(k)) / implicit(k), 0.0]).collect(),
            advection: modes().map(|m| [0.0, -dt / 2.0 * derivative(m) / implicit(m.1)]).collect(),
            forcing: modes().map(|(_, k)| [dt / implicit(k), 0.0]).collect(),
        }
    }
}

impl Dynamics for KuramotoSivashinsky {
    fn grid(&self) -> Grid {
        Grid::line(self.x)
    }

    fn dt(&self) -> f64 {
        self.dt
    }

    fn order(&self) -> u32 {
        1
    }

    fn response<'t>(&self, f: Var<'t>) -> Var<'t> {
        f.rfft().symbol(&self.forcing).irfft(self.x.n)
    }

    fn step<'t>(&self, z: Var<'t>, response: Var<'t>) -> Var<'t> {
        let next = Var::symbols(&[(&self.linear, z.rfft()), (&self.advection, z.square().rfft())]);
        next.irfft(self.x.n) + response
    }
}

/// The Kuramoto-Sivashinsky equation with exponential time differencing of fourth order. The response to a
/// forcing is its spectrum.
pub struct KuramotoSivashinskyEtdrk4 {
    x: Axis,
    dt: f64,
    scheme: Etdrk4,
    /// `-(i k/2)`, per mode.
    advection: Vec<[f64; 2]>,
}

impl KuramotoSivashinskyEtdrk4 {
    /// Domain of `length` with `n` points, time step `dt`.
    pub fn new(n: usize, length: f64, dt: f64) -> KuramotoSivashinskyEtdrk4 {
        let wave = |m: usize| TAU / length * m as f64;
        // real and imaginary part of a mode are separate rows
        let symbol: Vec<f64> = (0..=n / 2).flat_map(|m| [growth_rate(wave(m)); 2]).collect();
        KuramotoSivashinskyEtdrk4 {
            x: Axis { n, length, boundary: Boundary::Periodic },
            dt,
            scheme: Etdrk4::new(&symbol, &vec![1.0; symbol.len()], dt),
            advection: (0..=n / 2).map(|m| [0.0, if 2 * m == n { 0.0 } else { -wave(m) / 2.0 }]).collect(),
        }
    }
}

impl Dynamics for KuramotoSivashinskyEtdrk4 {
    fn grid(&self) -> Grid {
        Grid::line(self.x)
    }

    fn dt(&self) -> f64 {
        self.dt
    }

    fn order(&self) -> u32 {
        4
    }

    fn response<'t>(&self, f: Var<'t>) -> Var<'t> {
        f.rfft()
    }

    fn step<'t>(&self, z: Var<'t>, response: Var<'t>) -> Var<'t> {
        let z = z.rfft();
        let forced = self.scheme.forced(response.broadcast(z.shape()));
        let advection = |z: Var<'t>| z.irfft(self.x.n).square().rfft().symbol(&self.advection);
        self.scheme.step(z, forced, advection).irfft(self.x.n)
    }
}
