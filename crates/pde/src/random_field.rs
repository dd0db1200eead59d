//! Smooth random fields: initial states and targets.
//!
//! A field is Gaussian with covariance `std^2 exp(-(x - y)^2 / (2 l^2))` (RBF). It is drawn as
//! `g = K^(1/2) w` from a vector `w` of independent standard normals. The root is the symmetric one,
//! `V sqrt(Lambda) V^T`. Unlike `V sqrt(Lambda)`, it does not depend on the signs that an eigenvalue solver
//! chooses. Two fields of different smoothness from the same `w` therefore have the same similarity on every
//! machine.

use faer::{Mat, Side};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use std::f64::consts::PI;

/// A family of Gaussian random fields on given points.
pub struct RandomField {
    points: Vec<f64>,
    /// The symmetric root of the covariance matrix, row by row.
    root: Vec<f64>,
}

impl RandomField {
    /// Standard deviation `std` at every point, correlation length `length_scale`.
    ///
    /// # Panics
    /// If a number is not finite.
    pub fn new(points: &[f64], length_scale: f64, std: f64) -> RandomField {
        let n = points.len();
        let covariance = Mat::from_fn(n, n, |i, j| {
            std * std * (-0.5 * ((points[i] - points[j]) / length_scale).powi(2)).exp()
        });
        let eigen =
            covariance.self_adjoint_eigen(Side::Lower).expect("eigenvalues of a finite symmetric matrix");
        let (vectors, values) = (eigen.U(), eigen.S().column_vector());
        // rounding leaves tiny negative eigenvalues
        let scaled = Mat::from_fn(n, n, |i, k| vectors[(i, k)] * values[k].max(0.0).sqrt());
        let root = &scaled * vectors.transpose();
        RandomField {
            points: points.to_vec(),
            root: (0..n * n).map(|index| root[(index / n, index % n)]).collect(),
        }
    }

    /// The field made from `normals`, one number per point.
    pub fn from_normals(&self, normals: &[f64]) -> Vec<f64> {
        let product = |row: &[f64]| row.iter().zip(normals).map(|(a, b)| a * b).sum();
        self.root.chunks_exact(normals.len()).map(product).collect()
    }

    /// The field made from `normals`, minus the straight line through its end values: exactly 0 at both ends.
    pub fn bridged(&self, normals: &[f64]) -> Vec<f64> {
        let mut g = self.from_normals(normals);
        let (n, x) = (g.len(), &self.points);
        let (first, last) = (g[0], g[n - 1]);
        for j in 1..n - 1 {
            let s = (x[j] - x[0]) / (x[n - 1] - x[0]);
            g[j] -= first * (1.0 - s) + last * s;
        }
        (g[0], g[n - 1]) = (0.0, 0.0);
        g
    }

    /// A density: `exp(bridged field) sin^2(pi s)` with `s` from 0 to 1 along the domain, divided by its
    /// largest value.
    pub fn density(&self, normals: &[f64]) -> Vec<f64> {
        let mut z = self.bridged(normals);
        let (n, x) = (z.len(), &self.points);
        for j in 0..n {
            let s = (x[j] - x[0]) / (x[n - 1] - x[0]);
            z[j] = z[j].exp() * (PI * s).sin().powi(2);
        }
        (z[0], z[n - 1]) = (0.0, 0.0);
        let largest = z.iter().copied().fold(0.0, f64::max);
        z.iter().map(|value| value / largest).collect()
    }
}

