//! Constant matrices: tridiagonal systems as their inverse, Fourier transforms, sparse ones, one per axis in
//! 2D.

use super::product::Product;
use super::*;
use std::f64::consts::TAU;

/// A matrix by rows.
struct Dense {
    rows: usize,
    cols: usize,
    at: Vec<f64>,
}

impl Dense {
    fn new(rows: usize, cols: usize, entry: impl Fn(usize, usize) -> f64) -> Dense {
        Dense { rows, cols, at: (0..rows * cols).map(|i| entry(i / cols, i % cols)).collect() }
    }
    fn transposed(&self) -> Dense {
        Dense::new(self.cols, self.rows, |r, c| self.at[c * self.cols + r])
    }
}

/// The inverse of a tridiagonal matrix. On a device all its rows are multiplied at once, where an elimination
/// would go row by row.
fn inverse(lower: &[f64], diagonal: &[f64], upper: &[f64]) -> Dense {
    let n = diagonal.len();
    let mut columns = vec![vec![0.0; n]; n];
    for (k, column) in columns.iter_mut().enumerate() {
        let mut up = vec![0.0; n];
        for i in 0..n {
            let below = if i > 0 { lower[i] } else { 0.0 };
            let before = if i > 0 { (up[i - 1], column[i - 1]) } else { (0.0, 0.0) };
            let pivot = 1.0 / (diagonal[i] - below * before.0);
            up[i] = if i + 1 < n { upper[i] * pivot } else { 0.0 };
            let right = f64::from(u8::from(i == k));
            column[i] = (right - below * before.1) * pivot;
        }
        for i in (0..n - 1).rev() {
            column[i] -= up[i] * column[i + 1];
        }
    }
    Dense::new(n, n, |r, c| columns[c][r])
}

/// `y[r][c] (+)= sum over k of matrix[r][k] x[k][c]`.
fn apply(lower: &mut Lower, matrix: &Dense, cols: usize, x: Slot, y: Slot, mode: &'static str) -> Call {
    let n = matrix.rows;
    let width = band(matrix, lower.negligible);
    if 2 * (2 * width + 1) <= n {
        // [offset][row], so that neighbouring threads read neighbouring numbers
        let entry = |i: usize| {
            let (offset, r) = (i / n, i % n);
            (r + offset).checked_sub(width).filter(|k| *k < n).map_or(0.0, |k| matrix.at[r * n + k])
        };
        let table: Vec<f64> = (0..(2 * width + 1) * n).map(entry).collect();
        let table = lower.tables.numbers(&table);
        let work = (4 * (2 * width + 1) * n * cols) as f64;
        let shares = lower.shares(2 * width + 1, n * cols, work);
        let sizes = format!("{n}, {cols}, {width}, {shares}, {mode}");
        let text = format!("banded<{sizes}>(TEAM, {table}, {}, {});", x.name(), y.name());
        return Call::new(text, work).sums(n * cols, shares).reads(x).takes(y);
    }
    let table = lower.tables.numbers(&matrix.transposed().at);
    let product = Product {
        extents: [matrix.rows, cols, matrix.cols],
        a: [1, matrix.rows],
        b: [cols, 1],
        factors: [table, x.name()],
        result: y.name(),
        start: ("ZERO", "nullptr".into()),
        mode,
    };
    product.call(lower).reads(x).fills(y)
}

/// Distance from the diagonal beyond which all entries are negligible.
fn band(matrix: &Dense, negligible: f64) -> usize {
    let largest = matrix.at.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let far = |(i, x): (usize, &f64)| {
        (x.abs() > negligible * largest).then(|| (i / matrix.cols).abs_diff(i % matrix.cols))
    };
    matrix.at.iter().enumerate().filter_map(far).max().unwrap_or(0)
}

pub fn solve(lower: &mut Lower, node: &Node) -> Vec<Call> {
    let matrix = inverse(node.table("lower"), node.table("diagonal"), node.table("upper"));
    vec![apply(lower, &matrix, node.output().cols, node.x(0), node.y(), "WRITE")]
}

