//! The classical Runge-Kutta scheme of fourth order for `z_t = F(z)`:
//!
//! ```text
//! k1 = F(z)   k2 = F(z + h/2 k1)   k3 = F(z + h/2 k2)   k4 = F(z + h k3)
//! z' = z + h/6 (k1 + 2 k2 + 2 k3 + k4)
//! ```

use cinoc_adjoint::Var;

/// The value after one step of length `dt`; `rate` is `F`.
pub fn rk4<'t>(z: Var<'t>, dt: f64, rate: impl Fn(Var<'t>) -> Var<'t>) -> Var<'t> {
    let k1 = rate(z);
    let k2 = rate(Var::combination(&[(&[1.0], z), (&[dt / 2.0], k1)]));
    let k3 = rate(Var::combination(&[(&[1.0], z), (&[dt / 2.0], k2)]));
    let k4 = rate(Var::combination(&[(&[1.0], z), (&[dt], k3)]));
    let (sixth, third) = ([dt / 6.0], [dt / 3.0]);
    Var::combination(&[(&[1.0], z), (&sixth, k1), (&third, k2), (&third, k3), (&sixth, k4)])
}

/// The effect of `steps` steps on `z_t = l z + f`: the factors of `z` and of `f`.
pub fn rk4_linear(l: f64, dt: f64, steps: usize) -> [f64; 2] {
    let x = l * dt;
    let growth = 1.0 + x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0)));
    let forced = dt * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0)));
    (0..steps).fold([1.0, 0.0], |[z, f], _| [growth * z, growth * f + forced])
}
