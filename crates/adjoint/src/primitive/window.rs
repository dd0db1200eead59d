//! What agents see: for each agent the `width` lattice points of some fields around its cell.
//!
//! The cell is `c = floor(xi * density)`, clamped to the lattice or wrapped; the window holds the points `c - width/2 ..
//! c + width/2 - 1`, the end points repeated beyond the ends or wrapped. [`Sampling::Cell`] reads these points as they are: no gradient flows
//! to the position. [`Sampling::Linear`] moves the window with the exact position by mixing the windows at c and c + 1, and is
//! differentiable in it.

use super::*;
use crate::simd::dispatched;

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

/// Where one agent looks.
#[derive(Clone, Copy)]
struct Look {
    cell: isize,
    next_cell: isize,
    /// Position inside the cell, in cells: the weight of the next window.
    fraction: f64,
    sample: usize,
}

impl View {
    #[inline(always)]
    fn look(&self, lane: usize, xi: f64) -> Look {
        let Lattice { n, density, periodic, .. } = self.lattice;
        let n = n as isize;
        let c = (xi * density).floor() as isize;
        let cell = if periodic { c.rem_euclid(n) } else { c.clamp(0, n - 1) };
        let next_cell = if periodic { cell + 1 } else { (cell + 1).min(n - 1) };
        Look { cell, next_cell, fraction: xi * density - cell as f64, sample: lane % self.samples }
    }

    /// Where in a field the window around `cell` starts, if all of it lies inside the lattice: the common case, with no
    /// decision per point.
    #[inline(always)]
    fn inside(&self, cell: isize) -> Option<usize> {
        let (width, n) = (self.lattice.width, self.lattice.n);
        let first = cell - (width / 2) as isize;
        (first >= 0 && first as usize + width <= n).then_some(first as usize)
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

    /// Calls `each(k, index)` with the field index of every point of the window around `cell`.
    #[inline(always)]
    fn points(&self, cell: isize, sample: usize, mut each: impl FnMut(usize, usize)) {
        match self.inside(cell) {
            Some(first) => {
                for k in 0..self.lattice.width {
                    each(k, (first + k) * self.samples + sample);
                }
            }
            None => {
                for k in 0..self.lattice.width {
                    each(k, self.point(cell, k) * self.samples + sample);
                }
            }
        }
    }
}

impl<T: Real> Kernel<T> for View {
    fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut [T]) {
        let (positions, fields) = x.split_first().expect("positions come first");
        for (field, y) in fields.iter().zip(y.chunks_exact_mut(self.lattice.width * self.lanes)) {
            forward(isa, self, positions, field, y);
        }
    }

    fn reverse(&self, isa: Isa, seen: Seen<'_, T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut [T]) {
        let (dxi, dfields) = dx.split_at_mut(1);
        if dxi[0].wanted() {
            dxi[0].prepare();
        }
        let per_field = self.lattice.width * self.lanes;
        for (f, (to, dy)) in dfields.iter_mut().zip(dy.chunks_exact(per_field)).enumerate() {
            if to.wanted() {
                to.prepare();
                reverse_field(isa, self, seen.x[0], dy, &mut to.data);
            }
            if dxi[0].wanted() && self.lattice.sampling == Sampling::Linear {
                reverse_position(isa, self, seen.x[0], seen.x[1 + f], dy, &mut dxi[0].data);
            }
        }
    }
}

dispatched! {
    fn forward(view: &View, xi: &[T], field: &[T], y: &mut [T]) {
        let lanes = view.lanes;
        for lane in 0..lanes {
            let look = view.look(lane, xi[lane].f64());
            view.points(look.cell, look.sample, |k, at| y[k * lanes + lane] = field[at]);
            if view.lattice.sampling == Sampling::Linear {
                let a = T::of(look.fraction);
                view.points(look.next_cell, look.sample, |k, at| {
                    let here = y[k * lanes + lane];
                    y[k * lanes + lane] = (T::of(1.0) - a) * here + a * field[at];
                });
            }
        }
    }
}

dispatched! {
    fn reverse_field(view: &View, xi: &[T], dy: &[T], to: &mut [T]) {
        let lanes = view.lanes;
        for lane in 0..lanes {
            let look = view.look(lane, xi[lane].f64());
            match view.lattice.sampling {
                Sampling::Cell => view.points(look.cell, look.sample, |k, at| to[at] += dy[k * lanes + lane]),
                Sampling::Linear => {
                    let a = T::of(look.fraction);
                    view.points(look.cell, look.sample, |k, at| to[at] += (T::of(1.0) - a) * dy[k * lanes + lane]);
                    view.points(look.next_cell, look.sample, |k, at| to[at] += a * dy[k * lanes + lane]);
                }
            }
        }
    }
}

dispatched! {
    fn reverse_position(view: &View, xi: &[T], field: &[T], dy: &[T], to: &mut [T]) {
        let lanes = view.lanes;
        for lane in 0..lanes {
            let look = view.look(lane, xi[lane].f64());
            let mut slope = T::default();
            view.points(look.next_cell, look.sample, |k, at| slope += dy[k * lanes + lane] * field[at]);
            view.points(look.cell, look.sample, |k, at| slope = slope - dy[k * lanes + lane] * field[at]);
            to[lane] += T::of(view.lattice.density) * slope;
        }
    }
}
