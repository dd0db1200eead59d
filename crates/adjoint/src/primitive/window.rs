//! What agents see: for each agent the `width` lattice points of some fields around its cell.
//!
//! The cell is `c = floor(xi * density)`, clamped to the lattice or wrapped; the window holds the points `c - width/2 ..
//! c + width/2 - 1`, the end points repeated beyond the ends or wrapped. [`Sampling::Cell`] reads these points as they are: no gradient flows
//! to the position. [`Sampling::Linear`] moves the window with the exact position by mixing the windows at c and c + 1, and is
//! differentiable in it.

use super::*;

/// How a window follows a position inside its cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// The window of the cell; piecewise constant in the position.
    Cell,
    /// Linear interpolation between this cell's window and the next one's.
    Linear,
}

/// The points a window is read from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lattice {
    /// Points seen.
    pub width: usize,
    /// Points of the lattice.
    pub n: usize,
    /// Lattice cells per unit length.
    pub density: f64,
    /// Whether the lattice wraps around.
    pub periodic: bool,
    /// How the window follows the position.
    pub sampling: Sampling,
}

pub(crate) struct Window {
    pub lattice: Lattice,
}

impl Primitive for Window {
    fn output(&self, inputs: &[Shape]) -> Shape {
        let (positions, fields) = (inputs[0], &inputs[1..]);
        assert!(positions.rows == 1 && !positions.shared, "positions are one row per sample");
        for field in fields {
            assert_eq!(*field, Shape::per_sample(self.lattice.n, 1), "a field on the lattice");
        }
        Shape::per_sample(fields.len() * self.lattice.width, positions.cols)
    }
    fn reverse_reads(&self, inputs: usize) -> Reads {
        let fields = match self.lattice.sampling {
            Sampling::Cell => 0,
            Sampling::Linear => (1u8 << inputs) - 2,
        };
        Reads { inputs: 1 | fields, output: false }
    }
    both_precisions!(|self, io| View { lattice: self.lattice, samples: io.samples, lanes: io.lanes(0) });
}

struct View {
    lattice: Lattice,
    samples: usize,
    lanes: usize,
}

impl View {
    fn cell(&self, xi: f64) -> isize {
        let c = (xi * self.lattice.density).floor() as isize;
        let n = self.lattice.n as isize;
        if self.lattice.periodic { c.rem_euclid(n) } else { c.clamp(0, n - 1) }
    }
    /// Lattice point `k` of the window around `cell`.
    #[inline(always)]
    fn point(&self, cell: isize, k: usize) -> usize {
        let j = cell + k as isize - (self.lattice.width / 2) as isize;
        let n = self.lattice.n as isize;
        // j is less than two periods off: a window is never wider than the lattice
        (if !self.lattice.periodic {
            j.clamp(0, n - 1)
        } else if j < 0 {
            j + n
        } else if j >= n {
            j - n
        } else {
            j
        }) as usize
    }
    fn next_cell(&self, cell: isize) -> isize {
        if self.lattice.periodic { cell + 1 } else { (cell + 1).min(self.lattice.n as isize - 1) }
    }
    /// Where a position stands in its cell, in cells: the weight of the next window.
    fn fraction(&self, xi: f64, cell: isize) -> f64 {
        xi * self.lattice.density - cell as f64
    }
}

impl<T: Real> Kernel<T> for View {
    fn forward(&self, _: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut [T]) {
        let width = self.lattice.width;
        let fields = y.len() / (width * self.lanes);
        for lane in 0..self.lanes {
            let (sample, xi) = (lane % self.samples, x[0][lane].f64());
            let cell = self.cell(xi);
            let next_cell = self.next_cell(cell);
            let a = T::of(self.fraction(xi, cell));
            for k in 0..width {
                let at = self.point(cell, k) * self.samples + sample;
                let next = self.point(next_cell, k) * self.samples + sample;
                for f in 0..fields {
                    let field = x[1 + f];
                    y[(f * width + k) * self.lanes + lane] = match self.lattice.sampling {
                        Sampling::Cell => field[at],
                        Sampling::Linear => (T::of(1.0) - a) * field[at] + a * field[next],
                    };
                }
            }
        }
    }

    fn reverse(&self, _: Isa, seen: Seen<'_, T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut [T]) {
        let width = self.lattice.width;
        let (dxi, dfields) = dx.split_at_mut(1);
        for to in dxi.iter_mut().chain(dfields.iter_mut()).filter(|to| to.wanted()) {
            to.prepare();
        }
        for lane in 0..self.lanes {
            let (sample, xi) = (lane % self.samples, seen.x[0][lane].f64());
            let cell = self.cell(xi);
            let next_cell = self.next_cell(cell);
            let a = T::of(self.fraction(xi, cell));
            let mut slope = T::default();
            for k in 0..width {
                let at = self.point(cell, k) * self.samples + sample;
                let next = self.point(next_cell, k) * self.samples + sample;
                for (f, to) in dfields.iter_mut().enumerate() {
                    let d = dy[(f * width + k) * self.lanes + lane];
                    match self.lattice.sampling {
                        Sampling::Cell if to.wanted() => to.data[at] += d,
                        Sampling::Cell => {}
                        Sampling::Linear => {
                            let field = seen.x[1 + f];
                            slope += d * (field[next] - field[at]);
                            if to.wanted() {
                                to.data[at] += (T::of(1.0) - a) * d;
                                to.data[next] += a * d;
                            }
                        }
                    }
                }
            }
            if dxi[0].wanted() && self.lattice.sampling == Sampling::Linear {
                dxi[0].data[lane] += T::of(self.lattice.density) * slope;
            }
        }
    }
}