pub fn solve_reverse(lower: &mut Lower, r: &Reverse) -> Vec<Call> {
    let Some(to) = r.to(0) else { return Vec::new() };
    let node = &r.node;
    let matrix = inverse(node.table("lower"), node.table("diagonal"), node.table("upper")).transposed();
    vec![apply(lower, &matrix, node.output().cols, r.dy(), to.slot, to.mode)]
}

/// A transform with a table of one period: of n points to modes (`analysis`) or back (`synthesis`). Every
/// mode but 0 and n/2 stands for its complex conjugate too; a synthesis, or its adjoint, counts it twice and
/// divides by n.
fn transform(lower: &mut Lower, node: &Node, back: bool, from: Slot, to: To) -> Call {
    let (n, cols, inverse) = (node.count("n"), node.output().cols, node.op.name() == "irfft");
    let period: Vec<f64> = (0..n)
        .flat_map(|j| {
            let angle = TAU * j as f64 / n as f64;
            [angle.cos(), angle.sin()]
        })
        .collect();
    let table = lower.tables.numbers(&period);
    // two stages of a and n / a terms
    let a = (1..=n).take_while(|a| a * a <= n).filter(|a| n.is_multiple_of(*a)).last().unwrap_or(1);
    let work = (8 * n * cols * (a + n / a)) as f64;
    let (name, shares) = match inverse != back {
        false => ("analysis", lower.shares(n / a, (n / 2 + 1) * cols, work)),
        true => ("synthesis", lower.shares(a, n * cols, work)),
    };
    let text = format!(
        "{name}<{n}, {a}, {cols}, {inverse}, {shares}, {}>(TEAM, {table}, {}, {});",
        to.mode,
        from.name(),
        to.slot.name()
    );
    Call::new(text, work).room(2 * n * cols).reads(from).fills(to.slot)
}

pub fn fourier(lower: &mut Lower, node: &Node) -> Vec<Call> {
    vec![transform(lower, node, false, node.x(0), To { slot: node.y(), mode: "WRITE" })]
}

pub fn fourier_reverse(lower: &mut Lower, r: &Reverse) -> Vec<Call> {
    let Some(to) = r.to(0) else { return Vec::new() };
    vec![transform(lower, &r.node, true, r.dy(), to)]
}

/// Signs of the four symmetric parts in the four quarters of a folded period.
const FOLDED: [[f64; 4]; 4] =
    [[1.0, 1.0, 1.0, 1.0], [1.0, -1.0, -1.0, 1.0], [1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0]];

/// The matrix of one axis, without folding.
fn axis(node: &Node, sizes: &str, numbers: &str) -> Dense {
    let (sizes, numbers) = (node.counts(sizes), node.table(numbers));
    let (inputs, height, parts) = (sizes[0], sizes[1], &sizes[2..]);
    let folds = parts.len() / 2;
    let mut at = vec![0.0; height * folds * inputs];
    let mut next = 0;
    for (p, part) in parts.chunks(2).enumerate() {
        let (first, count) = (part[0], part[1]);
        for k in 0..count {
            for r in 0..height {
                for q in 0..folds {
                    let sign = if folds == 4 { FOLDED[q][p] } else { 1.0 };
                    at[(q * height + r) * inputs + first + k] = sign * numbers[next + r];
                }
            }
            next += height;
        }
    }
    Dense { rows: height * folds, cols: inputs, at }
}

/// The matrices of both axes.
fn axes(node: &Node, reversed: bool) -> [Dense; 2] {
    let [x, y] = [axis(node, "x_sizes", "x"), axis(node, "y_sizes", "y")];
    if node.flag("transposed") != reversed { [x.transposed(), y.transposed()] } else { [x, y] }
}

/// Numbers of the field that a product along both axes gives, and of a slab of it: some of its rows.
pub fn slab(node: &Node, reversed: bool, cluster: usize) -> (usize, usize) {
    let [x, y] = axes(node, reversed);
    (x.rows * y.rows, x.rows.div_ceil(cluster) * y.rows)
}

