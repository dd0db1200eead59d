//! Spectra on periodic rectangles against the definition of the discrete Fourier transform.

use crate::common::{apply, distance};
use crate::periodic::on_grid;
use cinoc_pde::Fourier;
use cinoc_pde::random_field::normals;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::f64::consts::TAU;

const SIZES: [[usize; 2]; 6] = [[1, 1], [4, 4], [5, 8], [9, 6], [12, 7], [16, 30]];

fn noise(count: usize) -> Vec<f64> {
    normals(&mut ChaCha8Rng::seed_from_u64(count as u64), count)
}

fn fourier(n: [usize; 2]) -> Fourier {
    Fourier::new(n, [1.0, 3.0], n.map(|n| (n - 1) / 2))
}

/// `|Z_k|^2 / points`, summed over the four modes `(±k_x, ±k_y)`, by the definition.
fn power(z: &[f64], n: [usize; 2], k: [usize; 2]) -> f64 {
    let mut seen = Vec::new();
    let mut sum = 0.0;
    for signs in [[k[0], k[1]], [n[0] - k[0], k[1]], [k[0], n[1] - k[1]], [n[0] - k[0], n[1] - k[1]]] {
        let k = [signs[0] % n[0], signs[1] % n[1]];
        if !seen.contains(&k) {
            seen.push(k);
            let (mut re, mut im) = (0.0, 0.0);
            for (i, z) in z.iter().enumerate() {
                let angle =
                    TAU * ((i / n[1] * k[0]) as f64 / n[0] as f64 + (i % n[1] * k[1]) as f64 / n[1] as f64);
                re += z * angle.cos();
                im -= z * angle.sin();
            }
            sum += re * re + im * im;
        }
    }
    sum / z.len() as f64
}

#[test]
fn a_spectrum_has_the_power_of_the_discrete_fourier_transform_and_its_field_comes_back() {
    for n in SIZES {
        let (fourier, z) = (fourier(n), noise(n[0] * n[1]));
        let spectrum = apply(&z, |z| fourier.forward(z));
        assert!(distance(&apply(&spectrum, |s| fourier.inverse(s)), &z) < 1e-13, "{n:?}");
        assert!(distance(&fourier.field(&spectrum), &z) < 1e-13, "{n:?}");
        for kx in 0..=n[0] / 2 {
            for ky in 0..=n[1] / 2 {
                let own = [TAU * kx as f64, TAU * ky as f64 / 3.0];
                let rows = fourier.wave_numbers().into_iter().zip(&spectrum);
                let alike = |k: [f64; 2]| (k[0] - own[0]).abs() + (k[1] - own[1]).abs() < 1e-9;
                let sum: f64 = rows.filter(|(k, _)| alike(*k)).map(|(_, c)| c * c).sum();
                let exact = power(&z, n, [kx, ky]);
                assert!((sum - exact).abs() < 1e-12 * (1.0 + exact), "{n:?} mode {kx} {ky}: {sum} {exact}");
            }
        }
    }
}

/// Products of derivatives of a few waves, whose spectra are known.
#[test]
fn derivatives_and_products_of_waves_are_exact() {
    let (n, k) = ([20, 15], [TAU, TAU / 3.0]);
    let fourier = Fourier::new(n, [1.0, 3.0], [5, 5]);
    let field = |f: &dyn Fn(f64, f64) -> f64| on_grid(n, f);
    let z = field(&|x, y| (TAU * 2.0 * x + 0.3).sin() * (TAU * y).cos() + 0.5 * (TAU * (x + 3.0 * y)).cos());
    let slope_x = |x: f64, y: f64| {
        k[0] * (2.0 * (TAU * 2.0 * x + 0.3).cos() * (TAU * y).cos() - 0.5 * (TAU * (x + 3.0 * y)).sin())
    };
    let slope_y = |x: f64, y: f64| {
        -k[1] * ((TAU * 2.0 * x + 0.3).sin() * (TAU * y).sin() + 1.5 * (TAU * (x + 3.0 * y)).sin())
    };
    // of products with wave numbers up to 4 and 6, modes up to 5 are kept: compare with the spectrum of the
    // product
    for (form, order) in [([1.0, 0.0, 0.0], [0, 0]), ([0.3, 1.0, -2.0], [0, 0]), ([0.0, 1.0, 0.5], [1, 1])] {
        let product = field(&|x, y| {
            let (p, q) = (slope_x(x, y), slope_y(x, y));
            form[0] * p * p + form[1] * p * q + form[2] * q * q
        });
        let resolved = fourier.resolved();
        let mut expected = apply(&product, |f| fourier.forward(f));
        expected.truncate(resolved);
        let got = apply(&z, |z| {
            let s = fourier.forward(z).slice(0..resolved);
            let (p, q) = (fourier.evaluate(s, [1, 0]), fourier.evaluate(s, [0, 1]));
            fourier.project(p.quadratic(q, form), order) * fourier.projection_factor(order)
        });
        if order == [0, 0] {
            assert!(distance(&got, &expected) < 1e-11, "{form:?}");
        } else {
            // applying d_x d_y a second time multiplies the resolved modes by k_x^2 k_y^2
            let twice = apply(&got, |s| {
                let again = fourier.evaluate(s, [1, 1]);
                fourier.project(again, [0, 0]) * fourier.projection_factor([0, 0])
            });
            let waves = fourier.wave_numbers();
            let exact: Vec<f64> =
                expected.iter().zip(&waves).map(|(c, k)| c * k[0] * k[0] * k[1] * k[1]).collect();
            assert!(distance(&twice, &exact) < 1e-8, "{form:?}: {:e}", distance(&twice, &exact));
        }
    }
}
