//! What agents see: for each agent the `width` lattice points of some fields around its cell.
//!
//! The cell is `c = floor(xi * density)`, clamped to the lattice or wrapped; the window holds the points `c - width/2 ..
//! c + width/2 - 1`, the end points repeated beyond the ends or wrapped. [`Sampling::Cell`] reads these points as they are: no gradient flows
//! to the position. [`Sampling::Linear`] moves the window with the exact position by mixing the windows at c and c + 1, and is
//! differentiable in it.

use super::*;
use crate::simd::{Vector, dispatched};

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
    fn effort(&self, io: &Io) -> f64 {
        // numbers are gathered one by one, two or three cycles each
        100.0 * io.output.len(io.samples) as f64
    }
    both_precisions!(|self, io| View { lattice: self.lattice, samples: io.samples, lanes: io.lanes(0) });
}

struct View {
    lattice: Lattice,
    samples: usize,
    lanes: usize,
}

/// Lanes whose windows are read together: contiguous in the output.
const BLOCK: usize = 16;

/// Where the agents of a block of lanes look.
struct Looks {
    /// First lane, and how many.
    start: usize,
    count: usize,
    cells: [i32; BLOCK],
    /// Position inside the cell, in cells: the weight of the next window.
    fractions: [f64; BLOCK],
}

impl View {
    #[inline(always)]
    fn looks<T: Real>(&self, xi: &[T], start: usize) -> Looks {
        let Lattice { n, density, periodic, .. } = self.lattice;
        let mut looks =
            Looks { start, count: BLOCK.min(self.lanes - start), cells: [0; BLOCK], fractions: [0.0; BLOCK] };
        let mut at = [0.0; BLOCK];
        for (at, x) in at.iter_mut().zip(&xi[start..start + looks.count]) {
            *at = x.f64() * density;
        }
        // no decision per lane, so that lanes are computed together
        for j in 0..BLOCK {
            let c = at[j].floor();
            let turned = if periodic { c - n as f64 * (c / n as f64).floor() } else { c };
            // also after a turn: of a position beyond all measure the remainder is rounded out of the lattice
            let cell = turned.clamp(0.0, n as f64 - 1.0);
            looks.cells[j] = cell as i32;
            looks.fractions[j] = at[j] - cell;
        }
        looks
    }

    /// Calls `each(k, field indices)` for point k of all windows of a block, the end points repeated or the lattice wrapped.
    #[inline(always)]
    fn points(&self, looks: &Looks, mut each: impl FnMut(usize, &[u32; BLOCK])) {
        let (n, samples) = (self.lattice.n as i32, self.samples as u32);
        let half = (self.lattice.width / 2) as i32;
        let mut sample = [0; BLOCK];
        let mut next = (looks.start % self.samples) as u32;
        for sample in &mut sample {
            *sample = next;
            next = if next + 1 == samples { 0 } else { next + 1 };
        }
        let mut at = [0; BLOCK];
        if self.lattice.periodic {
            let round = n as u32 * samples;
            for j in 0..BLOCK {
                let first = looks.cells[j] - half;
                at[j] = (first + if first < 0 { n } else { 0 }) as u32 * samples + sample[j];
            }
            for k in 0..self.lattice.width {
                each(k, &at);
                for at in &mut at {
                    let onward = *at + samples;
                    *at = if onward >= round { onward - round } else { onward };
                }
            }
        } else {
            for k in 0..self.lattice.width {
                for j in 0..BLOCK {
                    let point = (looks.cells[j] + k as i32 - half).clamp(0, n - 1);
                    at[j] = point as u32 * samples + sample[j];
                }
                each(k, &at);
            }
        }
    }

    /// Calls `each(y index, field index)` for all points of all windows.
    #[inline(always)]
    fn each_point(&self, looks: &Looks, mut each: impl FnMut(usize, usize)) {
        self.points(looks, |k, at| {
            for j in 0..looks.count {
                each(k * self.lanes + looks.start + j, at[j] as usize);
            }
        });
    }

    /// The same, one cell further on.
    #[inline(always)]
    fn each_next_point(&self, looks: &Looks, each: impl FnMut(usize, usize)) {
        let last = self.lattice.n as i32 - 1;
        let next =
            |cell: i32| if self.lattice.periodic { (cell + 1) % (last + 1) } else { (cell + 1).min(last) };
        let moved = Looks { cells: looks.cells.map(next), ..*looks };
        self.each_point(&moved, each);
    }
}