/// `count` independent standard normals.
pub fn normals(rng: &mut ChaCha8Rng, count: usize) -> Vec<f64> {
    (0..count).map(|_| rng.sample(StandardNormal)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    const N: usize = 25;

    fn points() -> Vec<f64> {
        (0..N).map(|j| j as f64 / (N - 1) as f64).collect()
    }

    fn kernel(x: f64, y: f64, length_scale: f64, std: f64) -> f64 {
        std * std * (-0.5 * ((x - y) / length_scale).powi(2)).exp()
    }

    #[test]
    fn root_times_root_is_the_covariance() {
        let (x, field) = (points(), RandomField::new(&points(), 0.2, 2.0));
        for i in 0..N {
            for j in 0..N {
                let dot: f64 = (0..N).map(|k| field.root[i * N + k] * field.root[k * N + j]).sum();
                assert!((dot - kernel(x[i], x[j], 0.2, 2.0)).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn drawn_fields_have_the_covariance_they_should() {
        let (x, draws, rng) = (points(), 20_000, &mut ChaCha8Rng::seed_from_u64(7));
        let field = RandomField::new(&x, 0.3, 1.5);
        let fields: Vec<_> = (0..draws).map(|_| field.from_normals(&normals(rng, N))).collect();
        for (i, j) in [(0, 0), (0, 6), (12, 12), (12, 20), (24, 0)] {
            let sample = fields.iter().map(|g| g[i] * g[j]).sum::<f64>() / draws as f64;
            let (c_ij, c_ii) = (kernel(x[i], x[j], 0.3, 1.5), kernel(x[i], x[i], 0.3, 1.5));
            // variance of a product of two Gaussians: c_ii c_jj + c_ij^2
            let deviation = ((c_ii * c_ii + c_ij * c_ij) / draws as f64).sqrt();
            assert!((sample - c_ij).abs() < 4.0 * deviation, "({i}, {j}): {sample} instead of {c_ij}");
        }
    }

    #[test]
    fn bridged_fields_have_the_variance_of_a_bridge() {
        let (x, draws, rng) = (points(), 20_000, &mut ChaCha8Rng::seed_from_u64(8));
        let field = RandomField::new(&x, 0.3, 1.0);
        let fields: Vec<_> = (0..draws).map(|_| field.bridged(&normals(rng, N))).collect();
        assert!(fields.iter().all(|g| g[0] == 0.0 && g[N - 1] == 0.0));
        let (i, s) = (6, x[6]);
        let k = |a: f64, b: f64| kernel(a, b, 0.3, 1.0);
        let ends = (1.0 - s).powi(2) + s * s + 2.0 * s * (1.0 - s) * k(0.0, 1.0);
        let expected = 1.0 + ends - 2.0 * ((1.0 - s) * k(s, 0.0) + s * k(s, 1.0));
        let sample = fields.iter().map(|g| g[i] * g[i]).sum::<f64>() / draws as f64;
        assert!((sample / expected - 1.0).abs() < 4.0 * (2.0 / draws as f64).sqrt());
    }

    #[test]
    fn densities_lie_between_0_and_1_and_reach_1() {
        let (field, rng) = (RandomField::new(&points(), 0.2, 2.0), &mut ChaCha8Rng::seed_from_u64(9));
        for _ in 0..50 {
            let z = field.density(&normals(rng, N));
            assert_eq!((z[0], z[N - 1]), (0.0, 0.0));
            assert!(z.iter().all(|value| (0.0..=1.0).contains(value)));
            assert!(z.contains(&1.0));
        }
    }

    #[test]
    fn fields_of_two_lengths_from_the_same_normals_are_alike() {
        // far from the ends: correlation sqrt(2 a b / (a^2 + b^2)) = 0.894 for lengths a = 0.2, b = 0.4
        let x: Vec<f64> = (0..201).map(|j| j as f64 / 50.0).collect();
        let (short, long) = (RandomField::new(&x, 0.2, 1.0), RandomField::new(&x, 0.4, 1.0));
        let row = |field: &RandomField| field.root[100 * 201..101 * 201].to_vec();
        let correlation: f64 = row(&short).iter().zip(row(&long)).map(|(a, b)| a * b).sum();
        assert!((correlation - 0.8f64.sqrt()).abs() < 1e-4, "{correlation}");
    }
}
