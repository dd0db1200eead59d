//! `y = sum over i of t_i x_i` with constant tables `t_i` of a number per row, or one number for all rows:
//! the stages of an integrator whose linear part is diagonal, one pass over memory each.
//!
//! Tables are laid out like the values, one number per lane, so that few samples still fill a vector.

use super::*;

impl Lower for Combination {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>> {
        Box::new({
            let lanes = io.output_lanes();
            let laid_out = |t: &Vec<f64>| {
                let lanes = if t.len() == 1 { WIDEST } else { lanes };
                let data = t.iter().flat_map(|&v| std::iter::repeat_n(T::of(v), lanes)).collect();
                Table { data, mask: if t.len() == 1 { 0 } else { usize::MAX } }
            };
            Tables::<T> { tables: self.tables.iter().map(laid_out).collect() }
        })
    }
}

struct Tables<T> {
    tables: Vec<Table<T>>,
}

struct Table<T> {
    data: Vec<T>,
    /// What of an index counts: nothing if one number stands for all rows.
    mask: usize,
}

impl<T: Real> Table<T> {
    #[inline(always)]
    unsafe fn get<V: Vector<Real = T>>(&self, i: usize, count: usize) -> V {
        V::get(&self.data, i & self.mask, count)
    }
}

/// Lanes of the widest vector.
const WIDEST: usize = 16;

impl<T: Real> Kernel<T> for Tables<T> {
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        combine(isa, &self.tables, &x, y);
    }
    unsafe fn reverse(&self, isa: Isa, _: Seen<T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        for (table, dx) in self.tables.iter().zip(dx) {
            if dx.wanted() {
                spread(isa, table, dy, dx.accumulate, &mut dx.data);
            }
        }
    }
}

/// `sum of t_i x_i` for N values.
#[inline(always)]
unsafe fn sum<V: Vector, const N: usize>(
    t: &[Table<V::Real>],
    x: &[&[V::Real]; MAX_INPUTS],
    y: &mut [V::Real],
) {
    let t: [&Table<V::Real>; N] = std::array::from_fn(|k| &t[k]);
    sweep!(V, y.len(), |i, n| {
        let mut sum = t[0].get::<V>(i, n).mul(V::get(x[0], i, n));
        for k in 1..N {
            sum = t[k].get::<V>(i, n).fma(V::get(x[k], i, n), sum);
        }
        sum.put(y, i, n);
    });
}

dispatched! {
    unsafe fn combine(tables: &[Table<T>], x: &[&[T]; MAX_INPUTS], y: &mut [T]) {
        match tables.len() {
            1 => sum::<V, 1>(tables, x, y),
            2 => sum::<V, 2>(tables, x, y),
            3 => sum::<V, 3>(tables, x, y),
            4 => sum::<V, 4>(tables, x, y),
            5 => sum::<V, 5>(tables, x, y),
            _ => sum::<V, 6>(tables, x, y),
        }
    }
}

dispatched! {
    /// `to (+)= t dy`.
    unsafe fn spread(t: &Table<T>, dy: &[T], accumulate: bool, to: &mut [T]) {
        sweep!(V, to.len(), |i, n| {
            t.get::<V>(i, n).mul(V::get(dy, i, n)).put_or_add(accumulate, to, i, n);
        });
    }
}
