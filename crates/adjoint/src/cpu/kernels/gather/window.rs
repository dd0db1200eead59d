//! What agents see: for each agent the `width` lattice points of some fields around its cell.
//!
//! The cell is `c = floor(xi * density)`, clamped to the lattice or wrapped; the window holds the points
//! `c - width/2 .. c + width/2 - 1`, the end points repeated beyond the ends or wrapped.
//! [`Interpolation::Cell`] reads these points as they are: no gradient flows to the position.
//! [`Interpolation::Linear`] reads one point `w` more, mixes neighbours with the offset
//! `a = xi * density - c`, and is differentiable in the position:
//!
//! ```text
//! y[k] = w[k] + a (w[k+1] - w[k])
//! ```

use super::*;

impl Lower for Window {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(View { lattice: self.lattice, samples: io.samples, lanes: io.lanes(0) })
    }
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
    /// Position inside the cell, in cells: the weight of the next point.
    offsets: [f64; BLOCK],
}

impl View {
    #[inline(always)]
    fn looks<T: Real>(&self, xi: &[T], start: usize) -> Looks {
        let Lattice { n, density, periodic, .. } = self.lattice;
        let mut looks =
            Looks { start, count: BLOCK.min(self.lanes - start), cells: [0; BLOCK], offsets: [0.0; BLOCK] };
        let mut at = [0.0; BLOCK];
        let (to, from) = (&mut at[..looks.count], &xi[start..start + looks.count]);
        for j in 0..looks.count {
            to[j] = from[j].f64() * density;
        }
        // no decision per lane and nothing that can panic, so that lanes are computed together
        let last = n as f64 - 1.0;
        macro_rules! lanes {
            (|$j:ident, $c:ident| $turned:expr, |$cell:ident| $offset:expr) => {
                for $j in 0..BLOCK {
                    let $c = at[$j].floor();
                    let turned = $turned;
                    let above = if turned < 0.0 { 0.0 } else { turned };
                    let $cell = if above > last { last } else { above };
                    looks.cells[$j] = $cell as i32;
                    looks.offsets[$j] = $offset;
                }
            };
        }
        if periodic {
            // clamped also after a turn: of a position beyond all measure the remainder is rounded out of the
            // lattice
            lanes!(|j, c| c - n as f64 * (c / n as f64).floor(), |cell| at[j] - c);
        } else {
            lanes!(|j, c| c, |cell| at[j] - cell);
        }
        looks
    }

    /// Calls `each(k, field indices)` for the first `count` points of all windows of a block, the end points
    /// repeated or the lattice wrapped. Lanes that are not there look at a point of the lattice too.
    #[inline(always)]
    fn points(&self, looks: &Looks, count: usize, mut each: impl FnMut(usize, &[u32; BLOCK])) {
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
            for k in 0..count {
                each(k, &at);
                for at in &mut at {
                    let onward = *at + samples;
                    *at = if onward >= round { onward - round } else { onward };
                }
            }
        } else {
            for k in 0..count {
                for j in 0..BLOCK {
                    let point = (looks.cells[j] + k as i32 - half).clamp(0, n - 1);
                    at[j] = point as u32 * samples + sample[j];
                }
                each(k, &at);
            }
        }
    }
}

impl<T: Real> Kernel<T> for View {
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        let (positions, fields) = x.split_first().expect("positions come first");
        let fields = &fields[..y.len() / (self.lattice.width * self.lanes)];
        match self.lattice.sampling {
            Interpolation::Cell => forward_cell(isa, self, positions, fields, y),
            Interpolation::Linear => forward_linear(isa, self, positions, fields, y),
        }
    }

    unsafe fn reverse(&self, isa: Isa, seen: Seen<T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        let (dxi, dfields) = dx.split_at_mut(1);
        dxi[0].prepare();
        dfields.iter_mut().for_each(Adjoint::prepare);
        match self.lattice.sampling {
            Interpolation::Cell => reverse_cell(isa, self, seen.x[0], dy, dfields),
            Interpolation::Linear => reverse_linear(isa, self, seen.x, dy, &mut dxi[0], dfields),
        }
    }
}

