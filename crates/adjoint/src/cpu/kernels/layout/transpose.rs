//! Rows and columns exchanged: `[r][c] -> [c][r]`. The adjoint is exchanged back.

use super::*;

impl Lower for Transpose {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(Exchange {
            rows: io.inputs[0].rows,
            cols: io.inputs[0].cols,
            group: io.lanes(0) / io.inputs[0].cols,
        })
    }
}

struct Exchange {
    rows: usize,
    cols: usize,
    /// Numbers that stay together: the samples.
    group: usize,
}

impl<T: Real> Kernel<T> for Exchange {
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        transpose(isa, self.rows, self.cols, self.group, x[0], false, y);
    }
    unsafe fn reverse(&self, isa: Isa, _: Seen<T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        transpose(isa, self.cols, self.rows, self.group, dy, dx[0].accumulate, &mut dx[0].data);
    }
}

/// Side of the blocks: a block's lines of source and target stay in the nearest cache whatever the stride.
const BLOCK: usize = 16;

dispatched! {
    /// `y[c][r][group] (+)= x[r][c][group]`.
    pub(crate) unsafe fn transpose(
        rows: usize,
        cols: usize,
        group: usize,
        x: &[T],
        accumulate: bool,
        y: &mut [T],
    ) {
        for r in (0..rows).step_by(BLOCK) {
            for c in (0..cols).step_by(BLOCK) {
                let (rows_here, cols_here) = (r..rows.min(r + BLOCK), c..cols.min(c + BLOCK));
                let block = Block { rows: rows_here, cols: cols_here, stride: (cols, rows) };
                match group {
                    1 => singles::<V>(&block, x, accumulate, y),
                    2 if V::TUNED => groups::<V, 2>(&block, x, accumulate, y),
                    4 if V::TUNED => groups::<V, 4>(&block, x, accumulate, y),
                    8 if V::TUNED => groups::<V, 8>(&block, x, accumulate, y),
                    16 if V::TUNED => groups::<V, 16>(&block, x, accumulate, y),
                    _ => any_group::<V>(&block, group, x, accumulate, y),
                }
            }
        }
    }
}

struct Block {
    rows: Range<usize>,
    cols: Range<usize>,
    /// Groups per row of the source and of the target.
    stride: (usize, usize),
}

/// A block of single numbers: exchanged in registers where it is whole.
#[inline(always)]
unsafe fn singles<V: Vector>(block: &Block, x: &[V::Real], accumulate: bool, y: &mut [V::Real]) {
    let whole = block.rows.len() == BLOCK && block.cols.len() == BLOCK && BLOCK.is_multiple_of(V::LANES);
    if !whole {
        return groups::<V, 1>(block, x, accumulate, y);
    }
    for r in block.rows.clone().step_by(V::LANES) {
        for c in block.cols.clone().step_by(V::LANES) {
            let (from, at) = (&x[r * block.stride.0 + c..], c * block.stride.1 + r);
            if accumulate {
                let mut part = [V::Real::default(); BLOCK * BLOCK];
                V::transpose(from, block.stride.0, &mut part, V::LANES);
                for i in 0..V::LANES {
                    let at = at + i * block.stride.1;
                    V::load(y, at).add(V::load(&part, i * V::LANES)).store(y, at);
                }
            } else {
                V::transpose(from, block.stride.0, &mut y[at..], block.stride.1);
            }
        }
    }
}

/// A block of groups of `G`, each moved as one. Targets are written in the order they lie in memory.
#[inline(always)]
unsafe fn groups<V: Vector, const G: usize>(
    block: &Block,
    x: &[V::Real],
    accumulate: bool,
    y: &mut [V::Real],
) {
    for c in block.cols.clone() {
        let to = &mut y[(c * block.stride.1 + block.rows.start) * G..][..block.rows.len() * G];
        for (i, to) in to.as_chunks_mut::<G>().0.iter_mut().enumerate() {
            let at = ((block.rows.start + i) * block.stride.0 + c) * G;
            debug_assert!(at + G <= x.len());
            // SAFETY: r and c lie inside the source, which holds rows * cols groups.
            let from = unsafe { &*x.as_ptr().add(at).cast::<[V::Real; G]>() };
            if accumulate {
                for g in 0..G {
                    to[g] += from[g];
                }
            } else {
                *to = *from;
            }
        }
    }
}

#[inline(always)]
unsafe fn any_group<V: Vector>(
    block: &Block,
    group: usize,
    x: &[V::Real],
    accumulate: bool,
    y: &mut [V::Real],
) {
    for c in block.cols.clone() {
        for r in block.rows.clone() {
            let (from, to) = ((r * block.stride.0 + c) * group, (c * block.stride.1 + r) * group);
            sweep!(V, group, |i, n| {
                V::get(x, from + i, n).put_or_add(accumulate, y, to + i, n);
            });
        }
    }
}
