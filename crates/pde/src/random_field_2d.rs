//! Smooth random fields on a rectangle that are 0 on its boundary.
//!
//! A field is Gaussian with covariance `std^2 exp(-|p - q|^2 / (2 l^2))`, which is a product over the axes:
//! with the roots `Rx`, `Ry` of the one-dimensional covariances ([`RandomField`]) and a matrix `W` of
//! independent standard normals, `G = Rx W Ry^T`.
//!
//! Its boundary values are removed by transfinite (Coons) interpolation. With `P` the straight line through
//! the end values along an axis, the result is `G - Px G - Py G + Px Py G = (I - Px)(I - Py) G`: bridging
//! along one axis, then along the other.

use crate::grid::{Axis, Grid};
use crate::random_field::RandomField;

/// A family of Gaussian random fields on a rectangle.
pub struct RandomField2d {
    x: RandomField,
    y: RandomField,
    shape: (usize, usize),
}

impl RandomField2d {
    /// Standard deviation `std` at every point before the boundary values are removed, correlation length
    /// `length_scale`.
    ///
    /// # Panics
    /// If a number is not finite.
    pub fn new(x: &Axis, y: &Axis, length_scale: f64, std: f64) -> RandomField2d {
        RandomField2d {
            x: RandomField::new(&x.points(), length_scale, std),
            y: RandomField::new(&y.points(), length_scale, 1.0),
            shape: Grid::rectangle(*x, *y).shape(),
        }
    }

    /// The field `[nx][ny]` made from `normals`, one number per point.
    pub fn from_normals(&self, normals: &[f64]) -> Vec<f64> {
        self.along_both(normals, RandomField::from_normals)
    }

    /// The field made from `normals`, minus the Coons interpolation of its boundary: exactly 0 there.
    pub fn bridged(&self, normals: &[f64]) -> Vec<f64> {
        self.along_both(normals, RandomField::bridged)
    }

    fn along_both(&self, normals: &[f64], field: fn(&RandomField, &[f64]) -> Vec<f64>) -> Vec<f64> {
        let (nx, ny) = self.shape;
        assert_eq!(normals.len(), nx * ny, "one number per point");
        let columns: Vec<Vec<f64>> = (0..ny)
            .map(|j| field(&self.x, &normals.iter().skip(j).step_by(ny).copied().collect::<Vec<_>>()))
            .collect();
        let row = |i: usize| field(&self.y, &columns.iter().map(|column| column[i]).collect::<Vec<_>>());
        (0..nx).flat_map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Boundary;
    use crate::random_field::normals;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    const X: Axis = Axis { n: 9, length: 1.0, boundary: Boundary::Dirichlet };
    const Y: Axis = Axis { n: 7, length: 0.75, boundary: Boundary::Dirichlet };

    fn draws(count: usize, seed: u64, field: impl Fn(&RandomField2d, &[f64]) -> Vec<f64>) -> Vec<Vec<f64>> {
        let (family, rng) = (RandomField2d::new(&X, &Y, 0.3, 1.5), &mut ChaCha8Rng::seed_from_u64(seed));
        (0..count).map(|_| field(&family, &normals(rng, X.n * Y.n))).collect()
    }

    #[test]
    fn variance_and_correlation_length() {
        let fields = draws(20_000, 1, RandomField2d::from_normals);
        for ((i, j), (k, l)) in [((0, 0), (0, 0)), ((4, 3), (6, 3)), ((4, 3), (4, 5)), ((1, 1), (4, 3))] {
            let sample =
                fields.iter().map(|g| g[i * Y.n + j] * g[k * Y.n + l]).sum::<f64>() / fields.len() as f64;
            let (dx, dy) = ((i as f64 - k as f64) * X.spacing(), (j as f64 - l as f64) * Y.spacing());
            let expected = 2.25 * (-(dx * dx + dy * dy) / (2.0 * 0.09)).exp();
            // variance of a product of two Gaussians: c_ii c_jj + c_ij^2
            let deviation = ((2.25f64.powi(2) + expected * expected) / fields.len() as f64).sqrt();
            assert!((sample - expected).abs() < 4.0 * deviation, "{sample} instead of {expected}");
        }
    }

    #[test]
    fn bridging_subtracts_the_coons_interpolation_of_the_edges() {
        let (plain, bridged) =
            (draws(5, 2, RandomField2d::from_normals), draws(5, 2, RandomField2d::bridged));
        for (g, b) in plain.iter().zip(&bridged) {
            let at = |i: usize, j: usize| g[i * Y.n + j];
            for i in 0..X.n {
                for j in 0..Y.n {
                    let (s, t) = (i as f64 / (X.n - 1) as f64, j as f64 / (Y.n - 1) as f64);
                    let (right, top) = (X.n - 1, Y.n - 1);
                    let edges =
                        (1.0 - s) * at(0, j) + s * at(right, j) + (1.0 - t) * at(i, 0) + t * at(i, top);
                    let corners = (1.0 - s) * ((1.0 - t) * at(0, 0) + t * at(0, top))
                        + s * ((1.0 - t) * at(right, 0) + t * at(right, top));
                    let got = b[i * Y.n + j];
                    if i % right == 0 || j % top == 0 {
                        assert_eq!(got, 0.0);
                    }
                    assert!((got - (at(i, j) - edges + corners)).abs() < 1e-12);
                }
            }
        }
    }
}
