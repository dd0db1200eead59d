//! Pairs of Gaussian blobs `A exp(-|p - c|^2 / (2 w^2))`: initial state and target of a density.
//!
//! Amplitude and width are the same for both. Centres are drawn until they are far enough apart.

use crate::grid::Axis;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Ranges of uniformly distributed parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlobPairs {
    /// Amplitude `A`.
    pub amplitude: [f64; 2],
    /// Width `w`.
    pub width: [f64; 2],
    /// Centre of the start along x and along y.
    pub start: [[f64; 2]; 2],
    /// Centre of the target.
    pub target: [[f64; 2]; 2],
    /// Smallest distance between the centres.
    pub apart: f64,
}

impl BlobPairs {
    /// One pair on the points of a rectangle: start and target, both `[nx][ny]`.
    ///
    /// # Panics
    /// If a range is empty or no two centres can be that far apart.
    pub fn draw(&self, x: &Axis, y: &Axis, rng: &mut ChaCha8Rng) -> (Vec<f64>, Vec<f64>) {
        let farthest = (0..2).map(|k| {
            (self.target[k][1] - self.start[k][0]).abs().max((self.start[k][1] - self.target[k][0]).abs())
        });
        assert!(farthest.fold(0.0, f64::hypot) > self.apart, "no two centres are {} apart", self.apart);
        let mut uniform = |[low, high]: [f64; 2]| rng.random_range(low..=high);
        let (amplitude, width) = (uniform(self.amplitude), uniform(self.width));
        loop {
            let (a, b) = (self.start.map(&mut uniform), self.target.map(&mut uniform));
            if (a[0] - b[0]).hypot(a[1] - b[1]) >= self.apart {
                return (blob(x, y, a, amplitude, width), blob(x, y, b, amplitude, width));
            }
        }
    }
}

/// A Gaussian around `centre` on the points of a rectangle, `[nx][ny]`.
pub fn blob(x: &Axis, y: &Axis, centre: [f64; 2], amplitude: f64, width: f64) -> Vec<f64> {
    let along = |axis: &Axis, c: f64| {
        axis.points().iter().map(|p| (-((p - c) / width).powi(2) / 2.0).exp()).collect::<Vec<_>>()
    };
    let (bx, by) = (along(x, centre[0]), along(y, centre[1]));
    bx.iter().flat_map(|a| by.iter().map(move |b| amplitude * a * b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Boundary;
    use rand::SeedableRng;

    #[test]
    fn pairs_share_amplitude_and_width_and_keep_their_distance() {
        let x = Axis { n: 81, length: 1.0, boundary: Boundary::ZeroFlux };
        let y = Axis { n: 101, length: 1.25, ..x };
        let pairs = BlobPairs {
            amplitude: [0.7, 1.0],
            width: [0.05, 0.06],
            start: [[0.3, 0.5], [0.3, 0.5]],
            target: [[0.4, 0.7], [0.45, 0.9]],
            apart: 0.25,
        };
        let rng = &mut ChaCha8Rng::seed_from_u64(4);
        let mass = |z: &[f64]| z.iter().sum::<f64>();
        let centroid = |z: &[f64]| {
            let sum = |f: &dyn Fn(usize) -> f64| z.iter().enumerate().map(|(k, z)| z * f(k)).sum::<f64>();
            let (px, py) = (x.points(), y.points());
            [sum(&|k| px[k / y.n]) / mass(z), sum(&|k| py[k % y.n]) / mass(z)]
        };
        let mut nearest = f64::INFINITY;
        for _ in 0..100 {
            let (start, target) = pairs.draw(&x, &y, rng);
            assert!((mass(&start) / mass(&target) - 1.0).abs() < 1e-3);
            assert!(start.iter().chain(&target).all(|&z| (0.0..=1.0).contains(&z)));
            let (a, b) = (centroid(&start), centroid(&target));
            assert!((0.299..0.501).contains(&a[0]) && (0.449..0.901).contains(&b[1]), "{a:?} {b:?}");
            nearest = nearest.min((a[0] - b[0]).hypot(a[1] - b[1]));
        }
        assert!(nearest > 0.249 && nearest < 0.3, "{nearest}");
    }
}