dispatched! {
    unsafe fn forward_cell(view: &View, xi: &[T], fields: &[&[T]], y: &mut [T]) {
        let per_field = view.lattice.width * view.lanes;
        for start in (0..view.lanes).step_by(BLOCK) {
            let looks = view.looks(xi, start);
            view.points(&looks, view.lattice.width, #[inline(always)] |k, at| {
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
unsafe fn gather<V: Vector>(field: &[V::Real], at: &[u32; BLOCK], y: &mut [V::Real]) {
    vectors_of_indices!(V, at, |j, part| V::gather(field, &part).store(y, j));
}

/// Adds to places no two of which are the same.
#[inline(always)]
unsafe fn scatter_add<V: Vector>(dy: &[V::Real], at: &[u32; BLOCK], to: &mut [V::Real]) {
    vectors_of_indices!(V, at, |j, part| V::gather(to, &part).add(V::load(dy, j)).scatter(to, &part));
}

dispatched! {
    unsafe fn reverse_cell(view: &View, xi: &[T], dy: &[T], dfields: &mut [Adjoint<T>]) {
        let per_field = view.lattice.width * view.lanes;
        // then the lanes of a block are of different samples
        let apart = view.samples.is_multiple_of(BLOCK);
        for start in (0..view.lanes).step_by(BLOCK) {
            let looks = view.looks(xi, start);
            view.points(&looks, view.lattice.width, #[inline(always)] |k, at| {
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
    unsafe fn forward_linear(view: &View, xi: &[T], fields: &[&[T]], y: &mut [T]) {
        let (width, lanes) = (view.lattice.width, view.lanes);
        let (mut point, mut before) = ([T::default(); BLOCK], [[T::default(); BLOCK]; MAX_INPUTS]);
        for start in (0..lanes).step_by(BLOCK) {
            let looks = view.looks(xi, start);
            let mut offsets = [T::default(); BLOCK];
            for j in 0..BLOCK {
                offsets[j] = T::of(looks.offsets[j]);
            }
            view.points(&looks, width + 1, #[inline(always)] |k, at| {
                for (f, field) in fields.iter().enumerate() {
                    gather::<V>(field, at, &mut point);
                    if k > 0 {
                        let to = (f * width + k - 1) * lanes + start;
                        let y = &mut y[to..to + looks.count];
                        for j in (0..looks.count).step_by(V::LANES) {
                            let (w, next) = (V::load(&before[f], j), V::load(&point, j));
                            let mixed = V::load(&offsets, j).fma(next.sub(w), w);
                            mixed.put(y, j, V::LANES.min(looks.count - j));
                        }
                    }
                    before[f] = point;
                }
            });
        }
    }
}

dispatched! {
    unsafe fn reverse_linear(
        view: &View,
        x: [&[T]; MAX_INPUTS],
        dy: &[T],
        dxi: &mut Adjoint<T>,
        dfields: &mut [Adjoint<T>],
    ) {
        let (width, lanes) = (view.lattice.width, view.lanes);
        let density = V::of(view.lattice.density);
        // then the lanes of a block are of different samples
        let apart = view.samples.is_multiple_of(BLOCK);
        let (mut point, mut dpoint) = ([T::default(); BLOCK], [T::default(); BLOCK]);
        for start in (0..lanes).step_by(BLOCK) {
            let looks = view.looks(x[0], start);
            let mut offsets = [T::default(); BLOCK];
            for j in 0..BLOCK {
                offsets[j] = T::of(looks.offsets[j]);
            }
            let mut slope = [T::default(); BLOCK];
            for (f, to) in dfields.iter_mut().enumerate() {
                let field = x[1 + f];
                let (mut before, mut next) = ([T::default(); BLOCK], [T::default(); BLOCK]);
                view.points(&looks, width + 1, #[inline(always)] |k, at| {
                    // point k is the second of the mix k - 1 and the first of the mix k
                    if k < width {
                        let from = (f * width + k) * lanes + start;
                        next[..looks.count].copy_from_slice(&dy[from..from + looks.count]);
                    } else {
                        next = [T::default(); BLOCK];
                    }
                    if dxi.wanted() {
                        gather::<V>(field, at, &mut point);
                        for j in (0..BLOCK).step_by(V::LANES) {
                            let change = V::load(&before, j).sub(V::load(&next, j));
                            V::load(&point, j).fma(change, V::load(&slope, j)).store(&mut slope, j);
                        }
                    }
                    if to.wanted() {
                        for j in (0..BLOCK).step_by(V::LANES) {
                            let (one, two) = (V::load(&next, j), V::load(&before, j));
                            V::load(&offsets, j).fma(two.sub(one), one).store(&mut dpoint, j);
                        }
                        if looks.count == BLOCK && apart {
                            scatter_add::<V>(&dpoint, at, &mut to.data);
                        } else {
                            for j in 0..looks.count {
                                to.data[at[j] as usize] += dpoint[j];
                            }
                        }
                    }
                    before = next;
                });
            }
            if dxi.wanted() {
                let to = &mut dxi.data[start..start + looks.count];
                for j in (0..looks.count).step_by(V::LANES) {
                    let count = V::LANES.min(looks.count - j);
                    density.fma(V::load(&slope, j), V::get(to, j, count)).put(to, j, count);
                }
            }
        }
    }
}
