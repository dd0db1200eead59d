//! A dense layer along the rows: `y = wᵀ x + b`, `x: [inputs][cols]`, `w: [inputs][outputs]` shared and `b`,
//! a shared bias `[outputs][1]` or something to add, `[outputs][cols]`.
//!
//! Three products: forward `wᵀ x`; reverse `dx = w dy`, `dw = x dyᵀ`, `db = sum dy`. In the first two the
//! lanes are the vector axis and weights are broadcast, which needs no packing: a tile of outputs times up to
//! three vectors stays in registers while the inputs stream by. The third is a sum over lanes and lives in
//! `weight_adjoint.rs`.

use super::*;

impl Lower for Dense {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(Layer {
            inputs: io.inputs[0].rows,
            outputs: io.output.rows,
            lanes: io.output_lanes(),
            added: io.inputs.get(2).is_some_and(|b| !b.shared),
        })
    }
}

struct Layer {
    inputs: usize,
    outputs: usize,
    lanes: usize,
    /// Whether b has a number per lane.
    added: bool,
}

/// Inputs that are worked on together: few enough that they and their weights stay in cache while all strips
/// of lanes and tiles of outputs pass by.
const BLOCK: usize = 128;

impl Layer {
    fn blocks(&self) -> impl Iterator<Item = Range<usize>> {
        let inputs = self.inputs;
        (0..inputs).step_by(BLOCK).map(move |start| start..inputs.min(start + BLOCK))
    }
}

impl<T: Real> Kernel<T> for Layer {
    fn scratch(&self) -> usize {
        weight_adjoint::scratch(self.outputs, self.lanes)
    }
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], room: &mut Room<T>) {
        for rows in self.blocks() {
            let w =
                Weights { data: &x[1][rows.start * self.outputs..], out_stride: 1, in_stride: self.outputs };
            let target = match rows.start {
                0 => Target { bias: x[2], per_lane: self.added, accumulate: false },
                _ => Target::SUM,
            };
            let x = &x[0][rows.start * self.lanes..];
            product(isa, self.outputs, rows.len(), w, x, target, self.lanes, y, &mut room.ahead);
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
        if dx[0].wanted() {
            for rows in self.blocks() {
                let data = &seen.x[1][rows.start * self.outputs..];
                let w = Weights { data, out_stride: self.outputs, in_stride: 1 };
                let target = if dx[0].accumulate { Target::SUM } else { Target::NEW };
                let to = &mut dx[0].data[rows.start * self.lanes..];
                product(isa, rows.len(), self.outputs, w, dy, target, self.lanes, to, &mut room.ahead);
            }
        }
        let [_, dw, db @ ..] = dx else { unreachable!("a layer has a weight") };
        let db = match db {
            [added] if self.added => {
                if added.wanted() {
                    add_scaled(isa, T::of(1.0), dy, added.accumulate, &mut added.data);
                }
                &mut []
            }
            bias => bias,
        };
        if !dw.wanted() && !db.iter().any(Adjoint::wanted) {
            return;
        }
        dw.prepare();
        db.iter_mut().for_each(Adjoint::prepare);
        let db = db.first_mut().map_or(&mut [][..], |db| &mut db.data[..]);
        weight_adjoint::outer(
            isa,
            self.inputs,
            self.outputs,
            seen.x[0],
            dy,
            self.lanes,
            &mut dw.data,
            db,
            room,
        );
    }
}

/// A weight matrix seen with either index as the output.
#[derive(Clone, Copy)]
pub(crate) struct Weights<'a, T> {
    pub data: &'a [T],
    pub out_stride: usize,
    pub in_stride: usize,
}

/// What a product is added to.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a, T> {
    /// A number per output, or none.
    bias: &'a [T],
    /// The bias has a number per output and lane.
    per_lane: bool,
    /// What is there already.
    accumulate: bool,
}

impl<T: Real> Target<'_, T> {
    /// Nothing.
    pub const NEW: Target<'static, T> = Target { bias: &[], per_lane: false, accumulate: false };
    /// What is there.
    pub const SUM: Target<'static, T> = Target { bias: &[], per_lane: false, accumulate: true };

    /// One number of an output.
    #[inline(always)]
    pub fn put(self, y: &mut [T], output: usize, at: usize, value: T) {
        let value = match self.bias {
            [] => value,
            bias => value + bias[if self.per_lane { at } else { output }],
        };
        y[at] = if self.accumulate { y[at] + value } else { value };
    }
}

/// Lanes in use of vector `c` of a tile.
#[inline(always)]
pub(crate) unsafe fn filled_lanes<V: Vector, const C: usize, const PART: bool>(
    c: usize,
    count: usize,
) -> usize {
    if PART && c + 1 == C { count } else { V::LANES }
}

