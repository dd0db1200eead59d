//! Products of matrices: dense layers, sums of outer products.

use super::*;

/// `C[m][n] (+)= start + sum over k of A[m][k] B[k][n]`.
pub struct Product {
    /// Extents of m, n and k.
    pub extents: [usize; 3],
    /// Distances of neighbouring m and k in A, and of neighbouring k and n in B.
    pub a: [usize; 2],
    pub b: [usize; 2],
    /// Code of both factors and of the result.
    pub factors: [String; 2],
    pub result: String,
    /// `ZERO`, `PER_ROW` or `MATRIX`, and the code of what the sum starts with.
    pub start: (&'static str, String),
    pub mode: &'static str,
}

impl Product {
    pub fn work(&self) -> f64 {
        2.0 * self.extents.iter().map(|&n| n as f64).product::<f64>()
    }

    /// Numbers of k that are read at a time: several where a factor lies along k.
    fn run(&self) -> usize {
        let along = |strides: [usize; 2], inner: usize| strides[inner] == 1 && strides[1 - inner] != 1;
        if along(self.a, 1) || along(self.b, 0) { divisor(self.extents[2], &[4, 2, 1]) } else { 1 }
    }

    fn text(&self, name: &str, tiling: &str) -> String {
        let Product { extents: [m, n, k], a: [am, ak], b: [bk, bn], start: (start, from), mode, .. } = self;
        let [left, right] = &self.factors;
        let shape = format!("{m}, {n}, {k}, {am}, {ak}, {bk}, {bn}, {mode}, {start}");
        format!("{name}<{shape}, {tiling}>(TEAM, {left}, {right}, {from}, {});", self.result)
    }

    /// Its code beside other code of one call. It keeps to the room from number `first` on, or a few later,
    /// because it reads and writes up to four numbers at once. Returns the room that the call needs for both.
    pub fn within(&self, lower: &Lower, first: usize) -> (String, usize) {
        let (call, first) = (self.call(lower), first.next_multiple_of(4));
        // what it writes is not yet what the call gives
        let text = call.text.replace(", NOT_CUT", "");
        let text = text.replacen("TEAM", &format!("with_room(TEAM, TEAM.room + {first})"), 1);
        (text, first + call.room)
    }

    pub fn call(&self, lower: &Lower) -> Call {
        let [m, n, k] = self.extents;
        // next to other calls, operations of a product are cheap: its numbers are read once for many of them
        let (work, ku) = (self.work() / 3.0, self.run());
        let threads = lower.team(work);
        if !lower.far && threads == lower.threads && Small::fits(self.extents) {
            let Small { wide, items } = Small::best(self.extents);
            return Call::new(self.text("small_product", &wide.to_string()), work).items(items);
        }
        if lower.units && m.min(n).min(k) >= 8 && self.work() >= BY_WARPS {
            let kv = if ku == 4 { 4 } else { 2 };
            let Shared { tile: [tm, tn], parts } = Shared::best(self.extents, kv, threads);
            let mut text = self.text("product_by_warps", &format!("{tm}, {tn}, {kv}, {parts}"));
            if parts == 1 && self.start.0 == "ZERO" {
                text = text.replacen(");", ", NOT_CUT);", 1);
            }
            let items = m.div_ceil(8 * tm) * n.div_ceil(4 * tn) * parts * LANES;
            let call = Call::new(text, work);
            return if parts > 1 { call.room(parts * m * n) } else { call.items(items) };
        }
        let Tiling { tile: [tm, tn], shares } = Tiling::best(self.extents, ku, threads);
        let items = m / tm * (n / tn) * shares;
        Call::new(self.text("product", &format!("{tm}, {tn}, {ku}, {shares}")), work).items(items)
    }
}

/// Tiles of the matrix units, each by one warp of a block with all its terms.
struct Small {
    /// Columns of a tile, in eighths.
    wide: usize,
    /// Threads that have something to do.
    items: usize,
}

impl Small {
    /// Whether a product is worth it, and has not so many terms that warps should share them.
    fn fits([m, n, k]: [usize; 3]) -> bool {
        m * n * k >= 4096 && (8..=128).contains(&k)
    }

