//! What agents on a plane see: for each agent a square of `patch x patch` lattice points of some fields
//! around its cell.
//!
//! The cell is `c = floor(xi * density)` on each axis, clamped to the lattice or wrapped; the patch holds the
//! points `c - patch/2 .. c + patch - patch/2 - 1`, the end points repeated beyond the ends or wrapped.
//! [`Interpolation::Cell`] reads these points as they are: no gradient flows to the position.
//! [`Interpolation::Linear`] reads one point more on each axis, mixes neighbours w with the offset
//! `a = xi * density - c`, and is differentiable in the position:
//!
//! ```text
//! y[i][j] = (1 - ay) ((1 - ax) w[i][j] + ax w[i+1][j]) + ay ((1 - ax) w[i][j+1] + ax w[i+1][j+1])
//! ```

use super::*;

impl Lower for Patches {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(View {
            lattice: self.lattice,
            channels: io.inputs[1].rows / self.lattice.n[0],
            plane: self.lattice.n[0] * self.lattice.n[1] * io.samples,
            samples: io.samples,
            lanes: io.lanes(0),
        })
    }
}

struct View {
    lattice: PatchLattice,
    channels: usize,
    /// Numbers of one field.
    plane: usize,
    samples: usize,
    lanes: usize,
}

/// Most lanes of any vector.
const LANES: usize = 16;

/// Where the agents of one vector of lanes look. Lanes that are not there look at the first point.
struct Looks<T> {
    /// How many lanes.
    count: usize,
    /// First point of the patches along x and y, before it is clamped or wrapped.
    firsts: [[i32; LANES]; 2],
    /// Position inside the cell, in cells.
    offsets: [[T; LANES]; 2],
    samples: [i32; LANES],
}

impl View {
    #[inline(always)]
    unsafe fn looks<V: Vector>(&self, xi: &[V::Real], start: usize) -> Looks<V::Real> {
        let PatchLattice { patch, n, density, periodic, .. } = self.lattice;
        let mut looks = Looks {
            count: V::LANES.min(self.lanes - start),
            firsts: [[0; LANES]; 2],
            offsets: [[V::Real::default(); LANES]; 2],
            samples: [0; LANES],
        };
        for axis in 0..2 {
            let n = n[axis] as i32;
            for l in 0..looks.count {
                let at = xi[axis * self.lanes + start + l].f64() * density[axis];
                let c = at.floor() as i32;
                let cell = if periodic { c.rem_euclid(n) } else { c.clamp(0, n - 1) };
                looks.firsts[axis][l] = cell - (patch / 2) as i32;
                // measured from the cell before it is wrapped: the far end of a torus is its first point
                let from = if periodic { c } else { cell };
                looks.offsets[axis][l] = V::Real::of(at - f64::from(from));
            }
        }
        for l in 0..looks.count {
            looks.samples[l] = ((start + l) % self.samples) as i32;
        }
        looks
    }

    /// Lattice index along an axis of point `k` of every patch.
    #[inline(always)]
    fn along<T>(&self, looks: &Looks<T>, axis: usize, k: usize) -> [i32; LANES] {
        let mut points = looks.firsts[axis];
        for point in &mut points {
            *point = self.point(axis, *point + k as i32);
        }
        points
    }

    /// Clamped or wrapped.
    #[inline(always)]
    fn point(&self, axis: usize, j: i32) -> i32 {
        let n = self.lattice.n[axis] as i32;
        if self.lattice.periodic {
            j + if j < 0 { n } else { 0 } - if j >= n { n } else { 0 }
        } else {
            j.clamp(0, n - 1)
        }
    }

    /// Index inside a field of the points in row `x` and column `k` of the patches.
    #[inline(always)]
    fn places<T>(&self, looks: &Looks<T>, x: &[i32; LANES], k: usize) -> [u32; LANES] {
        let (y, ny, samples) = (self.along(looks, 1, k), self.lattice.n[1] as i32, self.samples as i32);
        let mut places = [0; LANES];
        for l in 0..LANES {
            places[l] = ((x[l] * ny + y[l]) * samples + looks.samples[l]) as u32;
        }
        places
    }