/// Vectors of the next strip where `left` lanes are left, and the lanes of the last one. Strips have three
/// vectors, but 4 = 2 + 2: a strip of one cannot hide the latency of its sums.
#[inline(always)]
pub(crate) unsafe fn strip_width<V: Vector>(left: usize) -> (usize, usize) {
    let vectors = left.div_ceil(V::LANES);
    let most = if V::TUNED { 3 } else { 2 };
    let width = if vectors == 2 || vectors == 4 { 2 } else { vectors.min(most) };
    (width, V::LANES.min(left - (width - 1) * V::LANES))
}

/// `R` outputs from row `o` on, `C` vectors of lanes from `l` on, the last with `count` lanes if `PART`.
#[inline(always)]
unsafe fn tile<V: Vector, const R: usize, const C: usize, const PART: bool>(
    inner: usize,
    w: Weights<'_, V::Real>,
    x: &[V::Real],
    target: Target<'_, V::Real>,
    lanes: usize,
    (o, l, count): (usize, usize, usize),
    y: &mut [V::Real],
    ahead: &mut Ahead,
) {
    let mut sum = [[V::zero(); C]; R];
    if target.per_lane {
        for r in 0..R {
            for c in 0..C {
                let n = filled_lanes::<V, C, PART>(c, count);
                sum[r][c] = V::get(target.bias, (o + r) * lanes + l + c * V::LANES, n);
            }
        }
    } else if !target.bias.is_empty() {
        for r in 0..R {
            sum[r] = [V::splat(target.bias[o + r]); C];
        }
    }
    let first = o * w.out_stride;
    debug_assert!(inner == 0 || first + (R - 1) * w.out_stride + (inner - 1) * w.in_stride < w.data.len());
    let share = ahead.share(inner);
    for k in 0..inner {
        share.fetch::<V>(k);
        let mut column = [V::zero(); C];
        for c in 0..C {
            column[c] = V::get(x, k * lanes + l + c * V::LANES, filled_lanes::<V, C, PART>(c, count));
        }
        for r in 0..R {
            // SAFETY: the caller's, sizes follow from the shapes; debug builds assert the largest index
            // above.
            let weight =
                V::splat(unsafe { *w.data.get_unchecked(first + r * w.out_stride + k * w.in_stride) });
            for c in 0..C {
                sum[r][c] = weight.fma(column[c], sum[r][c]);
            }
        }
    }
    for r in 0..R {
        for c in 0..C {
            let n = filled_lanes::<V, C, PART>(c, count);
            sum[r][c].put_or_add(target.accumulate, y, (o + r) * lanes + l + c * V::LANES, n);
        }
    }
}

dispatched! {
    /// `y (+)= w x + bias` for a strip of lanes at a time, so that the strip of x stays in the first-level
    /// cache.
    pub(crate) unsafe fn product(
        outputs: usize,
        inner: usize,
        w: Weights<'_, T>,
        x: &[T],
        target: Target<'_, T>,
        lanes: usize,
        y: &mut [T],
        ahead: &mut Ahead,
    ) {
        let done = match lanes {
            1 => few_lanes::product::<V, 1>(outputs, inner, w, x, target, y),
            2 => few_lanes::product::<V, 2>(outputs, inner, w, x, target, y),
            3 => few_lanes::product::<V, 3>(outputs, inner, w, x, target, y),
            4 => few_lanes::product::<V, 4>(outputs, inner, w, x, target, y),
            _ => false,
        };
        if done {
            return;
        }
        macro_rules! strip {
            ($c:literal, $part:literal, $l:expr, $count:expr) => {
                strip!(
                    $c, $part, $l, $count,
                    [8 if V::TILE == 8 && V::TUNED, 4 if true, 2 if V::TUNED, 1 if true]
                )
            };
            ($c:literal, $part:literal, $l:expr, $count:expr, [$($r:literal if $fits:expr),*]) => {{
                let mut o = 0;
                $(while $fits && outputs - o >= $r {
                    tile::<V, $r, $c, $part>(inner, w, x, target, lanes, (o, $l, $count), y, ahead);
                    o += $r;
                })*
            }};
        }
        let mut l = 0;
        // a head of one or two outputs: longer strips, whose sums do not wait for each other
        while V::TUNED && outputs <= 2 && lanes - l >= 4 * V::LANES {
            if V::TILE == 8 && lanes - l >= 8 * V::LANES {
                strip!(8, false, l, V::LANES, [2 if true, 1 if true]);
                l += 8 * V::LANES;
            } else {
                strip!(4, false, l, V::LANES, [2 if true, 1 if true]);
                l += 4 * V::LANES;
            }
        }
        while l < lanes {
            let (width, count) = strip_width::<V>(lanes - l);
            match (width, V::TUNED && count == V::LANES) {
                (3, true) if V::TUNED => strip!(3, false, l, V::LANES),
                (3, false) if V::TUNED => strip!(3, true, l, count),
                (2, true) if V::TUNED => strip!(2, false, l, V::LANES),
                (2, _) => strip!(2, true, l, count),
                (_, true) if V::TUNED => strip!(1, false, l, V::LANES),
                (_, _) => strip!(1, true, l, count),
            }
            l += width * V::LANES;
        }
    }
}
