//! Exponential time differencing of fourth order (Cox and Matthews, J. Comput. Phys. 176, 2002, eqs. 26
//! to 29) for
//!
//! ```text
//! z^_t = l z^ + w N(z^) + f^
//! ```
//!
//! with a diagonal real `l`, a weight `w` per mode and a constant forcing. The linear part is integrated
//! exactly. With `h = dt`:
//!
//! ```text
//! a  = e^{lh/2} z + Q N_z           N_x = w N(x) + f
//! b  = e^{lh/2} z + Q N_a
//! c  = e^{lh/2} a + Q (2 N_b - N_z)
//! z' = e^{lh} z + F1 N_z + 2 F2 (N_a + N_b) + F3 N_c
//! ```
//!
//! The coefficients have removable singularities at `l h = 0`, where differences of nearly equal numbers
//! would lose all digits. Each coefficient is therefore computed as the mean of the function over a circle of
//! radius 1 around `l h` (Kassam and Trefethen, SIAM J. Sci. Comput. 26, 2005).
//!
//! A spectrum here is any value whose rows are modes, with real and imaginary parts in separate rows.

use cinoc_adjoint::Var;
use std::f64::consts::PI;

/// Coefficients of the scheme, one number per row.
pub struct Etdrk4 {
    full: Vec<f64>,
    half: Vec<f64>,
    /// `Q w`, twice that, and minus that.
    stage: [Vec<f64>; 3],
    /// `F1 w`, `2 F2 w`, `F3 w`.
    last: [Vec<f64>; 3],
    /// Factors of the forcing in a stage, `Q`, and in a step, `F1 + 4 F2 + F3`.
    forcing: [Vec<f64>; 2],
}

/// The contributions of a forcing to the stages of a step and to its result.
#[derive(Clone, Copy)]
pub struct Forced<'t> {
    stage: Var<'t>,
    end: Var<'t>,
}

impl Etdrk4 {
    /// Linear symbol `l` and weight `w` of the nonlinear term, a number per row; time step `dt`.
    ///
    /// # Panics
    /// If the two tables differ in length.
    pub fn new(symbol: &[f64], weight: &[f64], dt: f64) -> Etdrk4 {
        assert_eq!(symbol.len(), weight.len(), "a symbol and a weight per row");
        let all: Vec<[f64; 4]> = symbol.iter().map(|l| coefficients(l * dt).map(|c| dt * c)).collect();
        let weighted = |i: usize, factor: f64| {
            all.iter().zip(weight).map(|(c, w)| factor * c[i] * w).collect::<Vec<f64>>()
        };
        Etdrk4 {
            full: symbol.iter().map(|l| (l * dt).exp()).collect(),
            half: symbol.iter().map(|l| (l * dt / 2.0).exp()).collect(),
            stage: [1.0, 2.0, -1.0].map(|factor| weighted(0, factor)),
            last: [weighted(1, 1.0), weighted(2, 2.0), weighted(3, 1.0)],
            forcing: [
                all.iter().map(|c| c[0]).collect(),
                all.iter().map(|c| c[1] + 4.0 * c[2] + c[3]).collect(),
            ],
        }
    }

    /// Prepares a forcing spectrum for any number of steps.
    pub fn forced<'t>(&self, f: Var<'t>) -> Forced<'t> {
        Forced {
            stage: Var::combination(&[(&self.forcing[0], f)]),
            end: Var::combination(&[(&self.forcing[1], f)]),
        }
    }

    /// The spectrum after one step; `nonlinear` is `N`.
    pub fn step<'t>(&self, z: Var<'t>, f: Forced<'t>, nonlinear: impl Fn(Var<'t>) -> Var<'t>) -> Var<'t> {
        let [q, twice_q, minus_q] = &self.stage;
        let [f1, f2, f3] = &self.last;
        let n_z = nonlinear(z);
        let a = Var::combination(&[(&self.half, z), (q, n_z), (&[1.0], f.stage)]);
        let n_a = nonlinear(a);
        let b = Var::combination(&[(&self.half, z), (q, n_a), (&[1.0], f.stage)]);
        let n_b = nonlinear(b);
        let c = Var::combination(&[(&self.half, a), (twice_q, n_b), (minus_q, n_z), (&[1.0], f.stage)]);
        let n_c = nonlinear(c);
        Var::combination(&[(&self.full, z), (f1, n_z), (f2, n_a), (f2, n_b), (f3, n_c), (&[1.0], f.end)])
    }

    /// The effect of `steps` steps on a mode without a nonlinear term: the factors of its value and of its
    /// forcing, per row.
    pub fn linear(&self, steps: usize) -> [Vec<f64>; 2] {
        let rows = self.full.iter().zip(&self.forcing[1]);
        let after =
            |(e, f): (&f64, &f64)| (0..steps).fold([1.0, 0.0], |[z, forced], _| [e * z, e * forced + f]);
        let pairs: Vec<[f64; 2]> = rows.map(after).collect();
        [pairs.iter().map(|p| p[0]).collect(), pairs.iter().map(|p| p[1]).collect()]
    }
}

