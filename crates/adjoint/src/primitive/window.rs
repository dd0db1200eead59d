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
    both_precisions!(|self, io| View { lattice: self.lattice, samples: io.samples, lanes: io.lanes(0) });
}

struct View {
    lattice: Lattice,
    samples: usize,
    lanes: usize,
}

/// Lanes whose windows are read together: contiguous in the output, and all inside the lattice most of the time.
const BLOCK: usize = 16;

/// Where the agents of a block of lanes look.
struct Looks {
    /// First lane, and how many.
    start: usize,
    count: usize,
    cells: [isize; BLOCK],
    /// Position inside the cell, in cells: the weight of the next window.
    fractions: [f64; BLOCK],
}

impl View {
    #[inline(always)]
    fn looks<T: Real>(&self, xi: &[T], start: usize) -> Looks {
        let Lattice { n, density, periodic, .. } = self.lattice;
        let mut looks =
            Looks { start, count: BLOCK.min(self.lanes - start), cells: [0; BLOCK], fractions: [0.0; BLOCK] };
        for j in 0..looks.count {
            let at = xi[start + j].f64() * density;
            let c = at.floor() as isize;
            // a division only for the few that are outside
            let inside = c >= 0 && c < n as isize;
            let cell = match (inside, periodic) {
                (true, _) => c,
                (false, true) => c.rem_euclid(n as isize),
                (false, false) => c.clamp(0, n as isize - 1),
            };
            looks.cells[j] = cell;
            looks.fractions[j] = at - cell as f64;
        }
        looks
    }

    /// Field index of the first point of every window, if all windows lie inside the lattice: then point k is `k * samples` further
    /// on, with no decision per point.
    #[inline(always)]
    fn inside(&self, looks: &Looks) -> Option<[usize; BLOCK]> {
        let (half, last) =
            ((self.lattice.width / 2) as isize, (self.lattice.n - self.lattice.width) as isize);
        let mut firsts = [0; BLOCK];
        let mut sample = looks.start % self.samples;
        for j in 0..looks.count {
            let first = looks.cells[j] - half;
            if first < 0 || first > last {
                return None;
            }
            firsts[j] = first as usize * self.samples + sample;
            sample = if sample + 1 == self.samples { 0 } else { sample + 1 };
        }
        Some(firsts)
    }

    /// Field index of point `k` of the window around `cell`, edge-replicated or wrapped.
    #[inline(always)]
    fn index(&self, cell: isize, k: usize, lane: usize) -> usize {
        let j = cell + k as isize - (self.lattice.width / 2) as isize;
        let n = self.lattice.n as isize;
        let point = if self.lattice.periodic { j.rem_euclid(n) } else { j.clamp(0, n - 1) };
        point as usize * self.samples + lane % self.samples
    }

    /// Calls `each(y index, field index)` for all points of all windows.
    #[inline(always)]
    fn points(&self, looks: &Looks, mut each: impl FnMut(usize, usize)) {
        if let Some(mut at) = self.inside(looks) {
            for k in 0..self.lattice.width {
                for j in 0..looks.count {
                    each(k * self.lanes + looks.start + j, at[j]);
                    at[j] += self.samples;
                }
            }
        } else {
            for k in 0..self.lattice.width {
                for j in 0..looks.count {
                    let lane = looks.start + j;
                    each(k * self.lanes + lane, self.index(looks.cells[j], k, lane));
                }
            }
        }
    }

    /// The same, one cell further on.
    #[inline(always)]
    fn next_points(&self, looks: &Looks, each: impl FnMut(usize, usize)) {
        let last = self.lattice.n as isize - 1;
        let next =
            |cell: isize| if self.lattice.periodic { (cell + 1) % (last + 1) } else { (cell + 1).min(last) };
        let moved = Looks { cells: looks.cells.map(next), ..*looks };
        self.points(&moved, each);
    }
}

impl<T: Real> Kernel<T> for View {
    fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut [T]) {
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

    fn reverse(&self, isa: Isa, seen: Seen<'_, T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut [T]) {
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
            let inside = view.inside(&looks);
            for (f, field) in fields.iter().enumerate() {
                let y = &mut y[f * per_field..][..per_field];
                match inside {
                    // a block of whole vectors, all inside: point k of every window in one go
                    Some(firsts) if looks.count == BLOCK => gather_block::<V>(view, start, firsts, field, y),
                    _ => view.points(&looks, |i, at| y[i] = field[at]),
                }
            }
        }
    }
}

