//! Constant matrices: tridiagonal systems as their inverse, Fourier transforms, sparse ones, one per axis in
//! 2D.

use super::product::{Product, none};
use super::*;
use crate::halves::{Halves, Transform};
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

/// The fields that a product along both axes reads and writes, by their numbers, with the part of each block.
/// None if they have as many numbers, so that they cannot be told apart, or if they are too large.
pub fn parts(lower: &Lower, node: &Node) -> Vec<(usize, Part)> {
    let [x, y] = axes(node, false);
    let (read, written) = ([x.cols, y.cols], [x.rows, y.rows]);
    let size = |[nx, ny]: [usize; 2]| nx * ny;
    let fit = |read, written| [true, false].iter().all(|rows| halves(lower, read, written, *rows).fit(1));
    if size(read) == size(written) || !fit(read, written) || !fit(written, read) {
        return Vec::new();
    }
    let (small, large) = if size(read) < size(written) { (read, written) } else { (written, read) };
    let share = |n: usize| n.div_ceil(lower.cluster);
    let columns = Part::Columns(share(large[1]), large[1]);
    vec![(size(small), Part::Rows(share(small[0]) * small[1])), (size(large), columns)]
}

/// The halves of a product of a field in rows, or in columns, of so many rows and columns.
fn halves(lower: &Lower, [kx, ky]: [usize; 2], [nx, ny]: [usize; 2], rows: bool) -> Halves {
    let share = |n: usize| n.div_ceil(lower.cluster);
    let (sizes, all, strides) = if rows {
        ([[ny, share(kx), ky], [nx, share(ny), kx]], [kx, ny], [[1, ky], [ny, 1]])
    } else {
        ([[nx, share(ky), kx], [ny, share(nx), ky]], [ky, nx], [[ky, 1], [1, ny]])
    };
    Halves { sizes, all, strides, warps: (lower.threads / LANES).max(1), most: lower.near }
}

/// A matrix along each axis.
fn both_axes(lower: &mut Lower, node: &Node, reversed: bool, from: Slot, to: To) -> Call {
    let [x, y] = axes(node, reversed);
    assert_eq!(node.output().cols, 1, "a field of its own per sample");
    let known = parts(lower, node);
    let alike = |(n, part): &(usize, Part)| lower.parts.get(n) == Some(part);
    if lower.cluster > 1 && !known.is_empty() && known.iter().all(alike) {
        return in_two_halves(lower, [x, y], from, to);
    }
    let (between, via) = (x.rows * y.cols, "TEAM.room".to_string());
    let along_x = Product {
        extents: [x.rows, y.cols, x.cols],
        a: [1, x.rows],
        b: [y.cols, 1],
        factors: [lower.tables.numbers(&x.transposed().at), from.name()],
        result: via.clone(),
        start: none(),
        mode: "WRITE",
    };
    let along_y = Product {
        extents: [x.rows, y.rows, y.cols],
        a: [y.cols, 1],
        b: [y.rows, 1],
        factors: [via, lower.tables.numbers(&y.transposed().at)],
        result: to.slot.name(),
        start: none(),
        mode: to.mode,
    };
    let work = along_x.work() + along_y.work();
    let ((first, one), (second, other)) = (along_x.within(lower, between), along_y.within(lower, between));
    let call = Call::new(format!("{{ {first} meet(TEAM); {second} }}"), work).room(one.max(other));
    call.reads(from).fills(to.slot)
}

/// The same by blocks that have parts of both fields: each multiplies along the axis that it has all numbers
/// of, sends the results to those who need them, and multiplies what it got along the other axis.
fn in_two_halves(lower: &mut Lower, [x, y]: [Dense; 2], from: Slot, to: To) -> Call {
    let matrix = |of: &Dense| {
        Dense::new(of.cols.next_multiple_of(8), spaced(of.rows), |k, m| {
            if k < of.cols && m < of.rows { of.at[m * of.cols + k] } else { 0.0 }
        })
    };
    let (read, written) = (lower.parts[&(x.cols * y.cols)], lower.parts[&(x.rows * y.rows)]);
    let rows = matches!(read, Part::Rows(_));
    let matrices = if rows { [&y, &x] } else { [&x, &y] }.map(|axis| lower.tables.matrix(&matrix(axis).at));
    let halves = halves(lower, [x.cols, y.cols], [x.rows, y.rows], rows);
    let call = halves.call(&[Transform { matrices, from, to: to.slot, mode: to.mode }]);
    let call = Call { part: Some(written), items: x.rows * y.rows, ..call };
    call.reads_part(from, read).writes_part(to.slot, written)
}

/// Numbers between the rows of a matrix in shared memory, as in `device/fields.h`.
fn spaced(n: usize) -> usize {
    n.next_multiple_of(16) + 8
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

/// Entries of the longest row.
fn longest(rows: &Rows) -> usize {
    rows.iter().map(Vec::len).max().unwrap_or(0)
}

/// Rows of about the same length, filled up with zeros: no thread asks where its row begins.
fn apply_stencil(lower: &mut Lower, rows: &Rows, cols: usize, x: Slot, y: Slot, mode: &str) -> Call {
    let longest = longest(rows);
    let entry = |i: usize| {
        let row = &rows[i % rows.len()];
        let nothing = (row.last().map_or(0, |last| last.0), 0.0);
        row.get(i / rows.len()).copied().unwrap_or(nothing)
    };
    let entries: Vec<(usize, f64)> = (0..longest * rows.len()).map(entry).collect();
    let columns = lower.tables.indices(entries.iter().map(|e| e.0 as i32).collect());
    let values = lower.tables.numbers(&entries.iter().map(|e| e.1).collect::<Vec<_>>());
    let work = (6 * (entries.len() + rows.len()) * cols) as f64;
    let shares = lower.shares(longest, rows.len() * cols, work).min(LANES);
    let text = format!(
        "stencil<{}, {cols}, {longest}, {shares}, {mode}>(TEAM, {columns}, {values}, {}, {});",
        rows.len(),
        x.name(),
        y.name()
    );
    Call::new(text, work).sums(rows.len() * cols, shares).reads(x).takes(y)
}

fn apply_sparse(lower: &mut Lower, rows: &Rows, cols: usize, x: Slot, y: Slot, mode: &str) -> Call {
    let count: usize = rows.iter().map(Vec::len).sum();
    if longest(rows) * rows.len() <= 2 * count {
        return apply_stencil(lower, rows, cols, x, y, mode);
    }
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