/// `Q, F1, F2, F3` divided by `dt`, at `x = l dt`.
fn coefficients(x: f64) -> [f64; 4] {
    // values at conjugate points are conjugate: half the circle is enough
    const POINTS: usize = 32;
    let mut mean = [0.0; 4];
    for j in 0..POINTS {
        let angle = PI * (j as f64 + 0.5) / POINTS as f64;
        let c = Complex(x + angle.cos(), angle.sin());
        let (e, square) = (c.exp(), c.times(c));
        let polynomial = |a: f64, b: f64, d: f64| Complex(a + b * c.0 + d * square.0, b * c.1 + d * square.1);
        let cube = square.times(c);
        let values = [
            c.scaled(0.5).exp().plus(Complex(-1.0, 0.0)).over(c),
            polynomial(-4.0, -1.0, 0.0).plus(e.times(polynomial(4.0, -3.0, 1.0))).over(cube),
            polynomial(2.0, 1.0, 0.0).plus(e.times(polynomial(-2.0, 1.0, 0.0))).over(cube),
            polynomial(-4.0, -3.0, -1.0).plus(e.times(polynomial(4.0, -1.0, 0.0))).over(cube),
        ];
        mean.iter_mut().zip(values).for_each(|(mean, value)| *mean += value.0 / POINTS as f64);
    }
    mean
}

#[derive(Clone, Copy)]
struct Complex(f64, f64);

impl Complex {
    fn exp(self) -> Complex {
        let (sin, cos) = self.1.sin_cos();
        Complex(self.0.exp() * cos, self.0.exp() * sin)
    }
    fn plus(self, b: Complex) -> Complex {
        Complex(self.0 + b.0, self.1 + b.1)
    }
    fn scaled(self, s: f64) -> Complex {
        Complex(s * self.0, s * self.1)
    }
    fn times(self, b: Complex) -> Complex {
        Complex(self.0 * b.0 - self.1 * b.1, self.0 * b.1 + self.1 * b.0)
    }
    fn over(self, b: Complex) -> Complex {
        self.times(Complex(b.0, -b.1)).scaled(1.0 / (b.0 * b.0 + b.1 * b.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Q, F1, F2, F3` by their Taylor series around 0.
    fn series(x: f64) -> [f64; 4] {
        let mut sums = [0.0; 4];
        let mut power = 1.0; // x^n / n!
        for n in 0..40 {
            let n = n as f64;
            let third = power / ((n + 1.0) * (n + 2.0) * (n + 3.0));
            sums[0] += 0.5 * (power / 2f64.powf(n)) / (n + 1.0);
            // e^x p(x) / x^3 with p as in the scheme: coefficients of x^{n+3} / (n+3)!
            let m = n + 3.0;
            sums[1] += third * (4.0 - 3.0 * m + m * (m - 1.0));
            sums[2] += third * (m - 2.0);
            sums[3] += third * (4.0 - m);
            power *= x / (n + 1.0);
        }
        sums
    }

    #[test]
    fn coefficients_agree_with_their_series_near_zero_and_with_their_formulas_far_away() {
        for x in [0.0, 1e-9, 1e-4, 0.3, -0.5, -2.0, 1.5] {
            for (got, expected) in coefficients(x).iter().zip(series(x)) {
                assert!((got - expected).abs() < 1e-14, "at {x}: {got} instead of {expected}");
            }
        }
        for x in [-10.0, -31.0, -700.0] {
            let e = f64::exp(x);
            let exact = [
                (f64::exp(x / 2.0) - 1.0) / x,
                (-4.0 - x + e * (4.0 - 3.0 * x + x * x)) / x.powi(3),
                (2.0 + x + e * (x - 2.0)) / x.powi(3),
                (-4.0 - 3.0 * x - x * x + e * (4.0 - x)) / x.powi(3),
            ];
            for (got, expected) in coefficients(x).iter().zip(exact) {
                assert!(
                    (got - expected).abs() < 1e-13 * expected.abs(),
                    "at {x}: {got} instead of {expected}"
                );
            }
        }
    }
}
