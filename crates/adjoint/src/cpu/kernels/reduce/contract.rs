//! Weighted sum over the columns: `y[r] = sum_i k[r][i] w[i]`, `k: [rows][cols]`, `w: [1][cols]`,
//! `y: [rows][1]`.
//!
//! With k the agents' kernels and w their intensities this is the forcing field.

use super::*;

impl Lower for Contract {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(Columns { rows: io.inputs[0].rows, cols: io.inputs[0].cols, samples: io.samples })
    }
}

struct Columns {
    rows: usize,
    cols: usize,
    samples: usize,
}

impl<T: Real> Kernel<T> for Columns {
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        forward(isa, self, x[0], x[1], y);
    }
    unsafe fn reverse(&self, isa: Isa, seen: Seen<T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        let (k, w) = dx.split_at_mut(1);
        if k[0].wanted() {
            reverse_kernel(isa, self, seen.x[1], dy, k[0].accumulate, &mut k[0].data);
        }
        if w[0].wanted() {
            reverse_weights(isa, self, seen.x[0], dy, w[0].accumulate, &mut w[0].data);
        }
    }
}

dispatched! {
    unsafe fn forward(c: &Columns, k: &[T], w: &[T], y: &mut [T]) {
        // four sums at once, because one addition would have to wait for the one before; indices that are
        // constants keep them in registers
        const SUMS: usize = 4;
        for row in 0..c.rows {
            sweep!(V, c.samples, |s, n| {
                let mut sum = [V::zero(); SUMS];
                let mut col = 0;
                macro_rules! add {
                    ($count:expr) => {
                        for j in 0..$count {
                            let lane = (col + j) * c.samples + s;
                            let k = V::get(k, row * c.cols * c.samples + lane, n);
                            sum[j] = k.fma(V::get(w, lane, n), sum[j]);
                        }
                    };
                }
                while col + SUMS <= c.cols {
                    add!(SUMS);
                    col += SUMS;
                }
                match c.cols - col {
                    3 => add!(3),
                    2 => add!(2),
                    1 => add!(1),
                    _ => {}
                }
                sum[0].add(sum[1]).add(sum[2].add(sum[3])).put(y, row * c.samples + s, n);
            });
        }
    }
}

dispatched! {
    unsafe fn reverse_kernel(c: &Columns, w: &[T], dy: &[T], accumulate: bool, to: &mut [T]) {
        for row in 0..c.rows {
            sweep!(V, c.samples, |s, n| {
                let d = V::get(dy, row * c.samples + s, n);
                for col in 0..c.cols {
                    let lane = col * c.samples + s;
                    d.mul(V::get(w, lane, n)).put_or_add(accumulate, to, row * c.cols * c.samples + lane, n);
                }
            });
        }
    }
}

/// Adjoints of the weights of `C` neighbouring columns: neighbours in memory too, and independent sums.
#[inline(always)]
unsafe fn weights_strip<V: Vector, const C: usize>(
    c: &Columns,
    (col, s, n): (usize, usize, usize),
    k: &[V::Real],
    dy: &[V::Real],
    accumulate: bool,
    to: &mut [V::Real],
) {
    let mut sum = [V::zero(); C];
    for row in 0..c.rows {
        let d = V::get(dy, row * c.samples + s, n);
        for j in 0..C {
            sum[j] = V::get(k, (row * c.cols + col + j) * c.samples + s, n).fma(d, sum[j]);
        }
    }
    for j in 0..C {
        sum[j].put_or_add(accumulate, to, (col + j) * c.samples + s, n);
    }
}

dispatched! {
    unsafe fn reverse_weights(c: &Columns, k: &[T], dy: &[T], accumulate: bool, to: &mut [T]) {
        sweep!(V, c.samples, |s, n| {
            let mut col = 0;
            while col + 8 <= c.cols {
                weights_strip::<V, 8>(c, (col, s, n), k, dy, accumulate, to);
                col += 8;
            }
            while col + 4 <= c.cols {
                weights_strip::<V, 4>(c, (col, s, n), k, dy, accumulate, to);
                col += 4;
            }
            while col < c.cols {
                weights_strip::<V, 1>(c, (col, s, n), k, dy, accumulate, to);
                col += 1;
            }
        });
    }
}