/// A matrix along each axis. Every block computes a slab of the result: first along x into memory of its own,
/// then along y.
fn both_axes(lower: &mut Lower, node: &Node, reversed: bool, from: Slot, to: To) -> Call {
    let [x, y] = axes(node, reversed);
    assert_eq!(node.output().cols, 1, "a field of its own per sample");
    let rows = x.rows.div_ceil(lower.cluster);
    // columns of x one after the other, filled up so that all slabs have as many rows
    let height = rows * lower.cluster;
    let along_x = Dense::new(x.cols, height, |k, r| if r < x.rows { x.at[r * x.cols + k] } else { 0.0 });
    let along_x = lower.tables.numbers(&along_x.at);
    let along_y = lower.tables.numbers(&y.transposed().at);
    let (c, t, from_name) = (y.rows, to.slot.name(), from.name());
    let work = 2.0 * (height * (x.cols * y.cols + y.cols * c)) as f64;
    let text = format!(
        "meet(one); EACH_SLAB(s, one) {{ along_both_axes<{rows}, {}, {}, {height}, {c}, {}>(one, \
         {along_x} + s * {rows}, {from_name}, {along_y}, local, {t} + s * {}, {} - s * {rows}); }}",
        x.cols,
        y.cols,
        to.mode,
        rows * c,
        x.rows
    );
    // the product along x, and parts of sums: as many as warps have tiles of 16 x 8
    let wide = rows.next_multiple_of(8);
    let parts = |n: usize| n * wide * ((lower.threads / LANES) / (n.div_ceil(16) * (wide / 8))).max(1);
    let local = y.cols * wide + parts(y.cols).max(parts(c));
    let call = Call::new(text, work).slabs(if lower.cluster > 1 { rows * c } else { 0 });
    Call { local, ..call }.reads(from).writes_slabs(to.slot)
}

pub fn separable(lower: &mut Lower, node: &Node) -> Vec<Call> {
    vec![both_axes(lower, node, false, node.x(0), To { slot: node.y(), mode: "WRITE" })]
}

pub fn separable_reverse(lower: &mut Lower, r: &Reverse) -> Vec<Call> {
    let Some(to) = r.to(0) else { return Vec::new() };
    vec![both_axes(lower, &r.node, true, r.dy(), to)]
}

/// Entries of a sparse matrix, row by row.
type Rows = Vec<Vec<(usize, f64)>>;

fn rows(node: &Node) -> Rows {
    let (columns, values) = (node.counts("columns"), node.table("values"));
    let mut next = 0;
    let row = |&count: &usize| {
        let entries = (next..next + count).map(|e| (columns[e], values[e])).collect();
        next += count;
        entries
    };
    node.counts("counts").iter().map(row).collect()
}

fn transposed(rows: &Rows, columns: usize) -> Rows {
    let mut other = vec![Vec::new(); columns];
    for (r, row) in rows.iter().enumerate() {
        for &(c, value) in row {
            other[c].push((r, value));
        }
    }
    other
}

fn apply_sparse(lower: &mut Lower, rows: &Rows, cols: usize, x: Slot, y: Slot, mode: &str) -> Call {
    let mut first = vec![0];
    for row in rows {
        first.push(first[first.len() - 1] + row.len() as i32);
    }
    let entries = || rows.iter().flatten();
    let columns = lower.tables.indices(entries().map(|e| e.0 as i32).collect());
    let first = lower.tables.indices(first);
    let values = lower.tables.numbers(&entries().map(|e| e.1).collect::<Vec<_>>());
    let work = (6 * entries().count() * cols + 6 * rows.len() * cols) as f64;
    let shares = lower.shares(entries().count() / rows.len(), rows.len() * cols, work).min(LANES);
    let text = format!(
        "sparse<{}, {cols}, {shares}, {mode}>(TEAM, {first}, {columns}, {values}, {}, {});",
        rows.len(),
        x.name(),
        y.name()
    );
    Call::new(text, work).sums(rows.len() * cols, shares).reads(x).takes(y)
}

pub fn sparse(lower: &mut Lower, node: &Node) -> Vec<Call> {
    vec![apply_sparse(lower, &rows(node), node.output().cols, node.x(0), node.y(), "WRITE")]
}

pub fn sparse_reverse(lower: &mut Lower, r: &Reverse) -> Vec<Call> {
    let Some(to) = r.to(0) else { return Vec::new() };
    let rows = transposed(&rows(&r.node), r.node.input(0).rows);
    vec![apply_sparse(lower, &rows, r.node.output().cols, r.dy(), to.slot, to.mode)]
}
