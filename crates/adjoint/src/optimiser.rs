//! Adam with clipping of the global norm of the gradient.
//!
//! ```text
//! g <- g min(1, max / |g|)
//! m <- b1 m + (1 - b1) g            v <- b2 v + (1 - b2) g^2
//! p <- p - lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)        t = 1, 2, ...
//! ```
//!
//! It is part of the engine because a backend may update parameters where it computes their gradient: see
//! [`Descent`](crate::backend::Descent). The formula is written twice, here and for that backend; the numbers
//! in it, [`Factors`], once.

const B1: f64 = 0.9;
const B2: f64 = 0.999;
const EPS: f64 = 1e-8;
/// Gradients and means below these limits are negligible compared with `EPS` and are set to 0. Otherwise
/// their squares, or the means after some updates without a gradient, would become denormal numbers, with
/// which processors are a hundred times slower.
const TINY_GRADIENT: f32 = 1e-16;
const TINY_MEAN: f32 = 1e-30;

/// The numbers in the formula of one update.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Factors {
    /// The learning rate.
    pub rate: f32,
    /// How much of the mean of the gradient is kept, and how much of the gradient is added.
    pub mean: [f32; 2],
    /// The same for the mean of its square.
    pub square: [f32; 2],
    /// What both means are divided by: they began at 0.
    pub corrections: [f32; 2],
    /// Added to the root of the mean square.
    pub eps: f32,
    /// Smaller gradients count as 0.
    pub tiny_gradient: f32,
    /// Smaller means too.
    pub tiny_mean: f32,
}

impl Factors {
    /// Those of update number `step`, from 1.
    pub fn new(step: u64, rate: f64) -> Factors {
        // Differences from 1 cancel: compute them in f64, then round once.
        let t = step as f64;
        Factors {
            rate: rate as f32,
            mean: [B1 as f32, (1.0 - B1) as f32],
            square: [B2 as f32, (1.0 - B2) as f32],
            corrections: [B1, B2].map(|b| (1.0 - b.powf(t)) as f32),
            eps: EPS as f32,
            tiny_gradient: TINY_GRADIENT,
            tiny_mean: TINY_MEAN,
        }
    }
}

/// Scales the gradient so that its Euclidean norm is at most `max`, and returns the norm it had.
///
/// The norm is summed in f64 in a fixed order, so it depends only on the values. A gradient whose norm is
/// infinite or NaN is not changed: the caller must check the returned norm before using the gradient.
pub fn clip_global_norm(grad: &mut [f32], max: f32) -> f32 {
    // eight independent sums, because each addition would otherwise wait for the previous one
    let mut sums = [0.0; 8];
    for part in grad.chunks(sums.len()) {
        sums.iter_mut().zip(part).for_each(|(sum, &g)| *sum += f64::from(g) * f64::from(g));
    }
    let norm = sums.iter().sum::<f64>().sqrt() as f32;
    if norm > max && norm.is_finite() {
        let scale = max / norm;
        grad.iter_mut().for_each(|g| *g *= scale);
    }
    norm
}

/// State of the Adam optimiser; all of it belongs in a checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Adam {
    /// Running mean of the gradient.
    pub m: Vec<f32>,
    /// Running mean of the squared gradient.
    pub v: Vec<f32>,
    /// Updates done.
    pub step: u64,
}

impl Adam {
    /// The state before the first update of `len` parameters.
    pub fn new(len: usize) -> Adam {
        Adam { m: vec![0.0; len], v: vec![0.0; len], step: 0 }
    }

