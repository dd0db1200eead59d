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

impl<T> Deref for Buffer<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        &self.data[self.start..self.start + self.len]
    }
}

impl<T> DerefMut for Buffer<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.data[self.start..self.start + self.len]
    }
}
