//! Products of a dense layer with hardly any lanes: one network that decides for a whole swarm, applied to a
//! few samples.
//!
//! Lanes would leave most of a vector empty. Here the vectors run along the outputs of the weights, or along
//! the inputs, whichever is contiguous, and every weight is read from memory once for all lanes: large layers
//! on few samples take as long as it takes to read them.

use super::*;

/// Inner indices whose values are sorted by lane at a time.
const BLOCK: usize = 256;

/// `y (+)= w x + bias` for `L` lanes, if the weights allow it; false if nothing was done.
#[inline(always)]
pub(crate) unsafe fn product<V: Vector, const L: usize>(
    outputs: usize,
    inner: usize,
    w: Weights<'_, V::Real>,
    x: &[V::Real],
    target: Target<'_, V::Real>,
    y: &mut [V::Real],
) -> bool {
    if w.out_stride == 1 && outputs >= V::LANES {
        let mut o = 0;
        while V::TUNED && outputs - o >= 4 * V::LANES {
            along_outputs::<V, L, 4>(inner, w, x, target, (o, V::LANES), y);
            o += 4 * V::LANES;
        }
        while o < outputs {
            let count = V::LANES.min(outputs - o);
            along_outputs::<V, L, 1>(inner, w, x, target, (o, count), y);
            o += count;
        }
        true
    } else if w.in_stride == 1 && inner >= V::LANES {
        along_inputs::<V, L>(outputs, inner, w, x, target, y);
        true
    } else {
        false
    }
}

/// `C` vectors of outputs from `o` on, each of `count`.
#[inline(always)]
unsafe fn along_outputs<V: Vector, const L: usize, const C: usize>(
    inner: usize,
    w: Weights<'_, V::Real>,
    x: &[V::Real],
    target: Target<'_, V::Real>,
    (o, count): (usize, usize),
    y: &mut [V::Real],
) {
    let mut sum = [[V::zero(); C]; L];
    for (k, x) in x[..inner * L].chunks_exact(L).enumerate() {
        let mut weight = [V::zero(); C];
        for c in 0..C {
            weight[c] = V::get(w.data, k * w.in_stride + o + c * V::LANES, count);
        }
        for l in 0..L {
            let x = V::splat(x[l]);
            for c in 0..C {
                sum[l][c] = x.fma(weight[c], sum[l][c]);
            }
        }
    }
    let mut values = [V::Real::default(); 16];
    for l in 0..L {
        for c in 0..C {
            sum[l][c].store(&mut values, 0);
            for (j, &value) in values[..count].iter().enumerate() {
                let output = o + c * V::LANES + j;
                target.put(y, output, output * L + l, value);
            }
        }
    }
}

/// Every output as the dot product of a row of weights with the values of a lane.
#[inline(always)]
unsafe fn along_inputs<V: Vector, const L: usize>(
    outputs: usize,
    inner: usize,
    w: Weights<'_, V::Real>,
    x: &[V::Real],
    target: Target<'_, V::Real>,
    y: &mut [V::Real],
) {
    let mut lanes = [[V::Real::default(); BLOCK]; L];
    for start in (0..inner).step_by(BLOCK) {
        let size = BLOCK.min(inner - start);
        for (k, x) in x[start * L..(start + size) * L].chunks_exact(L).enumerate() {
            for l in 0..L {
                lanes[l][k] = x[l];
            }
        }
        let target = if start == 0 { target } else { Target::SUM };
        for o in 0..outputs {
            let mut sum = [V::zero(); L];
            sweep!(V, size, |k, n| {
                let weight = V::get(w.data, o * w.out_stride + start + k, n);
                for l in 0..L {
                    sum[l] = weight.fma(V::get(&lanes[l], k, n), sum[l]);
                }
            });
            for l in 0..L {
                target.put(y, o, o * L + l, sum[l].sum());
            }
        }
    }
}