    /// One update of `params` against `grad` with learning rate `lr`.
    ///
    /// # Panics
    /// If the slices differ in length from the state.
    pub fn update(&mut self, params: &mut [f32], grad: &[f32], lr: f64) {
        assert_eq!(params.len(), self.m.len(), "parameters and optimiser state differ in length");
        assert_eq!(grad.len(), self.m.len(), "gradient and optimiser state differ in length");
        self.step += 1;
        let Factors { rate, mean, square, corrections, eps, tiny_gradient, tiny_mean } =
            Factors::new(self.step, lr);
        for (((p, m), v), &g) in params.iter_mut().zip(&mut self.m).zip(&mut self.v).zip(grad) {
            let g = if g.abs() < tiny_gradient { 0.0 } else { g };
            *m = mean[0] * *m + mean[1] * g;
            *v = square[0] * *v + square[1] * g * g;
            *m = if m.abs() < tiny_mean { 0.0 } else { *m };
            *v = if *v < tiny_mean { 0.0 } else { *v };
            *p -= rate * (*m / corrections[0]) / ((*v / corrections[1]).sqrt() + eps);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clipping_keeps_short_gradients_and_scales_long_ones() {
        let mut short = [0.3, -0.4];
        assert_eq!(clip_global_norm(&mut short, 1.0), 0.5);
        assert_eq!(short, [0.3, -0.4]);

        let mut long = [3.0, -4.0, 0.0];
        assert_eq!(clip_global_norm(&mut long, 1.0), 5.0);
        assert_eq!(long, [0.6, -0.8, 0.0]);
    }

    #[test]
    fn clipping_survives_squares_beyond_f32() {
        let mut huge = [3e30_f32, 4e30];
        assert_eq!(clip_global_norm(&mut huge, 1.0), 5e30);
        assert!((huge[0] - 0.6).abs() < 1e-6 && (huge[1] - 0.8).abs() < 1e-6);
    }

    #[test]
    fn means_of_parameters_that_get_no_gradient_fade_to_zero_and_never_become_denormal() {
        let (mut adam, mut params) = (Adam::new(3), [1.0; 3]);
        adam.update(&mut params, &[1.0, 1e-18, 1e-12], 0.1);
        let (alone, moved) = (params[1], params[2]);
        assert!(alone == 1.0 && moved < 1.0, "{params:?}");
        for _ in 0..2000 {
            adam.update(&mut params, &[0.0; 3], 0.1);
            let normal = |x: &f32| *x == 0.0 || x.is_normal();
            assert!(adam.m.iter().chain(&adam.v).all(normal), "{adam:?}");
        }
        assert_eq!(adam.m, [0.0; 3]);
    }

    #[test]
    fn a_gradient_that_is_not_finite_is_reported_and_left_alone() {
        let mut broken = [1.0, f32::INFINITY, 2.0];
        assert!(!clip_global_norm(&mut broken, 1.0).is_finite());
        assert_eq!(broken, [1.0, f32::INFINITY, 2.0]);
        assert!(clip_global_norm(&mut [f32::NAN, 1.0], 1.0).is_nan());
    }

    #[test]
    fn three_updates_follow_the_formula() {
        // Computed in f64 from the formula above: p = 1, lr = 0.1, gradients 0.5, -0.25, 1.
        let expected = [0.900000002, 0.8733662987, 0.8075551397];
        let (mut adam, mut p) = (Adam::new(1), [1.0_f32]);
        for (gradient, wanted) in [0.5, -0.25, 1.0].into_iter().zip(expected) {
            adam.update(&mut p, &[gradient], 0.1);
            assert!((f64::from(p[0]) - wanted).abs() < 2e-7, "{} instead of {wanted}", p[0]);
        }
        assert_eq!(adam.step, 3);
        assert!((adam.m[0] - 0.118).abs() < 1e-7 && (adam.v[0] - 0.001311938).abs() < 1e-9);
    }

    #[test]
    fn the_first_update_moves_by_the_learning_rate_whatever_the_scale() {
        for scale in [1e-3_f32, 1.0, 1e3] {
            let mut p = [0.0_f32, 0.0];
            Adam::new(2).update(&mut p, &[scale, -scale], 0.01);
            assert!((p[0] + 0.01).abs() < 1e-6 && (p[1] - 0.01).abs() < 1e-6, "{p:?}");
        }
    }

    #[test]
    fn a_badly_scaled_quadratic_is_minimised() {
        // f = (x - 3)^2 + 100 (y + 1)^2
        let (mut adam, mut p) = (Adam::new(2), [0.0_f32, 0.0]);
        for _ in 0..3000 {
            let grad = [2.0 * (p[0] - 3.0), 200.0 * (p[1] + 1.0)];
            adam.update(&mut p, &grad, 0.01);
        }
        assert!((p[0] - 3.0).abs() < 1e-3 && (p[1] + 1.0).abs() < 1e-3, "{p:?}");
    }

    #[test]
    #[should_panic(expected = "differ in length")]
    fn lengths_must_agree() {
        Adam::new(2).update(&mut [0.0, 0.0], &[1.0], 0.1);
    }
}