    /// The widest tiles that leave work for one warp at each of the four matrix units of a processor.
    fn best([m, n, _]: [usize; 3]) -> Small {
        let items = |wide: usize| m.div_ceil(16) * n.div_ceil(8 * wide) * LANES;
        let wide = [4, 3, 2].into_iter().find(|&wide| 8 * wide < n + 8 && items(wide) >= 4 * LANES);
        let wide = wide.unwrap_or(1);
        Small { wide, items: items(wide) }
    }
}

/// Operations from which the matrix units pay where warps share the terms of a tile.
const BY_WARPS: f64 = 30e3;

/// Tiles of warps: rows and columns of a lane, and the warps that share the terms of a tile.
struct Shared {
    tile: [usize; 2],
    parts: usize,
}

impl Shared {
    /// What should take the fewest cycles.
    fn best([m, n, k]: [usize; 3], kv: usize, threads: usize) -> Shared {
        let warps = (threads / LANES).max(1);
        let mut best = (f64::INFINITY, Shared { tile: [2, 2], parts: 1 });
        for [tm, tn] in LANE_TILES {
            for parts in
                [1, 2, 4, 8, 16, 32, 64].into_iter().filter(|parts| *parts == 1 || parts * 8 * kv <= k)
            {
                let items = m.div_ceil(8 * tm) * n.div_ceil(4 * tn) * parts;
                let rounds = items.div_ceil(warps) as f64;
                let beside = items.min(warps).div_ceil((warps / 4).max(1)) as f64;
                // the wait for global memory, and the products of the warps beside
                let step = 80.0 + beside * lane_cycles([tm, tn]);
                let adding =
                    if parts > 1 { 600.0 + (m * n * parts) as f64 / threads as f64 * 20.0 } else { 0.0 };
                let cycles = rounds * ((k / parts).div_ceil(8) as f64 * step + 200.0) + adding;
                if cycles < best.0 {
                    best = (cycles, Shared { tile: [tm, tn], parts });
                }
            }
        }
        best.1
    }
}

/// Rows and columns of a lane.
const LANE_TILES: [[usize; 2]; 4] = [[4, 4], [2, 4], [4, 2], [2, 2]];

/// Cycles of a warp for 8 terms, roughly: three products of the matrix units per tile of 16 x 8, or the
/// reading of the factors, which takes about as long for any tile.
fn lane_cycles([tm, tn]: [usize; 2]) -> f64 {
    (4.8 * (tm * tn) as f64).max(64.0)
}

/// Numbers of all products together from which tiles of 32 x 32 pay. Smaller ones leave warps without work.
const WIDE_FROM: usize = 500_000;

/// The rows and columns of a lane for as many products of m x n as there are points.
pub fn lane_tile([m, n]: [usize; 2], points: usize, warps: usize) -> [usize; 2] {
    let cycles = |[tm, tn]: [usize; 2]| {
        let rounds = (points * m.div_ceil(8 * tm) * n.div_ceil(4 * tn)).div_ceil(warps);
        rounds as f64 * (lane_cycles([tm, tn]) + 10.0)
    };
    // tiles that read the same numbers less often, where they are full and there are enough of them
    if m.is_multiple_of(32) && n.is_multiple_of(32) && points * m * n >= WIDE_FROM {
        return [4, 8];
    }
    LANE_TILES.into_iter().min_by(|a, b| cycles(*a).total_cmp(&cycles(*b))).unwrap_or([2, 2])
}

/// Rows and columns of the tile of C that a thread computes, and the threads that share its sums.
struct Tiling {
    tile: [usize; 2],
    shares: usize,
}

impl Tiling {
    /// The tiling that should take the fewest cycles.
    fn best([m, n, k]: [usize; 3], run: usize, threads: usize) -> Tiling {
        let mut best = (f64::INFINITY, Tiling { tile: [1, 1], shares: 1 });
        for tm in [1, 2, 4, 8].into_iter().filter(|tm| m.is_multiple_of(*tm)) {
            for tn in [1, 2, 4].into_iter().filter(|tn| n.is_multiple_of(*tn)) {
                for shares in [1, 2, 4, 8, 16].into_iter().filter(|s| *s == 1 || 2 * s * run <= k) {
                    let cycles = Tiling::cycles([m / tm, n / tn, k], [tm, tn], shares, threads);
                    if cycles < best.0 {
                        best = (cycles, Tiling { tile: [tm, tn], shares });
                    }
                }
            }
        }
        best.1
    }