    /// Where row i, column j, channel ch of the patches begins in the output.
    #[inline(always)]
    fn row(&self, (i, j, channel): (usize, usize, usize), start: usize) -> usize {
        ((i * self.lattice.patch + j) * self.channels + channel) * self.lanes + start
    }
}

impl<T: Real> Kernel<T> for View {
    fn scratch(&self) -> usize {
        (self.lattice.patch + 1) * LANES
    }
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], room: &mut Room<T>) {
        match self.lattice.sampling {
            Interpolation::Cell => forward_cell(isa, self, x[0], x[1], y),
            Interpolation::Linear => forward_linear(isa, self, x[0], x[1], y, room),
        }
    }
    unsafe fn reverse(
        &self,
        isa: Isa,
        seen: Seen<T>,
        dy: &mut [T],
        dx: &mut [Adjoint<T>],
        room: &mut Room<T>,
    ) {
        dx.iter_mut().filter(|to| to.wanted()).for_each(Adjoint::prepare);
        let (dxi, dfields) = dx.split_at_mut(1);
        let (dxi, dfields) = (&mut dxi[0].data[..], &mut dfields[0].data[..]);
        match self.lattice.sampling {
            Interpolation::Cell if dfields.is_empty() => {}
            Interpolation::Cell => reverse_cell(isa, self, seen.x[0], dy, dfields),
            Interpolation::Linear => reverse_linear(isa, self, seen.x[0], seen.x[1], dy, dxi, dfields, room),
        }
    }
}

dispatched! {
    unsafe fn forward_cell(view: &View, xi: &[T], fields: &[T], y: &mut [T]) {
        let patch = view.lattice.patch;
        for start in (0..view.lanes).step_by(V::LANES) {
            let looks = view.looks::<V>(xi, start);
            for i in 0..patch {
                let x = view.along(&looks, 0, i);
                for j in 0..patch {
                    let places = view.places(&looks, &x, j);
                    for (channel, field) in fields.chunks_exact(view.plane).enumerate() {
                        V::gather(field, &places).put(y, view.row((i, j, channel), start), looks.count);
                    }
                }
            }
        }
    }
}

dispatched! {
    unsafe fn reverse_cell(view: &View, xi: &[T], dy: &[T], to: &mut [T]) {
        let patch = view.lattice.patch;
        for start in (0..view.lanes).step_by(V::LANES) {
            let looks = view.looks::<V>(xi, start);
            for i in 0..patch {
                let x = view.along(&looks, 0, i);
                for (channel, to) in to.chunks_exact_mut(view.plane).enumerate() {
                    let numbers = &dy[view.row((i, 0, channel), start)..];
                    let rows = Rows { numbers, stride: view.channels * view.lanes };
                    view.scatter(&looks, &x, patch, rows, to);
                }
            }
        }
    }
}

/// Numbers for one row of the patches: column after column, `stride` apart, those of the lanes together.
struct Rows<'a, T> {
    numbers: &'a [T],
    stride: usize,
}

impl View {
    /// Adds one row of every patch to a field. Agent after agent, so that what lies together is written
    /// together, and because agents may look at the same point.
    #[inline(always)]
    fn scatter<T: Real>(
        &self,
        looks: &Looks<T>,
        x: &[i32; LANES],
        cols: usize,
        rows: Rows<'_, T>,
        to: &mut [T],
    ) {
        let (ny, samples) = (self.lattice.n[1], self.samples);
        let numbers = &rows.numbers[..(cols - 1) * rows.stride + looks.count];
        for l in 0..looks.count {
            let to = &mut to[x[l] as usize * ny * samples..][..ny * samples];
            let (first, sample) = (looks.firsts[1][l], looks.samples[l] as usize);
            let inside = first >= 0 && first as usize + cols <= ny;
            for j in 0..cols {
                let y = if inside { first + j as i32 } else { self.point(1, first + j as i32) };
                let at = y as usize * samples + sample;
                debug_assert!(at < to.len());
                // SAFETY: y is a column of the lattice and a sample less than their number; `numbers` was cut
                // to what is read.
                unsafe { *to.get_unchecked_mut(at) += *numbers.get_unchecked(j * rows.stride + l) };
            }
        }
    }
}

