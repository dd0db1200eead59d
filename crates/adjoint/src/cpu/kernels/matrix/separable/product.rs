//! Products of small matrices, `y[r][c] = sum over k of a[r][k] b[k][c]`: `c` is the vector axis, every
//! number of `a` is repeated along the vector. A tile of the result stays in registers while k runs.

use super::*;

/// Where the factors of a product are.
#[derive(Clone, Copy)]
pub(crate) struct Operand<'a, T> {
    pub a: &'a [T],
    pub a_at: usize,
    /// Distance of neighbouring r, and of neighbouring k.
    pub a_row: usize,
    pub a_inner: usize,
    pub b: &'a [T],
    pub b_at: usize,
    pub b_inner: usize,
    pub inner: usize,
}

/// Where a tile goes.
#[derive(Clone, Copy)]
struct Place {
    /// First row and column.
    r: usize,
    c: usize,
    /// Lanes of the last vector, to load and to store.
    load: usize,
    store: usize,
    /// Distance of neighbouring rows, and of folded blocks.
    row: usize,
    block: usize,
    accumulate: bool,
}

#[inline(always)]
unsafe fn sums<V: Vector, const S: usize, const R: usize, const C: usize>(
    x: &Operand<'_, V::Real>,
    at: Place,
) -> [[V; C]; R] {
    let mut sum = [[V::zero(); C]; R];
    let (a, b) = (x.a_at + at.r * x.a_row, x.b_at + at.c);
    for k in 0..x.inner {
        let mut column = [V::zero(); C];
        for c in 0..C {
            let lanes = if c + 1 == C { at.load } else { V::LANES };
            column[c] = V::get(x.b, b + k * x.b_inner + c * V::LANES, lanes);
        }
        for r in 0..R {
            let a = a + r * x.a_row + k * x.a_inner;
            for c in 0..C {
                // a group of samples fits into a vector several times, or takes several vectors
                let a = if S > V::LANES {
                    V::load(x.a, a + (at.c + c * V::LANES) % S)
                } else {
                    V::repeat::<S>(x.a, a)
                };
                sum[r][c] = a.fma(column[c], sum[r][c]);
            }
        }
    }
    sum
}

#[inline(always)]
unsafe fn store<V: Vector, const R: usize, const C: usize>(sum: [[V; C]; R], at: Place, y: &mut [V::Real]) {
    for r in 0..R {
        for c in 0..C {
            let lanes = if c + 1 == C { at.store } else { V::LANES };
            sum[r][c].put_or_add(at.accumulate, y, (at.r + r) * at.row + at.c + c * V::LANES, lanes);
        }
    }
}

/// The four symmetric parts put together, or taken apart: `H` is its own transpose, and its inverse up to a
/// factor 4.
#[inline(always)]
pub(crate) unsafe fn hadamard<V: Vector>([a, b, c, d]: [V; 4]) -> [V; 4] {
    let (even, odd, even_sine, odd_sine) = (a.add(d), b.add(c), a.sub(d), b.sub(c));
    [even.add(odd), even.sub(odd), even_sine.sub(odd_sine), even_sine.add(odd_sine)]
}