/// Calls `$each!(y index, field indices)` for every vector of point k of the windows of a block, k by k.
macro_rules! block_points {
    ($V:ident, $view:ident, $start:ident, $firsts:ident, $each:ident) => {{
        let mut at = $firsts.map(|first| first as u32);
        for k in 0..$view.lattice.width {
            for j in (0..BLOCK).step_by($V::LANES) {
                let mut part = [0; BLOCK];
                part[..$V::LANES].copy_from_slice(&at[j..j + $V::LANES]);
                $each!(k * $view.lanes + $start + j, &part);
            }
            for j in 0..BLOCK {
                at[j] += $view.samples as u32;
            }
        }
    }};
}

#[inline(always)]
fn gather_block<V: Vector>(
    view: &View,
    start: usize,
    firsts: [usize; BLOCK],
    field: &[V::Real],
    y: &mut [V::Real],
) {
    macro_rules! read {
        ($i:expr, $at:expr) => {
            V::gather(field, $at).store(y, $i)
        };
    }
    block_points!(V, view, start, firsts, read);
}

/// Lanes of a block are of different samples, so that no two of them are added to the same place.
#[inline(always)]
fn scatter_block<V: Vector>(
    view: &View,
    start: usize,
    firsts: [usize; BLOCK],
    dy: &[V::Real],
    to: &mut [V::Real],
) {
    macro_rules! add {
        ($i:expr, $at:expr) => {
            V::gather(to, $at).add(V::load(dy, $i)).scatter(to, $at)
        };
    }
    block_points!(V, view, start, firsts, add);
}

dispatched! {
    fn reverse_cell(view: &View, xi: &[T], dy: &[T], dfields: &mut [Adjoint<T>]) {
        let per_field = view.lattice.width * view.lanes;
        for start in (0..view.lanes).step_by(BLOCK) {
            let looks = view.looks(xi, start);
            let inside = view.inside(&looks);
            for (to, dy) in dfields.iter_mut().zip(dy.chunks_exact(per_field)).filter(|(to, _)| to.wanted()) {
                let to = &mut to.data[..];
                match inside {
                    Some(firsts) if looks.count == BLOCK && view.samples.is_multiple_of(BLOCK) => {
                        scatter_block::<V>(view, start, firsts, dy, to)
                    }
                    _ => view.points(&looks, |i, at| to[at] += dy[i]),
                }
            }
        }
    }
}

dispatched! {
    fn forward_linear(view: &View, xi: &[T], field: &[T], y: &mut [T]) {
        for start in (0..view.lanes).step_by(BLOCK) {
            let looks = view.looks(xi, start);
            let weight = |i: usize| T::of(looks.fractions[i % view.lanes - start]);
            view.points(&looks, |i, at| y[i] = (T::of(1.0) - weight(i)) * field[at]);
            view.next_points(&looks, |i, at| y[i] += weight(i) * field[at]);
        }
    }
}

dispatched! {
    fn reverse_linear(view: &View, xi: &[T], dy: &[T], to: &mut [T]) {
        for start in (0..view.lanes).step_by(BLOCK) {
            let looks = view.looks(xi, start);
            let weight = |i: usize| T::of(looks.fractions[i % view.lanes - start]);
            view.points(&looks, |i, at| to[at] += (T::of(1.0) - weight(i)) * dy[i]);
            view.next_points(&looks, |i, at| to[at] += weight(i) * dy[i]);
        }
    }
}

dispatched! {
    fn reverse_position(view: &View, xi: &[T], field: &[T], dy: &[T], to: &mut [T]) {
        let density = T::of(view.lattice.density);
        for start in (0..view.lanes).step_by(BLOCK) {
            let looks = view.looks(xi, start);
            view.next_points(&looks, |i, at| to[i % view.lanes] += density * dy[i] * field[at]);
            view.points(&looks, |i, at| to[i % view.lanes] += -(density * dy[i] * field[at]));
        }
    }
}