impl<T: Real> Kernel<T> for View {
    fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        let (positions, fields) = x.split_first().expect("positions come first");
        let fields = &fields[..y.len() / (self.lattice.width * self.lanes)];
        match self.lattice.sampling {
            Sampling::Cell => forward_cell(isa, self, positions, fields, y),
            Sampling::Linear => {
                for (field, y) in fields.iter().zip(y.chunks_exact_mut(self.lattice.width * self.lanes)) {
                    forward_linear(isa, self, positions, field, y);
                }
            }
        }
    }

    fn reverse(&self, isa: Isa, seen: Seen<T>, dy: &mut Buffer<T>, dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        let (dxi, dfields) = dx.split_at_mut(1);
        if dxi[0].wanted() {
            dxi[0].prepare();
        }
        dfields.iter_mut().filter(|to| to.wanted()).for_each(Adjoint::prepare);
        if self.lattice.sampling == Sampling::Cell {
            return reverse_cell(isa, self, seen.x[0], dy, dfields);
        }
        let per_field = self.lattice.width * self.lanes;
        for (f, (to, dy)) in dfields.iter_mut().zip(dy.chunks_exact(per_field)).enumerate() {
            if to.wanted() {
                reverse_linear(isa, self, seen.x[0], dy, &mut to.data);
            }
            if dxi[0].wanted() {
                reverse_position(isa, self, seen.x[0], seen.x[1 + f], dy, &mut dxi[0].data);
            }
        }
    }
}

dispatched! {
    fn forward_cell(view: &View, xi: &[T], fields: &[&[T]], y: &mut [T]) {
        let per_field = view.lattice.width * view.lanes;
        for start in (0..view.lanes).step_by(BLOCK) {
            let looks = view.looks(xi, start);
            view.points(&looks, #[inline(always)] |k, at| {
                for (f, field) in fields.iter().enumerate() {
                    let to = f * per_field + k * view.lanes + start;
                    if looks.count == BLOCK {
                        gather::<V>(field, at, &mut y[to..to + BLOCK]);
                    } else {
                        for j in 0..looks.count {
                            y[to + j] = field[at[j] as usize];
                        }
                    }
                }
            });
        }
    }
}

/// A vector of indices after another.
macro_rules! vectors_of_indices {
    ($V:ident, $at:ident, |$j:ident, $part:ident| $body:expr) => {
        for $j in (0..BLOCK).step_by($V::LANES) {
            let mut $part = [0; BLOCK];
            $part[..$V::LANES].copy_from_slice(&$at[$j..$j + $V::LANES]);
            $body;
        }
    };
}

#[inline(always)]
fn gather<V: Vector>(field: &[V::Real], at: &[u32; BLOCK], y: &mut [V::Real]) {
    vectors_of_indices!(V, at, |j, part| V::gather(field, &part).store(y, j));
}

/// Adds to places no two of which are the same.
#[inline(always)]
fn scatter_add<V: Vector>(dy: &[V::Real], at: &[u32; BLOCK], to: &mut [V::Real]) {
    vectors_of_indices!(V, at, |j, part| V::gather(to, &part).add(V::load(dy, j)).scatter(to, &part));
}

dispatched! {
    fn reverse_cell(view: &View, xi: &[T], dy: &[T], dfields: &mut [Adjoint<T>]) {
        let per_field = view.lattice.width * view.lanes;
        // then the lanes of a block are of different samples
        let apart = view.samples.is_multiple_of(BLOCK);
        for start in (0..view.lanes).step_by(BLOCK) {
            let looks = view.looks(xi, start);
            view.points(&looks, #[inline(always)] |k, at| {
                for (f, to) in dfields.iter_mut().enumerate().filter(|(_, to)| to.wanted()) {
                    let dy = &dy[f * per_field + k * view.lanes + start..][..looks.count];
                    if looks.count == BLOCK && apart {
                        scatter_add::<V>(dy, at, &mut to.data);
                    } else {
                        for j in 0..looks.count {
                            to.data[at[j] as usize] += dy[j];
                        }
                    }
                }
            });
        }
    }
}

dispatched! {
    fn forward_linear(view: &View, xi: &[T], field: &[T], y: &mut [T]) {
        for start in (0..view.lanes).step_by(BLOCK) {
            let looks = view.looks(xi, start);
            let weight = |i: usize| T::of(looks.fractions[i % view.lanes - start]);
            view.each_point(&looks, |i, at| y[i] = (T::of(1.0) - weight(i)) * field[at]);
            view.each_next_point(&looks, |i, at| y[i] += weight(i) * field[at]);
        }
    }
}

dispatched! {
    fn reverse_linear(view: &View, xi: &[T], dy: &[T], to: &mut [T]) {
        for start in (0..view.lanes).step_by(BLOCK) {
            let looks = view.looks(xi, start);
            let weight = |i: usize| T::of(looks.fractions[i % view.lanes - start]);
            view.each_point(&looks, |i, at| to[at] += (T::of(1.0) - weight(i)) * dy[i]);
            view.each_next_point(&looks, |i, at| to[at] += weight(i) * dy[i]);
        }
    }
}

dispatched! {
    fn reverse_position(view: &View, xi: &[T], field: &[T], dy: &[T], to: &mut [T]) {
        let density = T::of(view.lattice.density);
        for start in (0..view.lanes).step_by(BLOCK) {
            let looks = view.looks(xi, start);
            view.each_next_point(&looks, |i, at| to[i % view.lanes] += density * dy[i] * field[at]);
            view.each_point(&looks, |i, at| to[i % view.lanes] += -(density * dy[i] * field[at]));
        }
    }
}
