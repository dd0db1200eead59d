//! The sum of squares of the patches agents see of feature maps:
//! `y = sum over r, s, k of f[k](cx + r - p/2, cy + s - p/2)²`, whose root is the norm of the patch.
//!
//! Squares are summed over the channels once per point; patches then add points.

use super::*;

impl Lower for PatchSquares {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(Squares { lattice: self.lattice, lanes: io.output_lanes(), samples: io.samples })
    }
}

struct Squares {
    lattice: PatchLattice,
    lanes: usize,
    samples: usize,
}

impl Squares {
    fn points(&self) -> usize {
        self.lattice.n[0] * self.lattice.n[1] * self.samples
    }

    /// Calls `each` for all points of the patch of a lane.
    fn patch<T: Real>(&self, positions: &[T], lane: usize, mut each: impl FnMut(usize)) {
        let (lattice, half) = (self.lattice, (self.lattice.patch / 2) as isize);
        let x = lattice.cell(0, positions[lane]) as isize - half;
        let y = lattice.cell(1, positions[self.lanes + lane]) as isize - half;
        for r in 0..lattice.patch as isize {
            let row = lattice.point(0, x + r) * lattice.n[1];
            for s in 0..lattice.patch as isize {
                each((row + lattice.point(1, y + s)) * self.samples + lane % self.samples);
            }
        }
    }
}

impl<T: Real> Kernel<T> for Squares {
    fn scratch(&self) -> usize {
        self.points()
    }
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], room: &mut Room<T>) {
        let squares = &mut room[..self.points()];
        squares.fill(T::default());
        for map in x[1].chunks_exact(squares.len()) {
            add_squares(isa, map, squares);
        }
        for (lane, y) in y.iter_mut().enumerate() {
            let mut sum = T::default();
            self.patch(x[0], lane, |point| sum += squares[point]);
            *y = sum;
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
        dx[0].prepare();
        if dx[1].wanted() {
            let weights = &mut room[..self.points()];
            weights.fill(T::default());
            for (lane, dy) in dy.iter().enumerate() {
                self.patch(seen.x[0], lane, |point| weights[point] += *dy);
            }
            let to = &mut dx[1];
            for (map, dx) in
                seen.x[1].chunks_exact(weights.len()).zip(to.data.chunks_exact_mut(weights.len()))
            {
                add_products(isa, map, weights, to.accumulate, dx);
            }
        }
    }
}

dispatched! {
    unsafe fn add_squares(map: &[T], squares: &mut [T]) {
        sweep!(V, map.len(), |l, n| {
            let x = V::get(map, l, n);
            x.fma(x, V::get(squares, l, n)).put(squares, l, n);
        });
    }
}

dispatched! {
    unsafe fn add_products(map: &[T], weights: &[T], accumulate: bool, to: &mut [T]) {
        sweep!(V, map.len(), |l, n| {
            let product = V::get(map, l, n).mul(V::get(weights, l, n));
            product.add(product).put_or_add(accumulate, to, l, n);
        });
    }
}
