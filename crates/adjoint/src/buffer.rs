//! Memory for one value: a vector that starts on a cache line, so that no SIMD load straddles two.

use std::ops::{Deref, DerefMut};

const LINE: usize = 64;

/// Numbers starting at a multiple of 64 bytes. The default one is empty and owns no memory.
#[derive(Debug, Default)]
pub struct Buffer<T> {
    data: Vec<T>,
    start: usize,
    len: usize,
}

impl<T: Copy + Default> Buffer<T> {
    pub(crate) fn new(len: usize) -> Buffer<T> {
        let data = vec![T::default(); len + LINE / size_of::<T>()];
        let start = data.as_ptr().align_offset(LINE);
        Buffer { data, start, len }
    }
}

impl<T> Buffer<T> {
    /// Asks for part `k` of `parts` of it to be brought near, and does not wait for it.
    #[inline]
    pub(crate) fn fetch(&self, k: usize, parts: usize) {
        let lines = (self.len * size_of::<T>()).div_ceil(LINE);
        #[cfg(target_arch = "x86_64")]
        for line in lines * k / parts..lines * (k + 1) / parts {
            use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
            let first = self.data.as_ptr().wrapping_add(self.start).cast::<i8>();
            // SAFETY: a prefetch reads nothing and cannot fail, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(first.wrapping_add(line * LINE)) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (lines, k, parts);
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.data[self.start..self.start + self.len]
    }
}

impl<T> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.data[self.start..self.start + self.len]
    }
}
