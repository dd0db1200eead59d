//! Repetition: one row, one column or one shared value becomes many. The adjoint is the sum over the copies.

use super::*;
use crate::cpu::kernels::samples::{add_sums, few, repeated};

impl Lower for Broadcast {
    fn lower<T: Real>(&self, io: &Io) -> Box<dyn Kernel<T>> {
        Box::new(Repeat { from: io.inputs[0], to: self.to, samples: io.samples })
    }
}

struct Repeat {
    from: Shape,
    to: Shape,
    samples: usize,
}

impl Repeat {
    /// Calls `each(source, target)` with the first index of every run of `run` consecutive target elements;
    /// the source is a run too (step 1) or one element (step 0).
    fn runs(&self, mut each: impl FnMut(usize, usize)) {
        let source_row = self.from.lanes(self.samples);
        let per_col = if self.from.shared { 1 } else { self.samples };
        let target_row = self.to.lanes(self.samples);
        let run = self.run();
        for row in 0..self.to.rows {
            let source = if self.from.rows == 1 { 0 } else { row * source_row };
            for col in 0..self.to.cols {
                let col_source = if self.from.cols == 1 { 0 } else { col * per_col };
                each(source + col_source, row * target_row + col * run);
            }
        }
    }
    fn run(&self) -> usize {
        if self.to.shared { 1 } else { self.samples }
    }
    /// Whether only rows are repeated: then a row is one run.
    fn whole_rows(&self) -> bool {
        self.from.rows == 1 && self.from.cols == self.to.cols && self.from.shared == self.to.shared
    }
    /// Whether every run of the target repeats one group of samples.
    fn groups(&self) -> bool {
        self.from.cols == 1 && self.from.shared == self.to.shared
    }
    fn step(&self) -> usize {
        if self.from.shared { 0 } else { 1 }
    }
}

impl<T: Real> Kernel<T> for Repeat {
    unsafe fn forward(&self, isa: Isa, x: [&[T]; MAX_INPUTS], y: &mut [T], _: &mut Room<T>) {
        if self.whole_rows() {
            return y.chunks_exact_mut(x[0].len()).for_each(|row| row.copy_from_slice(x[0]));
        }
        if self.groups() {
            return repeat_groups(isa, self.run(), x[0], y);
        }
        let (run, step) = (self.run(), self.step());
        self.runs(|from, to| {
            for s in 0..run {
                y[to + s] = x[0][from + s * step];
            }
        });
    }
    unsafe fn reverse(&self, isa: Isa, _: Seen<T>, dy: &mut [T], dx: &mut [Adjoint<T>], _: &mut Room<T>) {
        dx[0].prepare();
        if self.whole_rows() {
            let to = &mut dx[0].data[..];
            return dy.chunks_exact(to.len()).for_each(|row| add_scaled(isa, T::of(1.0), row, true, to));
        }
        if self.groups() {
            return sum_groups(isa, self.run(), dy, &mut dx[0].data);
        }
        let (run, step) = (self.run(), self.step());
        self.runs(|from, to| {
            for s in 0..run {
                dx[0].data[from + s * step] += dy[to + s];
            }
        });
    }
}

dispatched! {
    unsafe fn repeat_groups(samples: usize, x: &[T], y: &mut [T]) {
        let run = y.len() / (x.len() / samples);
        for (group, run) in x.chunks_exact(samples).zip(y.chunks_exact_mut(run)) {
            if few::<V>(samples) {
                let copies: V = repeated(group);
                sweep!(V, run.len(), |i, n| { copies.put(run, i, n); });
            } else {
                run.chunks_exact_mut(samples).for_each(|to| to.copy_from_slice(group));
            }
        }
    }
}

dispatched! {
    unsafe fn sum_groups(samples: usize, dy: &[T], to: &mut [T]) {
        let run = dy.len() / (to.len() / samples);
        for (run, to) in dy.chunks_exact(run).zip(to.chunks_exact_mut(samples)) {
            add_sums::<V, false>(run, to);
        }
    }
}
