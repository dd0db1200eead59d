//! The adjoint of a weight matrix, `dw += x dyᵀ`, and of a bias, `db += sum of dy`: sums over lanes.
//!
//! With dy transposed first, a stretch of lanes at a time, this has the form of the layer itself: outputs are
//! the vector axis, x is broadcast, and nothing is summed across a register. For few inputs or outputs the
//! transposed copy costs more than it saves; then lanes stay the vector axis, and every register of sums is
//! added up at the end.

use super::*;

/// Lanes of dy that are worked on together: few enough to stay in the first-level cache while all inputs pass
/// by.
const STRETCH: usize = 128;

/// Inputs per vector of lanes up to which adding up across registers at the end takes less time than
/// transposing dy first.
const FEW: f64 = 1.5;

/// Numbers of scratch memory that [`outer`] wants.
pub(crate) fn scratch(outputs: usize, lanes: usize) -> usize {
    outputs * STRETCH.min(lanes)
}

/// `dw += x dyᵀ` for `R` inputs from row `i` on and `C` vectors of outputs from `o` on, given a stretch of dy
/// transposed.
#[inline(always)]
unsafe fn outer_tile<V: Vector, const R: usize, const C: usize>(
    x: &[V::Real],
    dyt: &[V::Real],
    lanes: usize,
    stretch: Range<usize>,
    (i, o, outputs): (usize, usize, usize),
    dw: &mut [V::Real],
    ahead: &mut Ahead,
) {
    let mut sum = [[V::zero(); C]; R];
    debug_assert!((i + R) * lanes <= x.len());
    let start = stretch.start;
    let share = ahead.share(stretch.len());
    for l in stretch {
        share.fetch::<V>(l - start);
        let mut row = [V::zero(); C];
        for c in 0..C {
            row[c] = V::load(dyt, (l - start) * outputs + o + c * V::LANES);
        }
        for r in 0..R {
            // SAFETY: the caller's, sizes follow from the shapes; debug builds assert the largest index
            // above.
            let x = V::splat(unsafe { *x.get_unchecked((i + r) * lanes + l) });
            for c in 0..C {
                sum[r][c] = x.fma(row[c], sum[r][c]);
            }
        }
    }
    for r in 0..R {
        for c in 0..C {
            sum[r][c].put_or_add(true, dw, (i + r) * outputs + o + c * V::LANES, V::LANES);
        }
    }
}

/// `dw += x dyᵀ` for `R` inputs from row `i` on and `C` outputs from `o` on, at most 16 pairs, as sums over
/// the lanes of one register each that are added up across it at the end. Without x, the sums of dy.
#[inline(always)]
unsafe fn dots<V: Vector, const R: usize, const C: usize>(
    x: Option<&[V::Real]>,
    dy: &[V::Real],
    lanes: usize,
    (i, o, outputs): (usize, usize, usize),
    dw: &mut [V::Real],
) {
    let mut sum = [[V::zero(); C]; R];
    sweep!(V, lanes, |l, n| {
        let mut row = [V::zero(); C];
        for c in 0..C {
            row[c] = V::get(dy, (o + c) * lanes + l, n);
        }
        for r in 0..R {
            for c in 0..C {
                sum[r][c] = match x {
                    Some(x) => V::get(x, (i + r) * lanes + l, n).fma(row[c], sum[r][c]),
                    None => sum[r][c].add(row[c]),
                };
            }
        }
    });
    let (mut pairs, mut totals) = ([V::zero(); 16], [V::Real::default(); 16]);
    for r in 0..R {
        pairs[r * C..][..C].copy_from_slice(&sum[r]);
    }
    for pair in (0..R * C).step_by(V::LANES) {
        V::sums(&pairs[pair..]).store(&mut totals, pair);
    }
    for r in 0..R {
        for c in 0..C {
            dw[(i + r) * outputs + o + c] += totals[r * C + c];
        }
    }
}

/// `dw += x dyᵀ` and `db += sum of dy` for the outputs from `first` on, without a transposed copy.
#[inline(always)]
unsafe fn direct_outer<V: Vector>(
    (inputs, outputs): (usize, usize),
    x: &[V::Real],
    dy: &[V::Real],
    lanes: usize,
    first: usize,
    dw: &mut [V::Real],
    db: &mut [V::Real],
) {
    macro_rules! columns {
        ($o:ident, $c:literal, [$($r:literal),*]) => {
            while outputs - $o >= $c {
                let mut i = 0;
                $(while inputs - i >= $r {
                    dots::<V, $r, $c>(Some(x), dy, lanes, (i, $o, outputs), dw);
                    i += $r;
                })*
                if !db.is_empty() {
                    dots::<V, 1, $c>(None, dy, lanes, (0, $o, outputs), db);
                }
                $o += $c;
            }
        };
    }
    let mut o = first;
    if !V::TUNED {
        columns!(o, 4, [2, 1]);
        columns!(o, 1, [4, 1]);
        return;
    }
    if V::TILE == 8 {
        columns!(o, 4, [4, 2, 1]);
    } else {
        columns!(o, 4, [2, 1]);
    }
    columns!(o, 2, [4, 1]);
    columns!(o, 1, [8, 1]);
}

