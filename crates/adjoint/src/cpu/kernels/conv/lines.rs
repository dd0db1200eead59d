//! A 3 x 3 convolution line by line: lanes are (point in y, sample), so that a shift in y is a shift of
//! lanes.
//!
//! The three lines around an output line are copied, channel by channel, into a ring with their margins
//! filled (zeros, the other end, or the end value again): the products then have no rim to care for. With few
//! lanes per point this fills vectors that single points would not.

use super::products::*;
use super::*;

/// What lies beyond the ends of both axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    Zero,
    Wrap,
    Repeat,
}

/// Where number (channel, ix, iy, lane) lies: distances of the first three; lanes follow each other.
#[derive(Clone, Copy)]
pub(crate) struct Map {
    pub channel: usize,
    pub row: usize,
    pub point: usize,
}

pub(crate) struct Lines {
    pub n: [usize; 2],
    /// Lanes of a point.
    pub point: usize,
    pub inputs: usize,
    pub outputs: usize,
    pub edge: Edge,
    pub x: Map,
    pub y: Map,
}

/// Lanes worked on together in weight gradients: few enough that a transposed dy stays in the first-level
/// cache.
const STRETCH: usize = 128;

impl Lines {
    fn lanes(&self) -> usize {
        self.n[1] * self.point
    }
    /// Place of the first point in a copied line, after its margin: a multiple of a cache line.
    fn lead(&self) -> usize {
        self.point.next_multiple_of(16)
    }
    /// Numbers of a copied line of one channel.
    fn width(&self) -> usize {
        (self.lead() + self.lanes() + self.point).next_multiple_of(16)
    }
    fn weights(&self) -> usize {
        TAPS * self.inputs * self.outputs
    }
    fn strides(&self) -> Strides {
        Strides { tap: self.point, channel: self.width() }
    }

    /// Line `row` (-1 and n included) of `channels` channels into its place in the ring.
    unsafe fn load<T: Real>(
        &self,
        isa: Isa,
        from: &[T],
        map: Map,
        channels: usize,
        edge: Edge,
        row: isize,
        ring: &mut [T],
    ) {
        let nx = self.n[0] as isize;
        let source = match edge {
            Edge::Zero if row < 0 || row >= nx => return,
            Edge::Repeat => row.clamp(0, nx - 1),
            _ => row.rem_euclid(nx),
        } as usize;
        let (point, lanes, lead) = (self.point, self.lanes(), self.lead());
        let slot = self.slot(row) * channels * self.width();
        for (channel, line) in ring[slot..].chunks_exact_mut(self.width()).take(channels).enumerate() {
            let first = channel * map.channel + source * map.row;
            if map.point == point {
                line[lead..][..lanes].copy_from_slice(&from[first..][..lanes]);
            } else {
                copy_runs(isa, self.n[1], point, &from[first..], map.point, false, &mut line[lead..], point);
            }
            let (below, above) = (lead - point, lead + lanes);
            match edge {
                Edge::Zero => {
                    line[below..lead].fill(T::default());
                    line[above..][..point].fill(T::default());
                }
                Edge::Wrap => {
                    line.copy_within(above - point..above, below);
                    line.copy_within(lead..lead + point, above);
                }
                Edge::Repeat => {
                    line.copy_within(lead..lead + point, below);
                    line.copy_within(above - point..above, above);
                }
            }
        }
    }

    fn slot(&self, row: isize) -> usize {
        (row + 1) as usize % SIDE
    }

    /// Taps in x whose line exists, around line `row`.
    fn taps(&self, edge: Edge, row: isize) -> Range<usize> {
        let nx = self.n[0] as isize;
        match edge {
            Edge::Zero => (1 - row).clamp(0, 3) as usize..(nx + 1 - row).clamp(0, 3) as usize,
            Edge::Wrap | Edge::Repeat => 0..SIDE,
        }
    }

    /// The lanes around `row` whose first tap begins at lane `start` of the copied lines.
    fn site(
        &self,
        channels: usize,
        row: isize,
        a: Range<usize>,
        c: Range<usize>,
        lanes: Range<usize>,
    ) -> Site {
        let mut x = [0; SIDE];
        for a in a.clone() {
            x[a] = self.slot(row - 1 + a as isize) * channels * self.width() + lanes.start;
        }
        Site { a, c, x, lanes: lanes.len() }
    }

    /// A line of results from a buffer `[channels][lanes]` to its place, for results whose points are not
    /// contiguous.
    unsafe fn spread<T: Real>(
        &self,
        isa: Isa,
        buffer: &[T],
        map: Map,
        row: usize,
        accumulate: bool,
        to: &mut [T],
    ) {
        for (channel, line) in buffer.chunks_exact(self.lanes()).enumerate() {
            let to = &mut to[channel * map.channel + row * map.row..];
            copy_runs(isa, self.n[1], self.point, line, self.point, accumulate, to, map.point);
        }
    }