#[inline(always)]
unsafe fn folded_tile<V: Vector, const S: usize, const R: usize, const C: usize>(
    x: &[Operand<'_, V::Real>; 4],
    at: Place,
    y: &mut [V::Real],
) {
    let mut parts = [
        sums::<V, S, R, C>(&x[0], at),
        sums::<V, S, R, C>(&x[1], at),
        sums::<V, S, R, C>(&x[2], at),
        sums::<V, S, R, C>(&x[3], at),
    ];
    for r in 0..R {
        for c in 0..C {
            let [p, q, s, t] = hadamard([parts[0][r][c], parts[1][r][c], parts[2][r][c], parts[3][r][c]]);
            (parts[0][r][c], parts[1][r][c], parts[2][r][c], parts[3][r][c]) = (p, q, s, t);
        }
    }
    for (block, part) in parts.into_iter().enumerate() {
        store(part, Place { c: at.c + block * at.block, ..at }, y);
    }
}

/// The size of the next tile if `left` rows are cut into tiles of at most `most` rows, as equal as can be: a
/// thin tile at the end could not hide the latency of its sums.
#[inline(always)]
fn next_tile(left: usize, most: usize) -> usize {
    left.div_ceil(left.div_ceil(most))
}

/// All rows of a strip of columns, in tiles of the listed heights (from the largest to 1).
macro_rules! strip {
    ($tile:ident, $S:literal, $C:literal, [$most:literal $(, $R:literal)*],
     $x:expr, $rows:expr, $at:expr, $y:expr) => {{
        let mut at = $at;
        while at.r < $rows {
            let height = next_tile($rows - at.r, $most);
            at.r += if height >= $most {
                $tile::<V, $S, $most, $C>($x, at, $y);
                $most
            } $(else if height >= $R {
                $tile::<V, $S, $R, $C>($x, at, $y);
                $R
            })* else {
                unreachable!("tiles of one row fit anywhere")
            };
        }
    }};
}

/// All strips of columns, two vectors wide, then what is left.
macro_rules! strips {
    ($tile:ident, $S:literal, $two:tt, $one:tt,
     $x:expr, $rows:expr, $width:expr, $padded:expr, $at:expr, $y:expr) => {{
        let mut at = $at;
        while at.c < $width {
            let left = $width - at.c;
            if left >= 2 * V::LANES {
                strip!($tile, $S, 2, $two, $x, $rows, at, $y);
                at.c += 2 * V::LANES;
            } else {
                let lanes = left.min(V::LANES);
                let part = Place { load: if $padded { V::LANES } else { lanes }, store: lanes, ..at };
                strip!($tile, $S, 1, $one, $x, $rows, part, $y);
                at.c += lanes;
            }
        }
    }};
}

#[inline(always)]
unsafe fn tile<V: Vector, const S: usize, const R: usize, const C: usize>(
    x: &[Operand<'_, V::Real>; 4],
    at: Place,
    y: &mut [V::Real],
) {
    store(sums::<V, S, R, C>(&x[0], at), at, y);
}

dispatched! {
    /// `rows` rows of `width` numbers each, `row` apart; every number of `a` stands for `samples` lanes. The
    /// vector operand is `padded` to whole vectors or is not. If `folded`, four products are put together in
    /// blocks.
    pub(crate) unsafe fn multiply(
        samples: usize,
        folded: bool,
        x: &[Operand<'_, T>; 4],
        rows: usize,
        row: usize,
        width: usize,
        padded: bool,
        block: usize,
        accumulate: bool,
        y: &mut [T],
    ) {
        let at = Place { r: 0, c: 0, load: V::LANES, store: V::LANES, row, block, accumulate };
        macro_rules! strips_of {
            ($tile:ident, $S:literal, $two:tt, $one:tt) => {
                strips!($tile, $S, $two, $one, x, rows, width, padded, at, y)
            };
        }
        macro_rules! with_samples {
            ($S:literal) => {
                // accumulators fill the registers: 32 of them or 16
                match (folded, V::TILE == 8) {
                    (true, true) if !V::TUNED => strips_of!(folded_tile, $S, [2, 1], [4, 1]),
                    (false, true) if !V::TUNED => strips_of!(tile, $S, [8, 4, 1], [8, 1]),
                    (true, true) => strips_of!(folded_tile, $S, [3, 2, 1], [6, 5, 3, 1]),
                    (true, false) => strips_of!(folded_tile, $S, [1], [2, 1]),
                    (false, true) => strips_of!(tile, $S, [8, 7, 6, 5, 3, 1], [8, 7, 4, 1]),
                    (false, false) => strips_of!(tile, $S, [4, 1], [4, 1]),
                }
            };
        }
        // double precision, which only verifies, does without copies for several samples
        match samples {
            2 if size_of::<T>() == 4 => with_samples!(2),
            4 if size_of::<T>() == 4 => with_samples!(4),
            8 if size_of::<T>() == 4 => with_samples!(8),
            _ => with_samples!(1),
        }
    }
}