    /// Cycles that a block needs, roughly: four schedulers issue one instruction of a warp in each, a load
    /// keeps all of them waiting for two, and the next numbers arrive after some ten.
    fn cycles([rows, cols, k]: [usize; 3], [tm, tn]: [usize; 2], shares: usize, threads: usize) -> f64 {
        let items = (rows * cols).div_ceil(LANES / shares) * LANES;
        let rounds = items.div_ceil(threads) as f64;
        let warps = (items.min(threads) as f64 / (4 * LANES) as f64).max(0.25);
        let issued = (tm * tn) as f64 * warps.max(1.0);
        let loads = (tm.div_ceil(4) + tn.div_ceil(4)) as f64 * 8.0 * warps;
        let term = issued.max(loads).max(10.0);
        let given = (tm * tn) as f64 * (1.0 - 1.0 / shares as f64);
        let reduced = given * 3.0 * warps.max(1.0) + 30.0 * (shares as f64).log2();
        rounds * (k.div_ceil(shares) as f64 * term + 60.0 + reduced)
    }
}

/// A sum that starts with nothing.
pub fn none() -> (&'static str, String) {
    ("ZERO", "nullptr".into())
}

/// `y[j][a] = b[j] + sum over i of w[i][j] x[i][a]`.
pub fn dense(lower: &mut Lower, node: &Node) -> Vec<Call> {
    let (x, w) = (node.input(0), node.input(1));
    let bias = node.op.io.inputs.get(2).copied();
    let start = match bias {
        None => none(),
        Some(b) if b.size() == w.cols && b.shared => ("PER_ROW", node.x(2).name()),
        Some(_) => ("MATRIX", node.x(2).name()),
    };
    let product = Product {
        extents: [w.cols, x.cols, x.rows],
        a: [1, lower.apart(node.x(1), w.cols)],
        b: [x.cols, 1],
        factors: [node.x(1).name(), node.x(0).name()],
        result: node.y().name(),
        start,
        mode: "WRITE",
    };
    let call = product.call(lower).reads(node.x(0)).reads(node.x(1)).fills(node.y());
    vec![if bias.is_some() { call.reads(node.x(2)) } else { call }]
}

pub fn dense_reverse(lower: &mut Lower, r: &Reverse) -> Vec<Call> {
    let (x, w, dy) = (r.node.input(0), r.node.input(1), r.dy());
    let (agents, inputs, outputs) = (x.cols, w.rows, w.cols);
    let mut calls = Vec::new();
    if let Some(to) = r.to(0) {
        let product = Product {
            extents: [inputs, agents, outputs],
            a: [lower.apart(r.x(1), outputs), 1],
            b: [agents, 1],
            factors: [r.x(1).name(), dy.name()],
            result: to.slot.name(),
            start: none(),
            mode: to.mode,
        };
        calls.push(product.call(lower).reads(r.x(1)).reads(dy).fills(to.slot));
    }
    if let Some(to) = r.to(1) {
        let product = Product {
            extents: [inputs, outputs, agents],
            a: [agents, 1],
            b: [1, agents],
            factors: [r.x(0).name(), dy.name()],
            result: to.slot.name(),
            start: none(),
            mode: to.mode,
        };
        calls.push(product.call(lower).reads(r.x(0)).reads(dy).fills(to.slot));
    }
    if r.node.op.io.inputs.len() > 2
        && let Some(to) = r.to(2)
    {
        let bias = r.node.input(2);
        if bias.shared && bias.size() == outputs {
            calls.push(layout::sum_of_copies(lower, [outputs, 1], [outputs, agents], dy, to));
        } else {
            calls.push(lower.fill(outputs * agents, &to, 8.0, &format!("{}[i]", dy.name())).flat(dy));
        }
    }
    calls
}

/// `y[i][j] = sum over k of a[i][k] b[j][k]`.
pub fn outer(lower: &mut Lower, node: &Node) -> Vec<Call> {
    let (a, b) = (node.input(0), node.input(1));
    let product = Product {
        extents: [a.rows, b.rows, a.cols],
        a: [a.cols, 1],
        b: [1, a.cols],
        factors: [node.x(0).name(), node.x(1).name()],
        result: node.y().name(),
        start: none(),
        mode: "WRITE",
    };
    vec![product.call(lower).reads(node.x(0)).reads(node.x(1)).fills(node.y())]
}

pub fn outer_reverse(lower: &mut Lower, r: &Reverse) -> Vec<Call> {
    let (a, b, dy) = (r.node.input(0), r.node.input(1), r.dy());
    let mut calls = Vec::new();
    for (i, extents, strides) in
        [(0, [a.rows, a.cols, b.rows], [b.rows, 1]), (1, [b.rows, a.cols, a.rows], [1, b.rows])]
    {
        let Some(to) = r.to(i) else { continue };
        let product = Product {
            extents,
            a: strides,
            b: [a.cols, 1],
            factors: [dy.name(), r.x(1 - i).name()],
            result: to.slot.name(),
            start: none(),
            mode: to.mode,
        };
        calls.push(product.call(lower).reads(dy).reads(r.x(1 - i)).fills(to.slot));
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns of tiles in eighths and warps, as they were fastest on an H200.
    #[test]
    fn small_products_keep_four_warps_busy() {
        let best = |m, n, k| {
            let Small { wide, items } = Small::best([m, n, k]);
            (wide, items / LANES)
        };
        assert_eq!(best(64, 20, 64), (3, 4));
        assert_eq!(best(32, 20, 32), (2, 4));
        assert_eq!(best(64, 64, 20), (4, 8));
        assert_eq!(best(16, 20, 64), (1, 3), "too small for four");
        assert!(Small::fits([64, 20, 64]) && !Small::fits([32, 9, 4608]) && !Small::fits([2, 20, 32]));
    }
}
