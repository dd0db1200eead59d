//! A field carried by a flow for one step, by tracing back: `y[i][j] = rho(i - a, j - b)` with the
//! displacement `(a, b)` in cells at the point of arrival, `|a|, |b| <= 1`, read by bilinear interpolation.
//!
//! The source lies among the point and its eight neighbours, so nothing is looked up: with
//! `lerp(w, c, s) = c + w (s - c)`, `y = lerp(|b|, t_j, t_n)`, `t_k = lerp(|a|, rho[i][k], rho[m][k])`, where
//! `m` is the row and `n` the column the flow comes from. A neighbour outside the grid is the end point
//! itself, which is the same as a source clamped to the grid.
//!
//! Reverse: `dy` goes to the source points with the weights they were read with; `da` is `dy` times the
//! difference between the rows read, `db` that between the columns. Where a displacement is exactly 0 the
//! value has a kink, and the derivative taken is that towards positive displacements. Lanes are (column,
//! sample).

use super::*;

impl Lower for Advect {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(Plane { rows: io.output.rows, cols: io.output.cols, samples: io.samples })
    }
}

struct Plane {
    rows: usize,
    cols: usize,
    samples: usize,
}

/// Lanes that have their neighbours at the same distances: a stretch of one row.
#[derive(Clone, Copy)]
struct Stretch {
    /// First lane of the row above, of this one and of the one below; at an edge the row itself.
    rows: [usize; 3],
    /// First and one past the last lane within the row.
    lanes: (usize, usize),
    /// Lanes back to the column on the left and on to that on the right; 0 at an edge.
    left: usize,
    right: usize,
}

impl Plane {
    fn lanes(&self) -> usize {
        self.cols * self.samples
    }
    fn len(&self) -> usize {
        self.rows * self.lanes()
    }
    /// The parts of row `i`: its first column, those between, its last.
    fn stretches(&self, i: usize) -> [Stretch; 3] {
        let (s, end) = (self.samples, self.lanes());
        let rows = [i.saturating_sub(1), i, (i + 1).min(self.rows - 1)].map(|row| row * end);
        let part = |from: usize, to: usize| Stretch {
            rows,
            lanes: (from, to),
            left: if from == 0 { 0 } else { s },
            right: if to == end { 0 } else { s },
        };
        if self.cols == 1 {
            return [part(0, end), part(end, end), part(end, end)];
        }
        [part(0, s), part(s, end - s), part(end - s, end)]
    }
}

impl<T: Real> Kernel<T> for Plane {
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        forward(isa, self, x[0], x[1], y);
    }
    unsafe fn reverse(&self, isa: Isa, seen: Seen<T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        let (rho, shift) = dx.split_at_mut(1);
        if shift[0].wanted() {
            let to = &mut shift[0];
            reverse_shift(isa, self, seen.x[0], seen.x[1], dy, to.accumulate, &mut to.data);
        }
        if let Some(to) = rho[0].prepared() {
            reverse_rho(isa, self, seen.x[1], dy, to);
        }
    }
}

/// Values and slopes along the rows at the columns left, own and right, for a displacement `a` across the
/// rows: `t_k` and `dt_k / da`.
#[inline(always)]
unsafe fn across_rows<V: Vector>(
    rho: &[V::Real],
    part: Stretch,
    i: usize,
    n: usize,
    a: V,
) -> ([V; 3], [V; 3]) {
    let columns = [i - part.left, i, i + part.right];
    let (mut values, mut slopes) = ([V::zero(); 3], [V::zero(); 3]);
    for k in 0..3 {
        let own = V::get(rho, part.rows[1] + columns[k], n);
        let (above, below) =
            (V::get(rho, part.rows[0] + columns[k], n), V::get(rho, part.rows[2] + columns[k], n));
        let slope = V::select_lt(a, V::zero(), own.sub(below), above.sub(own));
        (values[k], slopes[k]) = (a.fma(slope, own), slope);
    }
    (values, slopes)
}

/// Weights of the neighbour before, of the point itself and of the neighbour after.
#[inline(always)]
unsafe fn weights<V: Vector>(shift: V) -> [V; 3] {
    [shift.max(V::zero()), V::of(1.0).sub(shift.abs()), shift.neg().max(V::zero())]
}

/// Runs the block for every vector of lanes of a plane: `part` is the stretch it lies in, `i` its first lane
/// in the row, `at` the same in the plane, `n` its lanes.
macro_rules! over_plane {
    ($V:ident, $p:ident, |$part:ident, $i:ident, $at:ident, $n:ident| $body:block) => {
        for row in 0..$p.rows {
            for $part in $p.stretches(row) {
                let first = $part.lanes.0;
                sweep!($V, $part.lanes.1 - first, |lane, $n| {
                    let ($i, $at) = (first + lane, $part.rows[1] + first + lane);
                    $body
                });
            }
        }
    };
}

dispatched! {
    unsafe fn forward(p: &Plane, rho: &[T], shift: &[T], y: &mut [T]) {
        let (a, b) = shift.split_at(p.len());
        over_plane!(V, p, |part, i, at, n| {
            let b = V::get(b, at, n);
            let ([left, own, right], _) = across_rows(rho, part, i, n, V::get(a, at, n));
            let slope = V::select_lt(b, V::zero(), own.sub(right), left.sub(own));
            b.fma(slope, own).put(y, at, n);
        });
    }
}

dispatched! {
    unsafe fn reverse_shift(p: &Plane, rho: &[T], shift: &[T], dy: &[T], accumulate: bool, to: &mut [T]) {
        let (a, b) = shift.split_at(p.len());
        let (to_a, to_b) = to.split_at_mut(p.len());
        over_plane!(V, p, |part, i, at, n| {
            let (b, d) = (V::get(b, at, n), V::get(dy, at, n));
            let (t, slopes) = across_rows(rho, part, i, n, V::get(a, at, n));
            let along = V::select_lt(b, V::zero(), t[1].sub(t[2]), t[0].sub(t[1]));
            let twist =
                V::select_lt(b, V::zero(), slopes[1].sub(slopes[2]), slopes[0].sub(slopes[1]));
            d.mul(b.fma(twist, slopes[1])).put_or_add(accumulate, to_a, at, n);
            d.mul(along).put_or_add(accumulate, to_b, at, n);
        });
    }
}

dispatched! {
    unsafe fn reverse_rho(p: &Plane, shift: &[T], dy: &[T], to: &mut [T]) {
        let (a, b) = shift.split_at(p.len());
        over_plane!(V, p, |part, i, at, n| {
            let (across, along) = (weights(V::get(a, at, n)), weights(V::get(b, at, n)));
            let d = V::get(dy, at, n);
            let columns = [i - part.left, i, i + part.right];
            for r in 0..3 {
                let part_of_row = d.mul(across[r]);
                for k in 0..3 {
                    part_of_row.mul(along[k]).put_or_add(true, to, part.rows[r] + columns[k], n);
                }
            }
        });
    }
}
