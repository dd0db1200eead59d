//! Reading lattices at the agents: the points around the cell of every agent, taken as they are or
//! interpolated.
//!
//! Maps on a lattice are `[batch, n_x, channels]` or `[batch, n_x, n_y, channels]`. Cells are found in double
//! precision, as in the engine: agents often stand where two cells meet, and both must see the same one.

use super::graph::{Graph, Kind, Value};

/// A lattice that agents read.
pub(super) struct Lattice {
    pub axes: Vec<Axis>,
    /// Whether it wraps around; otherwise the end points are repeated beyond the ends.
    pub ring: bool,
}

/// One of its axes.
pub(super) struct Axis {
    /// Points.
    pub n: usize,
    /// Cells per unit of length.
    pub density: f64,
}

/// What is read at an agent: this many points along each axis, interpolated or as they are.
#[derive(Clone, Copy)]
pub(super) struct View {
    pub width: usize,
    pub linear: bool,
}

/// Where agents stand along one axis, in cells, `[batch, agents]` in double precision.
struct Standing {
    at: Value,
    /// The cell, before it is wrapped.
    cell: Value,
}

impl Standing {
    /// Position inside the cell.
    fn offset(&self, g: &mut Graph) -> Value {
        let offset = g.op("Sub", &[self.at, self.cell]);
        g.cast(offset, Kind::F32)
    }
}

/// Where agents read along one axis.
struct Place {
    /// Points, `[batch, agents, points]`.
    points: Value,
    /// Position inside the cell, `[batch, agents]`, for interpolation.
    offset: Option<Value>,
}

impl Lattice {
    /// Points of an axis, those beyond its ends wrapped or moved to the ends.
    fn inside(&self, g: &mut Graph, points: Value, axis: usize) -> Value {
        let n = self.axes[axis].n as i32;
        if self.ring {
            let n = g.i32(n);
            return g.op("Mod", &[points, n]);
        }
        let (first, last) = (g.i32(0), g.i32(n - 1));
        g.op("Clip", &[points, first, last])
    }

    /// Differences per cell along an axis, one-sided at the ends.
    pub fn differences(&self, g: &mut Graph, maps: Value, axis: usize) -> Value {
        let n = self.axes[axis].n;
        let [before, after] = [-1, 1].map(|by| {
            let points = g.range(by, n);
            self.inside(g, points, axis)
        });
        let [low, high] = [before, after].map(|points| g.gather(maps, points, 1 + axis as i64));
        let difference = g.op("Sub", &[high, low]);
        if self.ring {
            return g.scaled(difference, 0.5);
        }
        // two cells lie between the points, at the ends one
        let cells = g.op("Sub", &[after, before]);
        let cells = g.cast(cells, Kind::F32);
        let later = self.axes.len() - axis;
        let cells = g.reshape(cells, &[&[-1][..], &vec![1; later]].concat());
        g.op("Div", &[difference, cells])
    }

    /// Maps `[batch, channels, n_x, n_y]` with one more point around.
    pub fn framed(&self, g: &mut Graph, mut maps: Value) -> Value {
        for axis in 0..self.axes.len() {
            let points = g.range(-1, self.axes[axis].n + 2);
            let points = self.inside(g, points, axis);
            maps = g.gather(maps, points, 2 + axis as i64);
        }
        maps
    }

    /// Maps as agents at `xi` (`[batch, agents]` per axis) see them:
    /// `[batch, agents, width, (width,) channels]`.
    pub fn read(&self, g: &mut Graph, maps: Value, channels: usize, xi: &[Value], view: View) -> Value {
        let places: Vec<Place> = (0..xi.len()).map(|axis| self.place(g, xi[axis], axis, view)).collect();
        let index = self.index(g, maps, &places);
        let rows = g.reshape(maps, &[-1, channels as i64]);
        let mut seen = g.gather(rows, index, 0);
        for (axis, place) in places.iter().enumerate() {
            if let Some(offset) = place.offset {
                seen = self.between(g, seen, 2 + axis as i64, offset, view.width);
            }
        }
        seen
    }

