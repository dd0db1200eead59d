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

    /// Its code, and the room it needs; without room unless `split` allows it.
    pub fn code(&self, lower: &Lower, split: bool) -> (String, usize) {
        let [m, n, k] = self.extents;
        let threads = lower.team(self.work());
        // where K is long and C small, large tiles whose sums are shared read least
        let long = split && k >= LONG && m * n < 8 * threads;
        let [tm, tn] = tile(m, n, if long { 1.max(threads / 32) } else { threads });
        let tiles = m / tm * (n / tn);
        // several k at a time where a factor lies along k
        let along = |strides: [usize; 2], inner: usize| strides[inner] == 1 && strides[1 - inner] != 1;
        let ku = if along(self.a, 1) || along(self.b, 0) { divisor(k, &[4, 2, 1]) } else { 1 };
        let parts = if split && tiles * 2 <= threads && k >= 32 {
            let most = (threads / tiles).min(k / 8).min(64);
            (1..=most).rev().find(|s| k.is_multiple_of(s * ku)).unwrap_or(1)
        } else {
            1
        };
        let Product { a: [am, ak], b: [bk, bn], start: (start, from), mode, .. } = self;
        let [left, right] = &self.factors;
        let shape = format!("{m}, {n}, {k}, {am}, {ak}, {bk}, {bn}, {mode}, {start}, {tm}, {tn}, {ku}");
        let arguments = format!("(TEAM, {left}, {right}, {from}, {});", self.result);
        if parts > 1 {
            (format!("product_split<{shape}, {parts}>{arguments}"), parts * m * n)
        } else {
            (format!("product<{shape}>{arguments}"), 0)
        }
    }

    fn call(&self, lower: &Lower) -> Call {
        let (text, room) = self.code(lower, true);
        Call::new(text, self.work()).room(room)
    }
}

/// Terms from which a sum is long.
const LONG: usize = 256;

/// Rows and columns of the tile that a thread computes: large enough to use every number that it reads often,
/// small enough that most threads have one.
pub fn tile(m: usize, n: usize, threads: usize) -> [usize; 2] {
    let candidates = [[8, 4], [4, 4], [8, 2], [4, 2], [2, 4], [2, 2], [4, 1], [1, 4], [2, 1], [1, 2], [1, 1]];
    let fits = candidates.into_iter().filter(|[tm, tn]| m.is_multiple_of(*tm) && n.is_multiple_of(*tn));
    let mut last = [1, 1];
    for [tm, tn] in fits {
        last = [tm, tn];
        if m / tm * (n / tn) * 2 >= threads {
            break;
        }
    }
    last
}

fn none() -> (&'static str, String) {
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
        a: [1, w.cols],
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
            a: [outputs, 1],
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
            let n = outputs * agents;
            let text = format!(
                "each<{n}>(TEAM, [&](int i) {{ put<{}>({} + i, {}[i]); }});",
                to.mode,
                to.slot.name(),
                dy.name()
            );
            calls.push(Call::new(text, n as f64).flat(dy).writes(to.slot));
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
