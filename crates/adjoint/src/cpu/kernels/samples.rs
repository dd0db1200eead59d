//! Runs of groups of samples, `[count][samples]`: sums over the groups, and one group repeated. Vectors are
//! full also where samples are few: if their number divides the lanes, a vector holds several groups.

use super::*;

/// Whether a vector holds several whole groups.
#[inline(always)]
pub(crate) unsafe fn few<V: Vector>(samples: usize) -> bool {
    samples < V::LANES && V::LANES.is_multiple_of(samples)
}

/// A vector of copies of one group; only for [`few`] samples.
#[inline(always)]
pub(crate) unsafe fn repeated<V: Vector>(group: &[V::Real]) -> V {
    let mut lanes = [V::Real::default(); 16];
    for i in 0..V::LANES {
        lanes[i] = group[i % group.len()];
    }
    V::load(&lanes, 0)
}

/// `to[sample] += sum of x[..][sample]`, or of the squares.
#[inline(always)]
pub(crate) unsafe fn add_sums<V: Vector, const SQUARES: bool>(x: &[V::Real], to: &mut [V::Real]) {
    let samples = to.len();
    macro_rules! add {
        ($sum:expr, $v:expr) => {{
            let v = $v;
            $sum = if SQUARES { $sum.add(v.mul(v)) } else { $sum.add(v) };
        }};
    }
    if !few::<V>(samples) {
        sweep!(V, samples, |s, n| {
            let mut sum = V::zero();
            for start in (0..x.len()).step_by(samples) {
                add!(sum, V::get(x, start + s, n));
            }
            sum.put_or_add(true, to, s, n);
        });
        return;
    }
    // independent sums, because one addition would have to wait for the one before
    const SUMS: usize = 4;
    let mut sum = [V::zero(); SUMS];
    let whole = x.len() / (SUMS * V::LANES) * (SUMS * V::LANES);
    for start in (0..whole).step_by(SUMS * V::LANES) {
        for j in 0..SUMS {
            add!(sum[j], V::load(x, start + j * V::LANES));
        }
    }
    let rest = &x[whole..];
    sweep!(V, rest.len(), |i, n| {
        add!(sum[0], V::get(rest, i, n));
    });
    let mut lanes = [V::Real::default(); 16];
    sum[0].add(sum[1]).add(sum[2].add(sum[3])).store(&mut lanes, 0);
    for i in 0..V::LANES {
        to[i % samples] += lanes[i];
    }
}