    /// dx from dy, which is already masked.
    unsafe fn reverse_input<T: Real>(
        &self,
        isa: Isa,
        weight: &[T],
        dy: &[T],
        dx: &mut Adjoint<T>,
        room: &mut [T],
    ) {
        let (panels, rest) = room.split_at_mut(self.weights());
        let (ring, buffer) = rest.split_at_mut(SIDE * self.outputs * self.width());
        let buffer = &mut buffer[..self.inputs * self.lanes()];
        pack(isa, weight, self.outputs, self.inputs, true, panels);
        // beyond repeated ends dy is zero; what those points received is added to the end itself
        let edge = if self.edge == Edge::Wrap { Edge::Wrap } else { Edge::Zero };
        let direct = self.x.point == self.point;
        let (lead, lanes, nx) = (self.lead(), self.lanes(), self.n[0] as isize);
        self.load(isa, dy, self.y, self.outputs, edge, -1, ring);
        self.load(isa, dy, self.y, self.outputs, edge, 0, ring);
        for row in 0..nx {
            self.load(isa, dy, self.y, self.outputs, edge, row + 1, ring);
            let factors = Factors {
                panels,
                inputs: self.outputs,
                outputs: self.inputs,
                x: ring,
                strides: self.strides(),
            };
            let mut add = |v: isize, c: Range<usize>, from: Range<usize>, to: usize, accumulate: bool| {
                let site = self.site(self.outputs, v, self.taps(edge, v), c, from);
                let finish = Finish { bias: &[], accumulate, relu: false };
                if direct {
                    let at = row as usize * self.x.row + to;
                    product(isa, factors, finish, &site, &mut dx.data, at, self.x.channel);
                } else {
                    product(isa, factors, finish, &site, buffer, to, lanes);
                }
            };
            add(row, 0..3, lead - self.point..lead - self.point + lanes, 0, direct && dx.accumulate);
            if self.edge == Edge::Repeat {
                let ends = [(-1, row == 0), (row, true), (nx, row == nx - 1)];
                for v in ends.into_iter().filter(|end| end.1).map(|end| end.0) {
                    if v != row {
                        add(v, 0..3, lead - self.point..lead - self.point + lanes, 0, true);
                    }
                    let last = lead + lanes - self.point;
                    add(v, 2..3, lead..lead + self.point, 0, true);
                    add(v, 0..1, last..last + self.point, lanes - self.point, true);
                }
            }
            if !direct {
                self.spread(isa, buffer, self.x, row as usize, dx.accumulate, &mut dx.data);
            }
        }
    }

    /// dw and db from dy, which is already masked.
    unsafe fn reverse_weight<T: Real>(
        &self,
        isa: Isa,
        x: &[T],
        dy: &[T],
        mut dw: Option<&mut [T]>,
        mut db: Option<&mut [T]>,
        room: &mut [T],
    ) {
        let (ring, dyt) = room.split_at_mut(SIDE * self.inputs * self.width());
        let filled = filled(self.outputs);
        let dyt = &mut dyt[..self.lanes() * filled];
        self.load(isa, x, self.x, self.inputs, self.edge, -1, ring);
        self.load(isa, x, self.x, self.inputs, self.edge, 0, ring);
        // contiguous lanes at a time
        let run = if self.y.point == self.point { self.lanes() } else { self.point };
        for row in 0..self.n[0] {
            self.load(isa, x, self.x, self.inputs, self.edge, row as isize + 1, ring);
            for (k, dyt) in dyt.chunks_exact_mut(run * filled).enumerate() {
                transpose(
                    isa,
                    self.outputs,
                    &dy[row * self.y.row + k * self.y.point..],
                    self.y.channel,
                    run,
                    dyt,
                );
            }
            if let Some(db) = &mut db {
                bias_sums(isa, dyt, db);
            }
            let Some(dw) = &mut dw else { continue };
            for start in (0..self.lanes()).step_by(STRETCH) {
                let count = STRETCH.min(self.lanes() - start);
                let from = self.lead() - self.point + start;
                let taps = self.taps(self.edge, row as isize);
                let site = self.site(self.inputs, row as isize, taps, 0..3, from..from + count);
                let at = Blocks { site, blocks: 1, step: 0 };
                let dyt = &dyt[start * filled..][..count * filled];
                outer(isa, ring, self.strides(), dyt, &at, self.inputs, self.outputs, dw);
            }
        }
    }
}

impl<T: Real> Kernel<T> for Lines {
    fn scratch(&self) -> usize {
        let (inputs, outputs) = (self.inputs, self.outputs);
        let product =
            self.weights() + SIDE * inputs.max(outputs) * self.width() + inputs.max(outputs) * self.lanes();
        let outer = SIDE * inputs * self.width() + self.lanes() * filled(outputs);
        product.max(outer)
    }

    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], room: &mut Room<T>) {
        let (panels, rest) = room.split_at_mut(self.weights());
        let (ring, buffer) = rest.split_at_mut(SIDE * self.inputs * self.width());
        let buffer = &mut buffer[..self.outputs * self.lanes()];
        pack(isa, x[1], self.inputs, self.outputs, false, panels);
        let from = self.lead() - self.point;
        let finish = Finish { bias: x[2], accumulate: false, relu: true };
        self.load(isa, x[0], self.x, self.inputs, self.edge, -1, ring);
        self.load(isa, x[0], self.x, self.inputs, self.edge, 0, ring);
        for row in 0..self.n[0] {
            self.load(isa, x[0], self.x, self.inputs, self.edge, row as isize + 1, ring);
            let taps = self.taps(self.edge, row as isize);
            let site = self.site(self.inputs, row as isize, taps, 0..3, from..from + self.lanes());
            let factors = Factors {
                panels,
                inputs: self.inputs,
                outputs: self.outputs,
                x: ring,
                strides: self.strides(),
            };
            if self.y.point == self.point {
                product(isa, factors, finish, &site, y, row * self.y.row, self.y.channel);
            } else {
                product(isa, factors, finish, &site, buffer, 0, self.lanes());
                self.spread(isa, buffer, self.y, row, false, y);
            }
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
        mask(isa, seen.y, dy);
        let [dx, dw, db] = dx else { unreachable!("a field, weights and a bias") };
        if dx.wanted() {
            self.reverse_input(isa, seen.x[1], dy, dx, room);
        }
        if dw.wanted() || db.wanted() {
            self.reverse_weight(isa, seen.x[0], dy, dw.prepared(), db.prepared(), room);
        }
    }
}