/// A stretch of the outputs of dy that fill vectors, transposed: `[stretch][outputs]`.
#[inline(always)]
unsafe fn transpose<V: Vector>(
    outputs: usize,
    dy: &[V::Real],
    lanes: usize,
    stretch: Range<usize>,
    dyt: &mut [V::Real],
) {
    let whole_lanes = stretch.start + stretch.len() / V::LANES * V::LANES;
    for o in (0..outputs / V::LANES * V::LANES).step_by(V::LANES) {
        for l in (stretch.start..whole_lanes).step_by(V::LANES) {
            V::transpose(&dy[o * lanes + l..], lanes, &mut dyt[(l - stretch.start) * outputs + o..], outputs);
        }
        for l in whole_lanes..stretch.end {
            for c in 0..V::LANES {
                dyt[(l - stretch.start) * outputs + o + c] = dy[(o + c) * lanes + l];
            }
        }
    }
}

/// `db += sum over a stretch of dy`, given it transposed, for the outputs that fill vectors.
#[inline(always)]
unsafe fn sums<V: Vector>(outputs: usize, dyt: &[V::Real], stretch: usize, db: &mut [V::Real]) {
    for o in (0..outputs / V::LANES * V::LANES).step_by(V::LANES) {
        // four sums at once, because one addition would have to wait for the one before
        let mut sum = [V::zero(); 4];
        for l in (0..stretch).step_by(4) {
            for j in 0..4.min(stretch - l) {
                sum[j] = sum[j].add(V::load(dyt, (l + j) * outputs + o));
            }
        }
        sum[0].add(sum[1]).add(sum[2].add(sum[3])).put_or_add(true, db, o, V::LANES);
    }
}

/// `dw += x dyᵀ` for a stretch of lanes with dy transposed and the outputs that fill vectors; how many those
/// are.
#[inline(always)]
unsafe fn stretch_outer<V: Vector>(
    inputs: usize,
    outputs: usize,
    x: &[V::Real],
    dyt: &[V::Real],
    lanes: usize,
    stretch: Range<usize>,
    dw: &mut [V::Real],
    ahead: &mut Ahead,
) -> usize {
    macro_rules! columns {
        // tiles of $r inputs, then smaller ones: one input alone cannot hide the latency of its sums
        ($r:literal, $c:literal, $o:expr) => {{
            let mut i = 0;
            if V::TUNED {
                columns!(i, $r, $c, $o);
            }
            columns!(i, 4, $c, $o);
            if V::TUNED {
                columns!(i, 2, $c, $o);
            }
            columns!(i, 1, $c, $o);
        }};
        ($i:ident, $r:literal, $c:literal, $o:expr) => {
            while inputs - $i >= $r {
                outer_tile::<V, $r, $c>(x, dyt, lanes, stretch.clone(), ($i, $o, outputs), dw, ahead);
                $i += $r;
            }
        };
    }
    let mut o = 0;
    if V::TILE == 8 && V::TUNED {
        while o + 4 * V::LANES <= outputs {
            columns!(6, 4, o);
            o += 4 * V::LANES;
        }
    }
    while o + 2 * V::LANES <= outputs {
        if V::TILE == 8 {
            columns!(8, 2, o);
        } else {
            columns!(6, 2, o);
        }
        o += 2 * V::LANES;
    }
    while o + V::LANES <= outputs {
        columns!(8, 1, o);
        o += V::LANES;
    }
    o
}

dispatched! {
    /// `dw += x dyᵀ` for the first `used` lanes, with dy transposed, `[lanes][outputs]`; outputs fill
    /// vectors.
    pub(crate) unsafe fn outer_transposed(
        inputs: usize,
        outputs: usize,
        x: &[T],
        dyt: &[T],
        lanes: usize,
        used: usize,
        dw: &mut [T],
        ahead: &mut Ahead,
    ) {
        stretch_outer::<V>(inputs, outputs, x, dyt, lanes, 0..used, dw, ahead);
    }
}

dispatched! {
    /// `dw += x dyᵀ` and `db += sum of dy`, where they are wanted.
    pub(crate) unsafe fn outer(
        inputs: usize,
        outputs: usize,
        x: &[T],
        dy: &[T],
        lanes: usize,
        dw: &mut [T],
        db: &mut [T],
        room: &mut Room<T>,
    ) {
        let Room { memory: dyt, ahead } = room;
        let few = inputs as f64 <= FEW * (lanes / V::LANES) as f64;
        let inputs = if dw.is_empty() { 0 } else { inputs };
        if few {
            return direct_outer::<V>((inputs, outputs), x, dy, lanes, 0, dw, db);
        }
        let mut o = 0;
        for start in (0..lanes).step_by(STRETCH) {
            let stretch = start..lanes.min(start + STRETCH);
            transpose::<V>(outputs, dy, lanes, stretch.clone(), dyt);
            if !db.is_empty() {
                sums::<V>(outputs, dyt, stretch.len(), db);
            }
            o = stretch_outer::<V>(inputs, outputs, x, dyt, lanes, stretch, dw, ahead);
        }
        direct_outer::<V>((inputs, outputs), x, dy, lanes, o, dw, db);
    }
}