dispatched! {
    /// Row by row of the (patch + 1)² points: mixed along y, then with the row before.
    unsafe fn forward_linear(view: &View, xi: &[T], fields: &[T], y: &mut [T], before: &mut [T]) {
        let patch = view.lattice.patch;
        for start in (0..view.lanes).step_by(V::LANES) {
            let looks = view.looks::<V>(xi, start);
            let (ax, ay) = (V::load(&looks.offsets[0], 0), V::load(&looks.offsets[1], 0));
            for (channel, field) in fields.chunks_exact(view.plane).enumerate() {
                for i in 0..=patch {
                    let x = view.along(&looks, 0, i);
                    let mut left = V::gather(field, &view.places(&looks, &x, 0));
                    for j in 0..patch {
                        let right = V::gather(field, &view.places(&looks, &x, j + 1));
                        let here = right.sub(left).fma(ay, left);
                        if i > 0 {
                            let above = V::load(before, j * V::LANES);
                            let mixed = here.sub(above).fma(ax, above);
                            mixed.put(y, view.row((i - 1, j, channel), start), looks.count);
                        }
                        here.store(before, j * V::LANES);
                        left = right;
                    }
                }
            }
        }
    }
}

dispatched! {
    /// Point (i, j) takes part in the four numbers (i, j), (i - 1, j), (i, j - 1), (i - 1, j - 1) of a patch,
    /// as far as these exist.
    unsafe fn reverse_linear(
        view: &View,
        xi: &[T],
        fields: &[T],
        dy: &[T],
        dxi: &mut [T],
        dfields: &mut [T],
        row: &mut [T],
    ) {
        let patch = view.lattice.patch;
        for start in (0..view.lanes).step_by(V::LANES) {
            let looks = view.looks::<V>(xi, start);
            let (ax, ay) = (V::load(&looks.offsets[0], 0), V::load(&looks.offsets[1], 0));
            let mut slopes = [V::zero(); 2];
            let channels = |i| (0..view.channels).map(move |channel| (i, channel));
            for (i, channel) in (0..=patch).flat_map(channels) {
                let x = view.along(&looks, 0, i);
                let plane = channel * view.plane..(channel + 1) * view.plane;
                for j in 0..=patch {
                    // the adjoint of the number `up` rows and `left` columns before
                    macro_rules! adjoint {
                        ($up:literal, $left:literal) => {
                            if ($up..patch + $up).contains(&i) && ($left..patch + $left).contains(&j) {
                                V::get(dy, view.row((i - $up, j - $left, channel), start), looks.count)
                            } else {
                                V::zero()
                            }
                        };
                    }
                    let (here, left) = (adjoint!(0, 0), adjoint!(0, 1));
                    let (up, up_left) = (adjoint!(1, 0), adjoint!(1, 1));
                    let (along, along_up) = (left.sub(here).fma(ay, here), up_left.sub(up).fma(ay, up));
                    let (down, down_left) = (up.sub(here).fma(ax, here), up_left.sub(left).fma(ax, left));
                    if !dxi.is_empty() {
                        let w = V::gather(&fields[plane.clone()], &view.places(&looks, &x, j));
                        slopes[0] = w.fma(along_up.sub(along), slopes[0]);
                        slopes[1] = w.fma(down_left.sub(down), slopes[1]);
                    }
                    along_up.sub(along).fma(ax, along).store(row, j * V::LANES);
                }
                if !dfields.is_empty() {
                    let rows = Rows { numbers: row, stride: V::LANES };
                    view.scatter(&looks, &x, patch + 1, rows, &mut dfields[plane]);
                }
            }
            if !dxi.is_empty() {
                for axis in 0..2 {
                    let slope = slopes[axis].mul(V::of(view.lattice.density[axis]));
                    slope.put_or_add(true, dxi, axis * view.lanes + start, looks.count);
                }
            }
        }
    }
}