    /// Ways from agents to all points of an axis, in cells: `[batch, points, agents]` or, not `points_first`,
    /// `[batch, agents, points]`; to the nearest image on a ring.
    pub fn ways(&self, g: &mut Graph, xi: Value, axis: usize, points_first: bool) -> Value {
        let n = self.axes[axis].n;
        let standing = self.standing(g, xi, axis);
        let (cell, offset) = (g.cast(standing.cell, Kind::F32), standing.offset(g));
        let points = g.range(0, n);
        let mut points = g.cast(points, Kind::F32);
        if points_first {
            points = g.unsqueeze(points, &[1]);
        }
        // whole cells first: they are exact, and the offset loses nothing
        let mut way = points;
        for part in [cell, offset] {
            let part = g.unsqueeze(part, &[if points_first { 1 } else { 2 }]);
            way = g.op("Sub", &[way, part]);
        }
        if self.ring {
            let turns = g.scaled(way, 1.0 / n as f64);
            let turns = g.op("Round", &[turns]);
            let turns = g.scaled(turns, n as f64);
            way = g.op("Sub", &[way, turns]);
        }
        way
    }

    fn standing(&self, g: &mut Graph, xi: Value, axis: usize) -> Standing {
        let Axis { n, density } = self.axes[axis];
        let (exact, density) = (g.cast(xi, Kind::F64), g.f64(density));
        let at = g.op("Mul", &[exact, density]);
        let mut cell = g.op("Floor", &[at]);
        if !self.ring {
            let (first, last) = (g.f64(0.0), g.f64(n as f64 - 1.0));
            cell = g.op("Clip", &[cell, first, last]);
        }
        Standing { at, cell }
    }

    fn place(&self, g: &mut Graph, xi: Value, axis: usize, view: View) -> Place {
        let standing = self.standing(g, xi, axis);
        let offset = view.linear.then(|| standing.offset(g));
        let cell = g.cast(standing.cell, Kind::I32);
        let cell = g.unsqueeze(cell, &[2]);
        let around = g.range(-((view.width / 2) as i32), view.width + usize::from(view.linear));
        let points = g.op("Add", &[cell, around]);
        Place { points: self.inside(g, points, axis), offset }
    }

    /// Rows of maps that are a row per field and point.
    fn index(&self, g: &mut Graph, maps: Value, places: &[Place]) -> Value {
        let size: usize = self.axes.iter().map(|axis| axis.n).product();
        let (numbers, size) = (g.batch_numbers(maps), g.i32(size as i32));
        let first = g.op("Mul", &[numbers, size]);
        let first = g.reshape(first, &[&[-1][..], &vec![1; 1 + places.len()]].concat());
        let within = match places {
            [x, y] => {
                let n_y = g.i32(self.axes[1].n as i32);
                let column = g.op("Mul", &[x.points, n_y]);
                let (column, point) = (g.unsqueeze(column, &[3]), g.unsqueeze(y.points, &[2]));
                g.op("Add", &[column, point])
            }
            _ => places[0].points,
        };
        g.op("Add", &[within, first])
    }

    /// Neighbours along an axis mixed with the offset `a`: `w[k] + a (w[k+1] - w[k])`.
    fn between(&self, g: &mut Graph, seen: Value, axis: i64, offset: Value, width: usize) -> Value {
        let low = g.slice(seen, axis, [0, width, 1]);
        let high = g.slice(seen, axis, [1, width + 1, 1]);
        let step = g.op("Sub", &[high, low]);
        // [batch, agents, 1, (1,) 1]
        let new: Vec<i64> = (2..3 + self.axes.len() as i64).collect();
        let offset = g.unsqueeze(offset, &new);
        let part = g.op("Mul", &[step, offset]);
        g.op("Add", &[low, part])
    }
}
